"""Runs on different inputs: against Welch's test, Newcombe's interval, and sums of variances."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind

from harness import compare
from harness.analysis.align import Run
from harness.analysis.compare import compare_runs
from harness.analysis.comparison import Comparison
from harness.errors import TranscriptError, UsageError
from harness.options.comparing import CompareOptions
from harness.report.blocks import Paragraphs
from harness.report.comparison import comparison_blocks, comparison_json
from harness.stats.differences import unpaired_difference
from harness.stats.limits import share_limits
from harness.stats.multiplicity import holm
from harness.stats.power import detectable
from harness.transcript.columns import read_columns
from tests.analysis.score_runs import World, compare_files
from tests.analysis.transcripts import clustered, transcript
from tests.workshop import Workshop


def compare_separately(*paths: Path, **options: Any) -> Comparison:
    runs = [Run(read_columns(path), path.name, path.stem) for path in paths]
    return compare_runs(runs, CompareOptions(unpaired=True, **options))


def sensors(folder: Path, rates: Sequence[float] = (0.8, 0.6), sizes: Sequence[int] = (40, 55)) -> list[Path]:
    """Two sensors in the same four scenes, each with its own images."""
    rng, paths = np.random.default_rng(1), []
    for k, (rate, n) in enumerate(zip(rates, sizes, strict=True)):
        scenes = [f"scene{i % 4}" for i in range(n)]
        ids = [f"sensor{k}-{i}" for i in range(n)]
        path, good = folder / f"{'ab'[k]}.jsonl", rng.random(n) < rate
        paths.append(transcript(path, good, ids=ids, stratum=scenes, test={"digest": f"1:{k}"}))
    return paths


def test_variances_of_the_two_samples_add(tmp_path: Path) -> None:
    paths = sensors(tmp_path)
    found = compare_separately(*paths)
    one, other = (side.estimate for side in found.runs)
    gap = found.pairs[0].estimate
    assert one is not None
    assert other is not None
    assert gap is not None
    assert gap.value == pytest.approx(one.value - other.value)
    assert gap.se == pytest.approx(math.hypot(one.se, other.se))
    for side, r in zip(found.runs, (one, other), strict=True):
        scenes = side.measurement.sampling.sample
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
    found = compare_separately(*paths).pairs[0].estimate
    welch = stats.ttest_ind(groups[0].astype(float), groups[1].astype(float), equal_var=False)
    assert found is not None
    assert (found.p_value, found.df) == pytest.approx((welch.pvalue, welch.df))
    # Limits of both shares, squares added (Zou and Donner 2008), so that the interval stays within -1 and 1.
    a, b = (side.estimate for side in compare_separately(*paths).runs)
    assert a is not None
    assert b is not None
    assert a.interval is not None
    assert b.interval is not None
    assert found.interval is not None
    below = math.hypot(a.value - a.interval.low, b.interval.high - b.value)
    above = math.hypot(a.interval.high - a.value, b.value - b.interval.low)
    limits = (found.value - below, found.value + above)
    assert (found.interval.low, found.interval.high) == pytest.approx(limits)
    for side, good in zip((a, b), groups, strict=True):
        by_hand = share_limits(
            good.mean(), good.std(ddof=1) / math.sqrt(good.size), good.size - 1, cases=good.size, units=good.size
        )
        assert side.interval is not None
        assert (side.interval.low, side.interval.high) == pytest.approx((float(by_hand.low), float(by_hand.high)))


def test_means_of_seconds_have_welchs_interval_to_first_order(tmp_path: Path) -> None:
    """A measure without an upper bound: limits of both, squares added, which is Welch's with each side's own t."""
    rng = np.random.default_rng(3)
    groups = [rng.gamma(9, 1, 40), rng.gamma(9, 1.2, 40)]
    paths = [
        transcript(tmp_path / f"{k}.jsonl", [True] * 40, seconds=own.tolist(), ids=[f"{k}{i}" for i in range(40)])
        for k, own in zip("ab", groups, strict=True)
    ]
    found = compare_separately(*paths, statistic="seconds").pairs[0].estimate
    welch = stats.ttest_ind(groups[0], groups[1], equal_var=False)
    assert found is not None
    assert found.interval is not None
    assert (found.p_value, found.df) == pytest.approx((welch.pvalue, welch.df))
    half = stats.t.ppf(0.975, 39) * math.hypot(*(stats.sem(own) for own in groups))
    assert found.interval.low == pytest.approx(found.value - half)
    assert found.interval.high == pytest.approx(found.value + half)


def test_without_a_design_it_is_newcombe_and_fisher(tmp_path: Path) -> None:
    paths = [transcript(tmp_path / f"{k}.jsonl", [True] * hits + [False] * 10) for k, hits in (("a", 20), ("b", 9))]
    found = compare_separately(*paths)
    (pair,), independent = found.pairs, unpaired_difference((20, 30), (9, 19))
    assert (pair.difference, pair.interval, pair.z) == (independent.difference, independent.interval, independent.z)
    assert (pair.p_chi2, pair.p_exact) == (independent.p_z, independent.p_fisher)
    one = pair.estimate
    assert one is not None
    assert one.interval is not None
    # The same interval from the general method: Newcombe's combines both Wilson intervals.
    assert (one.value, one.interval.low, one.interval.high) == pytest.approx(
        (independent.difference, independent.interval.low, independent.interval.high), abs=1e-12
    )
    assert one.p_value == pytest.approx(stats.fisher_exact(np.array([[20, 10], [9, 10]])).pvalue)
    assert not found.by_design
    written = comparison_json(found)
    assert [run["replication"] for run in written["transcripts"]] == [None, None]
    assert written["pairs"][0]["replication"] is None


def test_the_same_cases_are_sharper_when_paired(tmp_path: Path) -> None:
    paths = clustered(tmp_path, 4, strata=6, units=4, size=3, spread=2.0)
    loose, tight = compare_separately(*paths).pairs[0].estimate, compare_files(*paths).pairs[0].estimate
    assert loose is not None
    assert tight is not None
    assert loose.value == pytest.approx(tight.value)
    assert loose.se > tight.se
    assert any("leave out --unpaired for a sharper comparison" in note for note in compare_separately(*paths).cautions)


@pytest.mark.parametrize("options", [{"statistic": "auc"}, {"statistic": "f1"}, {"at": "eer"}])
def test_other_statistics_are_computed_for_each_run_by_itself(tmp_path: Path, options: dict[str, Any]) -> None:
    paths = World(seed=3).runs(tmp_path, (1.5, 1.0))
    found, together = compare_separately(*paths, **options), compare_files(*paths, **options)
    for side, run in zip(found.runs, together.runs, strict=True):
        assert side.estimate is not None
        assert run.estimate is not None
        assert (side.estimate.value, side.estimate.se) == pytest.approx((run.value, run.estimate.se))


def test_different_shares_of_the_strata_are_pointed_out(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True, False] * 8, stratum=["x"] * 12 + ["y"] * 4)
    b = transcript(tmp_path / "b.jsonl", [True, False] * 8, stratum=["x"] * 4 + ["y"] * 12)
    assert any("--weights equal" in note for note in compare_separately(a, b).cautions)
    assert not any("--weights equal" in note for note in compare_separately(a, b, weights="equal").cautions)


def test_strata_must_be_the_same(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True, False] * 2, stratum=["x", "x", "y", "y"])
    b = transcript(tmp_path / "b.jsonl", [True, False] * 2, stratum=["x", "x", "z", "z"])
    with pytest.raises(UsageError, match="not the same strata: y only in a; z only in b"):
        compare_separately(a, b)


def test_tests_must_be_the_same_but_not_their_data(tmp_path: Path) -> None:
    a, b = sensors(tmp_path)
    assert len(compare_separately(a, b).runs) == 2
    other = transcript(tmp_path / "c.jsonl", [True, False], test={"version": "2.0"})
    with pytest.raises(TranscriptError, match=r"c\.jsonl: not of the same test .* version 2\.0"):
        compare_separately(a, other)


def units_of(folder: Path, *groups: Sequence[bool], **more: Any) -> list[Path]:
    """A transcript for each group, with every case a unit of its own."""
    return [
        transcript(folder / f"{k}.jsonl", good, ids=[f"{k}{i}" for i in range(len(good))],
                   psu=[f"{k}{i}" for i in range(len(good))], **more)
        for k, good in zip("abc", groups, strict=False)
    ]  # fmt: skip


def test_margins_are_two_one_sided_welch_tests(tmp_path: Path) -> None:
    """Against statsmodels' TOST of two samples with unequal variances."""
    rng = np.random.default_rng(4)
    groups = [rng.random(60) < 0.8, rng.random(80) < 0.75]
    found = compare_separately(*units_of(tmp_path, *(own.tolist() for own in groups)), margin=0.2)
    one = found.pairs[0].equivalence
    assert one is not None
    both = ttost_ind(groups[0].astype(float), groups[1].astype(float), -0.2, 0.2, usevar="unequal")
    p_value, (_, p_lower, _), (_, p_upper, _) = both
    assert (one.p_not_inferior, one.p_not_superior) == pytest.approx((p_lower, p_upper))
    assert one.p_equivalent == pytest.approx(p_value)
    less = compare_separately(*units_of(tmp_path, *(own.tolist() for own in groups)), margin=0.2, statistic="fnr")
    twin = less.pairs[0].equivalence
    assert twin is not None
    assert twin.p_not_inferior == pytest.approx(one.p_not_inferior)


def test_margins_of_several_runs_are_corrected_for_their_number(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    found = compare_separately(
        *units_of(tmp_path, *((rng.random(50) < rate).tolist() for rate in (0.8, 0.7, 0.75))), margin=0.3
    )
    margins = [pair.equivalence for pair in found.pairs]
    for name in ("p_not_inferior", "p_not_superior", "p_equivalent"):
        raw = [getattr(one.equivalence, name) for one in margins if one]
        np.testing.assert_allclose([getattr(one, name) for one in margins if one], holm(np.array(raw)))


@pytest.mark.parametrize(("units", "shown"), [(5, False), (400, True)])
def test_a_side_that_is_always_right_is_not_certain_to_be_so(tmp_path: Path, units: int, shown: bool) -> None:
    """Five units without an error allow a difference far larger than the margin; 400 do not."""
    rng = np.random.default_rng(6)
    other = rng.random(400) < 0.98
    found = compare_separately(*units_of(tmp_path, [True] * units, other.tolist()), margin=0.1)
    gap = found.pairs[0].estimate
    assert gap is not None
    assert gap.interval is not None
    margins = [pair.equivalence for pair in found.pairs]
    assert margins[0] is not None
    assert (margins[0].p_equivalent <= 0.05) is shown
    # The test that goes with the interval: it lies within the margin when the p-value is below its error.
    tested = margins[0].equivalence
    assert (max(-tested.interval.low, tested.interval.high) < 0.1) is shown
    side = found.runs[0].estimate
    assert side is not None
    assert side.interval is not None
    assert gap.interval.low <= gap.value - (1 - side.interval.low)
    same = compare_separately(*units_of(tmp_path, [True] * units, [True] * units), margin=0.1)
    assert same.pairs[0].estimate is not None
    assert same.pairs[0].estimate.p_value == 1.0
    twin = same.pairs[0].equivalence
    assert twin is not None
    assert (twin.p_equivalent <= 0.05) is shown


@pytest.mark.slow
def test_a_side_without_variance_in_five_units_gives_no_verdict(tmp_path: Path) -> None:
    """Both rates are 0.8, one side has five units of four identical cases: few verdicts in 100 experiments.

    Treating that side as certain gave 25 %. At most 12 of 100 at 5 % has a chance of 99.9 %.
    """
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(100):
        few, many = np.repeat(rng.random(5) < 0.8, 4), np.repeat(rng.random(40) < 0.8, 4)
        paths = [
            transcript(tmp_path / f"{k}.jsonl", good, ids=[f"{k}{i}" for i in range(len(good))],
                       psu=[f"{k}{i // 4}" for i in range(len(good))])
            for k, good in (("a", few), ("b", many))
        ]  # fmt: skip
        found = compare_separately(*paths)
        wrong += found.pairs[0].p_decisive <= 0.05
    assert wrong <= 12


def test_the_detectable_difference_is_reported_if_both_sides_vary(tmp_path: Path) -> None:
    """By Welch's error and degrees of freedom; five units without an error have no variance to base it on."""
    rng = np.random.default_rng(10)
    some, other = (rng.random(60) < 0.8).tolist(), (rng.random(60) < 0.8).tolist()

    def verdict(*groups: Sequence[bool]) -> tuple[Comparison, str]:
        found = compare_separately(*units_of(tmp_path, *groups))
        blocks = [block for block in comparison_blocks(found) if isinstance(block, Paragraphs)]
        return found, " ".join(text for block in blocks for text in block.texts)

    found, text = verdict(some, other)
    gap = found.pairs[0].estimate
    assert gap is not None
    missed = detectable(gap.se, gap.df)
    assert f"a difference below {missed * 100:.1f} points would be missed more than one time in five" in text
    _, text = verdict([True] * 5, other)
    assert "a and b cannot be told apart in rate of success" in text
    assert "would be missed" not in text


def test_groups_of_different_inputs_are_each_side_by_itself(tmp_path: Path) -> None:
    """A group is estimated from each side alone, and the differences are unpaired."""
    rng, paths = np.random.default_rng(8), []
    for k, n in (("a", 90), ("b", 120)):
        columns = [{"noise": float(x), "day": "xyz"[i % 3] if k == "a" else "xy"[i % 2]}
                   for i, x in enumerate(rng.uniform(0, 30, n))]  # fmt: skip
        path = tmp_path / f"{k}.jsonl"
        paths.append(transcript(path, rng.random(n) < 0.7, ids=[f"{k}{i}" for i in range(n)],
                                psu=[f"{k}{i // 3}" for i in range(n)], columns=columns))  # fmt: skip
    for by, labels in (("day", ["x", "y", "z"]), ("noise=10,20", ["below 10", "10 to below 20", "20 and above"])):
        found = compare_separately(*paths, by=by)
        assert found.by is not None
        assert {group.label for group in found.by.groups} == set(labels)
        for side, path in enumerate(paths):
            alone = compare_files(path, path, by=by).by
            assert alone is not None
            own = {group.label: group for group in alone.groups}
            for group in found.by.groups:
                one, twin = group.runs[side], own[group.label].runs[0] if group.label in own else None
                assert (one is None) is (twin is None)
                if one is not None and twin is not None:
                    assert (one.value, one.se) == pytest.approx((twin.value, twin.se), abs=1e-12)
                    assert one.interval is not None
                    assert twin.interval is not None
                    limits = (twin.interval.low, twin.interval.high)
                    assert (one.interval.low, one.interval.high) == pytest.approx(limits, abs=1e-12)
        gaps = [group.pairs[0] for group in found.by.groups]
        for group, gap in zip(found.by.groups, gaps, strict=True):
            a, b = group.runs
            if a is None or b is None:
                assert gap is None
            else:
                assert gap is not None
                assert (gap.value, gap.se) == pytest.approx((a.value - b.value, math.hypot(a.se, b.se)))
        known = [gap for gap in gaps if gap is not None and gap.p_value is not None]
        corrected = holm(np.array([gap.p_value for gap in known]))
        assert [gap.p_adjusted for gap in known] == pytest.approx(corrected.tolist())


@pytest.mark.slow
def test_the_command_has_margins_and_groups(shop: Workshop) -> None:
    world = World(strata=10, seed=9)
    a = world.write(shop.folder / "a.jsonl", world.scores(0, 1.5))
    lines = world.write(shop.folder / "b.jsonl", world.scores(1, 1.0)).read_text().replace('"c0', '"d0')
    b = shop.write("b.jsonl", "".join(lines.splitlines(keepends=True)[:-1]))
    words = ("compare", a, b, "--unpaired", "--partial", "--margin", "0.3", "--by", "noise=10,20")
    found = shop.call(*words, "--format", "json").json
    assert found["pairs"][0]["equivalence"]["margin"] == 0.3
    assert [group["label"] for group in found["by"]["groups"]] == ["below 10", "10 to below 20", "20 and above"]
    for group in found["by"]["groups"]:
        assert group["pairs"][0]["difference"] == pytest.approx(
            group["runs"][0]["estimate"] - group["runs"][1]["estimate"]
        )
    for style in ("table", "plain", "csv", "tex", "md"):
        done = shop.call(*words, "--plot", "p.png", "--force", "--format", style)
        assert done.status == 0, done.err
        assert "10 to below 20" in done.out
    assert (shop.folder / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "Equivalence" in shop.call(*words).out
    for method in ("holm", "hochberg", "bh"):
        again = shop.call(*words, "--multiplicity", method, "--format", "json").json
        assert again["multiplicity"] == method
        assert again["by"] == found["by"], "groups are corrected by Holm, whatever corrects the pairs of all cases"


def test_a_run_without_the_measure_has_no_verdict_and_no_winner(tmp_path: Path) -> None:
    """It accepts nothing, so it has no precision: neither is better, whatever their rates of success are."""
    positive = [i % 2 == 0 for i in range(40)]
    good = {"a": [not sign for sign in positive], "b": [i % 5 > 0 for i in range(40)]}
    paths = [
        transcript(tmp_path / f"{k}.jsonl", own, ids=[f"{k}{i}" for i in range(40)], positive=positive)
        for k, own in good.items()
    ]
    found = compare(paths, unpaired=True, statistic="precision")
    assert found.verdicts == ["a and b cannot be compared: one of them has no precision."]
    assert found.estimates["a"] is None
    [pair] = found.to_dict()["pairs"]
    assert (pair["better"], pair["replication"], pair["difference"]) == (None, None, pytest.approx(0.5 - 0.8))
    [first, _] = found.to_dict()["transcripts"]
    assert (first["value"], first["replication"], first["rate"]) == (None, None, 0.5)
    [shown] = [
        words for line in str(found).splitlines() if (words := line.split())[:3] == ["a", "(self-reported)", "40"]
    ]
    assert shown[-2:] == ["-", "-"]


def test_a_group_that_is_too_small_for_an_estimate_does_not_end_the_comparison(tmp_path: Path) -> None:
    """The bootstrap draws samples without any of its three cases; on the same cases it has no estimate either."""
    paths = [
        transcript(
            tmp_path / f"{k}.jsonl",
            np.random.default_rng(seed).random(60) < 0.7,
            ids=[f"{k}{i}" for i in range(60)],
            columns=[{"size": "few" if i < 3 else "many"} for i in range(60)],
            stratum=[f"s{i % 4}" for i in range(60)],
            test={"digest": f"1:{k}"},
        )
        for seed, k in enumerate("ab")
    ]
    (found,) = compare_separately(*paths, by=("size",), method="bootstrap").breakdowns
    few, many = found.groups
    assert (few.cases, few.runs, few.pairs) == (6, [None, None], [None])
    assert None not in [*many.runs, *many.pairs]
