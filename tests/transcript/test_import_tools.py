"""Logs that lm-evaluation-harness, inspect_ai and promptfoo wrote (tests/data/import/README.md says how).

Truth: the totals that the tools themselves give beside the samples.
"""

import json
import zipfile
from pathlib import Path

import pytest

from harness.files.digest import digest_without_script
from tests.transcript.imports import INSPECT, LM_EVAL, PROMPTFOO, document, import_one, outcomes, refused
from tests.workshop import Workshop

TOY = LM_EVAL / "toy__longest-word"
DUMMY = LM_EVAL / "dummy"


def sample_file(folder: Path, task: str) -> Path:
    return next(folder.glob(f"samples_{task}_*.jsonl"))


def totals(folder: Path, task: str) -> dict[str, float]:
    found: dict[str, float] = document(next(folder.glob("results_*.json")))["results"][task]
    return found


@pytest.mark.parametrize("folder", [TOY, DUMMY], ids=lambda folder: folder.name)
@pytest.mark.parametrize(
    ("task", "metric", "total"),
    [
        ("colours", "acc", "acc,none"),
        ("colours", "acc_norm", "acc_norm,none"),
        ("sums", "exact_match,strict-match", "exact_match,strict-match"),
        ("sums", "exact_match,flexible-extract", "exact_match,flexible-extract"),
    ],
)
def test_lm_eval_rates_agree_with_lm_eval(shop: Workshop, folder: Path, task: str, metric: str, total: str) -> None:
    header, records = import_one(shop, sample_file(folder, task), "--metric", metric)
    right = sum(outcome == "TP" for outcome in outcomes(records).values())
    assert right / len(records) == pytest.approx(totals(folder, task)[total])
    assert header["params"] == {"metric": metric}


def test_lm_eval_names_task_version_and_model(shop: Workshop) -> None:
    header, records = import_one(shop, sample_file(TOY, "colours"), "--metric", "acc", "--stratum", "subject")
    assert header["test"]["name"] == "colours"
    assert header["test"]["version"] == "1.5"
    assert header["test"]["task"] == "label"
    assert header["test"]["cases"] == 6
    assert header["algorithm"]["name"] == "toy/longest-word"
    assert header["design"] == {"stratum": "subject"}
    assert header["test"]["digest"] == digest_without_script((r["id"], r["expect"]) for r in records.values())
    # The likelier word is the longer one: "green" before "blue".
    assert records["1"] == {
        "id": "1", "outcome": "FN", "positive": True, "expect": "1", "actual": "0", "stratum": "nature",
        "columns": {"question": "The clear sky is", "answer": 1, "subject": "nature"},
        "values": {"acc": 0.0, "acc_norm": 0.0},
    }  # fmt: skip


def test_lm_eval_reads_the_answer_of_the_chosen_filter(shop: Workshop) -> None:
    file = sample_file(TOY, "sums")
    _, strict = import_one(shop, file, "--metric", "exact_match,strict-match", "--psu", "meta.digits")
    _, flexible = import_one(shop, file, "--metric", "exact_match,flexible-extract")
    assert [strict["3"][key] for key in ("outcome", "actual", "expect", "psu")] == ["FN", "[invalid]", "42", "2"]
    assert [flexible["3"][key] for key in ("outcome", "actual")] == ["TP", "42"]


def test_lm_eval_with_several_metrics_needs_a_choice(shop: Workshop) -> None:
    line = refused(shop, sample_file(TOY, "colours"))
    assert line.endswith("several metrics: 'acc', 'acc_norm'; choose one with --metric (all are kept as values)")
    assert "did you mean 'acc_norm'?" in refused(shop, sample_file(TOY, "colours"), "--metric", "acc_nrm")


def test_lm_eval_without_its_summary_uses_file_names(shop: Workshop) -> None:
    text = sample_file(TOY, "colours").read_text(encoding="utf-8")
    shop.write("some-model/samples_leaderboard_mmlu_2026-11-16T03-19-18.439648.jsonl", text)
    folder = shop.folder / "some-model"
    header, _ = import_one(shop, next(folder.iterdir()), "--metric", "acc")
    assert (header["test"]["name"], header["test"]["version"]) == ("leaderboard_mmlu", "0")
    assert header["algorithm"]["name"] == "some-model"


def test_lm_eval_of_older_versions_has_numbers_and_no_filter(shop: Workshop) -> None:
    lines = [
        {"doc_id": n, "doc": {}, "target": n % 2, "resps": [[[-1.0, False]], [[-2.0 * n, True]]],
         "filtered_resps": [[-1.0, False], [-2.0 * n, True]], "acc": float(n == 1), "acc_bytes": [1, 2]}
        for n in range(2)
    ]  # fmt: skip
    shop.write("samples_old.jsonl", "\n".join(map(json.dumps, lines)))
    _, records = import_one(shop, "samples_old.jsonl")
    assert {name: (r["outcome"], r["expect"], r["actual"]) for name, r in records.items()} == {
        "0": ("FN", "0", "1"),
        "1": ("TP", "1", "0"),
    }


def test_the_summary_of_lm_eval_is_not_its_samples(shop: Workshop) -> None:
    assert "import samples_*.jsonl (--log_samples)" in refused(shop, next(TOY.glob("results_*.json")))


def test_inspect_archive_with_zstd_and_two_epochs(shop: Workshop) -> None:
    with zipfile.ZipFile(INSPECT / "capitals_zstd.eval") as archive:
        assert {info.compress_type for info in archive.infolist()} == {93}
    header, records = import_one(shop, INSPECT / "capitals_zstd.eval", "--metric", "match", "--psu", "continent")
    assert header["repeat"] == 2
    assert header["test"] | {"digest": ""} == {
        "name": "capitals", "version": "2", "digest": "", "task": "label", "cases": 6,
    }  # fmt: skip
    assert header["algorithm"]["name"] == "mockllm/model"
    wrong = {name for name, record in records.items() if record["outcome"] == "FN"}
    assert wrong == {"peru#1", "peru#2", "chile#1", "chile#2"}
    assert list(records)[:3] == ["france#1", "france#2", "peru#1"]  # the order of the dataset
    assert records["peru#2"] | {"repeat": 0} == {
        "id": "peru", "outcome": "FN", "positive": True, "expect": "Lima", "actual": "I do not know", "repeat": 0,
        "psu": "Americas", "columns": {"continent": "Americas", "words.n": 3},
        "values": {"includes": 0.0, "match": 0.0},
    }  # fmt: skip


def test_inspect_archive_with_deflate(shop: Workshop) -> None:
    with zipfile.ZipFile(INSPECT / "capitals_deflate.eval") as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_DEFLATED}
        scores = json.loads(archive.read("header.json"))["results"]["scores"]
    _, records = import_one(shop, INSPECT / "capitals_deflate.eval", "--metric", "includes")
    right = sum(record["outcome"] == "TP" for record in records.values())
    accuracy = next(score["metrics"]["accuracy"]["value"] for score in scores if score["name"] == "includes")
    assert right / len(records) == pytest.approx(accuracy)


def test_inspect_json_with_a_sample_in_error(shop: Workshop) -> None:
    header, records = import_one(shop, INSPECT / "capitals_error.json", "--metric", "match")
    results = document(INSPECT / "capitals_error.json")["results"]
    scored = [record for record in records.values() if "error" not in record]
    assert len(scored) == results["completed_samples"]
    assert (
        sum(r["outcome"] == "TP" for r in scored) / len(scored) == results["scores"][0]["metrics"]["accuracy"]["value"]
    )
    assert records["mali"]["outcome"] == "FN"
    assert records["mali"]["error"] == "crash"
    assert records["mali"]["message"] == "ValueError('no such country here')"
    assert "actual" not in records["mali"]
    assert "repeat" not in header


def test_all_three_logs_of_one_dataset_are_one_test(shop: Workshop) -> None:
    names = ("capitals_zstd.eval", "capitals_deflate.eval", "capitals_error.json")
    headers = [import_one(shop, INSPECT / name, "--metric", "match")[0] for name in names]
    assert len({json.dumps([header["test"], header["algorithm"]]) for header in headers}) == 1


def test_inspect_partial_credit_is_never_rounded(shop: Workshop) -> None:
    graded = INSPECT / "graded.json"
    assert "several metrics: 'overlap', 'parts.length', 'parts.known', 'unsure'" in refused(shop, graded)
    line = refused(shop, graded, "--metric", "overlap")
    assert "overlap is 0.666667, neither 0 nor 1; --success-at X" in line
    assert "parts.known" in line
    header, records = import_one(shop, graded, "--metric", "overlap", "--success-at", "0.6")
    assert {name: (r["outcome"], round(r["score"], 3)) for name, r in records.items()} == {
        "1": ("TP", 0.667), "2": ("TP", 1.0), "3": ("FN", 0.5),
    }  # fmt: skip
    # The mark is a score with a threshold, so that other thresholds cost nothing.
    assert header["test"]["task"] == "score"
    assert header["params"] == {"metric": "overlap", "threshold": 0.6}


def test_inspect_nan_means_not_scored(shop: Workshop) -> None:
    assert b"NaN" in (INSPECT / "graded.json").read_bytes()
    _, records = import_one(shop, INSPECT / "graded.json", "--metric", "unsure")
    assert outcomes(records) == {"1": "TP", "2": "FN", "3": "TP"}
    assert (records["2"]["error"], records["2"]["message"]) == ("answer", "no mark by unsure")


def test_an_unfinished_log_is_refused_unless_partial(shop: Workshop) -> None:
    target = shop.folder / "killed.eval"
    with zipfile.ZipFile(INSPECT / "capitals_deflate.eval") as whole, zipfile.ZipFile(target, "w") as killed:
        for name in ("_journal/start.json", "samples/peru_epoch_1.json", "samples/france_epoch_1.json"):
            killed.writestr(name, whole.read(name))
    line = refused(shop, target, "--metric", "match")
    assert "its status is 'started'" in line
    assert "--partial" in line
    header, records = import_one(shop, target, "--metric", "match", "--partial")
    assert list(records) == ["france", "peru"]
    assert header["test"]["cases"] == 2


def test_a_log_with_samples_missing_is_refused(shop: Workshop) -> None:
    log = document(INSPECT / "capitals_error.json")
    del log["samples"][2:]
    shop.write("short.json", json.dumps(log))
    assert "it has 2 of 6 samples; --partial" in refused(shop, "short.json", "--metric", "match")


def test_inspect_logs_with_one_score_and_with_limits(shop: Workshop) -> None:
    """Logs of 2024 have `score` instead of `scores`; a limit may leave a sample without any."""
    samples = [
        {"id": 1, "epoch": 1, "target": ["yes", "y"], "score": {"value": "C", "answer": "y"}},
        {"id": 2, "epoch": 1, "target": "no", "scores": {}, "limit": {"type": "time", "limit": 5}},
        {"id": 3, "epoch": 1, "target": "no", "score": {"value": "N"}, "output": {"completion": "?"}},
    ]
    log = {"status": "success", "eval": {"task": "T/x y", "model": "m"}, "samples": samples}
    shop.write("old.json", json.dumps(log))
    header, records = import_one(shop, "old.json")
    assert header["test"]["name"] == "t-x-y"
    assert outcomes(records) == {"1": "TP", "2": "FN", "3": "FN"}
    assert (records["1"]["expect"], records["1"]["actual"]) == ('["yes","y"]', "y")
    assert (records["2"]["error"], records["2"]["columns"]) == ("timeout", {"limit": "time"})
    assert records["3"]["actual"] == "?"


def test_promptfoo_totals_agree_with_promptfoo(shop: Workshop) -> None:
    done = shop.call("import", PROMPTFOO / "capitals.json", "--format", "json")
    rows = done.json["rows"]
    stats = document(PROMPTFOO / "capitals.json")["results"]["stats"]
    assert [row["algorithm"] for row in rows] == ["terse clerk", "polite clerk"]
    assert sum(row["TP"] for row in rows) == stats["successes"]
    assert sum(row["ER"] for row in rows) == stats["errors"]
    assert sum(row["FN"] for row in rows) == stats["failures"] + stats["errors"]


def test_promptfoo_records(shop: Workshop) -> None:
    assert shop.call("import", PROMPTFOO / "capitals.json").status == 0
    header, *terse, _ = shop.lines("transcripts/capitals/terse_clerk.jsonl")
    _, *polite, _ = shop.lines("transcripts/capitals/polite_clerk.jsonl")
    assert header["test"]["name"] == "capitals"
    assert [record["outcome"] for record in terse] == ["TP", "TP", "TP", "FN", "FN"]
    assert [record["outcome"] for record in polite] == ["TP", "FN", "TP", "FN", "TP"]
    assert (terse[4]["error"], terse[4]["message"]) == ("crash", "the clerk is out of office")
    assert "error" not in polite[1]
    assert (polite[1]["expect"], polite[1]["actual"]) == ("Lima", "It is Lima.")
    assert polite[1]["columns"] == {"description": "Peru", "country": "Peru", "continent": "Americas", "level": 1}
    # Two assertions: both are what was expected.
    assert json.loads(terse[2]["expect"])[0] == {"type": "icontains", "value": "Nairobi"}


def test_promptfoo_repeats_of_a_test_are_one_case(shop: Workshop) -> None:
    assert shop.call("import", PROMPTFOO / "repeated.json", "--id", "country").status == 0
    header, *terse, _ = shop.lines("transcripts/capitals/terse_clerk.jsonl")
    assert header["repeat"] == 2
    assert header["test"]["cases"] == 5
    assert [(record["id"], record["repeat"]) for record in terse[:4]] == [
        ("France", 1), ("France", 2), ("Peru", 1), ("Peru", 2),
    ]  # fmt: skip


def test_promptfoo_lines_are_the_same_results(shop: Workshop) -> None:
    for number, name in enumerate(("capitals.json", "capitals.jsonl")):
        assert shop.call("import", PROMPTFOO / name, "--algorithm", f"run{number}", "--test", "t").status == 0
    first, second = (shop.records(f"transcripts/t/run{number}.jsonl") for number in range(2))
    assert first == second


def test_promptfoo_marks_other_than_pass_can_be_chosen(shop: Workshop) -> None:
    assert "score is 0.675" in refused(shop, PROMPTFOO / "capitals.json", "--metric", "score")
    done = shop.call(
        "import", PROMPTFOO / "capitals.json", "--metric", "score", "--success-at", "0.8", "--format", "json"
    )
    assert [row["TP"] for row in done.json["rows"]] == [2, 3]
