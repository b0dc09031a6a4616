"""McNemar's test against R, against exact sums of integers, and against the papers' printed figures."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from harness.stats.paired import McNemar, PairTable, mcnemar, mcnemar_all, pairwise_tables

REFERENCE = json.loads((Path(__file__).parents[1] / "data/paired/reference.json").read_text())
counts = st.integers(0, 60)


def discordant(n_sf: int, n_fs: int) -> PairTable:
    return PairTable(n_ff=11, n_sf=n_sf, n_fs=n_fs, n_ss=17)


def coin(n: int, first: int, last: int) -> Fraction:
    ways, total = math.comb(n, first) if first <= last else 0, 0
    for k in range(first, last + 1):
        total += ways
        ways = ways * (n - k) // (k + 1)
    return Fraction(total, 2**n)


@pytest.mark.parametrize(
    ("n_sf", "n_fs", "z"),
    [(1254, 180, 28.335), (130, 0, 11.314), (1124, 180, 26.114), (27, 2, 4.457)],
)
def test_tutorial_and_table_3_of_human_id_paper(n_sf: int, n_fs: int, z: float) -> None:
    assert mcnemar(discordant(n_sf, n_fs)).z == pytest.approx(z, abs=0.0005)


@pytest.mark.parametrize(
    ("n_sf", "n_fs", "p", "printed"),
    [(60, 38, 0.01668, 0.0164), (22, 8, 0.00806, 0.0080)],
)
def test_table_4_of_human_id_paper_is_slightly_off(n_sf: int, n_fs: int, p: float, printed: float) -> None:
    got = mcnemar(discordant(n_sf, n_fs)).p_one_sided
    assert got == pytest.approx(p, abs=0.000005)
    assert got == pytest.approx(float(coin(n_sf + n_fs, 0, n_fs)), rel=1e-13)
    assert round(got, 4) != printed


@pytest.mark.parametrize(("n_sf", "n_fs"), [(104, 40), (44, 1)])
def test_table_4_of_human_id_paper_small_p(n_sf: int, n_fs: int) -> None:
    assert mcnemar(discordant(n_sf, n_fs)).p_one_sided < 0.0001


@pytest.mark.parametrize("row", REFERENCE["mcnemar"], ids=lambda r: f"{r['a']},{r['b']}")
def test_matches_r(row: dict[str, float]) -> None:
    a, b = int(row["a"]), int(row["b"])
    got = mcnemar(discordant(a, b))
    assert got.p_mid == pytest.approx(row["p_mid_two"], rel=1e-11)
    if a + b:
        side = "greater" if a >= b else "less"
        assert got.z == pytest.approx(max(row["z_cc"], 0), rel=1e-12)
        assert got.p_chi2 == pytest.approx(row["p_cc"], rel=1e-11)
        assert got.p_exact == pytest.approx(row["p_exact_two"], rel=1e-11)
        assert got.p_one_sided == pytest.approx(row[f"p_exact_{side}"], rel=1e-11)


@given(n_sf=counts, n_fs=counts)
def test_matches_exact_sums_of_integers(n_sf: int, n_fs: int) -> None:
    got, n, m = mcnemar(discordant(n_sf, n_fs)), n_sf + n_fs, min(n_sf, n_fs)
    if n == 0:
        return
    exactly, below = coin(n, m, m), coin(n, 0, m - 1)
    mid = 1 - exactly / 2 if n_sf == n_fs else 2 * below + exactly
    assert got.p_one_sided == pytest.approx(float(below + exactly), rel=1e-12)
    assert got.p_exact == pytest.approx(min(1.0, float(2 * (below + exactly))), rel=1e-12)
    assert got.p_mid == pytest.approx(float(mid), rel=1e-12)


@pytest.mark.parametrize(("n_sf", "n_fs"), [(10, 2), (60, 38), (5, 6)])
def test_matches_statsmodels(n_sf: int, n_fs: int) -> None:
    square = [[17, n_sf], [n_fs, 11]]
    got = mcnemar(discordant(n_sf, n_fs))
    assert got.p_exact == pytest.approx(statsmodels_mcnemar(square, exact=True).pvalue, rel=1e-12)
    assert got.p_chi2 == pytest.approx(statsmodels_mcnemar(square, exact=False).pvalue, rel=1e-12)


def test_no_discordant_pair() -> None:
    assert mcnemar(discordant(0, 0), design_effect=2.0) == McNemar(
        z=0.0,
        p_chi2=1.0,
        p_exact=1.0,
        p_mid=1.0,
        p_one_sided=1.0,
        z_design=0.0,
        p_design=1.0,
        better=None,
        confidence_differ=None,
        confidence_better=None,
    )


@given(n_sf=counts, n_fs=counts, deff=st.floats(0.5, 4))
def test_swapping_a_and_b_changes_only_the_winner(n_sf: int, n_fs: int, deff: float) -> None:
    here = mcnemar(discordant(n_sf, n_fs), design_effect=deff)
    there = mcnemar(discordant(n_sf, n_fs).swapped(), design_effect=deff)
    assert there.better == {"a": "b", "b": "a", None: None}[here.better]
    assert (there.z, there.p_exact, there.p_mid, there.p_one_sided, there.p_design) == (
        here.z,
        here.p_exact,
        here.p_mid,
        here.p_one_sided,
        here.p_design,
    )


@given(n_sf=counts, n_fs=counts)
def test_order_of_the_p_values(n_sf: int, n_fs: int) -> None:
    got = mcnemar(discordant(n_sf, n_fs))
    assert got.z >= 0
    assert 0 <= got.p_mid <= got.p_exact <= 1
    assert got.p_exact == min(1, 2 * got.p_one_sided) or n_sf + n_fs == 0


@pytest.mark.parametrize(
    ("n_sf", "differ", "better"),
    [(4, None, None), (5, 0.90, 0.95), (6, 0.95, 0.975), (8, 0.98, 0.99), (9, 0.99, 0.995)],
)
def test_confidence_table_of_the_tutorial(n_sf: int, differ: float | None, better: float | None) -> None:
    got = mcnemar(discordant(n_sf, 0))
    assert (got.confidence_differ, got.confidence_better) == (differ, better)


def test_a_threshold_of_the_table_counts_as_reached() -> None:
    # 1163 / 500 = 2.326 exactly.
    got = mcnemar(discordant(125_582, 124_418))
    assert got.z == 2.326
    assert got.confidence_differ == 0.98


def test_design_effect_shrinks_z() -> None:
    got = mcnemar(discordant(60, 38), design_effect=4.0)
    assert got.z_design == pytest.approx(got.z / 2)
    assert got.p_design == pytest.approx(math.erfc(got.z / 2 / math.sqrt(2)), rel=1e-12)


def test_a_million_discordant_pairs() -> None:
    # The normal tail with a continuity correction agrees with the exact one to a few parts in a thousand here.
    got = mcnemar(PairTable(0, 502_000, 498_000, 0))
    assert got.p_exact == pytest.approx(got.p_chi2, rel=2e-3)
    assert mcnemar(PairTable(0, 10**6, 0, 0)).p_exact == 0.0
    assert mcnemar(PairTable(0, 500_000, 500_000, 0)).p_exact == 1.0


def test_exact_at_ten_thousand() -> None:
    assert mcnemar(discordant(5150, 4850)).p_one_sided == pytest.approx(float(coin(10_000, 0, 4850)), rel=1e-11)


def test_all_pairs_equal_a_count_case_by_case() -> None:
    rng = np.random.default_rng(1)
    successes = rng.random((6, 83)) < rng.random((6, 1))
    tables = pairwise_tables(successes)
    assert len(tables) == 15
    for pair in range(15):
        a, b = successes[tables.first[pair]], successes[tables.second[pair]]
        expected = PairTable(n_ff=sum(~a & ~b), n_sf=sum(a & ~b), n_fs=sum(~a & b), n_ss=sum(a & b))
        assert tables.table(pair) == expected == PairTable.of(a, b)
        assert tables.better()[tables.first[pair], tables.second[pair]] == expected.n_sf
        assert tables.better()[tables.second[pair], tables.first[pair]] == expected.n_fs
    many = mcnemar_all(tables.n_sf, tables.n_fs)
    assert many.p_exact.tolist() == [mcnemar(tables.table(pair)).p_exact for pair in range(15)]


def test_cases_are_counted_across_blocks() -> None:
    a = np.ones(70_001, dtype=bool)
    assert PairTable.of(a, ~a) == PairTable(n_ff=0, n_sf=70_001, n_fs=0, n_ss=0)


def test_permuting_cases_changes_nothing() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random((2, 50)) < 0.6
    order = rng.permutation(50)
    assert PairTable.of(a[order], b[order]) == PairTable.of(a, b)
    assert PairTable.of(a, b).difference == pytest.approx(a.mean() - b.mean())


def test_variance_is_that_of_the_mean_of_the_differences() -> None:
    a, b = np.random.default_rng(3).random((2, 50)) < 0.6
    difference = a.astype(float) - b
    assert PairTable.of(a, b).variance == pytest.approx(difference.var(ddof=1) / 50, rel=1e-12)
    assert math.isnan(PairTable(1, 0, 0, 0).variance)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="n_fs is -1"):
        PairTable(0, 1, -1, 0)
    with pytest.raises(ValueError, match="A has 3 cases, B has 2"):
        PairTable.of([1, 0, 1], [1, 0])
    with pytest.raises(ValueError, match="other than 0 and 1"):
        PairTable.of([1, 2], [1, 0])
    with pytest.raises(ValueError, match=r"expected \(algorithms, cases\)"):
        pairwise_tables([1, 0])
    with pytest.raises(ValueError, match=r"n_sf is 1.5"):
        mcnemar_all([1.5], [2])
    with pytest.raises(ValueError, match="design effect"):
        mcnemar(discordant(1, 2), design_effect=0)


def test_no_cases() -> None:
    assert PairTable.of([], []) == PairTable(0, 0, 0, 0)
    assert math.isnan(PairTable(0, 0, 0, 0).difference)
