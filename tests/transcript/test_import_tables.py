"""Tables of predictions, tables with any columns, and mappings of ids to results."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model import Trial
from harness.transcript.importing.file import flat, look_up
from harness.transcript.importing.tools.predictions import label_text
from tests.transcript.imports import import_one, outcomes, refused
from tests.workshop import Workshop

DETECTION = """\
id,y_true,y_pred,y_score,site
r1,1,1,0.9,a
r2,0,1,0.6,a
r3,0,0,0.2,b
r4,1,0,0.4,b
r5,1,,,b
"""


def table(rows: list[dict[str, object]], delimiter: str = ",") -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def test_two_classes_are_a_detection(shop: Workshop) -> None:
    shop.write("svm.csv", DETECTION)
    header, records = import_one(shop, "svm.csv", "--psu", "site")
    assert outcomes(records) == {"r1": "TP", "r2": "FP", "r3": "TN", "r4": "FN", "r5": "FN"}
    assert [records[name].get("score") for name in records] == [0.9, 0.6, 0.2, 0.4, None]
    assert (records["r2"]["positive"], records["r2"]["truth"]) == (False, "0")
    assert records["r2"]["columns"] == {"site": "a"}
    assert "actual" not in records["r5"]
    assert header["test"] | {"digest": ""} == {
        "name": "imported", "version": "0", "digest": "", "task": "score", "cases": 5,
    }  # fmt: skip
    assert header["algorithm"]["name"] == "svm"


def test_detections_agree_with_scikit_learn(shop: Workshop) -> None:
    from sklearn.metrics import confusion_matrix  # type: ignore[import-untyped, unused-ignore]

    truth = [n * 7 % 11 % 2 for n in range(60)]
    predicted = [n * 5 % 13 % 2 for n in range(60)]
    shop.write("p.csv", table([{"y_true": t, "y_pred": p} for t, p in zip(truth, predicted, strict=True)]))
    _, records = import_one(shop, "p.csv")
    counted = [list(outcomes(records).values()).count(name) for name in ("TN", "FP", "FN", "TP")]
    assert counted == confusion_matrix(truth, predicted).ravel().tolist()


@pytest.mark.parametrize(
    ("true", "predicted"),
    [
        ("y_true", "y_pred"),
        ("Actual", "Predicted"),
        ("expected", "actual"),
        ("label", "prediction"),
        ("True Label", "pred"),
    ],
)
def test_usual_column_names_are_recognised(shop: Workshop, true: str, predicted: str) -> None:
    rows: list[dict[str, object]] = [{"Unnamed: 0": "a", true: "cat", predicted: "cat"}]
    rows.append({"Unnamed: 0": "b", true: "dog", predicted: "cat"})
    shop.write("p.csv", table(rows))
    _, records = import_one(shop, "p.csv")
    assert {name: (r["outcome"], r["expect"], r["actual"]) for name, r in records.items()} == {
        "a": ("TP", "cat", "cat"),
        "b": ("FN", "dog", "cat"),
    }


def test_the_score_of_a_label_is_its_lead(shop: Workshop) -> None:
    """Also if the answer is not the likeliest class: then it is negative."""
    shop.write("p.csv", "y_true;y_pred;proba_a;proba_b;proba_c\na;a;0.5;0.25;0.25\nb;c;0.5;0.25;0.25\nc;;1;0;0\n")
    header, records = import_one(shop, "p.csv")
    assert [record.get("score") for record in records.values()] == [0.25, -0.25, None]
    assert header["test"]["task"] == "label"
    assert "columns" not in records["1"]
    assert list(records) == ["1", "2", "3"]


def test_a_note_says_that_rows_without_ids_are_matched_by_number(shop: Workshop) -> None:
    shop.write("p.csv", "y_true,y_pred\na,a\n")
    assert "rows are matched by their number" in shop.call("import", "p.csv").err


def test_the_positive_class_can_be_named(shop: Workshop) -> None:
    shop.write("p.csv", "id,y_true,y_pred,y_score\n1,ham,spam,0.7\n2,spam,spam,0.9\n3,ham,ham,0.1\n")
    assert "which class is the score for? name it with --positive-label" in refused(shop, "p.csv")
    assert "not among the labels ham, spam" in refused(shop, "p.csv", "--positive-label", "eggs")
    _, records = import_one(shop, "p.csv", "--positive-label", "spam")
    assert outcomes(records) == {"1": "FP", "2": "TP", "3": "TN"}


@pytest.mark.parametrize(
    ("scores", "more", "noted"),
    [
        ((0.9, 0.2, 0.6, 0.7), (), False),
        ((0.9, 0.6, 0.6, 0.6), (), False),
        ((0.9, 0.8, 0.6, 0.6), (), True),  # how sure the answer is, as `predict_proba(x).max(axis=1)` has it
        ((0.9, 0.8, 0.6, 0.6), ("--success-at", "0.5"), False),
        (("", 0.8, 0.6, ""), (), False),
    ],
)
def test_scores_that_contradict_the_predictions_are_noted(
    shop: Workshop, scores: tuple[object, ...], more: tuple[str, ...], noted: bool
) -> None:
    rows = zip((1, 0, 1, 0), (1, 0, 0, 1), scores, strict=True)
    text = "\n".join(f"r{n},{true},{predicted},{score}" for n, (true, predicted, score) in enumerate(rows))
    shop.write("p.csv", f"id,y_true,y_pred,y_score\n{text}\n")
    done = shop.call("import", "p.csv", *more)
    assert done.status == 0, done.err
    assert ("an answer '0' has the score 0.8, and an answer '1' only 0.6" in done.err) == noted


def test_scores_without_predictions_need_a_threshold(shop: Workshop) -> None:
    text = "\n".join(",".join(row.split(",")[:2] + row.split(",")[3:4]) for row in DETECTION.splitlines()[:-1])
    shop.write("p.csv", text)
    assert "a score alone needs --success-at X" in refused(shop, "p.csv")
    header, records = import_one(shop, "p.csv", "--success-at", "0.4")
    assert outcomes(records) == {"r1": "TP", "r2": "FP", "r3": "TN", "r4": "TP"}
    assert header["params"] == {"metric": "correct", "threshold": 0.4}


def test_a_threshold_overrides_predictions(shop: Workshop) -> None:
    shop.write("p.csv", DETECTION)
    _, records = import_one(shop, "p.csv", "--success-at", "0.3")
    assert outcomes(records) == {"r1": "TP", "r2": "FP", "r3": "TN", "r4": "TP", "r5": "FN"}
    assert [records[name].get("score") for name in records] == [0.9, 0.6, 0.2, 0.4, None]


def test_probabilities_of_two_classes_are_scores(shop: Workshop) -> None:
    shop.write("p.csv", "id,y_true,y_pred,proba_0,proba_1\n1,1.0,1,0.1,0.9\n2,0.0,0,0.8,0.2\n")
    header, records = import_one(shop, "p.csv")
    assert [record["score"] for record in records.values()] == [0.9, 0.2]
    assert outcomes(records) == {"1": "TP", "2": "TN"}
    assert header["test"]["task"] == "score"


def test_different_truths_are_a_different_test(shop: Workshop) -> None:
    """Rows that are matched by number alone must not be compared if they are of different data."""
    shop.write("a.csv", "y_true,y_pred\n1,1\n0,0\n")
    shop.write("b.csv", "y_true,y_pred\n0,1\n1,0\n")
    digests = {import_one(shop, name)[0]["test"]["digest"] for name in ("a.csv", "b.csv")}
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("text", "plain"), [("1.0", "1"), ("-3.00", "-3"), (" True", "true"), ("1.5", "1.5"), ("A", "A")]
)
def test_labels_that_went_through_other_libraries(text: str, plain: str) -> None:
    assert label_text(text) == plain


def test_any_columns_nested_or_not(shop: Workshop) -> None:
    rows = [
        {"meta": {"key": "x", "doc": "d1"}, "judge": {"ok": True}, "gold": "A", "said": "A", "n": 1},
        {"meta": {"key": "y", "doc": "d1"}, "judge": {"ok": "no"}, "gold": "B", "said": None, "n": 2},
    ]
    shop.write("r.jsonl", "\n".join(map(json.dumps, rows)))
    shop.write("r.json", json.dumps(rows))
    words = ("--id", "meta.key", "--success", "judge.ok", "--expect", "gold", "--actual", "said", "--psu", "meta.doc")
    _, lines = import_one(shop, "r.jsonl", *words)
    _, array = import_one(shop, "r.json", *words)
    assert lines == array
    assert lines["x"] == {
        "id": "x", "outcome": "TP", "positive": True, "expect": "A", "actual": "A", "psu": "d1",
        "columns": {"meta.doc": "d1", "n": 1}, "values": {"judge.ok": 1.0},
    }  # fmt: skip
    assert lines["y"]["outcome"] == "FN"


def test_negative_cases_of_a_table(shop: Workshop) -> None:
    shop.write("t.csv", "id,claim,said,real\n1,a,a,yes\n2,a,b,yes\n3,a,a,no\n4,a,b,no\n")
    words = ("t.csv", "--expect", "claim", "--actual", "said", "--positive", "real")
    _, records = import_one(shop, *words)
    assert outcomes(records) == {"1": "TP", "2": "FN", "3": "FP", "4": "TN"}
    shop.write("u.csv", "id,ok,real\n1,1,1\n2,0,1\n3,1,0\n4,0,0\n")
    _, records = import_one(shop, "u.csv", "--success", "ok", "--positive", "real")
    assert outcomes(records) == {"1": "TP", "2": "FN", "3": "TN", "4": "FP"}


def test_a_score_alone_needs_a_threshold(shop: Workshop) -> None:
    shop.write("t.tsv", "id\tmatch\tsame\n1\t0.5\ttrue\n2\t0.9\tfalse\n3\t0.4\tfalse\n4\t\ttrue\n")
    assert "--success-at" in refused(shop, "t.tsv", "--score", "match", "--positive", "same")
    header, records = import_one(shop, "t.tsv", "--score", "match", "--positive", "same", "--success-at", "0.5")
    assert outcomes(records) == {"1": "TP", "2": "FP", "3": "TN", "4": "FN"}
    assert (header["test"]["task"], header["params"]["threshold"]) == ("score", 0.5)


def test_repeats_of_a_table(shop: Workshop) -> None:
    text = "id,ok,run\na,1,0\nb,0,0\na,0,1\nb,1,1\n"
    shop.write("t.csv", text)
    header, records = import_one(shop, "t.csv", "--success", "ok", "--repeat", "run")
    assert header["repeat"] == 2
    assert outcomes(records) == {"a#1": "TP", "a#2": "FN", "b#1": "FN", "b#2": "TP"}
    assert list(records) == ["a#1", "a#2", "b#1", "b#2"]


def test_strata_crossed_and_contradicted(shop: Workshop) -> None:
    shop.write("t.csv", "id,ok,day,place,subject\n1,1,mon,x/y,s1\n2,0,tue,z,s2\n3,1,tue,z,s1\n")
    header, records = import_one(shop, "t.csv", "--success", "ok", "--stratum", "day,place")
    assert header["design"] == {"stratum": ["day", "place"]}
    assert [record["stratum"] for record in records.values()] == ["mon/x\\/y", "tue/z", "tue/z"]
    line = refused(shop, "t.csv", "--success", "ok", "--stratum", "day", "--psu", "subject")
    assert "PSU 's1' is in two strata, 'mon' and 'tue'" in line
    assert "did you mean 'subject'?" in refused(shop, "t.csv", "--success", "ok", "--psu", "subjct")


def test_long_texts_are_columns_only_if_the_design_names_them(shop: Workshop) -> None:
    document = "word " * 100
    shop.write("t.csv", f"id,ok,text\n1,1,{document}\n2,0,short\n")
    _, records = import_one(shop, "t.csv", "--success", "ok")
    assert [record.get("columns") for record in records.values()] == [None, {"text": "short"}]
    _, records = import_one(shop, "t.csv", "--success", "ok", "--psu", "text")
    assert records["1"]["psu"] == document


def test_a_group_may_be_a_column_with_another_use_or_far_to_the_right(shop: Workshop) -> None:
    wide = ",".join(f"f{n}" for n in range(300))
    shop.write("t.csv", f"id,y_true,y_pred,{wide}\n1,a,a,{wide}\n2,b,a,{wide}\n")
    header, records = import_one(shop, "t.csv", "--stratum", "y_true", "--psu", "id,f299")
    assert header["design"] == {"stratum": "y_true", "psu": ["id", "f299"]}
    assert [(record["stratum"], record["psu"]) for record in records.values()] == [("a", "1/f299"), ("b", "2/f299")]


def test_lines_may_lack_an_answer(shop: Workshop) -> None:
    shop.write("t.jsonl", '{"id": 1, "want": "a", "said": "a"}\n{"id": 2, "want": "a"}\n')
    _, records = import_one(shop, "t.jsonl", "--expect", "want", "--actual", "said")
    assert outcomes(records) == {"1": "TP", "2": "FN"}
    assert "did you mean 'said'?" in refused(shop, "t.jsonl", "--expect", "want", "--actual", "sad")
    assert ":1: no column 'wnt'; did you mean 'want'?" in refused(
        shop, "t.jsonl", "--expect", "wnt", "--actual", "said"
    )


def test_unnamed_columns_are_an_error(shop: Workshop) -> None:
    shop.write("t.csv", "a,b\n1,2\n")
    assert refused(shop, "t.csv").endswith("or --expect and --actual; columns: a, b")
    assert "no column 'x'" in refused(shop, "t.csv", "--success", "x")
    assert "cannot tell" in refused(shop, "t.csv", "--expect", "b")
    assert refused(shop, "t.csv", "--actual", "b").endswith("--actual needs --expect or --success")


def test_a_named_column_turns_off_the_usual_ones_and_a_mistake_says_so(shop: Workshop) -> None:
    shop.write("p.csv", DETECTION.replace("y_score", "certainty"))
    needed = "p.csv: a score alone needs --success-at X, the lowest score that is accepted; where one column is named"
    hint = ", no other is guessed: add --expect 'y_true' and --actual 'y_pred'"
    assert refused(shop, "p.csv", "--score", "certainty") == f"hate: {needed}{hint}"
    assert refused(shop, "p.csv", "--actual", "y_pred").endswith("guessed: add --expect 'y_true'")
    words = ("p.csv", "--score", "certainty", "--expect", "y_true", "--actual", "y_pred")
    assert outcomes(import_one(shop, *words)[1]) == {"r1": "TP", "r2": "FP", "r3": "TN", "r4": "FN", "r5": "FN"}


def test_a_positive_label_needs_true_labels(shop: Workshop) -> None:
    shop.write("p.csv", DETECTION)
    for words in (("--score", "y_score", "--success-at", "0.5"), ("--success", "y_pred")):
        assert "--positive-label 1: needs true labels" in refused(shop, "p.csv", "--positive-label", "1", *words)
    shop.write("agent.json", '{"a": true, "b": false}')
    assert "--positive-label is for predictions in a table" in refused(shop, "agent.json", "--positive-label", "1")


def test_segmentations_are_not_judged_in_a_table(shop: Workshop) -> None:
    shop.write("p.csv", DETECTION)
    assert "--as mask is for COCO's detections, but this is a table (CSV)" in refused(shop, "p.csv", "--as", "mask")


def test_swe_bench_instances(shop: Workshop) -> None:
    report = {f"django__django-{n}": {"resolved": n > 1, "patch_exists": True} for n in range(3)}
    shop.write("gpt.json", json.dumps(report))
    header, records = import_one(shop, "gpt.json", "--test", "swe-bench", "--test-version", "1", "--psu", "repo")
    assert outcomes(records) == {"django__django-0": "FN", "django__django-1": "FN", "django__django-2": "TP"}
    assert {record["psu"] for record in records.values()} == {"django/django"}
    assert (header["test"]["name"], header["test"]["version"]) == ("swe-bench", "1")
    assert header["algorithm"]["name"] == "gpt"


def test_swe_bench_lists(shop: Workshop) -> None:
    report = {
        "total_instances": 5, "resolved_ids": ["a__b-1"], "unresolved_ids": ["a__b-2"], "error_ids": ["a__b-3"],
        "submitted_ids": ["a__b-1", "a__b-2", "a__b-3", "a__b-4"], "empty_patch_ids": ["a__b-4"], "schema_version": 2,
    }  # fmt: skip
    shop.write("m.json", json.dumps(report))
    _, records = import_one(shop, "m.json")
    assert outcomes(records) == {"a__b-1": "TP", "a__b-2": "FN", "a__b-3": "FN", "a__b-4": "FN"}
    assert [name for name, record in records.items() if "error" in record] == ["a__b-3"]
    # As in the leaderboard's archive, which does not list what was tried and failed.
    shop.write("only.json", json.dumps({"resolved": ["a", "b"], "no_generation": ["c"], "no_logs": []}))
    assert "no list says which ids were tried and not resolved; list all under" in refused(shop, "only.json")


def test_plain_mappings(shop: Workshop) -> None:
    shop.write("m.json", json.dumps({"a": True, "b": False, "c": 1}))
    assert outcomes(import_one(shop, "m.json")[1]) == {"a": "TP", "b": "FN", "c": "TP"}
    shop.write("g.json", json.dumps({"a": {"f1": 0.4, "em": 0}, "b": {"f1": 1, "em": 1}}))
    assert outcomes(import_one(shop, "g.json")[1]) == {"a": "FN", "b": "TP"}
    assert outcomes(import_one(shop, "g.json", "--metric", "f1", "--success-at", "0.4")[1]) == {"a": "TP", "b": "TP"}


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=5), parts, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text("ab.", min_size=1, max_size=3), TREES, max_size=4))
def test_flattened_columns_can_be_looked_up_and_written(row: dict[str, object]) -> None:
    for name, value in flat(row).items():
        assert isinstance(value, str | int | float)
        json.dumps(value, allow_nan=False)
        if "." not in "".join(row):
            assert look_up(row, name, "here") == value or name in row


# What a column may be called that has nothing to do with it.
FIELDS = [*Trial.__struct_fields__, "values.correct", "case"]
SAID = ("--id", "number", "--expect", "wanted", "--actual", "said", "--score", "lead", "--positive", "claim")
DESIGNS: dict[str, tuple[str, ...]] = {
    "no design": (),
    "units": ("--psu", "document"),
    "strata": ("--stratum", "shelf", "--psu", "document"),
    "repeated": ("--repeat", "turn"),
}
ASKED: dict[str, tuple[str, ...]] = {
    "rate": ("--by", "document"),
    "compare": ("--by", "document"),
    "confusion": (),
    "roc": ("--points", "5"),
    "fuse": ("-o", "fused.jsonl", "--force"),
    "anova": ("--by", "shelf"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("design", DESIGNS)
def test_what_other_columns_are_called_changes_no_answer(shop: Workshop, design: str) -> None:
    """A column `psu` was taken for the unit that --psu had named, and `truth` for the right answer."""

    def answers(ending: str) -> dict[str, object]:
        for run in ("one", "two"):
            rows = []
            for n in range(48):
                case = n // 2 if design == "repeated" else n
                row: dict[str, object] = {
                    "number": f"c{case}",
                    "wanted": "abc"[case % 3],
                    "said": "abc"[(n if n % (5 if run == "one" else 7) else n + 1) % 3],
                    "lead": n * 37 % 101 / 100,
                    "claim": int(case % 4 > 0),
                    "document": f"d{case // 4}",
                    "shelf": f"s{case // 12}",
                    "turn": n % 2,
                }
                rows.append(row | {f"{name}{ending}": f"x{case % 5}" for name in FIELDS})
            shop.write(f"{run}.csv", table(rows))
            done = shop.call("import", f"{run}.csv", *SAID, *DESIGNS[design], "-o", f"{run}.jsonl", "--force")
            assert done.status == 0, done.err
        told = {
            name: shop.call(name, "one.jsonl", "two.jsonl", *words, "--format", "json") for name, words in ASKED.items()
        }
        return {name: done.json if done.status == 0 else done.err for name, done in told.items()}

    plain, found = answers("_"), answers("")
    assert sum(isinstance(answer, dict) for answer in plain.values()) >= len(ASKED) - 1
    for name in ASKED:
        assert found[name] == plain[name], name


def test_a_group_is_the_column_of_that_name(shop: Workshop) -> None:
    """Where --id or --expect names another column, `id` and `truth` were what those had named."""
    rows = [
        {"number": n, "id": f"p{n // 3}", "wanted": "a", "said": "ab"[n % 2], "truth": f"t{n // 6}"} for n in range(12)
    ]
    shop.write("m.csv", table([dict(row) for row in rows]))
    _, records = import_one(
        shop, "m.csv", "--id", "number", "--expect", "wanted", "--actual", "said", "--psu", "id", "--stratum", "truth"
    )
    assert [record["psu"] for record in records.values()] == [row["id"] for row in rows]
    assert [record["stratum"] for record in records.values()] == [row["truth"] for row in rows]
    by_id = shop.call("rate", "out.jsonl", "--by", "id", "--format", "json").json["by"]
    assert [group["label"] for group in by_id["groups"]] == ["p0", "p1", "p2", "p3"]


# Claim, whether it is true, and the answer: each of them, where a test allows it.
JUDGED = [
    (claim, positive, answer)
    for claim in ("a", "3", "")
    for positive in (1, 0)
    for answer in ("a", "3", "b", "")
    if claim or not positive  # a true claim names something
]


@pytest.mark.parametrize("task", ["label", "score"])
def test_a_table_is_judged_as_a_run_with_the_same_answers(toy: Workshop, task: str) -> None:
    """A negative case that claims nothing accepts any label, and a refusal is no label; it was the other way round."""
    rows = [
        {"id": f"c{n}", "input": answer, "expect": claim, "positive": positive}
        for n, (claim, positive, answer) in enumerate(JUDGED)
    ]
    if task == "score":
        for n, row in enumerate(rows):
            row["input"] = ["", "-1", "0.5", "0.75", "1e3"][n % 5]
    cases = [dict(row) for row in rows]
    sections = '[params.threshold]\ntype = "float"\ndefault = 0.75\ndecision = true\n' if task == "score" else ""
    toy.script(task=task, sections=sections, rows=table(cases))
    given = "float(case.input)" if task == "score" else "case.input"
    toy.interface(f"def answer(case, params):\n    return {given} if case.input else None\n")
    run = {record["id"]: record for record in toy.run()}
    toy.write("t.csv", table(cases))
    said = (
        ("--score", "input", "--success-at", "0.75") if task == "score" else ("--expect", "expect", "--actual", "input")
    )
    _, imported = import_one(toy, "t.csv", "--positive", "positive", *said)
    assert {*outcomes(run).values()} == {"TP", "TN", "FP", "FN"}
    assert outcomes(imported) == outcomes(run)
    for key in ("actual", "score") if task == "label" else ("score",):
        assert [record.get(key) for record in imported.values()] == [record.get(key) for record in run.values()]


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_nan_is_no_answer_and_no_label(shop: Workshop, form: str) -> None:
    """It was a label `nan`: two classes were no detection any more, and a missing answer to a missing truth right."""

    def wrote(rows: list[dict[str, object]]) -> str:
        if form == "parquet":
            parquet.write_table(pa.Table.from_pylist(rows), shop.folder / "t.parquet")
        else:
            shop.write("t.json", json.dumps(rows))
        return f"t.{form}"

    rows: list[dict[str, object]] = [
        {"id": n, "y_true": float(n % 2), "y_pred": float("nan") if n > 3 else float(n // 2)} for n in range(6)
    ]
    _, records = import_one(shop, wrote(rows))
    assert [*outcomes(records).values()] == ["TN", "FN", "FP", "TP", "TN", "FN"]
    assert "actual" not in records["4"]
    rows[5]["y_true"] = float("nan")
    assert "no true label; every row needs one" in refused(shop, wrote(rows))


@pytest.mark.parametrize(
    ("column", "words", "message"),
    [
        ("good", (), "line 4: id 'a' has a different ground truth than before"),
        ("document", ("--psu", "document"), "t.csv:4: id 'a' is in another stratum, or of another unit"),
        ("shelf", ("--stratum", "shelf"), "t.csv:4: id 'a' is in another stratum, or of another unit"),
    ],
)
def test_answers_to_one_case_agree_about_it(shop: Workshop, column: str, words: tuple[str, ...], message: str) -> None:
    """A case could be positive in one answer and negative in the next, and of two units."""
    rows: list[dict[str, object]] = [
        {"id": name, "turn": turn, "score": score, "good": int(name == "a"), "document": "d1", "shelf": "s1"}
        for turn, scores in enumerate(((0.9, 0.2), (0.7, 0.1)), 1)
        for name, score in zip("ab", scores, strict=True)
    ]
    said = ("--score", "score", "--positive", "good", "--success-at", "0.5")
    shop.write("t.csv", table(rows))
    _, records = import_one(shop, "t.csv", *said, "--repeat", "turn", *words)
    assert len(records) == 4
    rows[2][column] = 0
    shop.write("t.csv", table(rows))
    assert message in refused(shop, "t.csv", *said, "--repeat", "turn", *words)
    shop.write("u.csv", table(rows[2:]))
    shop.write("t.csv", table(rows[:2]))
    folded = refused(shop, "t.csv", "u.csv", *said, "--fold", "--algorithm", "m", *words)
    assert "another right answer" in folded or "is in another stratum, or of another unit" in folded
