"""Measures at an operating point by their linear form: against the bootstrap, and what must not vary."""

from pathlib import Path

import numpy as np
import pytest

from harness.analysis.align import AlignedRuns
from harness.analysis.operating_point import operating_measure, parse_criterion
from harness.measures import MEASURES
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import make_sample
from tests.analysis.score_runs import World, compare_files
from tests.analysis.transcripts import aligned
from tests.simulation import experiments


def runs_without_ties(world: World, folder: Path, lifts: tuple[float, ...]) -> AlignedRuns:
    """Scores without ties: a threshold jumps over cases with the same score, and no linear form is close."""
    rng = np.random.default_rng(world.seed)
    shared = 0.5 * rng.normal(size=world.n)[world.unit]
    paths = [
        world.write(folder / f"{k}.jsonl", rng.normal(size=world.n) + lift * world.positive + shared)
        for k, lift in enumerate(lifts)
    ]
    return aligned(*paths)


@pytest.mark.parametrize("point", ["fpr=0.2", "fnr=0.2", "eer"])
@pytest.mark.parametrize("name", ["tpr", "fpr", "rate", "f1", "mcc"])
@experiments(1000, quick=300)
def test_the_linear_form_is_close_to_the_bootstrap(tmp_path: Path, point: str, name: str, experiments: int) -> None:
    """1,000 draws have a standard error of 2 %; the slope of the curve is estimated too."""
    world = World(strata=1, units=400, size=4, seed=21)
    runs = runs_without_ties(world, tmp_path, (1.5, 1.0))
    sample = make_sample(world.n, units=world.unit)
    statistic = operating_measure(MEASURES[name], parse_criterion(point)).statistic(runs, [(0, None), (1, None)])
    linear = make_estimates(sample, statistic, Replication(method="linearised"))
    drawn = make_estimates(sample, statistic, Replication(method="bootstrap", replicates=experiments))
    held = {"fpr=0.2": "fpr", "fnr=0.2": "tpr"}.get(point)
    if name == held:
        # The rate held fixed does not vary to first order; the steps of the curve leave a little.
        assert (linear.se < 1e-9).all()
        assert (drawn.se < 0.01).all()
    else:
        np.testing.assert_allclose(linear.se, drawn.se, rtol=0.15)
        gap = linear.difference(0, 1).se, drawn.difference(0, 1).se
        assert gap[0] == pytest.approx(gap[1], rel=0.15)


def test_rates_at_equal_errors_are_one_rate(tmp_path: Path) -> None:
    """At equal errors tpr, tnr and the balanced accuracy move together, except for the last step of the curve."""
    world = World(strata=1, units=200, size=4, seed=22)
    runs = runs_without_ties(world, tmp_path, (1.5,))
    sample = make_sample(world.n, units=world.unit)

    def se(name: str) -> float:
        statistic = operating_measure(MEASURES[name], parse_criterion("eer")).statistic(runs, [(0, None)])
        return float(make_estimates(sample, statistic, Replication(method="linearised")).se[0])

    assert se("tpr") == pytest.approx(se("tnr"), rel=1e-9)
    assert se("balanced") == pytest.approx(se("tpr"), rel=1e-9)


def test_the_command_uses_the_linear_form(tmp_path: Path) -> None:
    found = compare_files(
        *World(seed=23).runs(tmp_path),
        statistic="tpr",
        at="fpr=0.3",
        plan=Replication(method="linearised"),
    )
    assert {pair.estimate.method for pair in found.pairs if pair.estimate} == {"linearised"}
