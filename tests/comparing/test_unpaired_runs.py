"""Runs on different inputs: against Welch's test, Newcombe's interval, and sums of variances."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import clustered, transcript
from scipy import stats
from scored import World, further

from harness.analysis.comparing.align import Run
from harness.analysis.comparing.operating import parse_point
from harness.analysis.comparing.sampling import DesignOptions
from harness.analysis.comparing.unpaired import UnpairedComparison, Wish, compare_unpaired
from harness.errors import TranscriptError, UsageError
from harness.stats.replication.plan import Plan
from harness.stats.unpaired import unpaired
from harness.transcript.columns import read_columns


def apart(
    *paths: Path, design: DesignOptions | None = None, plan: Plan | None = None, **wish: Any
) -> UnpairedComparison:
    runs = [Run(read_columns(path), path.name, path.stem) for path in paths]
    return compare_unpaired(runs, Wish(design or DesignOptions(), plan or Plan(), **wish))


def sensors(folder: Path, rates: Sequence[float] = (0.8, 0.6), sizes: Sequence[int] = (40, 55)) -> list[Path]:
    """Two sensors in the same four scenes, with images of their own."""
    rng, paths = np.random.default_rng(1), []
    for k, (rate, n) in enumerate(zip(rates, sizes, strict=True)):
        scenes = [f"scene{i % 4}" for i in range(n)]
        ids = [f"sensor{k}-{i}" for i in range(n)]
        path, good = folder / f"{'ab'[k]}.jsonl", rng.random(n) < rate
        paths.append(transcript(path, good, ids=ids, stratum=scenes, test={"digest": f"1:{k}"}))
    return paths


def test_variances_of_the_two_samples_add(tmp_path: Path) -> None:
    paths = sensors(tmp_path)
    found = apart(*paths)
    one, other = (side.replication for side in found.sides)
    gap = found.contrasts[0].replication
    assert one is not None
    assert other is not None
    assert gap is not None
    assert gap.estimate == pytest.approx(one.estimate - other.estimate)
    assert gap.se == pytest.approx(math.hypot(one.se, other.se))
    for side, r in zip(found.sides, (one, other), strict=True):
        scenes = side.sampling.sample
        good, n = side.aligned.success[0], side.aligned.n
        by_hand = 0.0
        for stratum in range(4):
            part = good[scenes.stratum_of_unit[scenes.unit_of_case] == stratum]
            by_hand += (len(part) / n) ** 2 * part.var(ddof=1) / len(part)
        assert r.se == pytest.approx(math.sqrt(by_hand))


def test_units_without_strata_are_welchs_test(tmp_path: Path) -> None:
    """Each case a unit: Student's means with unequal variances."""
    rng = np.random.default_rng(2)
    groups = [rng.random(30) < 0.7, rng.random(45) < 0.4]
    paths = [
        transcript(tmp_path / f"{k}.jsonl", good, psu=[f"{k}{i}" for i in range(len(good))])
        for k, good in zip("ab", groups, strict=True)
    ]
    found = apart(*paths).contrasts[0].replication
    welch = stats.ttest_ind(groups[0].astype(float), groups[1].astype(float), equal_var=False)
    assert found is not None
    assert (found.p_value, found.df) == pytest.approx((welch.pvalue, welch.df))
    limits = welch.confidence_interval()
    assert (found.interval.low, found.interval.high) == pytest.approx((limits.low, limits.high))


def test_without_a_design_it_is_newcombe_and_fisher(tmp_path: Path) -> None:
    paths = [transcript(tmp_path / f"{k}.jsonl", [True] * hits + [False] * 10) for k, hits in (("a", 20), ("b", 9))]
    found = apart(*paths)
    assert found.contrasts[0].independent == unpaired((20, 30), (9, 19))
    assert found.contrasts[0].replication is None
    assert found.plain


def test_the_same_cases_are_sharper_when_paired(tmp_path: Path) -> None:
    paths = clustered(tmp_path, 4, strata=6, units=4, size=3, spread=2.0)
    loose, tight = apart(*paths).contrasts[0].replication, further(*paths)[0].pairs[0].replication
    assert loose is not None
    assert tight is not None
    assert loose.estimate == pytest.approx(tight.estimate)
    assert loose.se > tight.se
    assert any("without --unpaired it is sharper" in note for note in apart(*paths).notes)


@pytest.mark.parametrize("wish", [{"statistic": "auc"}, {"statistic": "f1"}, {"point": parse_point("eer")}])
def test_other_statistics_are_of_each_run_by_itself(tmp_path: Path, wish: dict[str, Any]) -> None:
    paths = World(seed=3).runs(tmp_path, (1.5, 1.0))
    found, together = apart(*paths, **wish), further(*paths, **wish)[0]
    for side, run in zip(found.sides, together.runs, strict=True):
        assert side.replication is not None
        assert run.replication is not None
        assert (side.value, side.replication.se) == pytest.approx((run.value, run.replication.se))


def test_other_shares_of_the_strata_are_said(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True, False] * 8, stratum=["x"] * 12 + ["y"] * 4)
    b = transcript(tmp_path / "b.jsonl", [True, False] * 8, stratum=["x"] * 4 + ["y"] * 12)
    assert any("--weights equal" in note for note in apart(a, b).notes)
    assert not any("--weights equal" in note for note in apart(a, b, design=DesignOptions(weights="equal")).notes)


def test_strata_must_be_the_same(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True, False] * 2, stratum=["x", "x", "y", "y"])
    b = transcript(tmp_path / "b.jsonl", [True, False] * 2, stratum=["x", "x", "z", "z"])
    with pytest.raises(UsageError, match="not the same strata: y only in a; z only in b"):
        apart(a, b)


def test_tests_must_be_the_same_but_not_their_data(tmp_path: Path) -> None:
    a, b = sensors(tmp_path)
    assert len(apart(a, b).sides) == 2
    other = transcript(tmp_path / "c.jsonl", [True, False], test={"version": "2.0"})
    with pytest.raises(TranscriptError, match=r"c\.jsonl: not of the same test .* version 2\.0"):
        apart(a, other)
