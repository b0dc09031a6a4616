"""What a log says apart from the order of its rows: prompts, repeats, clusters, filters, directions."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.transcript.imports import INSPECT, LM_EVAL, PROMPTFOO, document, import_one, refused
from tests.workshop import Record, Workshop

PROMPTS = ["Capital of {{country}}?", "You are a clerk. Say nothing but the capital of {{country}}."]
COUNTRIES = [f"country {n}" for n in range(24)]
Row = dict[str, Any]


def promptfoo_row(column: int, test: int, country: str, *, passed: bool, prompts: int = 2, label: str = "") -> Row:
    """As promptfoo 0.121 writes it: `promptIdx` is a column of its table, one provider after the other."""
    template = PROMPTS[column % prompts]
    return {
        "promptIdx": column,
        "testIdx": test,
        "prompt": {"raw": template.replace("{{country}}", country), "label": label or template},
        "provider": {"id": "file://clerk.js", "label": f"clerk {column // prompts}"},
        "response": {"output": country if passed else "?"},
        "score": float(passed),
        "success": passed,
        "testCase": {"vars": {"country": country}, "assert": [{"type": "equals", "value": country}]},
        "vars": {"country": country},
        "failureReason": 0 if passed else 1,
        "latencyMs": 10 + test,
    }


def evaluation(rows: Sequence[Row], *, prompts: int = 2, providers: int = 1, repeat: int | None = 1) -> Record:
    columns = [
        {"raw": PROMPTS[k], "label": PROMPTS[k], "provider": f"clerk {n}"}
        for n in range(providers)
        for k in range(prompts)
    ]
    options = {} if repeat is None else {"runtimeOptions": {"repeat": repeat}}
    return {"results": {"version": 3, "prompts": columns, "results": list(rows)}, "config": {}, **options}


def two_prompts(rng: random.Random) -> list[Row]:
    """The second prompt is right far more often."""
    return [
        promptfoo_row(column, n, country, passed=rng.random() < (0.2, 0.9)[column])
        for n, country in enumerate(COUNTRIES)
        for column in (0, 1)
    ]


def rates(shop: Workshop) -> dict[str, tuple[float, str]]:
    """The rate and the prompt of each transcript in the folder, by algorithm."""
    runs = {}
    for path in (shop.folder / "transcripts").rglob("*.jsonl"):
        header, *records, _ = map(json.loads, path.read_text().splitlines())
        rate = sum(record["outcome"] == "TP" for record in records) / len(records)
        runs[header["algorithm"]["name"]] = (rate, header["params"]["prompt"])
    return runs


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_prompts_are_numbered_as_promptfoo_does_and_keep_their_text(shop: Workshop, form: str) -> None:
    """The first row may be of the second prompt: rows come in the order in which answers arrived."""
    rng = random.Random(1)
    rows = two_prompts(rng)
    wanted = {
        f"clerk 0 prompt {column + 1}": (
            sum(row["success"] for row in rows if row["promptIdx"] == column) / len(COUNTRIES),
            PROMPTS[column],
        )
        for column in (0, 1)
    }
    assert wanted["clerk 0 prompt 1"][0] < wanted["clerk 0 prompt 2"][0]
    rows.sort(key=lambda row: -row["promptIdx"])
    text = json.dumps(evaluation(rows)) if form == "json" else "\n".join(map(json.dumps, rows))
    assert shop.call("import", shop.write(f"log.{form}", text)).status == 0
    assert rates(shop) == wanted


def test_the_same_prompt_of_two_providers_has_one_number(shop: Workshop) -> None:
    rows = [promptfoo_row(column, 0, "France", passed=True) for column in (3, 0, 2, 1)]
    shop.call("import", shop.write("log.json", json.dumps(evaluation(rows, providers=2))))
    assert {name: prompt for name, (_, prompt) in rates(shop).items()} == {
        f"clerk {provider} prompt {k + 1}": PROMPTS[k] for provider in (0, 1) for k in (0, 1)
    }


def test_columns_with_the_same_names_are_kept_apart_in_their_order(shop: Workshop) -> None:
    """Two providers may have one label, as in runs of one model with other settings."""
    rows = [promptfoo_row(column, 0, "France", passed=column == 0, prompts=1) for column in (1, 0)]
    for row in rows:
        row["provider"]["label"] = "clerk"
    shop.call("import", shop.write("log.jsonl", "\n".join(map(json.dumps, rows))))
    assert {name: rate for name, (rate, _) in rates(shop).items()} == {"clerk": 1.0, "clerk 2": 0.0}


def test_a_prompt_with_a_label_keeps_its_text(shop: Workshop) -> None:
    rows = [promptfoo_row(0, 0, "France", passed=True, label="short")]
    header, _ = import_one(shop, shop.write("log.json", json.dumps(evaluation(rows, prompts=1))))
    assert header["params"]["prompt"] == PROMPTS[0]
    header, _ = import_one(shop, shop.write("log.jsonl", json.dumps(rows[0])))
    assert header["params"]["prompt"] == "short"


def test_repeats_are_no_cases_in_lines_either(shop: Workshop) -> None:
    """Neither the number of repeats nor which rows are repeats is in such a file, except by what they ask."""
    rows = document(PROMPTFOO / "repeated.json")["results"]["results"]
    lines = shop.write("repeated.jsonl", "\n".join(map(json.dumps, rows)))
    assert shop.call("import", PROMPTFOO / "repeated.json", "--test", "whole").status == 0
    assert shop.call("import", lines, "--test", "lines").status == 0
    for name in ("terse clerk", "polite clerk"):
        whole, by_line = (
            [
                *map(
                    json.loads,
                    (shop.folder / f"transcripts/{test}/{name.replace(' ', '_')}.jsonl").read_text().splitlines(),
                )
            ]
            for test in ("whole", "lines")
        )
        assert whole[0]["test"]["cases"] == by_line[0]["test"]["cases"] == 5
        assert whole[1:-1] == by_line[1:-1]
        assert [(record["id"], record["repeat"]) for record in by_line[1:-1]] == [
            (str(n), k) for n in range(5) for k in (1, 2)
        ]


def test_repeats_of_several_values_of_a_variable_are_repeats(shop: Workshop) -> None:
    """Tests are numbered repeat by repeat, and within one by the values of a variable that has several."""
    rows = [
        promptfoo_row(0, turn * 3 + n, COUNTRIES[n], passed=n == turn, prompts=1) for turn in range(2) for n in range(3)
    ]
    for log in (
        shop.write("log.json", json.dumps(evaluation(rows, prompts=1, repeat=2))),
        shop.write("log.jsonl", "\n".join(map(json.dumps, rows))),
    ):
        header, records = import_one(shop, log)
        assert header["test"]["cases"] == 3
        assert [name for name, record in records.items() if record["outcome"] == "TP"] == ["0#1", "1#2"]


def test_the_same_test_twice_is_two_cases_if_nothing_was_repeated(shop: Workshop) -> None:
    rows = [promptfoo_row(0, n, COUNTRIES[n // 2], passed=n == 1, prompts=1) for n in range(3)]
    _, records = import_one(shop, shop.write("log.json", json.dumps(evaluation(rows, prompts=1))))
    assert {name: record["outcome"] for name, record in records.items()} == {"0": "FN", "1": "TP", "2": "FN"}


def test_old_versions_number_neither_prompts_nor_tests(shop: Workshop) -> None:
    rows = two_prompts(random.Random(2))
    for row in rows:
        del row["promptIdx"], row["testIdx"]
    imports = []
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        shop.call("import", shop.write("log.jsonl", "\n".join(map(json.dumps, rows))), "--test", f"t{seed}")
        imports.append(
            {
                path.name: path.read_text().splitlines()[1:-1]
                for path in (shop.folder / "transcripts" / f"t{seed}").iterdir()
            }
        )
    assert imports[0] == imports[1] == imports[2]
    assert len(imports[0]) == 2


# --- inspect_ai: clusters


def inspect_log(metrics: Any, *, task_metrics: Any = None, samples: int = 12) -> Record:
    """Questions about three documents, as inspect_ai 0.3 logs them."""
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "reading",
            "model": "mockllm/model",
            "dataset": {"samples": samples, "sample_ids": list(range(samples))},
            "scorers": [{"name": "match", "options": {}, "metrics": metrics, "metadata": {}}],
            **({} if task_metrics is None else {"metrics": task_metrics}),
        },
        "samples": [
            {"id": n, "epoch": 1, "target": "x", "scores": {"match": {"value": "CI"[n % 5 == 0]}},
             "metadata": {"document": f"d{n // 4}", "site": n % 2}}
            for n in range(samples)
        ],
    }  # fmt: skip


MEAN = {"name": "inspect_ai/accuracy", "options": {}}


def stderr(cluster: str | None) -> Record:
    return {"name": "inspect_ai/stderr", "options": {} if cluster is None else {"cluster": cluster}}


@pytest.mark.parametrize(
    ("metrics", "task_metrics"),
    [
        ([MEAN, stderr("document")], None),
        ({"*": [MEAN, stderr("document")]}, None),
        ([MEAN, {"value": [stderr("document")]}], None),
        ([MEAN, stderr(None)], [stderr("document")]),
        ([MEAN, {"name": "inspect_ai/ci", "options": {"level": 0.9, "cluster": "document"}}], None),
    ],
)
def test_the_cluster_of_inspect_is_the_psu(shop: Workshop, metrics: Any, task_metrics: Any) -> None:
    path = shop.write("log.json", json.dumps(inspect_log(metrics, task_metrics=task_metrics)))
    header, records = import_one(shop, path)
    assert header["design"] == {"psu": "document"}
    assert [records[str(n)]["psu"] for n in (0, 4, 11)] == ["d0", "d1", "d2"]
    done = shop.call("import", path, "-o", "again.jsonl", "--format", "json")
    assert "psu: document, which the log's metrics declare as cluster; --psu none takes" in done.err
    assert done.json["rows"][0]["replication"]["target"] == "new documents"


def test_the_user_may_name_another_psu_or_none(shop: Workshop) -> None:
    path = shop.write("log.json", json.dumps(inspect_log([stderr("document")])))
    assert import_one(shop, path, "--psu", "site")[0]["design"] == {"psu": "site"}
    header, records = import_one(shop, path, "--psu", "none")
    assert header["design"] == {}
    assert "psu" not in records["0"]


def test_logs_without_a_cluster_have_none(shop: Workshop) -> None:
    path = shop.write("log.json", json.dumps(inspect_log([MEAN, stderr(None)])))
    assert import_one(shop, path)[0]["design"] == {}
    assert import_one(shop, INSPECT / "capitals_zstd.eval", "--metric", "match")[0]["design"] == {}


def test_several_clusters_need_a_choice(shop: Workshop) -> None:
    path = shop.write("log.json", json.dumps(inspect_log([stderr("document"), stderr("site")])))
    assert "several clusters, 'document', 'site'; choose one with --psu" in refused(shop, path)
    assert import_one(shop, path, "--psu", "site")[0]["design"] == {"psu": "site"}


def test_a_cluster_that_no_sample_has_is_refused(shop: Workshop) -> None:
    path = shop.write("log.json", json.dumps(inspect_log([stderr("chapter")])))
    assert "declares 'chapter' as cluster, but no sample has it; --psu COLUMN" in refused(shop, path)


# --- lm-evaluation-harness: filters and directions


def samples(marks: Sequence[tuple[str, float]], metric: str = "exact_match", **more: float) -> str:
    """A line for each document and filter."""
    lines = [
        {"doc_id": n, "doc": {"question": f"q{n}"}, "target": "a", "arguments": {}, "resps": [["a"]],
         "filtered_resps": ["a"], "filter": name, "metrics": [metric, *more], metric: mark, **more}
        for n, (name, mark) in enumerate(marks)
    ]  # fmt: skip
    return "\n".join(map(json.dumps, lines))


def test_other_filters_of_one_metric_are_not_compared(shop: Workshop) -> None:
    """Files with one filter each: their metric has the same name, and means something else."""
    for name, kind in (("strict", "strict-match"), ("flexible", "flexible-extract")):
        path = shop.write(f"{name}/samples_sums.jsonl", samples([(kind, float(n % 3 > 0)) for n in range(6)]))
        assert shop.call("import", path).status == 0
    for command in ("compare", "report"):
        more = () if command == "compare" else ("-o", "page.html")
        done = shop.call(command, "strict", "flexible", *more)
        assert (done.status, done.out) == (2, "")
        assert "'exact_match,strict-match' there, 'exact_match,flexible-extract' here" in done.err
        assert "--metric" in done.err
    assert shop.call("compare", "strict", "flexible", "--unpaired").status == 2
    values = shop.call("compare", "strict", "flexible", "--statistic", "exact_match")
    assert values.status == 2


def test_a_metric_may_be_named_without_its_only_filter(shop: Workshop) -> None:
    path = shop.write("samples_sums.jsonl", samples([("strict-match", 1.0), ("strict-match", 0.0)]))
    header, _ = import_one(shop, path, "--metric", "exact_match")
    assert header["decided"] == {"metric": "exact_match,strict-match"}
    path = shop.write("samples_sums.jsonl", samples([("none", 1.0), ("none", 0.0)]))
    for name in ("exact_match", "exact_match,none"):
        assert import_one(shop, path, "--metric", name)[0]["decided"] == {"metric": "exact_match"}
    both = LM_EVAL / "dummy" / "samples_sums_2026-11-16T03-20-12.618752.jsonl"
    text = refused(shop, both, "--metric", "exact_match")
    assert "'exact_match,strict-match', 'exact_match,flexible-extract'" in text


def test_one_filter_of_two_is_the_same_as_that_filter_alone(shop: Workshop) -> None:
    both = LM_EVAL / "dummy" / "samples_sums_2026-11-16T03-20-12.618752.jsonl"
    strict = [line for line in both.read_text().splitlines() if json.loads(line)["filter"] == "strict-match"]
    shop.call("import", both, "--metric", "exact_match,strict-match", "-o", "both.jsonl", "--algorithm", "both")
    alone = shop.write("samples_sums.jsonl", "\n".join(strict))
    shop.call("import", alone, "-o", "alone.jsonl", "--algorithm", "alone", "--test-version", "1")
    pair = shop.call("compare", "both.jsonl", "alone.jsonl", "--format", "json").json["pairs"][0]
    assert pair["n_sf"] == pair["n_fs"] == 0


def with_summary(shop: Workshop, text: str, higher: dict[str, bool], model: str = "m") -> Path:
    date = "2026-11-17T00-00-00.000000"
    summary = {"results": {}, "model_name": model, "higher_is_better": {"qa": higher}, "versions": {"qa": 1}}
    shop.write(f"{model}/results_{date}.json", json.dumps(summary))
    return shop.write(f"{model}/samples_qa_{date}.jsonl", text)


def test_lm_eval_says_what_is_better(shop: Workshop) -> None:
    text = samples([("x", 1.0), ("x", 0.0)], toxicity=0.3, length=7.0)
    path = with_summary(shop, text, {"exact_match": True, "toxicity": False})
    header, _ = import_one(shop, path)
    assert header["values"] == {
        "exact_match_x": {"larger_is_better": True},
        "toxicity_x": {"larger_is_better": False},
    }
    header, _ = import_one(shop, path, "--higher", "toxicity,x", "--lower", "length_x")
    assert {name: info["larger_is_better"] for name, info in header["values"].items()} == {
        "exact_match_x": True, "length_x": False, "toxicity_x": True,
    }  # fmt: skip


def test_real_logs_of_lm_eval_say_what_is_better(shop: Workshop) -> None:
    path = next((LM_EVAL / "toy__longest-word").glob("samples_colours_*"))
    header, _ = import_one(shop, path, "--metric", "acc")
    assert header["values"] == {name: {"larger_is_better": True} for name in ("acc", "acc_norm")}


@pytest.mark.parametrize(("sign", "larger"), [(-1, True), (1, False)])
def test_a_perplexity_by_document_is_a_log_likelihood(shop: Workshop, sign: int, larger: bool) -> None:
    """lm-evaluation-harness makes the perplexity of the mean over documents, and logs what that is made of."""
    lines = [
        json.loads(line) | {"perplexity": sign * (n + 0.5), "metrics": ["acc", "perplexity"]}
        for n, line in enumerate(samples([("none", 1.0), ("none", 0.0)], metric="acc").splitlines())
    ]
    path = with_summary(shop, "\n".join(map(json.dumps, lines)), {"acc": True, "perplexity": False})
    assert import_one(shop, path)[0]["values"]["perplexity"] == {"larger_is_better": larger}


def test_a_metric_of_which_less_is_better_does_not_decide_what_is_right(shop: Workshop) -> None:
    """Its ones would count as successes."""
    text = samples([("none", 1.0), ("none", 0.0)], metric="toxic")
    path = with_summary(shop, text, {"toxic": False})
    assert "toxic cannot decide what is right: by its log, less of it is better" in refused(shop, path)
    text = samples([("none", 1.0), ("none", 0.0)], metric="toxic", acc=1.0)
    path = with_summary(shop, text, {"toxic": False, "acc": True})
    assert import_one(shop, path)[0]["decided"] == {"metric": "acc"}
    assert "less of it is better, --metric chooses another ('acc')" in refused(shop, path, "--metric", "toxic")


def test_marks_that_say_right_or_wrong_have_a_direction(shop: Workshop) -> None:
    header, _ = import_one(shop, INSPECT / "capitals_zstd.eval", "--metric", "match")
    assert header["values"] == {name: {"larger_is_better": True} for name in ("includes", "match")}
    header, _ = import_one(shop, INSPECT / "graded.json", "--metric", "parts.known")
    assert header["values"] == {"parts.known": {"larger_is_better": True}}


# --- a law: the order of the rows does not matter


def shuffled_lines(path: Path, seed: int) -> str:
    lines = path.read_text().splitlines()
    random.Random(seed).shuffle(lines)
    return "\n".join(lines)


def shuffled_results(path: Path, seed: int) -> str:
    log = document(path)
    random.Random(seed).shuffle(log["results"]["results"])
    return json.dumps(log)


def shuffled_samples(path: Path, seed: int) -> str:
    log = document(path)
    random.Random(seed).shuffle(log["samples"])
    return json.dumps(log)


LOGS: list[tuple[Path, Callable[[Path, int], str], tuple[str, ...]]] = [
    (next((LM_EVAL / "dummy").glob("samples_sums_*")), shuffled_lines, ("--metric", "exact_match,strict-match")),
    (next((LM_EVAL / "dummy").glob("samples_colours_*")), shuffled_lines, ("--metric", "acc")),
    (INSPECT / "capitals_error.json", shuffled_samples, ("--metric", "match")),
    (PROMPTFOO / "capitals.json", shuffled_results, ()),
    (PROMPTFOO / "capitals.jsonl", shuffled_lines, ()),
    (PROMPTFOO / "repeated.json", shuffled_results, ()),
]


@pytest.mark.parametrize(
    ("log", "shuffle", "words"), LOGS, ids=[f"{log.parent.name}/{log.name[:16]}" for log, *_ in LOGS]
)
def test_the_order_of_the_rows_changes_nothing(
    shop: Workshop, log: Path, shuffle: Callable[[Path, int], str], words: tuple[str, ...]
) -> None:
    made = []
    for seed in range(4):
        text = log.read_text() if seed == 0 else shuffle(log, seed)
        path = shop.write(f"{seed}/{log.name}", text)
        assert shop.call("import", path, *words, "--test", f"t{seed}", "--test-version", "1").status == 0
        folder = shop.folder / "transcripts" / f"t{seed}"
        # An algorithm without a name is called like its folder.
        made.append([path.read_text().splitlines()[1:-1] for path in sorted(folder.iterdir())])
    assert all(lines == made[0] for lines in made)


@pytest.mark.parametrize("seed", range(4))
def test_the_verdict_on_two_prompts_does_not_depend_on_the_order_of_rows(shop: Workshop, seed: int) -> None:
    rows = two_prompts(random.Random(5))
    random.Random(seed).shuffle(rows)
    shop.call("import", shop.write("log.json", json.dumps(evaluation(rows))))
    done = shop.call("compare", "clerk 0 prompt 1", "clerk 0 prompt 2", "--format", "json")
    assert done.json["pairs"][0]["better"] == "clerk 0 prompt 2"
