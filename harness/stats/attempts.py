"""Several answers to a case: the chance that one of k is right, and that the majority of k is.

With n answers to a case, k of them are a draw without replacement, so both chances are exact sums, not simulations.
`pass_at` is the unbiased estimate of Chen and others (2021); `majority_at` is that of self-consistency (Wang and others
2023), where a tie of the most frequent answers is settled by lot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np

from harness.stats.arrays import BoolArray, FloatArray, IntArray

__all__ = ["Attempts", "majority_at", "pass_at"]


@dataclass(frozen=True, slots=True, eq=False)
class Attempts:
    """The answers of one run: for each the number of its case, whether it was right, and its label, -1 for none."""

    case: IntArray
    success: BoolArray
    label: IntArray
    cases: int

    @property
    def answers(self) -> IntArray:
        """How many answers each case has."""
        return np.bincount(self.case, minlength=self.cases).astype(np.int64)


def pass_at(attempts: Attempts, k: int) -> FloatArray:
    """For each case, the chance that at least one of k answers is right: 1 - C(n - c, k) / C(n, k)."""
    n = _check(attempts, k)
    right = np.bincount(attempts.case, weights=attempts.success, minlength=attempts.cases).astype(np.int64)
    chance = np.ones(attempts.cases)
    # The k answers are drawn one after the other; each is wrong with the share of wrong ones that are left.
    for taken in range(k):
        chance *= np.maximum(n - right - taken, 0) / (n - taken)
    return np.asarray(1 - chance)


def majority_at(attempts: Attempts, k: int) -> FloatArray:
    """For each case, the chance that the most frequent of k answers is right; ties are settled by lot."""
    _check(attempts, k)
    order = np.argsort(attempts.case, kind="stable")
    bounds = np.searchsorted(attempts.case[order], np.arange(attempts.cases + 1))
    label, success = attempts.label[order].tolist(), attempts.success[order].tolist()
    chances = np.empty(attempts.cases)
    for case in range(attempts.cases):
        start, end = int(bounds[case]), int(bounds[case + 1])
        # How often each right and each wrong label was given; answers without a label are wrong ones of a kind.
        answers = Counter(zip(label[start:end], success[start:end], strict=True))
        right, wrong = (
            tuple(sorted(count for (_, is_right), count in answers.items() if is_right == kind))
            for kind in (True, False)
        )
        chances[case] = _majority(right, wrong, k)
    return chances


@lru_cache(maxsize=4096)
def _majority(right: tuple[int, ...], wrong: tuple[int, ...], k: int) -> float:
    """Sum over the number of times that the winner is drawn, and over how many labels tie with it.

    A polynomial counts the draws: the power of x is how many answers were drawn, the power of y how many labels were
    drawn exactly `top` times. Right labels that tie with a right one win as well.
    """
    total = comb(sum(right) + sum(wrong), k)
    won = 0.0
    for top in range(1, k + 1):
        ways = _ways_to_draw([*right, *wrong], top, k, marked=len(right))
        for (rights, wrongs), count in ways.items():
            if rights:
                won += count * rights / (rights + wrongs)
    return won / total


def _ways_to_draw(counts: Sequence[int], top: int, k: int, *, marked: int) -> dict[tuple[int, int], int]:
    """Ways to draw k answers with no label more than `top` times, by how many labels of each kind reach it."""
    ways: dict[tuple[int, int, int], int] = {(0, 0, 0): 1}
    for index, count in enumerate(counts):
        grown: dict[tuple[int, int, int], int] = {}
        for (total, rights, wrongs), number in ways.items():
            for more in range(min(count, top, k - total) + 1):
                reached = more == top
                key = (total + more, rights + (reached and index < marked), wrongs + (reached and index >= marked))
                grown[key] = grown.get(key, 0) + number * comb(count, more)
        ways = grown
    reaching: dict[tuple[int, int], int] = {}
    for (total, rights, wrongs), number in ways.items():
        if total == k and rights + wrongs:
            reaching[rights, wrongs] = reaching.get((rights, wrongs), 0) + number
    return reaching


def _check(attempts: Attempts, k: int) -> IntArray:
    if k < 1:
        raise ValueError(f"k {k!r}: expected 1 or more")
    n = attempts.answers
    if n.size == 0 or int(n.min()) < k:
        fewest = int(n.min()) if n.size else 0
        raise ValueError(f"a case has only {fewest} answers; it takes {k} for each (run with --repeat {k} or more)")
    return n
