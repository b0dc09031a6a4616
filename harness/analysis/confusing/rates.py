"""Rates within a class, with the interval that fits the design."""

from dataclasses import dataclass

import numpy as np

from harness.analysis.comparing.sampling import Sampling
from harness.analysis.confusing.answers import BoolArray, Choice
from harness.stats.rates import Interval, wilson
from harness.stats.replication.estimate import replicate
from harness.stats.replication.plan import Plan
from harness.stats.replication.statistic import rate

# Classes times cases beyond which intervals are Wilson's: replication would take minutes.
MOST_REPLICATED = 50_000_000


@dataclass(frozen=True)
class ClassRate:
    """One class: a rate with its interval; no rate where there is nothing to take it over."""

    cases: int
    rate: float | None
    interval: Interval | None


class Rates:
    """Rates within a class, with the interval that fits the design."""

    def __init__(self, sampling: Sampling | None, choice: Choice, classes: int) -> None:
        self._plan = Plan(confidence=choice.confidence)
        self._sample = None
        self.method, self.target = "wilson", "new independent cases"
        if sampling is not None and sampling.known and classes * sampling.sample.cases <= MOST_REPLICATED:
            self._sample = sampling.sample
            self.method, self.target = "brr" if sampling.stratum else "jackknife", sampling.target

    def of(self, within: BoolArray, success: BoolArray) -> ClassRate:
        """The share of successes among some of the cases."""
        cases, hits = int(np.count_nonzero(within)), int(np.count_nonzero(within & success))
        if not cases:
            return ClassRate(0, None, None)
        interval = wilson(hits, cases, confidence=self._plan.confidence)
        if self._sample is not None and 0 < hits < cases:
            try:
                found = replicate(self._sample, rate(success & within, within=within), self._plan)
                return ClassRate(cases, found.estimate, found.interval)
            except ValueError:
                # Units of so few that no variance can be had.
                return ClassRate(cases, hits / cases, interval)
        return ClassRate(cases, hits / cases, interval)
