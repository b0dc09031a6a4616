"""`hate confusion`: counts by hand and by scikit-learn, refusals, errors, differences, pictures."""

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, precision_score, recall_score

import harness
from harness.analysis.confusion import Confusion
from harness.bundled import bundled
from harness.stats.rates import wilson
from tests.analysis.curves.transcripts import Record, write_transcript
from tests.simulation import examples
from tests.workshop import Workshop


def claim(number: int, truth: str, actual: str | None, *, expect: str | None = None, **more: Any) -> Record:
    """A record of a label test; the claim is the truth by default."""
    expect = truth if expect is None else expect
    positive = expect == truth
    accepted = actual == expect
    record: Record = {"id": f"c{number}", "positive": positive, "expect": expect}
    record["outcome"] = ("TP" if accepted else "FN") if positive else ("FP" if accepted else "TN")
    record |= {"truth": truth} if not positive else {}
    return record | ({"actual": actual} if actual is not None else {}) | more


def file(shop: Workshop, records: list[Record], name: str = "t", **more: Any) -> Path:
    return write_transcript(shop.folder / f"{name}.jsonl", records, task="label", algorithm=name, **more)


def confusion(shop: Workshop, *words: str | Path) -> Any:
    done = shop.call("confusion", *words, "--format", "json")
    assert done.status == 0, done.err
    return done.json


RECORDS = [
    claim(0, "a", "a"), claim(1, "a", "b"), claim(2, "a", None), claim(3, "b", "b"), claim(4, "b", "b", expect="a"),
    claim(5, "c", None, error="crash"), claim(6, "c", "a", score=0.5), claim(7, "10", "9"), claim(8, "9", "9"),
]  # fmt: skip


def test_rows_are_truth_and_columns_answers(shop: Workshop) -> None:
    found = confusion(shop, file(shop, RECORDS))
    assert found["labels"] == ["9", "10", "a", "b", "c"]
    assert found["matrix"] == [
        [1, 0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0, 0],
        [0, 0, 1, 1, 0, 1],
        [0, 0, 0, 2, 0, 0],
        [0, 0, 1, 0, 0, 1],
    ]
    assert found["transcripts"][0]["errors"] == 1
    table = shop.call("confusion", shop.folder / "t.jsonl", "--format", "table").out
    assert "Refusals include 1 errors." in table
    assert "Every record counts once." in table


def test_what_weights_change_is_said(shop: Workshop) -> None:
    """Three cases of a class, of which the one with weight 8 is right; the matrix counts them all the same."""
    records = [
        {
            "id": f"c{k}",
            "outcome": "FN",
            "positive": True,
            "expect": "a",
            "actual": "ab"[k > 0],
            "columns": {"w": str(w)},
        }
        for k, w in enumerate((8, 1, 1))
    ]
    records[0]["outcome"] = "TP"
    path = file(shop, records)
    plain, weighted = (confusion(shop, path, "--weights", weights) for weights in ("cases", "w"))
    assert plain["matrix"] == weighted["matrix"]
    rates = [found["transcripts"][0]["recall"][0]["rate"] for found in (plain, weighted)]
    assert rates == pytest.approx([1 / 3, 0.8])
    said = "The rates of classes follow the weights (w); counts, and shares of them, do not."
    assert said in shop.call("confusion", path, "--weights", "w").out
    assert "weights" not in shop.call("confusion", path).out


def test_answers_below_the_threshold_are_refusals(shop: Workshop) -> None:
    path = file(shop, RECORDS, params={"threshold": 0.0})
    assert confusion(shop, path)["matrix"][4] == [0, 0, 1, 0, 0, 1]
    found = confusion(shop, path, "--threshold", "1")
    assert found["matrix"][4] == [0, 0, 0, 0, 0, 2]
    assert found["transcripts"][0]["below_threshold"] == 1
    by_run = confusion(shop, file(shop, RECORDS, "strict", params={"threshold": 1.0}))
    assert by_run["matrix"] == found["matrix"]


@pytest.mark.parametrize("algorithm", ["wisard", "witch"])
def test_bundled_transcripts_against_scikit_learn(shop: Workshop, algorithm: str) -> None:
    """Each image is asked about twice and counts twice; with --positives it counts once."""
    path = bundled("transcripts") / "hdigits" / f"{algorithm}.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:-1]]
    for words, chosen in (((), records), (("--positives",), [r for r in records if r["positive"]])):
        truth = [r.get("truth", r["expect"]) for r in chosen]
        answer = [r["actual"] for r in chosen]
        found = confusion(shop, algorithm, *words)
        assert [row[:-1] for row in found["matrix"]] == confusion_matrix(truth, answer, labels=found["labels"]).tolist()
        own = found["transcripts"][0]
        recall = recall_score(truth, answer, labels=found["labels"], average=None)
        precision = precision_score(truth, answer, labels=found["labels"], average=None)
        assert [one["rate"] for one in own["recall"]] == pytest.approx(recall.tolist())
        assert [one["rate"] for one in own["precision"]] == pytest.approx(precision.tolist())
        assert (own["method"], own["target"]) == ("brr", "these strata, new images")


def test_images_that_count_twice_do_not_make_intervals_narrower(shop: Workshop) -> None:
    twice = confusion(shop, "wisard")["transcripts"][0]["recall"]
    once = confusion(shop, "wisard", "--positives")["transcripts"][0]["recall"]
    for two, one in zip(twice, once, strict=True):
        assert np.diff(two["interval"]) == pytest.approx(np.diff(one["interval"]), rel=0.02)


def test_wilsons_intervals_without_a_design(shop: Workshop) -> None:
    own = confusion(shop, file(shop, RECORDS))["transcripts"][0]
    limits = wilson(1, 3)
    of_a = next(one for one in own["recall"] if one["label"] == "a")
    assert (of_a["cases"], of_a["rate"]) == (3, pytest.approx(1 / 3))
    assert of_a["interval"] == pytest.approx([limits.low, limits.high])
    assert own["method"] == "wilson"
    never = next(one for one in own["precision"] if one["label"] == "c")
    assert (never["cases"], never["rate"], never["interval"]) == (0, None, None)


# Cases of classes a to d with PSUs of three and strata of fifteen; class d is always right.
ANSWERS = np.random.default_rng(6).random(120)
DESIGNED = [
    claim(
        i, truth, truth if truth == "d" or ANSWERS[i] < 0.8 else "a" if truth != "a" else "b",
        columns={"writer": f"w{i // 3:02d}", "school": f"s{i // 15}", "weight": str(1 + i % 4)},
    )
    for i, truth in enumerate("abcdd" * 24)
]  # fmt: skip
DESIGNS: dict[str, tuple[tuple[str, ...], str]] = {
    "none": ((), "wilson"),
    "psu": (("--psu", "writer"), "jackknife"),
    "stratum": (("--stratum", "school"), "brr"),
    "stratum and psu": (("--stratum", "school", "--psu", "writer"), "brr"),
    "weights": (("--weights", "weight"), "jackknife"),
    "confidence": (("--psu", "writer", "--confidence", "0.8"), "jackknife"),
}


def groups(shop: Workshop, *words: str | Path) -> dict[str, tuple[float, list[float]]]:
    """What `hate rate --by truth` reports for each class."""
    done = shop.call("rate", *words, "--by", "truth", "--format", "json")
    assert done.status == 0, done.err
    rows = done.json["by"]["groups"]
    return {row["group"]: (row["transcripts"][0]["value"], row["transcripts"][0]["interval"]) for row in rows}


@pytest.mark.parametrize("design", DESIGNS)
def test_recall_is_the_rate_of_the_class(shop: Workshop, design: str) -> None:
    """If all claims are true, a right answer is one of that class: one number, one interval."""
    words, method = DESIGNS[design]
    path = file(shop, DESIGNED)
    own = confusion(shop, path, *words)["transcripts"][0]
    expected = groups(shop, path, *words, "--statistic", "rate")
    assert own["method"] == method
    assert [one["label"] for one in own["recall"]] == sorted(expected) == ["a", "b", "c", "d"]
    for one in own["recall"]:
        value, interval = expected[one["label"]]
        assert one["rate"] == pytest.approx(value, abs=1e-12)
        assert one["interval"] == pytest.approx(interval, abs=1e-12)
    always = own["recall"][3]
    assert (always["cases"], always["rate"], always["interval"][1]) == (48, 1.0, 1.0)
    assert 0.8 < always["interval"][0] < 0.99


@pytest.mark.sampled(3)
@pytest.mark.parametrize("words", [(), ("--stratum", "none", "--psu", "none"), ("--stratum", "none")], ids=str)
@pytest.mark.parametrize("algorithm", ["wisard", "witch"])
def test_recall_of_bundled_transcripts_is_the_true_positive_rate_of_the_digit(
    shop: Workshop, algorithm: str, words: tuple[str, ...]
) -> None:
    recall = confusion(shop, algorithm, "--positives", *words)["transcripts"][0]["recall"]
    expected = groups(shop, algorithm, *words, "--statistic", "tpr")
    assert len(recall) == len(expected) == 10
    for one in recall:
        value, interval = expected[one["label"]]
        assert one["rate"] == pytest.approx(value, abs=1e-12)
        assert one["interval"] == pytest.approx(interval, abs=1e-12)


def test_the_first_error_does_not_narrow_an_interval(shop: Workshop) -> None:
    """An interval with one error must not be better than an interval without errors."""
    lows = []
    for wrong in (0, 1):
        records = [
            claim(i, "a", "b" if i < wrong else "a", columns={"writer": f"w{i // 10:02d}"}) for i in range(400)
        ] + [claim(400, "b", "b", columns={"writer": "w00"})]
        own = confusion(shop, file(shop, records), "--psu", "writer")["transcripts"][0]
        lows.append(own["recall"][0]["interval"][0])
        assert own["recall"][0]["rate"] == pytest.approx(1 - wrong / 400)
    assert lows[1] <= lows[0] < 0.99


def test_the_most_confused_pairs(shop: Workshop) -> None:
    records = [claim(i, "a", "b" if i < 6 else "a") for i in range(10)] + [claim(10, "b", "a"), claim(11, "b", "c")]
    path = file(shop, records)
    pairs = confusion(shop, path)["transcripts"][0]["confused"]
    assert pairs[0] == {"truth": "a", "answer": "b", "count": 6, "share": 0.6}
    assert [(p["truth"], p["answer"]) for p in pairs[1:]] == [("b", "a"), ("b", "c")]
    shown = shop.call("confusion", path, "--pairs", "1", "--format", "table").out
    assert shown.count("mistaken for") == 1
    perfect = shop.call("confusion", file(shop, [claim(0, "a", "a")], "perfect"), "--format", "table").out
    assert "No class was mistaken for another." in perfect


def test_a_single_case_is_a_matrix_without_intervals(shop: Workshop) -> None:
    path = file(shop, [claim(0, "a", "a")])
    found = confusion(shop, path)
    assert found["matrix"] == [[1, 0]]
    own = found["transcripts"][0]
    assert (own["recall"], own["method"]) == ([{"label": "a", "cases": 1, "rate": 1.0, "interval": None}], "none")
    assert "A single case has no interval." in shop.call("confusion", path, "--format", "table").out


def test_two_transcripts_give_the_difference(shop: Workshop) -> None:
    other = [claim(i, *pair) for i, pair in enumerate([("a", "a"), ("a", "a"), ("a", None), ("b", "b")])]
    paths = [file(shop, RECORDS[:4], "one"), file(shop, list(reversed(other)), "two")]
    found = confusion(shop, *paths)
    assert found["difference"] == {"a": "one", "b": "two", "matrix": [[-1, 1, 0], [0, 0, 0]]}
    assert "one less two" in shop.call("confusion", *paths, "--format", "table").out
    rows = list(csv.reader(io.StringIO(shop.call("confusion", *paths, "--format", "csv").out)))
    assert rows[0] == ["transcript", "truth", "a", "b", "refused"]
    assert rows[-2] == ["one less two", "a", "-1", "1", "0"]


def test_refusing_is_right_for_cases_without_a_class(shop: Workshop) -> None:
    blank = [
        {"id": "x", "positive": False, "outcome": "TN"},
        {"id": "y", "positive": False, "outcome": "FP", "actual": "a"},
        {"id": "z", "positive": False, "outcome": "TN", "truth": "noise"},
    ]
    found = confusion(shop, file(shop, [*RECORDS[:2], *blank]))
    assert found["labels"] == ["a", "b", "noise", "(none)"]
    recall = {one["label"]: one["rate"] for one in found["transcripts"][0]["recall"]}
    assert (recall["(none)"], recall["noise"], recall["a"]) == (0.5, 1.0, 0.5)


def test_false_claims_about_unknown_classes_do_not_count(shop: Workshop) -> None:
    unknown = {"id": "x", "positive": False, "outcome": "TN", "expect": "a", "actual": "b"}
    found = confusion(shop, file(shop, [*RECORDS[:2], unknown]))
    assert found["transcripts"][0]["left_out"] == 1
    assert sum(map(sum, found["matrix"])) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "count", [3, pytest.param(12, marks=pytest.mark.slow), pytest.param(40, marks=pytest.mark.slow)]
)
def test_pictures_are_the_same_every_time(shop: Workshop, count: int) -> None:
    records = [claim(i, f"class{i % count}", f"class{(i * 7 + i // 9) % count}") for i in range(200)]
    paths = [file(shop, records, "one"), file(shop, records[::-1], "two")]
    for words in (paths[:1], paths):
        pages = []
        for name in ("a.svg", "b.svg"):
            done = shop.call("confusion", *words, "--plot", name, "--force")
            assert done.status == 0, done.err
            pages.append((shop.folder / name).read_bytes())
        assert pages[0] == pages[1]
    if count == 40:
        assert "40 classes: --format csv and --format json have the whole matrix, --plot draws it" in done.out


@pytest.mark.parametrize("style", ["tex", "md", "plain"])
def test_other_formats(shop: Workshop, style: str) -> None:
    done = shop.call("confusion", file(shop, RECORDS), "--format", style)
    assert done.status == 0
    assert done.out.strip()


def test_what_has_no_confusion_matrix(shop: Workshop) -> None:
    score = write_transcript(shop.folder / "s.jsonl", [{"id": "a", "outcome": "TP", "score": 1.0}])
    done = shop.call("confusion", score)
    assert (done.status, "needs the labels of a label test" in done.err) == (2, True)
    three = [file(shop, RECORDS, name) for name in ("x", "y", "z")]
    done = shop.call("confusion", *three, "--plot", "a.svg")
    assert (done.status, "the difference of two" in done.err) == (2, True)
    essays = file(shop, [claim(i, "a", f"essay {i}") for i in range(2001)], "essays")
    done = shop.call("confusion", essays)
    assert (done.status, "2,002 different labels" in done.err) == (2, True)
    unknown = file(shop, [{"id": "x", "positive": False, "outcome": "TN", "expect": "a", "actual": "b"}], "u")
    done = shop.call("confusion", unknown)
    assert (done.status, "no case whose class is known" in done.err) == (2, True)


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.booleans())
@examples(12)
def test_a_thousand_labels_counted_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cases: int, weighted: bool
) -> None:
    """Too many labels for an interval each; the shares are those of a loop over cases, with their weights."""
    rng = np.random.default_rng(seed)
    names = [f"label{number:03d}" for number in range(1000)]
    truth = [names[number] for number in rng.integers(1000, size=cases)]
    wrong = [names[number] for number in rng.integers(1000, size=cases)]
    said = [t if rng.random() < 0.5 else None if rng.random() < 0.2 else w for t, w in zip(truth, wrong, strict=True)]
    weights = rng.integers(1, 9, cases).tolist() if weighted else [1] * cases
    records = [claim(n, truth[n], said[n], columns={"w": str(weights[n])}) for n in range(cases)]
    path = write_transcript(tmp_path_factory.mktemp("c") / "t.jsonl", records, task="label", algorithm="t")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.analysis.confusion.MAX_ESTIMATED", 0)
        [found] = harness.confusion(path, weights="w" if weighted else None).matrices
    labels = sorted({*truth, *(one for one in said if one is not None)})
    assert list(found.labels) == labels
    for place, label in enumerate(labels):
        for rates, own, other in ((found.recall, truth, said), (found.precision, said, truth)):
            within = [n for n in range(cases) if own[n] == label]
            rate = rates[place]
            assert rate.cases == len(within)
            if not within:
                assert rate.rate is None
                continue
            right = sum(weights[n] for n in within if other[n] == label)
            assert rate.rate == pytest.approx(right / sum(weights[n] for n in within))
            assert rate.interval is None
    counted = Counter(zip(truth, said, strict=True))
    assert {pair: count for pair in counted if (count := _cell(found, labels, *pair))} == dict(counted)
    assert found.matrix.sum() == cases


def _cell(found: Confusion, labels: list[str], truth: str, said: str | None) -> int:
    return int(found.matrix[labels.index(truth), len(labels) if said is None else labels.index(said)])
