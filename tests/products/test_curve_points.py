"""Points of curves: some of them are points of the whole curve, with both of its ends, and all are inside their limits.

So are the numbers beside a curve, such as its area.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.products.calls import refusal
from tests.products.conftest import AllRuns
from tests.products.laws import changed, differences, repeated, without
from tests.products.subjects import SUBJECTS
from tests.workshop import Workshop

# Every command that has the option, and the names of what it draws.
CURVES = {"roc": ("fpr", "tpr"), "det": ("fpr", "fnr"), "pr": ("tpr", "precision"), "froc": ("fppi", "recall")}
ALL_CURVES = (*CURVES, "cmc")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", CURVES)
def test_some_points_are_of_the_curve_and_have_its_ends(shop: Workshop, all_runs: AllRuns, command: str) -> None:
    taken = 0
    for name in SUBJECTS:
        path = all_runs.of(name).paths[0]
        whole, some = (
            shop.call(command, path, "--points", number, "--bands", "none", "--format", "json") for number in ("0", "6")
        )
        assert whole.status == some.status
        if whole.status == 0:
            taken += 1
            [every], [few] = whole.json["curves"], some.json["curves"]
            every, few = ([*zip(*(one["points"][key] for key in CURVES[command]), strict=True)] for one in (every, few))
            assert 2 <= len(few) <= 6
            assert (few[0], few[-1]) == (every[0], every[-1])
            assert set(few) <= set(every)
    assert taken


every_curve = pytest.mark.parametrize(
    ("command", "name"),
    [(command, name) for command in ALL_CURVES for name in SUBJECTS if refusal(command, name) is None],
)


@every_curve
def test_a_value_is_inside_its_interval(shop: Workshop, all_runs: AllRuns, command: str, name: str) -> None:
    done = shop.call(command, *all_runs.of(name).paths[:2], "--bands", "brr", "--format", "json")
    assert done.status == 0, done.err
    for curve in done.json["curves"]:
        found = [*_limited(curve)]
        assert len(found) > 1, "neither a band nor a number with an interval"
        for what, value, low, high in found:
            assert low - 1e-12 <= value <= high + 1e-12, f"{name}, {what}: {value}, {low} to {high}"


@pytest.mark.sampled(9)
@every_curve
def test_answers_given_twice_are_no_further_cases(shop: Workshop, all_runs: AllRuns, command: str, name: str) -> None:
    """The limits are the same, also where no error shows how much answers vary."""
    path = all_runs.of(name).paths[0]
    once = changed([path], shop.folder / "once")
    twice = changed([path], shop.folder / "twice", order=repeated, header=lambda header: header | {"repeat": 2})
    for bands in ("brr", "bootstrap"):
        found = []
        for run in (*once, *twice):
            done = shop.call(command, run, "--bands", bands, "--seed", "1", "--format", "json")
            assert done.status == 0, done.err
            found.append(without(done.json, "positives", "negatives", "probes", "images", "objects", "notes"))
        assert list(differences(*found)) == [], bands


def test_answers_given_twice_rest_on_no_more_errors(shop: Workshop, all_runs: AllRuns) -> None:
    """Seventeen errors are below the rule of 30, however often each is made; a sentence about answers says so."""
    paths = all_runs.of("score", "--param", "crash=7").paths[:2]
    once = changed(paths, shop.folder / "once")
    twice = changed(paths, shop.folder / "twice", order=repeated, header=lambda header: header | {"repeat": 2})
    for words in (["roc"], ["compare", "--statistic", "fpr"]):
        one, other = (shop.call(words[0], *runs, *words[1:], "--at", "fnr=0.7").out for runs in (once, twice))
        notes = [[line for line in text.splitlines() if "rule of 30" in line] for text in (one, other)]
        assert notes[0] == notes[1] != []
    notes = shop.call("roc", *twice, "--format", "json").json["curves"][0]["notes"]
    assert any("of the negative answers (a label other than" in note for note in notes)
    assert any("negative answers in error" in note for note in notes)


@pytest.mark.sampled(3)
@every_curve
def test_an_end_that_no_threshold_reaches_is_spoken_of(
    shop: Workshop, all_runs: AllRuns, command: str, name: str
) -> None:
    """As where errors and refusals leave cases, or pixels, without a score."""
    path = all_runs.of(name, "--param", "crash=7").paths[0]
    [curve] = shop.call(command, path, "--bands", "none", "--format", "json").json["curves"]
    notes = " ".join(curve["notes"])
    # Places without an object cannot be counted, and ranks have no threshold.
    reaches = name == "boxes" or command == "cmc"
    assert ("closed by a straight line" in notes) is (not reaches and curve["closed"])
    assert ("accepted by every threshold" in notes) is (not reaches and curve["opened"])


def _limited(curve: dict[str, Any]) -> Iterator[tuple[str, float, float, float]]:
    """What a curve has limits for: its name, the value and the limits."""
    for key, interval in curve.items():
        if key.endswith("_interval") and interval is not None:
            name = key.removesuffix("_interval")
            yield key, curve["median_rank" if name == "median" else name], *interval
    points = curve.get("points", curve)
    bands = {name: points for name in ("tpr", "recall", "rates") if name in points}
    bands["precision"] = curve.get("precision_band", {"precision": [], "low": [], "high": []})
    for name, band in bands.items():
        for value, low, high in zip(band[name], band["low"], band["high"], strict=True):
            yield name, value, low, high
