"""All 4,950 pairs of 100 algorithms on 500 cases: tables, McNemar, Holm, letters; against a loop over statsmodels.

Run as `python -m benchmarks.bench_paired`. Times are the best of several turns, and ratios are to the bare loop, which
calls statsmodels' exact and chi-square McNemar for every pair of algorithms.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from itertools import combinations

import numpy as np

from benchmarks.timing import Timing, best, perf_counter, print_timings
from harness.stats.arrays import BoolArray
from harness.stats.cochran import cochran_q
from harness.stats.differences import paired_differences
from harness.stats.multiplicity import LetterDisplay, distinct_matrix, holm, letter_display
from harness.stats.paired import McNemars, PairTables, mcnemar_all, pairwise_tables

ALGORITHMS, CASES = 100, 500


def simulate_successes(rng: np.random.Generator) -> BoolArray:
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


def main() -> None:
    successes = simulate_successes(np.random.default_rng(0))
    tables = pairwise_tables(successes)
    tests = mcnemar_all(tables.n_sf, tables.n_fs)
    order = np.argsort(-successes.mean(axis=1), kind="stable").tolist()
    steps = {
        "tables of all pairs": lambda: pairwise_tables(successes),
        "McNemar of all pairs": lambda: mcnemar_all(tables.n_sf, tables.n_fs),
        "Newcombe intervals": lambda: paired_differences(tables),
        "Holm and letters": lambda: letters_of(tables, tests, order),
        "Cochran's Q": lambda: cochran_q(successes),
        "tables, McNemar, Holm, letters": lambda: everything(successes),
    }
    times = best(*steps.values(), turns=20, clock=perf_counter)
    loops: dict[str, Callable[[], object]] = {"bare loop: numpy, tables only": lambda: numpy_loop(successes)}
    if find_spec("statsmodels"):
        loops["bare loop: statsmodels"] = lambda: statsmodels_loop(successes)
        worst = float(np.max(np.abs(tests.p_exact / np.array(statsmodels_loop(successes)) - 1)))
        print(f"# largest relative difference of the exact p from statsmodels: {worst:.1e}")
    times += best(*loops.values(), turns=1, clock=perf_counter)
    title = f"{ALGORITHMS} algorithms, {CASES} cases, {len(tables)} pairs, {len(everything(successes).groups)} groups"
    rows = [Timing(what, spent, times[-1], "the last") for what, spent in zip([*steps, *loops], times, strict=True)]
    print_timings(rows, title=title, unit="ms")


if __name__ == "__main__":
    main()
