"""Operating points, cost and crossings, against searches over all thresholds."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.stats.curves.bands import fixed_fpr_bands
from harness.stats.curves.scores import make_scored_cases
from harness.stats.rates import wilson
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import rate
from tests.analysis.curves.transcripts import Record, random_scores, scores, write_transcript
from tests.workshop import Workshop

VALUES, POSITIVE = random_scores(7, 200)
UNIT = [f"w{i // 5:02d}" for i in range(200)]


def rates(threshold: float) -> tuple[float, float]:
    """fpr and fnr, counted."""
    accepted = threshold <= VALUES
    return float(accepted[~POSITIVE].mean()), float((~accepted[POSITIVE]).mean())


@pytest.fixture
def transcript(shop: Workshop) -> Path:
    return write_transcript(shop.folder / "t.jsonl", scores(VALUES, POSITIVE))


def curves(shop: Workshop, *words: str | Path) -> Any:
    done = shop.call("roc", *words, "--format", "json")
    assert done.status == 0, done.err
    return done.json


def test_the_best_threshold_within_a_limit(shop: Workshop, transcript: Path) -> None:
    words = ("--at", "fpr=0.1", "--at", "fnr=0.2", "--at", "threshold=0.55")
    by_fpr, by_fnr, fixed = curves(shop, transcript, *words)["curves"][0]["operating"]
    known = [math.inf, *sorted(set(VALUES.tolist()), reverse=True)]
    assert by_fpr["fnr"] == pytest.approx(min(rates(t)[1] for t in known if rates(t)[0] <= 0.1))
    assert by_fnr["fpr"] == pytest.approx(min(rates(t)[0] for t in known if rates(t)[1] <= 0.2))
    assert (fixed["fpr"], fixed["fnr"]) == pytest.approx(rates(0.55))
    assert (fixed["threshold"], fixed["attained"]) == (0.55, True)
    for point in (by_fpr, by_fnr):
        assert (point["fpr"], point["fnr"]) == pytest.approx(rates(point["threshold"]))
    for point, of in ((by_fpr, "fnr"), (by_fnr, "fpr"), (fixed, "fnr")):
        assert point["interval_of"] == of
        assert point["interval"][0] <= point[of] <= point["interval"][1]


def test_the_interval_of_fpr_at_fnr_is_that_of_fnr_at_fpr_with_the_roles_exchanged(shop: Workshop) -> None:
    one = write_transcript(shop.folder / "one.jsonl", scores(VALUES, POSITIVE))
    other = write_transcript(shop.folder / "other.jsonl", scores(-VALUES, ~POSITIVE))
    [[a], [b]] = (
        curves(shop, path, "--at", at)["curves"][0]["operating"] for path, at in ((one, "fnr=0.2"), (other, "fpr=0.2"))
    )
    assert a["interval"] == pytest.approx(b["interval"])
    assert a["fpr"] == pytest.approx(b["fnr"])


@pytest.mark.parametrize("words", [(), ("--psu", "writer"), ("--confidence", "0.8")], ids=str)
def test_the_interval_at_a_rate_is_the_band_at_that_rate(shop: Workshop, words: tuple[str, ...]) -> None:
    """It allows for a threshold that was set on these cases: wider than at the same threshold fixed beforehand."""
    path = write_transcript(shop.folder / "t.jsonl", scores(VALUES, POSITIVE, writer=UNIT))
    sample = make_sample(200, units=UNIT) if "--psu" in words else None
    level = 0.8 if "--confidence" in words else 0.95
    [point] = curves(shop, path, *words, "--at", "fpr=0.1")["curves"][0]["operating"]
    band = fixed_fpr_bands(make_scored_cases(VALUES, POSITIVE), sample, [0.1], confidence=level)
    assert point["interval"] == pytest.approx([1 - band.high[0], 1 - band.low[0]], abs=1e-12)
    assert point["fnr"] == pytest.approx(1 - band.tpr[0], abs=1e-12)
    threshold = f"threshold={point['threshold']!r}"
    [fixed] = curves(shop, path, *words, "--at", threshold)["curves"][0]["operating"]
    assert fixed["fnr"] == point["fnr"]
    assert np.diff(fixed["interval"]) < np.diff(point["interval"])


def test_the_interval_at_a_threshold_is_that_of_a_rate(shop: Workshop) -> None:
    path = write_transcript(shop.folder / "t.jsonl", scores(VALUES, POSITIVE, writer=UNIT))
    [point] = curves(shop, path, "--at", "threshold=0.55")["curves"][0]["operating"]
    missed = int((VALUES[POSITIVE] < 0.55).sum())
    limits = wilson(missed, int(POSITIVE.sum()))
    assert point["interval"] == pytest.approx([limits.low, limits.high], abs=1e-12)
    [by_design] = curves(shop, path, "--at", "threshold=0.55", "--psu", "writer")["curves"][0]["operating"]
    expected = make_estimate(make_sample(200, units=UNIT), rate(VALUES < 0.55, within=POSITIVE))
    assert expected.interval is not None
    assert by_design["interval"] == pytest.approx([expected.interval.low, expected.interval.high], abs=1e-12)
    assert by_design["method"] == "jackknife"


def overlapping_scores(positives: int, negatives: int) -> list[Record]:
    """Scores of two classes that overlap."""
    rng = np.random.default_rng(1)
    positive = np.arange(positives + negatives) < positives
    return scores(np.round(rng.normal(size=positive.size) + 3 * positive, 3).tolist(), positive)


def remarks(shop: Workshop, path: Path, at: str) -> list[str]:
    """The notes on one operating point."""
    notes: list[str] = curves(shop, path, "--at", at)["curves"][0]["notes"]
    return [note for note in notes if note.startswith("--at")]


@pytest.mark.parametrize(
    ("positives", "negatives", "at", "expected"),
    [
        # The rule of three: 3 / 68 = 0.044, 3 / 0.001 = 3,000.
        (80, 68, "fpr=0.001", ("68 negative cases allow no error", "0.044 (rule of three)", "it takes 3,000 to show")),
        (60, 200, "fnr=0.01", ("60 positive cases allow no error", "0.05 (rule of three)", "it takes 300 to show")),
        (60, 200, "fpr=0", ("200 negative cases", "0.015 (rule of three)")),
        # The rule of 30: 30 / 0.05 = 600.
        (60, 200, "fpr=0.05", ("rests on 10 false positives", "takes 30 (rule of 30)", "600 negative cases")),
        (60, 200, "fnr=0.1", ("rests on 6 false negatives", "takes 30 (rule of 30)", "300 positive cases")),
        (60, 200, "fpr=0.149", ("takes 30 (rule of 30)", "202 negative cases")),
        (60, 200, "fpr=0.15", ()),
        (60, 200, "threshold=9", ()),
    ],
)
def test_a_rate_on_too_few_cases_has_a_note(
    shop: Workshop, positives: int, negatives: int, at: str, expected: tuple[str, ...]
) -> None:
    path = write_transcript(shop.folder / "t.jsonl", overlapping_scores(positives, negatives))
    found = remarks(shop, path, at)
    assert len(found) == bool(expected)
    for remark in found:
        assert remark.startswith(f"--at {at}: ")
        assert [text for text in expected if text not in remark] == []
        out = " ".join(shop.call("roc", path, "--at", at, "--format", "table").out.split())
        assert f"mine: {remark}." in out


@pytest.mark.slow
def test_a_rate_on_enough_cases_has_no_note(shop: Workshop) -> None:
    path = write_transcript(shop.folder / "t.jsonl", overlapping_scores(50, 100_000))
    assert remarks(shop, path, "fpr=0.001") == []
    assert len(remarks(shop, path, "fpr=0.0001")) == 1


LINE = "the equal error rate lies on the straight line that {} the curve: no threshold reaches it"


def test_an_equal_error_rate_that_no_threshold_reaches_has_a_note(shop: Workshop) -> None:
    """Half of the positives refused: the curve ends at tpr 0.5, and the rates meet on the line from there."""
    positive = [True] * 20 + [False] * 20
    few = [*range(10, 20), *([None] * 10), *range(10)] + [None] * 10
    path = write_transcript(shop.folder / "t.jsonl", scores(few, positive))
    found = curves(shop, path)["curves"][0]
    # From (0.5, 0.5) to (1, 1), where the scores say nothing: fpr = 1 - tpr at (0.5, 0.5) itself is met by a score.
    assert (found["eer"], found["closed"]) == (pytest.approx(0.5), True)
    assert not [note for note in found["notes"] if "equal error rate" in note]
    fewer = [*range(10, 20), *([None] * 10), *range(5)] + [None] * 15
    found = curves(shop, write_transcript(shop.folder / "u.jsonl", scores(fewer, positive)))["curves"][0]
    # From (0.25, 0.5) to (1, 1) the line has tpr = 0.5 + (fpr - 0.25) 2 / 3: it meets fpr = 1 - tpr at 0.4.
    assert found["eer"] == pytest.approx(0.4)
    assert LINE.format("closes") in found["notes"]
    assert LINE.format("closes") in " ".join(shop.call("det", "u.jsonl", "--format", "table").out.split())


def test_the_line_that_opens_a_curve_has_no_equal_error_rate(shop: Workshop) -> None:
    """Errors on negative cases are false positives at every threshold: up to fpr 0.6 no positive is accepted."""
    records = scores([*range(10, 30), *range(20)], [True] * 20 + [False] * 20)
    for record in records[28:]:
        del record["score"], record["actual"]
        record |= {"error": "crash", "outcome": "FP"}
    found = curves(shop, write_transcript(shop.folder / "t.jsonl", records))["curves"][0]
    assert found["opened"] is True
    # All eight others are below 8: the fpr stays at 0.6 until half of the positives are accepted, and beyond.
    assert found["eer"] == pytest.approx(0.6)
    assert not [note for note in found["notes"] if "equal error rate" in note]


def test_a_point_that_no_threshold_reaches_is_marked(shop: Workshop) -> None:
    refusing = [*VALUES[:150].tolist(), *([None] * 50)]
    path = write_transcript(shop.folder / "t.jsonl", scores(refusing, POSITIVE))
    [point] = curves(shop, path, "--at", "fnr=0")["curves"][0]["operating"]
    assert (point["attained"], point["threshold"]) == (False, None)
    table = shop.call("roc", path, "--at", "fnr=0", "--format", "table")
    assert "no threshold reaches it" in table.out


def test_the_cheapest_threshold(shop: Workshop, transcript: Path) -> None:
    cost = curves(shop, transcript, "--cost", "fp=10,fn=2,prior=0.3")["curves"][0]["cost"]
    known = [math.inf, *set(VALUES.tolist())]
    assert cost["cost"] == pytest.approx(min(2 * 0.3 * rates(t)[1] + 10 * 0.7 * rates(t)[0] for t in known))
    assert cost["normalised"] == pytest.approx(cost["cost"] / 0.6)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--at", "tpr=0.5"), "write fpr=, fnr= or threshold="),
        (("--at", "fpr=2"), "between 0 and 1"),
        (("--at", "fpr=x"), "'x' is not a number"),
        (("--at", "threshold=inf"), "not a finite number"),
        (("--cost", "fp=10,miss=1"), "'miss' is none of them"),
        (("--cost", "fp=0"), "above 0"),
        (("--cost", "prior=1"), "between 0 and 1"),
    ],
)
def test_invalid_operating_points_and_costs(
    shop: Workshop, transcript: Path, words: tuple[str, ...], text: str
) -> None:
    done = shop.call("roc", transcript, *words)
    assert done.status == 2
    assert text in done.err


def test_where_two_curves_cross(shop: Workshop) -> None:
    """A is excellent on few cases, B mediocre on all: they cross once, at a place that can be computed by hand."""
    positive = [True] * 10 + [False] * 10
    a = [9.0] * 5 + [0.0] * 5 + [1.0] * 10
    b = [5.0] * 10 + [5.0] * 4 + [1.0] * 6
    first = write_transcript(shop.folder / "a.jsonl", scores(a, positive), algorithm="a")
    second = write_transcript(shop.folder / "b.jsonl", scores(b, positive), algorithm="b")
    found = curves(shop, first, second)
    # A runs (0, 0), (0, 0.5), (1, 0.5), (1, 1); B is straight from (0, 0) to (0.4, 1), then level.
    assert found["crossings"] == [
        {"a": "a", "b": "b", "fpr": pytest.approx(0.2), "tpr": pytest.approx(0.5), "threshold_a": 9.0,
         "threshold_b": None, "above_before": "a"},
    ]  # fmt: skip
    sentence = " ".join(shop.call("roc", first, second, "--format", "table").out.split())
    assert (
        "a and b cross at fpr 0.2000, tpr 0.5000: a is above at smaller false-positive rates, b at larger" in sentence
    )


def test_many_crossings_are_a_table(shop: Workshop) -> None:
    rng = np.random.default_rng(0)
    paths = [
        write_transcript(
            shop.folder / f"{i}.jsonl", scores(rng.normal(size=200) + POSITIVE, POSITIVE), algorithm=f"algo{i}"
        )
        for i in range(4)
    ]
    done = shop.call("roc", *paths, "--format", "table")
    assert "above before" in done.out
    pairs = {(c["a"], c["b"]) for c in curves(shop, *paths)["crossings"]}
    assert len(pairs) > 3


@pytest.mark.sampled(9)
@pytest.mark.parametrize("values", [[1.0] * 40, [None] * 40, [float(i % 2) for i in range(40)]], ids=str)
@pytest.mark.parametrize("command", ["roc", "det", "pr"])
def test_degenerate_curves(shop: Workshop, command: str, values: list[float | None]) -> None:
    """All equal, all refused, all right, and only two cases: no interval and no picture may fail."""
    positive = [i % 2 == 1 for i in range(40)]
    words = (
        "--at",
        "fpr=0.1",
        "--at",
        "fnr=0.1",
        "--at",
        "threshold=0",
        "--cost",
        "fp=2",
        "--plot",
        "a.png",
        "--force",
    )
    for n in (2, 40):
        path = write_transcript(shop.folder / "t.jsonl", scores(values[:n], positive[:n]))
        done = shop.call(command, path, *words, "--format", "json")
        assert done.status == 0, done.err
        found = done.json["curves"][0]
        assert 0 <= found["eer"] <= 0.5
        assert found["auc"] in (0.5, 1.0)
