"""Corrections for many pairs: against statsmodels, and scipy's Dunnett and Tukey; intervals that hold all at once."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from harness import compare
from harness.analysis.comparison import Comparison
from harness.report.formats import json_lines
from harness.stats.multiplicity import Multiplicity
from harness.stats.replication.method import Replication
from tests.analysis.score_runs import compare_files
from tests.analysis.transcripts import clustered, transcript
from tests.workshop import Workshop

M = 4


def write_runs(folder: Path, good: npt.NDArray[np.bool_], size: int = 1) -> list[Path]:
    """Runs (m, n) on cases in units of one size."""
    units = [f"u{i // size}" for i in range(good.shape[1])]
    return [transcript(folder / f"{'abcdef'[k]}.jsonl", row, psu=units) for k, row in enumerate(good)]


def compare_successes(
    paths: list[Path], method: Multiplicity = Multiplicity.HOLM, baseline: int | None = None, **plan: Any
) -> Comparison:
    name = None if baseline is None else paths[baseline].stem
    return compare_files(*paths, plan=Replication(**plan), multiplicity=method, baseline=name)


def random_successes(seed: int = 1, n: int = 120, lift: float = 0.06) -> npt.NDArray[np.bool_]:
    rng = np.random.default_rng(seed)
    ease = rng.normal(0, 0.2, n)
    return np.array([rng.random(n) < np.clip(0.6 + lift * k + ease, 0, 1) for k in range(M)])


@pytest.mark.parametrize(("method", "name"), [
    (Multiplicity.HOLM, "holm"), (Multiplicity.HOCHBERG, "simes-hochberg"), (Multiplicity.BH, "fdr_bh"),
])  # fmt: skip
def test_corrections_are_those_of_statsmodels(tmp_path: Path, method: Multiplicity, name: str) -> None:
    found = compare_successes(write_runs(tmp_path, random_successes()), method)
    by_design = [pair.estimate for pair in found.pairs if pair.estimate is not None]
    raw = [one.p_value for one in by_design]
    assert len(raw) == 6
    corrected = multipletests(raw, method=name)[1]
    assert [one.p_adjusted for one in by_design] == pytest.approx(corrected.tolist())
    exact = multipletests([pair.p_exact for pair in found.pairs], method=name)[1]
    assert [pair.p_adjusted for pair in found.pairs] == pytest.approx(exact.tolist())


@pytest.mark.parametrize("baseline", [None, 2])
@pytest.mark.parametrize("size", [1, 6])
def test_intervals_that_hold_all_at_once_contain_the_plain_ones(
    tmp_path: Path, size: int, baseline: int | None
) -> None:
    """And p-values lie between the plain ones and Bonferroni's, and are not far from Holm's or below it."""
    paths = write_runs(tmp_path, random_successes(2), size)
    plain, together = (compare_successes(paths, method, baseline) for method in (Multiplicity.HOLM, Multiplicity.MAX_T))
    pairs = len(plain.pairs)
    assert pairs == (6 if baseline is None else 3)
    for one, other in zip(plain.pairs, together.pairs, strict=True):
        a, b = one.estimate, other.estimate
        assert a is not None
        assert b is not None
        assert (a.value, a.se, a.df, a.p_value) == (b.value, b.se, b.df, b.p_value)
        assert a.interval is not None
        assert b.interval is not None
        assert b.interval.low < a.interval.low
        assert a.interval.high < b.interval.high
        assert a.p_value is not None
        assert b.p_adjusted is not None
        assert a.p_value <= b.p_adjusted <= min(1.0, pairs * a.p_value) + 1e-12


def test_all_pairs_of_unrelated_runs_are_tukeys(tmp_path: Path) -> None:
    """Unrelated runs with equal variances: the studentised range over m runs (scipy), here with many df."""
    rng = np.random.default_rng(3)
    n = 3000
    good = np.array([rng.permutation(np.arange(n) % 2 == 0) for _ in range(M)])
    good[3, :150] = True
    found = compare_successes(write_runs(tmp_path, good), Multiplicity.MAX_T)
    for pair in found.pairs:
        one = pair.estimate
        assert one is not None
        assert one.p_adjusted is not None
        tukey = float(stats.studentized_range.sf(abs(one.value) / one.se * math.sqrt(2), M, np.inf))
        assert one.p_adjusted == pytest.approx(tukey, abs=0.01)


def test_one_against_unrelated_others_is_dunnetts(tmp_path: Path) -> None:
    """scipy's Dunnett of independent groups: its p-values are simulated too, to about 0.005."""
    rng = np.random.default_rng(4)
    n = 2000
    good = np.array([rng.permutation(np.arange(n) < n * rate) for rate in (0.5, 0.53, 0.515, 0.49)])
    found = compare_successes(write_runs(tmp_path, good), Multiplicity.MAX_T, baseline=0)
    twin = stats.dunnett(*good[1:].astype(float), control=good[0].astype(float), rng=np.random.default_rng(1))
    adjusted = [pair.estimate.p_adjusted for pair in found.pairs if pair.estimate is not None]
    assert adjusted == pytest.approx(twin.pvalue.tolist(), abs=0.02)


def test_correlated_runs_need_less_correction(tmp_path: Path) -> None:
    """b and c are nearly the same run: two comparisons with a are hardly more than one."""
    rng = np.random.default_rng(5)
    a, b = rng.random(400) < 0.7, rng.random(400) < 0.75
    c = np.where(rng.random(400) < 0.01, ~b, b)
    alike, unlike = (
        compare_successes(write_runs(tmp_path, np.array([a, b, last])), Multiplicity.MAX_T, baseline=0)
        .pairs[0]
        .estimate
        for last in (c, rng.random(400) < 0.75)
    )
    assert alike is not None
    assert unlike is not None
    assert alike.p_value == pytest.approx(unlike.p_value)
    assert alike.p_adjusted is not None
    assert unlike.p_adjusted is not None
    assert alike.p_value is not None
    assert alike.p_value <= alike.p_adjusted < 1.15 * alike.p_value
    assert unlike.p_adjusted > 1.5 * alike.p_value


@pytest.mark.slow
@pytest.mark.parametrize(("experiments", "least"), [(30, 25), pytest.param(100, 89, marks=pytest.mark.slow)])
def test_intervals_hold_all_at_once_as_often_as_they_say(tmp_path: Path, experiments: int, least: int) -> None:
    """With equal runs, all six intervals contain 0 in 95 % of experiments; fewer than `least` has a chance of 0.4 %."""
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(experiments):
        ease = rng.uniform(0.3, 0.9, 60)
        found = compare_successes(write_runs(tmp_path, rng.random((M, 60)) < ease), Multiplicity.MAX_T)
        intervals = [pair.estimate.interval for pair in found.pairs if pair.estimate is not None]
        held += all(one is not None and one.low <= 0 <= one.high for one in intervals)
    assert held >= least


def test_pairs_without_variance_are_bonferronis(tmp_path: Path) -> None:
    """All right against all wrong has no t; its p-value and interval still hold together with the rest."""
    good = np.array([np.ones(60, bool), np.zeros(60, bool), np.arange(60) % 2 == 0])
    found = compare_successes(write_runs(tmp_path, good), Multiplicity.MAX_T)
    plain = compare_successes(write_runs(tmp_path, good))
    one, alone = found.pairs[0].estimate, plain.pairs[0].estimate
    assert one is not None
    assert alone is not None
    assert one.se == 0
    assert one.p_value is not None
    assert one.p_adjusted == pytest.approx(3 * one.p_value)
    assert one.interval is not None
    assert alone.interval is not None
    assert one.interval.low < alone.interval.low
    assert found.groups == [["a"], ["c"], ["b"]]


def test_the_command_has_all_corrections(shop: Workshop) -> None:
    paths = [*clustered(shop.folder, 7, strata=6, units=4, size=3)]
    paths.append(transcript(shop.folder / "c.jsonl", [i % 4 > 0 for i in range(72)]))
    found = {
        method: shop.call("compare", *paths, "--multiplicity", method, "--format", "json").json
        for method in ("holm", "max-t", "hochberg", "bh")
    }
    assert {method: one["multiplicity"] for method, one in found.items()} == {method: method for method in found}
    p_values = {method: [pair["replication"]["p_adjusted"] for pair in one["pairs"]] for method, one in found.items()}
    for k in range(3):
        assert p_values["bh"][k] <= p_values["hochberg"][k] <= p_values["holm"][k]
    text = shop.call("compare", *paths, "--multiplicity", "max-t").out
    assert "p max-t" in text
    again = shop.call("compare", *paths, "--multiplicity", "max-t", "--format", "json").json
    assert again == found["max-t"]


def test_without_a_design_max_t_is_refused_for_rates(shop: Workshop) -> None:
    """Rates of independent cases have McNemar's tests, one by one; other measures always have estimates."""
    for k in range(3):
        transcript(shop.folder / f"{k}.jsonl", [(i * 7 + k) % 5 > 0 for i in range(40)])
    names = ["0.jsonl", "1.jsonl", "2.jsonl"]
    done = shop.call("compare", *names, "--multiplicity", "max-t")
    assert (done.status, len(done.err.splitlines())) == (2, 1)
    assert "--psu" in done.err
    assert shop.call("compare", *names, "--multiplicity", "max-t", "--statistic", "tpr").status == 0


def test_of_very_many_pairs_a_terminal_shows_those_of_the_best(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON and CSV have all of them, in the order given; JSON in parts is the JSON of the result at once."""
    monkeypatch.setenv("COLUMNS", "140")
    rng = np.random.default_rng(3)
    successes = [rng.random(40) < 0.2 + 0.015 * number for number in range(45)]
    paths = [transcript(shop.folder / f"r{number:02d}.jsonl", row) for number, row in enumerate(successes)]
    words = ["compare", *(path.name for path in paths)]
    order = sorted(range(45), key=lambda number: -int(successes[number].sum()))
    shown = shop.call(*words, "--format", "table").out
    table, ranking = shown.split("Ranking")
    told = [line.split()[0:3:2] for line in table.splitlines() if " - r" in line]
    assert [sorted(names) for names in told] == [sorted([f"r{order[0]:02d}", f"r{k:02d}"]) for k in order[1:11]]
    assert [line.split()[0] for line in ranking.splitlines() if line.startswith(" r")] == [
        f"r{k:02d}" for k in order[:30]
    ]
    assert "have all 990 pairs" in " ".join(shown.split())
    assert "The best 30 of 45" in shown
    found = shop.call(*words, "--format", "json")
    assert found.out == json_lines(compare(paths).payload())
    pairs = [(pair["a"], pair["b"]) for pair in found.json["pairs"]]
    assert pairs == [(f"r{a:02d}", f"r{b:02d}") for a in range(45) for b in range(a + 1, 45)]
    assert len(shop.call(*words, "--format", "csv").out.splitlines()) == 991
    assert "r44" in shop.call(*words, "--format", "table", "--all").out
