"""All 4,950 pairs of 100 algorithms on 500 cases: tables, McNemar, Holm, letters; against a loop over statsmodels.

Run as `python benchmarks/bench_paired.py`. Times are the best of several runs; the last column is what a step takes
relative to the bare loop, which calls statsmodels' exact and chi-square McNemar for every pair of columns, as one would
write it at first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
import numpy.typing as npt

from harness.stats.cochran import cochran_q
from harness.stats.differences import paired_differences
from harness.stats.letters import LetterDisplay, distinct_matrix, letter_display
from harness.stats.multiplicity import holm
from harness.stats.paired import McNemars, PairTables, mcnemar_all, pairwise_tables

ALGORITHMS, CASES = 100, 500
BoolArray = npt.NDArray[np.bool_]


def made_up_successes(rng: np.random.Generator) -> BoolArray:
    """Cases of different difficulty, algorithms from bad to good."""
    skill = np.linspace(-1, 1, ALGORITHMS)[:, None]
    difficulty = rng.normal(0, 1.5, CASES)
    return rng.random((ALGORITHMS, CASES)) < 1 / (1 + np.exp(difficulty - skill))


def letters_of(tables: PairTables, tests: McNemars, order: list[int]) -> LetterDisplay:
    found = holm(tests.p_exact) < 0.05
    return letter_display(distinct_matrix(ALGORITHMS, tables.first, tables.second, found), order=order)


def everything(successes: BoolArray) -> LetterDisplay:
    tables = pairwise_tables(successes)
    order = np.argsort(-successes.mean(axis=1), kind="stable").tolist()
    return letters_of(tables, mcnemar_all(tables.n_sf, tables.n_fs), order)


def statsmodels_loop(successes: BoolArray) -> list[float]:
    from statsmodels.stats.contingency_tables import mcnemar

    p_values = []
    for a, b in combinations(successes, 2):
        table = [[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]]
        p_values.append(float(mcnemar(table, exact=True).pvalue))
        mcnemar(table, exact=False)
    return p_values


def numpy_loop(successes: BoolArray) -> list[tuple[int, int]]:
    return [(int(np.sum(a & ~b)), int(np.sum(~a & b))) for a, b in combinations(successes, 2)]


def seconds(act: Callable[[], object], *, runs: int) -> float:
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        act()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    successes = made_up_successes(np.random.default_rng(0))
    tables = pairwise_tables(successes)
    tests = mcnemar_all(tables.n_sf, tables.n_fs)
    order = np.argsort(-successes.mean(axis=1), kind="stable").tolist()
    rows = {
        "tables of all pairs": seconds(lambda: pairwise_tables(successes), runs=20),
        "McNemar of all pairs": seconds(lambda: mcnemar_all(tables.n_sf, tables.n_fs), runs=20),
        "Newcombe intervals": seconds(lambda: paired_differences(tables), runs=20),
        "Holm and letters": seconds(lambda: letters_of(tables, tests, order), runs=20),
        "Cochran's Q": seconds(lambda: cochran_q(successes), runs=20),
        "tables, McNemar, Holm, letters": seconds(lambda: everything(successes), runs=20),
        "bare loop: numpy, tables only": seconds(lambda: numpy_loop(successes), runs=3),
    }
    try:
        loop = seconds(lambda: statsmodels_loop(successes), runs=1)
        rows["bare loop: statsmodels"] = loop
        worst = float(np.max(np.abs(tests.p_exact / np.array(statsmodels_loop(successes)) - 1)))
        print(f"# largest relative difference of the exact p from statsmodels: {worst:.1e}")
    except ImportError:
        loop = rows["bare loop: numpy, tables only"]
        print("# statsmodels is not installed: times are relative to the numpy loop")
    print(f"# {ALGORITHMS} algorithms, {CASES} cases, {len(tables)} pairs, {len(everything(successes).groups)} groups")
    print(f"{'# step':34}{'ms':>10}{'times faster':>14}")
    for name, spent in rows.items():
        print(f"{name:34}{1000 * spent:10.2f}{loop / spent:14.1f}")


if __name__ == "__main__":
    main()
