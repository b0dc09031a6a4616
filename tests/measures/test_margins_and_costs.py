"""Equivalence within a margin, and seconds and memory: against the statistics they rest on and textbook intervals."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from harness.analysis import compare as comparing
from harness.analysis.cells import Measurement
from harness.analysis.sampling import take_sample
from harness.measures import MEASURES
from harness.options import DesignOptions
from harness.report.comparison import comparison_json
from harness.report.verdicts import margin_verdict
from harness.stats.arrays import FloatArray
from harness.stats.equivalence import equivalent, equivalent_by_limits, paired_equivalent
from harness.stats.limits import cases_without_variance
from harness.stats.multiplicity import holm
from harness.stats.paired import PairTable
from harness.stats.rates import Interval
from harness.stats.replication.method import Replication
from tests.analysis.score_runs import World, compare_files
from tests.analysis.transcripts import aligned, clustered, transcript
from tests.workshop import Workshop


def test_margins_use_the_error_and_degrees_of_freedom_of_the_design(tmp_path: Path) -> None:
    found = compare_files(*World(strata=20, seed=1).runs(tmp_path), margin=0.1)
    for pair in found.pairs:
        r, one = pair.estimate, pair.equivalence
        assert r is not None
        assert one is not None
        assert one.equivalence == equivalent(r.value, r.se, margin=0.1, df=r.df, alpha=0.05)
    for name in ("p_not_inferior", "p_not_superior", "p_equivalent"):
        tests = [pair.equivalence for pair in found.pairs if pair.equivalence]
        raw = [getattr(one.equivalence, name) for one in tests]
        np.testing.assert_allclose([getattr(one, name) for one in tests], holm(np.array(raw)))


def test_without_a_design_margins_are_tangos(tmp_path: Path) -> None:
    paths = [transcript(tmp_path / f"{k}.jsonl", [True] * 40 + [k == "a"] * 3 + [False] * 7) for k in "ab"]
    found = compare_files(*paths, margin=0.2)
    one = found.pairs[0].equivalence
    assert one is not None
    assert one.equivalence == paired_equivalent(PairTable(n_ff=7, n_sf=3, n_fs=0, n_ss=40), margin=0.2)


def test_larger_is_worse_for_measures_that_are_better_when_small(tmp_path: Path) -> None:
    paths = World(strata=30, seed=2).runs(tmp_path, (2.0, 1.0))
    by_tpr, by_fnr = (compare_files(*paths, margin=0.05, statistic=name) for name in ("tpr", "fnr"))
    one, other = by_tpr.pairs[0].equivalence, by_fnr.pairs[0].equivalence
    assert one is not None
    assert other is not None
    assert one.p_not_inferior == pytest.approx(other.p_not_inferior)
    assert one.p_not_inferior < 0.5 < one.p_not_superior


def test_margins_by_limits_are_those_by_errors_if_the_limits_are_students() -> None:
    """An interval and a test that match give the same p-values."""
    value, se, df = 0.03, 0.02, 11.0

    def limits(confidence: float) -> Interval:
        half = float(stats.t.ppf((1 + confidence) / 2, df)) * se
        return Interval(value - half, value + half)

    by_limits, by_error = equivalent_by_limits(limits, margin=0.1), equivalent(value, se, margin=0.1, df=df)
    for name in ("p_not_inferior", "p_not_superior", "p_equivalent"):
        assert getattr(by_limits, name) == pytest.approx(getattr(by_error, name), rel=1e-6)
    assert by_limits.interval.low == pytest.approx(by_error.interval.low)
    far = equivalent_by_limits(lambda confidence: Interval(0.2, 0.3), margin=0.1)
    assert (far.p_not_superior, far.p_equivalent) == (1.0, 1.0)


def test_runs_that_agree_on_few_cases_are_not_called_equivalent(tmp_path: Path) -> None:
    """No variance is not certainty: the cases of a unit count for less than as many independent cases."""
    units = [f"u{i // 5}" for i in range(20)]
    paths = [transcript(tmp_path / f"{k}.jsonl", [True] * 15 + [False] * 5, psu=units) for k in "ab"]
    found = compare_files(*paths, margin=0.05)
    one = found.pairs[0].equivalence
    assert one is not None
    assert one.p_equivalent > 0.05
    effect = 20 / float(cases_without_variance(20, 4))
    twin = paired_equivalent(PairTable(n_ff=5, n_sf=0, n_fs=0, n_ss=15), margin=0.05, design_effect=effect)
    assert one.equivalence == twin
    assert "neither was shown" in margin_verdict(found, found.pairs[0])


@pytest.mark.parametrize(("margin", "message"), [
    (0.5, "a and b are equivalent: they differ by less than 0.5"),
    (0.15, "a is not worse than b by 0.15 or more (p < 0.0001); equivalence was not shown"),
    (0.001, "neither was shown to be within 0.001"),
])  # fmt: skip
def test_margins_in_words(tmp_path: Path, margin: float, message: str) -> None:
    found = compare_files(*clustered(tmp_path, 4, strata=10, units=4, size=3, spread=0.3), margin=margin)
    assert message in margin_verdict(found, found.pairs[0])


def costs_of(
    folder: Path, values: FloatArray, pairs: list[tuple[int, int]], units: npt.NDArray[np.intp] | None = None
) -> comparing.AnswerCosts | None:
    """The costs of runs that took these seconds."""
    more: dict[str, Any] = {} if units is None else {"psu": [str(unit) for unit in units]}
    paths = []
    for k, own in enumerate(values):
        seconds = [None if math.isnan(value) else value for value in own.tolist()]
        paths.append(transcript(folder / f"{k}.jsonl", [True] * len(own), seconds=seconds, **more))
    runs = aligned(*paths)
    return comparing.costs_of(
        "seconds", Measurement(MEASURES["rate"], runs, take_sample(runs, DesignOptions()), Replication()), pairs
    )


def test_costs_of_independent_cases_are_the_textbooks(tmp_path: Path) -> None:
    """Student's interval of a mean."""
    rng = np.random.default_rng(4)
    values = rng.exponential(0.01, size=(2, 50))
    found = costs_of(tmp_path, values, [(0, 1)])
    assert found is not None
    for own, one in zip(values, found.runs, strict=True):
        assert one is not None
        assert one.interval is not None
        low, high = stats.t.interval(0.95, 49, own.mean(), stats.sem(own))
        assert (one.value, one.interval.low, one.interval.high) == pytest.approx((own.mean(), low, high))


def test_ratios_of_costs_and_their_limits_are_inverted_when_runs_are_swapped(tmp_path: Path) -> None:
    values = np.random.default_rng(5).exponential(0.01, size=(2, 60))
    found = costs_of(tmp_path, values, [(0, 1), (1, 0)], np.arange(60) // 3)
    assert found is not None
    one, other = found.pairs
    assert one is not None
    assert other is not None
    assert one.interval is not None
    assert other.interval is not None
    assert one.value == pytest.approx(values[0].mean() / values[1].mean())
    assert (one.value, one.interval.low) == pytest.approx((1 / other.value, 1 / other.interval.high))
    assert one.p_value == pytest.approx(other.p_value)


def test_the_error_of_a_ratio_is_that_of_a_loop_over_units(tmp_path: Path) -> None:
    """The jackknife of log(mean / mean), first order: one unit left out at a time."""
    values = np.random.default_rng(6).gamma(20.0, 0.01, size=(2, 400))
    units = np.arange(400) // 2
    found = costs_of(tmp_path, values, [(0, 1)], units)
    left = [math.log(values[0][units != u].mean() / values[1][units != u].mean()) for u in range(200)]
    se = math.sqrt(199 / 200 * ((np.array(left) - math.log(values[0].mean() / values[1].mean())) ** 2).sum())
    assert found is not None
    assert found.pairs[0] is not None
    assert found.pairs[0].interval is not None
    half = math.log(found.pairs[0].interval.high / found.pairs[0].value)
    assert half == pytest.approx(stats.t.ppf(0.975, 199) * se, rel=1e-3)
    # The error of the ratio itself, by the same rule.
    assert found.pairs[0].se == pytest.approx(found.pairs[0].value * se, rel=1e-3)


def test_twice_as_long_everywhere_is_exactly_twice(tmp_path: Path) -> None:
    values = np.random.default_rng(7).exponential(1.0, size=20)
    found = costs_of(tmp_path, np.stack([2 * values, values]), [(0, 1)])
    assert found is not None
    assert found.pairs[0] is not None
    assert found.pairs[0].value == pytest.approx(2.0)
    assert found.pairs[0].interval is None


def test_what_was_not_recorded_is_not_counted(tmp_path: Path) -> None:
    values = np.array([[1.0, np.nan, 3.0, 2.0], [np.nan] * 4])
    found = costs_of(tmp_path, values, [(0, 1)])
    assert found is not None
    assert found.runs[0] is not None
    assert found.runs[0].value == 2.0
    assert found.runs[1] is None
    assert found.pairs == [None]
    both = comparison_json(compare_files(tmp_path / "0.jsonl", tmp_path / "1.jsonl"))["transcripts"]
    assert (both[0]["seconds"]["cases"], both[0]["seconds"]["mean"], both[1]["seconds"]) == (3, 2.0, None)
    assert costs_of(tmp_path, np.full((2, 4), np.nan), [(0, 1)]) is None


def test_a_comparison_has_the_costs_that_were_recorded(tmp_path: Path) -> None:
    world = World(seed=8)
    rng = np.random.default_rng(8)
    paths = [
        world.write(tmp_path / f"{k}.jsonl", world.scores(0), seconds=rng.exponential(0.01, world.n).tolist())
        for k in "ab"
    ]
    found = compare_files(*paths)
    assert found.further == ["seconds"]
    assert all(run.seconds is not None and run.memory is None for run in found.runs)
    assert all(pair.seconds is not None and pair.memory is None for pair in found.pairs)


def test_a_ratio_may_have_no_upper_limit(shop: Workshop) -> None:
    """Two unrelated units have one degree of freedom: any ratio is possible, and the limit in JSON is null."""
    for name, seconds in (("a", [1.0, 1000.0]), ("b", [1000.0, 1.0])):
        transcript(shop.folder / f"{name}.jsonl", [True, False], psu=["u", "v"], seconds=seconds)
    words = ("compare", "a.jsonl", "b.jsonl", "--confidence", "0.999")
    ratio = shop.call(*words, "--format", "json").json["pairs"][0]["seconds"]
    assert ratio["ratio"] == 1.0
    assert ratio["interval"][1] is None
    assert shop.call(*words).status == 0
