"""Where the papers contradict themselves or arithmetic: every claim of docs/explanation/statistics.md is checked."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from harness.stats.paired import PairTable, mcnemar

# The tutorial, section 6: tests, TP, TN, FP, FN at thresholds 0 to 4.
SWEEP = [(450, 320, 300, 364), (140, 100, 594, 600), (15, 14, 700, 705), (1, 1, 706, 726), (0, 0, 706, 728)]


def test_human_id_equation_16_has_a_spurious_1_over_m() -> None:
    # Drawers of equal content and rate: the probability of green is that rate, not a fraction of it.
    n, p = np.array([10, 10, 10]), np.array([0.6, 0.6, 0.6])
    printed = (n * p).sum() / n.sum() / len(n)
    assert printed == pytest.approx(0.2)
    assert (n * p).sum() / n.sum() == pytest.approx(0.6)


def test_human_id_drawing_a_drawer_first_is_not_pouring_all_into_a_jar() -> None:
    # One full drawer and one nearly empty: drawer first gives the plain mean of the rates, the jar the weighted one.
    n, p = np.array([99, 1]), np.array([0.5, 1.0])
    rng = np.random.default_rng(18)
    drawer = rng.integers(2, size=40_000)
    drawn = (rng.random(40_000) < p[drawer]).mean()
    # Standard error 0.002.
    assert drawn == pytest.approx(p.mean(), abs=0.009)
    assert (n * p).sum() / n.sum() == pytest.approx(0.505)


def test_human_id_table_4_adds_up_only_when_its_columns_are_shifted_back() -> None:
    for (ss, sf, fs, ff), (a, b, n) in {
        (824, 104, 40, 227): (928, 864, 1195),
        (217, 60, 38, 407): (277, 255, 722),
        (30, 22, 8, 174): (52, 38, 234),
        (9, 44, 1, 140): (53, 10, 194),
    }.items():
        assert (ss + sf, ss + fs, ss + sf + fs + ff) == (a, b, n)


def test_tutorial_sweep_is_an_illustration() -> None:
    assert [tp + fn for tp, _, _, fn in SWEEP] == [814, 740, 720, 727, 728]
    assert {sum(row) for row in SWEEP} == {1434}
    false_positives = [fp for _, _, fp, _ in SWEEP]
    assert all(low <= high for low, high in pairwise(false_positives))
    assert false_positives[0] < false_positives[-1]


def test_tutorial_run_and_comparison_are_of_different_algorithms() -> None:
    # The run of section 6 has 450 + 320 successes; in the comparison WISARD succeeds on 1254 of the same 1434 tests.
    table = PairTable(n_ff=0, n_sf=1254, n_fs=180, n_ss=0)
    assert table.n == 1434
    assert table.n_sf + table.n_ss != 450 + 320
    assert mcnemar(table).z == pytest.approx(28.34, abs=0.005)
