"""A reliability diagram: how often what was said with a probability came true, with errors by design."""

from dataclasses import dataclass

from harness.analysis.align import AlignedRuns
from harness.analysis.sampling import Sampling
from harness.stats.arrays import BoolArray
from harness.stats.curves.costs import bin_numbers
from harness.stats.curves.scores import ScoredCases
from harness.stats.rates import Interval
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.statistic import shares


@dataclass(frozen=True)
class ReliabilityBin:
    """The cases with a probability within some limits: its mean, and the share that came true, or None."""

    cases: int
    probability: float
    frequency: float
    interval: Interval | None


def reliability_bins(aligned: AlignedRuns, sampling: Sampling, replication: Replication) -> list[ReliabilityBin]:
    """The bins of the first run that are not empty, as the expected calibration error has them."""
    [cases] = aligned.curve_cases()
    numbers = bin_numbers(cases)
    return [
        found
        for number in sorted(set(numbers.tolist()))
        if (found := _bin(cases, numbers == number, sampling, replication)) is not None
    ]


def _bin(cases: ScoredCases, inside: BoolArray, sampling: Sampling, replication: Replication) -> ReliabilityBin | None:
    weights = sampling.sample.weights * inside
    total = float(weights.sum())
    if total <= 0:
        return None
    said, happened = float(weights @ cases.better / total), float(weights @ cases.positive / total)
    try:
        statistic = shares([cases.positive & inside], [inside])
        interval = make_estimates(sampling.sample, statistic, replication).one(0).interval
    except ValueError:
        # The replicates of all cases have a value, those of a small bin do not.
        interval = None
    return ReliabilityBin(int(inside.sum()), said, happened, interval)
