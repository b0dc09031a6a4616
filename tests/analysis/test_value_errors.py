"""Agreement of two runs' numbers, against Bland and Altman's own data, and the pictures of value tests."""

import math
from pathlib import Path

import numpy as np
import pytest

import harness
from harness.analysis.sampling import take_sample
from harness.analysis.value_errors import agreement_limits, errors_over_truth
from harness.options import DesignOptions
from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import make_sample
from tests.analysis.numbers import Scales, numbers
from tests.analysis.transcripts import aligned, transcript
from tests.simulation import experiments, slack
from tests.workshop import Workshop

# Bland and Altman (1986), table 1: peak expiratory flow (l/min) of 17 people, first measurement by each meter.
WRIGHT = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
MINI = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]


def meters(folder: Path) -> list[Path]:
    return [numbers(folder / f"{name}.jsonl", WRIGHT, said) for name, said in (("wright", WRIGHT), ("mini", MINI))]


def test_the_numbers_are_those_of_bland_and_altman(shop: Workshop) -> None:
    """They print a mean of -2.1 with a standard error of 9.4 and limits -22.0 and 17.8, and a deviation of 38.8."""
    found = shop.call("compare", *meters(shop.folder), "--statistic", "mae", "--format", "json").json["agreement"]
    assert found["cases"] == 17
    assert round(found["bias"]["estimate"], 1) == -2.1
    assert round(found["bias"]["se"], 1) == 9.4
    assert [round(limit, 1) for limit in found["bias"]["interval"]] == [-22.0, 17.8]
    assert round(found["sd"], 1) == 38.8
    # They round 1.96 to 2, and get -79.7 and 75.5.
    z = 1.959964
    assert found["low"]["estimate"] == pytest.approx(found["bias"]["estimate"] - z * found["sd"], abs=1e-4)
    assert found["high"]["estimate"] == pytest.approx(found["bias"]["estimate"] + z * found["sd"], abs=1e-4)


def test_errors_of_the_limits_are_those_of_leaving_out_one_unit_after_another(tmp_path: Path) -> None:
    scales = Scales(units=12)
    gaps = scales.errors(0) - scales.errors(1, 0.5)
    found = harness.compare([str(p) for p in scales.runs(tmp_path)], statistic="bias", method="jackknife").to_dict()

    def limits(inside: BoolArray) -> FloatArray:
        # The deviation is corrected for the size of the whole sample.
        sd = gaps[inside].std() * math.sqrt(scales.n / (scales.n - 1))
        return np.asarray(gaps[inside].mean() + 1.959963984540054 * sd * np.array([0, -1, 1]))

    left = np.array([limits(scales.unit != unit) for unit in range(12)])
    expected = np.sqrt(11 / 12 * ((left - limits(scales.unit >= 0)) ** 2).sum(axis=0))
    shown = [found["agreement"][name]["se"] for name in ("bias", "low", "high")]
    assert shown == pytest.approx(expected, rel=1e-8)


def test_limits_have_the_error_that_bland_and_altman_give_for_normal_differences(tmp_path: Path) -> None:
    """Their (1999) variance of a limit is s^2 (1 / n + 1.96^2 / (2 (n - 1)))."""
    rng = np.random.default_rng(8)
    truth, n = rng.uniform(0, 100, 4000), 4000
    paths = [numbers(tmp_path / f"{k}.jsonl", truth, truth + rng.normal(size=n)) for k in "ab"]
    found = harness.compare([str(path) for path in paths]).to_dict()["agreement"]
    expected = found["sd"] * math.sqrt(1 / n + 1.96**2 / (2 * (n - 1)))
    assert found["low"]["se"] == pytest.approx(expected, rel=0.05)
    assert found["high"]["se"] == pytest.approx(expected, rel=0.05)


@experiments(4_000, quick=200)
def test_intervals_of_the_limits_cover(experiments: int) -> None:
    """20 normal differences: 93 of 100 intervals of a limit have it, as docs/how-to/numbers.md says."""
    rng, inside = np.random.default_rng(3), np.zeros(3)
    for gaps in rng.normal(size=(experiments, 20)):
        found = make_estimates(make_sample(20), agreement_limits(gaps, np.ones(20), 20)).all()
        for place, (one, limit) in enumerate(zip(found, (0, -1.959964, 1.959964), strict=True)):
            assert one.interval is not None
            inside[place] += one.interval.low <= limit <= one.interval.high
    assert 100 * inside / experiments == pytest.approx(
        [95, 93, 93], abs=slack(1.3, full=4_000, experiments=experiments)
    )


def test_agreement_is_shown_for_two_runs_of_numbers_only(shop: Workshop) -> None:
    paths = Scales().runs(shop.folder, (0.0, 0.5, 1.0))
    two = shop.call("compare", *paths[:2]).out
    assert "Agreement of the answers: a - b" in two
    assert "48 answers: 95 % of the differences lie between them" in two
    assert "Agreement" not in shop.call("compare", *paths).out
    label = transcript(shop.folder / "l.jsonl", [True, False], actual=["1", "2"])
    assert "agreement" not in shop.call("compare", label, label, "--format", "json").json
    silent = numbers(shop.folder / "s.jsonl", [1, 2, 3], [None] * 3)
    assert "agreement" not in shop.call("compare", silent, silent, "--format", "json").json


def test_large_numbers_lose_no_digits(tmp_path: Path) -> None:
    truth = np.arange(20.0)
    gaps = np.tile([0.25, -0.25], 10)
    paths = [
        numbers(tmp_path / f"{k}.jsonl", truth, 1e9 + truth + off) for k, off in (("a", gaps + 5e8), ("b", 0 * gaps))
    ]
    found = harness.compare([str(path) for path in paths]).to_dict()["agreement"]
    assert found["sd"] == pytest.approx(gaps.std(ddof=1), rel=1e-9)


def test_errors_over_truth_are_binned_by_units(tmp_path: Path) -> None:
    scales = Scales(units=32)
    runs = aligned(*scales.runs(tmp_path, (0.5,)))
    found = errors_over_truth(runs, take_sample(runs, DesignOptions()), Replication())
    assert found.errors == pytest.approx(scales.errors(0, 0.5), abs=1e-9)
    assert found.truth.tolist() == scales.truth.tolist()
    assert (found.tolerance, found.relative) == (1.0, False)
    assert len(found.bins) == 4
    edges = [one.truth for one in found.bins]
    assert edges == sorted(edges)
    quarters = np.array_split(np.argsort(scales.truth, kind="stable"), 4)
    means = [float(scales.errors(0, 0.5)[part].mean()) for part in quarters]
    assert [one.bias.value for one in found.bins] == pytest.approx(means)
    few = aligned(numbers(tmp_path / "few.jsonl", [1, 1, 1], [1, 2, 3]))
    assert errors_over_truth(few, take_sample(few, DesignOptions()), Replication()).bins == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p.png", pytest.param("p.svg", marks=pytest.mark.slow)])
def test_pictures_are_written_and_the_same_every_time(shop: Workshop, name: str) -> None:
    paths = Scales().runs(shop.folder)
    a, b = map(str, paths)
    for words, times in ((["rate", a, b], 1), (["compare", a, b], 2)):
        pictures = []
        for _ in range(times):
            done = shop.call(*words, "--plot", name, "--force")
            assert done.status == 0, done.err
            pictures.append((shop.folder / name).read_bytes())
        assert pictures[0] == pictures[-1]
        assert len(pictures[0]) > 5_000


def test_pictures_of_odd_runs(shop: Workshop) -> None:
    """Refusals only, a single answer, a relative tolerance, a name that is markup."""
    silent = numbers(shop.folder / "s.jsonl", [1, 2, 3], [None] * 3)
    single = numbers(shop.folder / "one.jsonl", [5, 6], [4, None], name="$x_1$ <b>" * 9)
    relative = numbers(
        shop.folder / "r.jsonl", [-2, 5, 9], [-1, 5, 12], test={"task": "value", "relative_tolerance": True}
    )
    for path in (silent, single, relative):
        assert shop.call("rate", path, "--plot", "p.svg", "--force").status == 0
    done = shop.call("compare", single, single, "--plot", "p.svg", "--force")
    assert done.status == 2
    assert "fewer than two cases have both answers" in done.err


def test_what_cannot_be_drawn_is_refused(shop: Workshop) -> None:
    paths = Scales().runs(shop.folder, (0.0,) * 5)
    label = transcript(shop.folder / "l.jsonl", [True, False])
    draws = "--plot draws what --by shows: name a column, such as --by truth"
    for words, message in (
        (["rate", label], draws),
        (["compare", label, label], draws),
        (["compare", *paths[:3]], "the agreement of two transcripts is drawn"),
        (["compare", *paths[:2], "--unpaired"], "the agreement of two transcripts is drawn"),
        (["rate", *paths], "--plot: 5 transcripts; the errors of up to 4 are drawn"),
    ):
        done = shop.call(*map(str, words), "--plot", "p.png")
        assert done.status == 2
        assert message in done.err.splitlines()[-1]
    assert not (shop.folder / "p.png").exists()
    assert shop.call("compare", *paths[:2], "--by", "truth:2", "--plot", "p.png").status == 0


def test_from_python(tmp_path: Path) -> None:
    paths = [str(path) for path in Scales().runs(tmp_path)]
    harness.rate(paths[0]).plot(tmp_path / "errors.png")
    harness.compare(paths).plot(tmp_path / "agreement.png")
    assert (tmp_path / "errors.png").stat().st_size > 5_000
    assert (tmp_path / "agreement.png").stat().st_size > 5_000
