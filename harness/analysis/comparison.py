"""The result of a comparison: every run, every pair, all runs together, and the extras that were requested."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.analysis.align import AlignedRuns
from harness.analysis.breakdown import Breakdown
from harness.analysis.cells import Cells, Measurement
from harness.analysis.item_analysis import ItemAnalysis
from harness.analysis.operating_point import OperatingResult
from harness.analysis.pairs import Pair
from harness.analysis.run_identity import machine_lines
from harness.analysis.sampling import Sampling
from harness.analysis.value_errors import Agreement
from harness.measures import MEASURES, Measure, Reads
from harness.measures.values import check_directed
from harness.model import Counts
from harness.stats.cochran import CochranQ, WaldTest
from harness.stats.estimate import Estimate
from harness.stats.multiplicity import Multiplicity
from harness.stats.rates import Interval, wilson
from harness.stats.replication.method import Replication


@dataclass(frozen=True)
class RunSummary:
    """One algorithm by itself: which run of a measurement it is, of several on the same cases or of one alone."""

    measurement: Measurement
    number: int
    # Wilson's, of the rate.
    interval: Interval
    # By the design.
    estimate: Estimate | None
    # The measure that is compared; None if this run has none, such as a precision when it accepts nothing.
    value: float | None
    # Cases that are left out of a mean of recorded numbers, because they have none.
    left_out: int = 0
    # Where its threshold was set.
    operating: OperatingResult | None = None
    # Runs that share a letter cannot be told apart.
    letters: str = ""
    # The mean cost of an answer, if it was recorded.
    seconds: Estimate | None = None
    memory: Estimate | None = None

    @classmethod
    def of(
        cls, measurement: Measurement, number: int, values: Cells | None, operating: OperatingResult | None
    ) -> "RunSummary":
        """A run of a measurement; `values` are the estimates of all its runs, None without a design."""
        counts = measurement.aligned.counts[number]
        interval = wilson(counts.successes, counts.tests, confidence=measurement.replication.confidence)
        estimate = None if values is None else values.estimate(number)
        value = counts.rate if values is None else None if estimate is None else estimate.value
        left_out = values.without_number(number) if values is not None and measurement.measure.of_numbers else 0
        return cls(measurement, number, interval, estimate, value, left_out, operating)

    @property
    def aligned(self) -> AlignedRuns:
        """The run, with the others on the same cases if there are any."""
        return self.measurement.aligned

    @property
    def name(self) -> str:
        return self.aligned.names[self.number]

    @property
    def counts(self) -> Counts:
        return self.aligned.counts[self.number]

    @property
    def rate(self) -> float:
        """The share of its cases on which it succeeded."""
        return self.counts.rate

    def answers_with(self, cost: str) -> int:
        """How many of its answers have seconds, or memory."""
        return int(np.count_nonzero(~np.isnan(getattr(self.aligned, cost)[self.number])))


@dataclass(frozen=True)
class Comparison:
    """Everything that was computed; None for what was not requested or not recorded."""

    # All runs on the same cases; or each on its own cases, if nothing is matched.
    measurements: Sequence[Measurement]
    multiplicity: Multiplicity
    runs: list[RunSummary]
    pairs: list[Pair]
    # The run that all others are compared with; None if all pairs are compared.
    baseline: int | None = None
    # Of runs on the same cases, all together: on how many cases the run of the row succeeded and that of the column
    # failed, whether any two differ, which cannot be told apart, and the rates of always picking an algorithm that is
    # right, and of a majority vote.
    better: list[list[int | None]] = field(default_factory=list)
    cochran: CochranQ | None = None
    wald: WaldTest | None = None
    groups: list[list[str]] = field(default_factory=list)
    oracle: float = math.nan
    majority: float | None = None
    # What the task, or the samples, have to say about a comparison of such runs.
    cautions: Sequence[str] = ()
    # The fields of runs and pairs that were asked for besides, or recorded.
    further: Sequence[str] = ()
    # By each column that was asked for.
    breakdowns: Sequence[Breakdown] = ()
    items: ItemAnalysis | None = None
    # Of two runs whose answers are numbers.
    agreement: Agreement | None = None

    @property
    def paired(self) -> bool:
        """Whether the runs are on the same cases, which are matched."""
        return len(self.measurements) == 1

    @property
    def aligned(self) -> AlignedRuns:
        """All runs; the first if nothing is matched."""
        return self.measurements[0].aligned

    @property
    def sampling(self) -> Sampling:
        """How the cases were sampled, of the first run if nothing is matched."""
        return self.measurements[0].sampling

    @property
    def replication(self) -> Replication:
        return self.measurements[0].replication

    @property
    def measure(self) -> Measure:
        return self.measurements[0].measure

    @property
    def operating(self) -> OperatingResult | None:
        """Where thresholds were set."""
        return self.runs[0].operating

    @property
    def by_design(self) -> bool:
        """Whether there are estimates by design; else rates are compared as if all cases were independent."""
        return self.other_measure or any(measurement.sampling.known for measurement in self.measurements)

    @property
    def names(self) -> list[str]:
        return [run.name for run in self.runs]

    @property
    def by(self) -> Breakdown | None:
        """The groups of the first column that was asked for; None if none was."""
        return next(iter(self.breakdowns), None)

    @property
    def machine_cautions(self) -> list[str]:
        """Of times or memory that are compared: what the machines may have to do with it."""
        if self.measure.reads is not Reads.RESOURCES:
            return []
        return machine_lines(self.names, [run.aligned.headers[run.number] for run in self.runs])

    @property
    def run_pairs(self) -> list[tuple[int, int]]:
        """The pairs, by the numbers of their runs."""
        return [(pair.a, pair.b) for pair in self.pairs]

    @property
    def confidence(self) -> float:
        return self.replication.confidence

    @property
    def alpha(self) -> float:
        """The error that is allowed."""
        return 1 - self.confidence

    @property
    def other_measure(self) -> bool:
        """Whether a measure other than the rate of success is compared."""
        return self.measure is not MEASURES["rate"]

    @property
    def order(self) -> list[int]:
        """The numbers of the runs, the best first; those without a value come last."""
        return best_first(self.runs, self.measure)

    def pairs_of_best(self, count: int) -> list[Pair]:
        """The best run with each of so many that follow it."""
        best, *others = self.order[: count + 1]
        by_runs = {(pair.a, pair.b): pair for pair in self.pairs if best in (pair.a, pair.b)}
        return [by_runs[min(best, other), max(best, other)] for other in others]

    @property
    def first_is_worse(self) -> bool:
        """Whether another run is significantly better than the first; a UsageError if nobody said what is better."""
        check_directed(self.measure, "--fail-if-worse")
        return any(p.a == 0 and self.leader(p) == p.b and p.p_decisive <= self.alpha for p in self.pairs)

    def shares(self, pair: Pair) -> tuple[float, float, float, float]:
        """On what share of the cases both, only A, only B and neither succeeded, by the weights of the cases."""
        a, b = self.aligned.success[[pair.a, pair.b]]
        both, only_a, only_b, neither = np.average(
            [a & b, a & ~b, ~a & b, ~(a | b)], axis=1, weights=self.sampling.sample.weights
        ).tolist()
        return both, only_a, only_b, neither

    def leader(self, pair: Pair) -> int | None:
        """The run that is better by the estimate.

        None on a tie, if the two lie on either side of the ideal, or if nobody has said what is better.
        """
        a, b = self.runs[pair.a].value, self.runs[pair.b].value
        if pair.estimate is None or a is None or b is None:
            return None if pair.other_measure else pair.better
        ahead = self.measure.lead(a, b)
        return None if ahead == 0 else pair.a if ahead > 0 else pair.b


def best_first(runs: Sequence[RunSummary], measure: Measure) -> list[int]:
    """The numbers of the runs, the best first, or those with most if nobody has said what is better.

    Those without a value come last.
    """
    values = [run.value for run in runs]
    return sorted(range(len(runs)), key=lambda i: math.inf if (value := values[i]) is None else -measure.merit(value))
