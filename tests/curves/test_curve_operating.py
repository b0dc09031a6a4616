"""Operating points, cost and crossings, against searches over all thresholds."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import drawn, scores, written
from workshop import Workshop

VALUES, POSITIVE = drawn(7, 200)


def rates(threshold: float) -> tuple[float, float]:
    """fpr and fnr, counted."""
    accepted = threshold <= VALUES
    return float(accepted[~POSITIVE].mean()), float((~accepted[POSITIVE]).mean())


@pytest.fixture
def transcript(shop: Workshop) -> Path:
    return written(shop.folder / "t.jsonl", scores(VALUES, POSITIVE))


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
    one = written(shop.folder / "one.jsonl", scores(VALUES, POSITIVE))
    other = written(shop.folder / "other.jsonl", scores(-VALUES, ~POSITIVE))
    [[a], [b]] = (
        curves(shop, path, "--at", at)["curves"][0]["operating"] for path, at in ((one, "fnr=0.2"), (other, "fpr=0.2"))
    )
    assert a["interval"] == pytest.approx(b["interval"])
    assert a["fpr"] == pytest.approx(b["fnr"])


def test_a_point_that_no_threshold_reaches_is_said_to_be_none(shop: Workshop) -> None:
    refusing = [*VALUES[:150].tolist(), *([None] * 50)]
    path = written(shop.folder / "t.jsonl", scores(refusing, POSITIVE))
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
def test_wishes_that_are_none(shop: Workshop, transcript: Path, words: tuple[str, ...], text: str) -> None:
    done = shop.call("roc", transcript, *words)
    assert done.status == 2
    assert text in done.err


def test_where_two_curves_cross(shop: Workshop) -> None:
    """A is a sharp expert on few, B mediocre on all: they cross once, at a place that can be counted out."""
    positive = [True] * 10 + [False] * 10
    a = [9.0] * 5 + [0.0] * 5 + [1.0] * 10
    b = [5.0] * 10 + [5.0] * 4 + [1.0] * 6
    first = written(shop.folder / "a.jsonl", scores(a, positive), algorithm="a")
    second = written(shop.folder / "b.jsonl", scores(b, positive), algorithm="b")
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
        written(shop.folder / f"{i}.jsonl", scores(rng.normal(size=200) + POSITIVE, POSITIVE), algorithm=f"algo{i}")
        for i in range(4)
    ]
    done = shop.call("roc", *paths, "--format", "table")
    assert "above before" in done.out
    pairs = {(c["a"], c["b"]) for c in curves(shop, *paths)["crossings"]}
    assert len(pairs) > 3


@pytest.mark.parametrize("values", [[1.0] * 40, [None] * 40, [float(i % 2) for i in range(40)]], ids=str)
@pytest.mark.parametrize("command", ["roc", "det", "pr"])
def test_curves_that_are_hardly_any(shop: Workshop, command: str, values: list[float | None]) -> None:
    """All equal, all refused, all right, and two cases only: no interval may fail, no picture either."""
    positive = [i % 2 == 1 for i in range(40)]
    words = ("--at", "fpr=0.1", "--at", "fnr=0.1", "--at", "threshold=0", "--cost", "fp=2", "--plot", "a.png")
    for n in (2, 40):
        path = written(shop.folder / "t.jsonl", scores(values[:n], positive[:n]))
        done = shop.call(command, path, *words, "--format", "json")
        assert done.status == 0, done.err
        found = done.json["curves"][0]
        assert 0 <= found["eer"] <= 0.5
        assert found["auc"] in (0.5, 1.0)
