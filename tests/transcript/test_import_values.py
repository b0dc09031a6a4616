"""Marks of other tools as values of records, checked against the means that the tools report."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.options import split_names
from harness.transcript.columns import read_columns
from harness.transcript.importing.metrics import plain_names
from tests.transcript.imports import INSPECT, LM_EVAL, PROMPTFOO, document, import_one, outcomes, refused
from tests.workshop import Record, Workshop

TOY = LM_EVAL / "toy__longest-word"


def mean(records: dict[str, Record], name: str) -> float:
    numbers = [record["values"][name] for record in records.values() if name in record.get("values", {})]
    return math.fsum(numbers) / len(numbers)


def lm_eval_samples(shop: Workshop, *metrics: dict[str, Any], name: str = "samples_qa.jsonl") -> Path:
    """One document for each mapping of metrics, graded or of zeros and ones, as in question answering."""
    lines = [
        {"doc_id": n, "doc": {"question": f"q{n}"}, "target": "a", "arguments": {}, "resps": [["a b"]],
         "filtered_resps": ["a b"], "filter": "none", "metrics": list(marks), **marks}
        for n, marks in enumerate(metrics)
    ]  # fmt: skip
    return shop.write(name, "\n".join(map(json.dumps, lines)))


@pytest.mark.parametrize("folder", ["toy__longest-word", "dummy"])
def test_lm_eval_means_agree_with_lm_eval(shop: Workshop, folder: str) -> None:
    totals = document(next((LM_EVAL / folder).glob("results_*.json")))["results"]
    _, records = import_one(shop, next((LM_EVAL / folder).glob("samples_colours_*")), "--metric", "acc_norm")
    for metric in ("acc", "acc_norm"):
        assert mean(records, metric) == pytest.approx(totals["colours"][f"{metric},none"])
    _, records = import_one(
        shop, next((LM_EVAL / folder).glob("samples_sums_*")), "--metric", "exact_match,strict-match"
    )
    for name in ("strict-match", "flexible-extract"):
        assert mean(records, f"exact_match_{name}") == pytest.approx(totals["sums"][f"exact_match,{name}"])


def test_inspect_means_agree_with_inspect(shop: Workshop) -> None:
    _, records = import_one(shop, INSPECT / "graded.json", "--metric", "parts.known")
    names = {"overlap": "overlap", "length": "parts.length", "known": "parts.known", "unsure": "unsure"}
    for score in document(INSPECT / "graded.json")["results"]["scores"]:
        assert mean(records, names[score["name"]]) == pytest.approx(score["metrics"]["mean"]["value"])
    # NaN: not scored.
    assert "unsure" not in records["2"]["values"]


def test_inspect_samples_in_error_have_no_values(shop: Workshop) -> None:
    _, records = import_one(shop, INSPECT / "capitals_error.json", "--metric", "match")
    assert [name for name, record in records.items() if "values" not in record] == ["mali"]
    assert records["japan"]["values"] == {"includes": 0.0, "match": 0.0}


def test_promptfoo_sums_agree_with_promptfoo(shop: Workshop) -> None:
    assert shop.call("import", PROMPTFOO / "capitals.json").status == 0
    for prompt in document(PROMPTFOO / "capitals.json")["results"]["prompts"]:
        records = shop.records(f"transcripts/capitals/{prompt['provider'].replace(' ', '_')}.jsonl")
        values = [record["values"] for record in records]
        told = prompt["metrics"]
        assert math.fsum(record["score"] for record in values) == pytest.approx(told["score"])
        assert sum(record["pass"] for record in values) == told["testPassCount"]
        for name, total in told["namedScores"].items():
            assert math.fsum(record.get(name, 0.0) for record in values) == pytest.approx(total)


def test_tables_keep_the_deciding_mark_and_the_named_columns(shop: Workshop) -> None:
    shop.write("t.csv", "id,grade,f1,note,n\na,7,0.5,x,1\nb,3,,y,2\nc,9,nan,z,3\nd,2, 1e-3,z,4\n")
    words = ("t.csv", "--success", "grade", "--success-at", "5", "--value", "f1,n")
    _, records = import_one(shop, *words)
    assert outcomes(records) == {"a": "TP", "b": "FN", "c": "TP", "d": "FN"}
    assert [record["values"] for record in records.values()] == [
        {"grade": 7.0, "f1": 0.5, "n": 1.0}, {"grade": 3.0, "n": 2.0}, {"grade": 9.0, "n": 3.0},
        {"grade": 2.0, "f1": 0.001, "n": 4.0},
    ]  # fmt: skip
    # A number of the answer is not a column of the case, unless the design names it.
    assert records["a"]["columns"] == {"note": "x"}
    assert import_one(shop, *words, "--psu", "n")[1]["a"]["columns"] == {"note": "x", "n": "1"}
    # One option each is the same.
    again = import_one(shop, *words[:-1], "f1", "--value", "n")[1]
    assert again == records


def test_predictions_keep_the_named_columns_and_their_scores(shop: Workshop) -> None:
    """The comparison of truth and prediction is the outcome itself, not a metric of another tool."""
    shop.write("p.csv", "y_true,y_pred,proba_a,proba_b,cost\na,a,0.75,0.25,3\nb,a,0.5,0.5,1\n")
    _, records = import_one(shop, "p.csv")
    assert [record.get("values") for record in records.values()] == [None, None]
    _, kept = import_one(shop, "p.csv", "--value", "cost", "--value", "proba_b")
    assert [record["values"] for record in kept.values()] == [
        {"cost": 3.0, "proba_b": 0.25},
        {"cost": 1.0, "proba_b": 0.5},
    ]
    assert [record["score"] for record in kept.values()] == [record["score"] for record in records.values()]


def test_json_lines_have_values_by_dotted_names_and_may_lack_them(shop: Workshop) -> None:
    rows = [
        {"id": 1, "ok": True, "judge": {"f1": 0.5}},
        {"id": 2, "ok": False},
        {"id": 3, "ok": 1, "judge": {"f1": None}},
    ]
    shop.write("t.jsonl", "\n".join(map(json.dumps, rows)))
    _, records = import_one(shop, "t.jsonl", "--success", "ok", "--value", "judge.f1")
    assert [record["values"] for record in records.values()] == [{"judge.f1": 0.5, "ok": 1.0}, {"ok": 0.0}, {"ok": 1.0}]


def test_swe_bench_reports_keep_all_marks(shop: Workshop) -> None:
    report = {f"django__django-{n}": {"resolved": n > 1, "patch_exists": True, "steps": 10 * n} for n in range(3)}
    shop.write("gpt.json", json.dumps(report))
    _, records = import_one(shop, "gpt.json", "--psu", "repo")
    assert records["django__django-2"]["values"] == {"patch_exists": 1.0, "resolved": 1.0, "steps": 20.0}
    lists = {"resolved_ids": ["a__b-1"], "error_ids": ["a__b-3"], "submitted_ids": ["a__b-1", "a__b-2", "a__b-3"]}
    shop.write("m.json", json.dumps(lists))
    assert [record["values"] for record in import_one(shop, "m.json")[1].values()] == [
        {"resolved": 1.0}, {"resolved": 0.0}, {"resolved": 0.0},
    ]  # fmt: skip


def test_one_metric_of_zeros_and_ones_decides_beside_graded_ones(shop: Workshop) -> None:
    path = lm_eval_samples(
        shop,
        {"f1": 0.5, "em": 0.0, "rouge": 0.25},
        {"f1": 1.0, "em": 1.0, "rouge": 1.0},
        {"f1": 0.0, "em": 0.0, "rouge": 0.0},
    )
    header, records = import_one(shop, path)
    assert header["params"] == {"metric": "em"}
    assert header["test"]["task"] == "label"
    assert outcomes(records) == {"0": "FN", "1": "TP", "2": "FN"}
    assert records["0"]["values"] == {"em": 0.0, "f1": 0.5, "rouge": 0.25}
    assert "em decides, the only metric of zeros and ones; --metric chooses another" in shop.call("import", path).err


@pytest.mark.parametrize(
    ("marks", "words", "said"),
    [
        # All graded: nothing says what was right.
        ([{"f1": 0.5}], (), "f1 is 0.5, neither 0 nor 1; --success-at X says from which mark an answer is right "
                            "(the marks are kept as values, for hate compare --statistic)"),
        ([{"f1": 0.5, "rouge": 7}], (), "several metrics: 'f1', 'rouge'; choose one with --metric, and --success-at X"),
        ([{"f1": 0.5, "em": 1}], ("--metric", "f1"), "f1 is 0.5, neither 0 nor 1; --success-at X"),
        # Two of zeros and ones.
        ([{"acc": 1, "em": 0, "f1": 0.5}], (), "choose one with --metric (all are kept as values)"),
        # --success-at means a graded metric.
        ([{"f1": 0.5, "em": 1}], ("--success-at", "0.5"), "several metrics: 'f1', 'em'; choose one"),
        # Answers without the only metric of zeros and ones would all be errors.
        ([{"f1": 0.5, "flag": 1}, {"f1": 0.5}], (), "several metrics: 'f1', 'flag'; choose one"),
        ([{"f1": 0.5, "em": math.nan}], ("--metric", "em"), "em: nan is neither a finite number nor true or false"),
        ([{"f1": 0.5, "em": math.inf}], ("--metric", "em", "--success-at", "1"), "em: inf is neither a finite number"),
    ],
)  # fmt: skip
def test_an_outcome_is_never_invented(
    shop: Workshop, marks: Sequence[dict[str, Any]], words: Sequence[str], said: str
) -> None:
    line = refused(shop, lm_eval_samples(shop, *marks), *words)
    assert said in line


def test_marks_that_are_not_finite_are_left_out_unless_they_decide(shop: Workshop) -> None:
    path = lm_eval_samples(shop, {"em": 1, "ppl": math.inf, "f1": math.nan}, {"em": 0, "ppl": 12.5, "f1": 0.5})
    _, records = import_one(shop, path)
    assert [record["values"] for record in records.values()] == [{"em": 1.0}, {"em": 0.0, "f1": 0.5, "ppl": 12.5}]


def test_a_graded_mark_is_a_value_and_the_score(shop: Workshop) -> None:
    _, records = import_one(shop, lm_eval_samples(shop, {"f1": 0.5}, {"f1": 0.25}), "--success-at", "0.5")
    assert [(r["outcome"], r["score"], r["values"]) for r in records.values()] == [
        ("TP", 0.5, {"f1": 0.5}),
        ("FN", 0.25, {"f1": 0.25}),
    ]


def test_what_was_imported_is_read_again(shop: Workshop) -> None:
    marks = [{"em": n % 2, "f1": n / 7, "rougeL": 1 / (n + 1)} for n in range(50)]
    path = lm_eval_samples(shop, *marks)
    import_one(shop, path)
    columns = read_columns(shop.folder / "out.jsonl")
    for name in ("em", "f1", "rougeL"):
        assert columns.values[name].tolist() == [mark[name] for mark in marks]


def test_the_digest_does_not_depend_on_values(shop: Workshop) -> None:
    one, _ = import_one(shop, lm_eval_samples(shop, {"em": 1, "f1": 0.5}))
    other, _ = import_one(shop, lm_eval_samples(shop, {"em": 1}))
    assert one["test"] == other["test"]


def test_a_note_lists_the_values(shop: Workshop) -> None:
    err = shop.call("import", lm_eval_samples(shop, {"em": 1, "f1": 0.5}, {"em": 0, "f1": math.nan})).err
    assert "values kept: em, f1 (1 of 2); hate compare --statistic NAME compares them\n" in err
    # One line for all files.
    assert shop.call("import", PROMPTFOO / "capitals.json").err == (
        "values kept: pass, score, length (2 of 10), name (2 of 10); hate compare --statistic NAME compares them\n"
    )
    shop.write("p.csv", "id,y_true,y_pred\n1,a,a\n")
    assert shop.call("import", "p.csv").err == ""
    wide = ",".join(f"c{n:02}" for n in range(30))
    shop.write("w.csv", f"id,ok,{wide}\n1,1,{wide.replace('c', '')}\n")
    assert "c19, and 11 more; hate" in shop.call("import", "w.csv", "--success", "ok", "--value", wide).err


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("much", "'much' is neither a finite number nor true or false"),
        ("1e999", "'1e999' is neither"),
        ("-inf", "'-inf' is neither"),
        ('"0,5"', "'0,5' is neither"),
        ('"[1, 2]"', "'[1, 2]' is neither"),
    ],
)
def test_a_cell_that_is_not_a_number_is_named(shop: Workshop, cell: str, said: str) -> None:
    shop.write("t.csv", f"id,ok,f1\na,1,0.5\nb,1,{cell}\n")
    line = refused(shop, "t.csv", "--success", "ok", "--value", "f1")
    assert line.startswith(f"hate: t.csv:3: f1: {said}")


def test_missing_values(shop: Workshop) -> None:
    shop.write("t.csv", "id,ok,rouge\na,1,0.5\n")
    line = refused(shop, "t.csv", "--success", "ok", "--value", "rogue")
    assert line == "hate: t.csv: no column 'rogue'; did you mean 'rouge'?"
    path = lm_eval_samples(shop, {"em": 1, "rouge": 0.5})
    assert refused(shop, path, "--value", "rogue").endswith(": --value: no metric 'rogue'; did you mean 'rouge'?")
    shop.write("n.jsonl", '{"id": 1, "ok": 1, "f1": {"deep": [1]}}\n{"id": 2, "ok": 1, "f1": 1}\n')
    assert "n.jsonl:1: f1: {'deep': [1]} is neither" in refused(shop, "n.jsonl", "--success", "ok", "--value", "f1")


def test_too_many_metrics_need_a_choice(shop: Workshop) -> None:
    marks = {"em": 1, **{f"m{n}": 0.5 for n in range(100)}}
    path = lm_eval_samples(shop, marks)
    assert "101 metrics, but a transcript holds at most 100 values; choose with --value NAME" in refused(shop, path)
    _, records = import_one(shop, path, "--value", "m3,m4", "--value", "m5")
    assert records["0"]["values"] == {"em": 1.0, "m3": 0.5, "m4": 0.5, "m5": 0.5}
    del marks["m99"]
    assert len(import_one(shop, lm_eval_samples(shop, marks))[1]["0"]["values"]) == 100


def test_names_can_be_typed(shop: Workshop) -> None:
    marks = {
        " schärfe ": 0.5,
        "pass@1": 1,
        "a b": 0.1,
        "a_b": 0.2,
        "a\x1b[31m": 0.3,
        "精度": 0.4,
        "": 0.6,
        "x" * 500: 0.7,
    }
    _, records = import_one(shop, lm_eval_samples(shop, marks), "--metric", "pass@1")
    assert records["0"]["values"] == {
        "a_b": 0.2, "pass@1": 1.0, "精度": 0.4, "value": 0.6, "schärfe": 0.5, "a__31m": 0.3, "a_b-2": 0.1,
        "x" * 100: 0.7,
    }  # fmt: skip


@given(st.lists(st.text(max_size=6) | st.text("a _-2", max_size=4), unique=True, max_size=20), st.randoms())
def test_plain_names_are_unique_in_any_order(names: list[str], rng: Any) -> None:
    renamed = plain_names(names)
    assert len(set(renamed.values())) == len(names)
    assert all(plain and "," not in plain and not any(map(str.isspace, plain)) for plain in renamed.values())
    # A plain name stays as it is.
    again = plain_names(renamed.values())
    assert again == {plain: plain for plain in renamed.values()}
    rng.shuffle(names)
    assert plain_names(names) == renamed


def test_a_known_name_with_a_comma_is_one_name() -> None:
    assert split_names(["a,b", " c , a,b"], {"a,b", "c", "a", "b"}.__contains__) == ["a,b", "c", "a", "b"]


def test_unicode_accents_are_the_same_however_they_are_written() -> None:
    assert plain_names(["sch\u00e4rfe"])["sch\u00e4rfe"] == plain_names(["scha\u0308rfe"])["scha\u0308rfe"]
    assert plain_names(["हिन्दी"]) == {"हिन्दी": "हिन्दी"}
