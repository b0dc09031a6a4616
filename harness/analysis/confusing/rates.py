"""Rates within a class, with the interval that fits the design."""

from dataclasses import dataclass

import numpy as np

from harness.analysis.comparing.sampling import Sampling
from harness.analysis.confusing.answers import BoolArray, Choice
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.plan import Plan
from harness.stats.replication.statistic import shares

# Classes times cases beyond which there are no intervals: they would take minutes.
MOST_ESTIMATED = 50_000_000


@dataclass(frozen=True)
class ClassRate:
    """One class: how many cases a rate is taken over, and the rate; None where there is nothing to take it over."""

    cases: int
    estimate: Estimate | None


class Rates:
    """Rates within a class, of a sample that has each record so often; no intervals where a single case is none."""

    def __init__(self, sampling: Sampling | None, choice: Choice, classes: int, copies: int = 1) -> None:
        self.copies = copies
        self._plan = Plan(confidence=choice.confidence)
        self._sample = None if sampling is None else sampling.sample
        self._affordable = sampling is not None and classes * sampling.sample.cases <= MOST_ESTIMATED
        self.method = "wilson" if self._affordable else "none"
        self.target = "new independent cases"
        if sampling is not None and sampling.known and self._affordable:
            self.method, self.target = "brr" if sampling.stratum else "jackknife", sampling.target

    def of(self, within: BoolArray, success: BoolArray) -> ClassRate:
        """The share of successes among some of the cases."""
        cases = self.count(within)
        weights = within.astype(np.float64) if self._sample is None else self._sample.weights * within
        if not weights.any():
            return ClassRate(cases, None)
        if self._sample is None or not self._affordable:
            return ClassRate(cases, Estimate(float(weights @ success / weights.sum()), np.nan, np.nan, None))
        return ClassRate(cases, make_estimate(self._sample, shares([success & within], [within]), self._plan))

    def count(self, cases: BoolArray) -> int:
        """How many records these are."""
        return int(np.count_nonzero(cases)) // self.copies
