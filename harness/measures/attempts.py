"""Measures of several answers to a case: pass@k and majority@k."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness.measures.measure import Measure, Reads, Runs

if TYPE_CHECKING:
    from harness.measures.measure import Cell
    from harness.stats.arrays import FloatArray
    from harness.stats.attempts import Attempts
    from harness.stats.replication.statistic import Statistic
__all__ = ["majority", "passed"]


def passed(k: int) -> Measure:
    """The chance that at least one of k answers is right."""

    def chance(attempts: Attempts) -> FloatArray:
        from harness.stats.attempts import pass_at

        return pass_at(attempts, k)

    return _mean(k, f"pass@{k}", f"chance that one of {k} answers is right", chance)


def majority(k: int) -> Measure:
    """The chance that the most frequent of k answers is right."""

    def chance(attempts: Attempts) -> FloatArray:
        from harness.stats.attempts import majority_at

        return majority_at(attempts, k)

    return _mean(k, f"majority@{k}", f"chance that the majority of {k} answers is right", chance)


def _mean(k: int, name: str, words: str, chance: Callable[[Attempts], FloatArray]) -> Measure:
    """The mean over cases of a number that their answers give; every record of a case stands for it."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        import numpy as np

        from harness.stats.replication.statistic import shares

        attempts, case = runs.attempts()
        values = {run: chance(attempts[run])[case] for run in {run for run, _ in cells}}
        counted = [np.ones(case.size, dtype=np.bool_) if of is None else of for _, of in cells]
        return shares([values[run] for run, _ in cells], counted)

    needs = "several answers to every case"
    return Measure(name, words, statistic, reads=Reads.OUTCOME, needs=needs, share=True, answers=k)
