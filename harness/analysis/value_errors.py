"""Answers that are numbers: their errors over the truth, and how far the answers of two runs agree."""

from dataclasses import dataclass

import numpy as np

from harness.analysis.align import AlignedRuns
from harness.analysis.cells import Measurement
from harness.analysis.groups import NO_VALUE, several_groups
from harness.analysis.sampling import Sampling
from harness.errors import UsageError
from harness.measures import MEASURES
from harness.stats.arrays import FloatArray
from harness.stats.estimate import Estimate
from harness.stats.rates import normal_quantile
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.statistic import Numbers, SmoothFormula

# The mean error is shown in bins of the truth: so many at most, and about so many units in each at least, since fewer
# would have wide intervals.
MAX_BINS, MIN_UNITS = 10, 8
# Bland and Altman's limits are for 95 % of the differences, whatever the confidence of their intervals.
AGREEING = 0.95


@dataclass(frozen=True)
class ErrorBin:
    """Cases with a similar truth: its mean, and the mean error."""

    truth: float
    bias: Estimate


@dataclass(frozen=True, eq=False)
class ErrorsOverTruth:
    """The truth and the error of every case of a run that has both, the mean error, and that in bins of the truth."""

    name: str
    truth: FloatArray
    errors: FloatArray
    bias: Estimate | None
    bins: list[ErrorBin]
    # The largest error that counts as right, and whether it is a share of the truth.
    tolerance: float | None
    relative: bool


def errors_over_truth(aligned: AlignedRuns, sampling: Sampling, replication: Replication) -> ErrorsOverTruth:
    """The errors of the first run; a TranscriptError if its answers are not numbers."""
    errors, truth = aligned.errors[0], aligned.true_numbers()
    known = ~np.isnan(errors)
    tolerance = aligned.params[0].get("tolerance")
    measurement = Measurement(MEASURES["bias"], aligned, sampling, replication)
    return ErrorsOverTruth(
        name=aligned.names[0],
        truth=truth[known],
        errors=errors[known],
        bias=measurement.runs().estimate(0),
        bins=_bins(measurement, truth),
        tolerance=float(tolerance) if isinstance(tolerance, int | float) else None,
        relative=aligned.headers[0].test.relative_tolerance is True,
    )


def _bins(measurement: Measurement, truth: FloatArray) -> list[ErrorBin]:
    count = min(MAX_BINS, measurement.sampling.sample.units // MIN_UNITS)
    if count < 2:
        return []
    try:
        groups = several_groups(measurement.aligned, f"truth:{count}")
        members = [groups.codes == code for code, label in enumerate(groups.labels) if label != NO_VALUE]
        cells = measurement.cells([(0, inside) for inside in members])
    except UsageError:
        # All cases have the same truth, or so few units have cases in a bin that it has no error.
        return []
    biases = [cells.estimate(cell) for cell in range(len(members))]
    return [
        ErrorBin(float(truth[inside].mean()), bias)
        for inside, bias in zip(members, biases, strict=True)
        if bias is not None
    ]


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far the answers of two runs agree: Bland and Altman (1986, 1999).

    `means` and `differences` (the first run's answer minus the second's) are of the cases that both answered. About
    95 % of the differences lie between `low` and `high`, if they are roughly normal: `bias` -+ 1.96 `sd`.
    """

    names: tuple[str, str]
    means: FloatArray
    differences: FloatArray
    bias: Estimate
    low: Estimate
    high: Estimate
    sd: float


def agreement(aligned: AlignedRuns, sampling: Sampling, replication: Replication) -> Agreement | None:
    """Of two runs whose answers are numbers; None for others, or if fewer than two cases have both answers."""
    if len(aligned.names) != 2 or not aligned.has_numbers:
        return None
    a, b = aligned.answered_numbers()
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = a - b
        known = np.isfinite(gaps)
        # More answers to a case are not more cases.
        cases = float(known.sum()) / sampling.sample.answers
        if cases < 2:
            return None
        try:
            limits = agreement_limits(gaps, known.astype(np.float64), cases)
            estimates = make_estimates(sampling.sample, limits, replication)
        except ValueError:
            # Half of the sample has no such case, or the squares of the differences are too large for a float.
            return None
    bias, low, high = estimates.all()
    weights = sampling.sample.weights[known]
    spread = np.average((gaps[known] - bias.value) ** 2, weights=weights) * cases / (cases - 1)
    means = a[known] / 2 + b[known] / 2
    return Agreement((aligned.names[0], aligned.names[1]), means, gaps[known], bias, low, high, float(spread) ** 0.5)


def agreement_limits(gaps: FloatArray, known: FloatArray, cases: float) -> SmoothFormula:
    """The mean difference, and that minus and plus 1.96 standard deviations.

    The members have one formula, and differ by a column with how many standard deviations are added to the mean.
    """
    # Differences from their mean, or the digits of large numbers would cancel.
    centre = float(gaps[known > 0].mean())
    d = np.where(known > 0, gaps - centre, 0.0)
    unbiased = cases / (cases - 1)

    def formula(totals: Numbers) -> Numbers:
        count, first, second, times = (totals[..., part] for part in range(4))
        mean = first / count
        return mean + centre + times / count * (unbiased * (second / count - mean**2)) ** 0.5

    z = normal_quantile(AGREEING)
    columns = [column for times in (0.0, -z, z) for column in (known, d, d**2, times * known)]
    return SmoothFormula(np.stack(columns, axis=1), fragile=True, counted=known[:, None], formula=formula, parts=4)
