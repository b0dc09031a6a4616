"""The error of a curve, and of the operating points on it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from harness.analysis.align import AlignedRuns
from harness.analysis.curves.curve import RequestedPoint
from harness.analysis.sampling import Sampling
from harness.errors import UsageError
from harness.options.curves import BandMethod, CurveOptions, ErrorCosts, PointLimit
from harness.params import nearest
from harness.stats.arrays import BoolArray, IntArray
from harness.stats.curves.bands import (
    DEFAULT_POINTS,
    CurveBands,
    FixedFprBands,
    PrecisionBand,
    along_curve,
    bootstrap_bands,
    fixed_fpr_bands,
    precision_band,
    replicated_bands,
    simultaneous_confidence,
    wilson_bands,
)
from harness.stats.curves.roc import (
    DetectionCost,
    OperatingPoint,
    at_threshold,
    detection_cost,
    point_at_fnr,
    point_at_fpr,
)
from harness.stats.curves.scores import ScoredCases, ThresholdCounts
from harness.stats.curves.summaries import CurveSummary, summary_estimate
from harness.stats.curves.two_way import TARGET, Subjects, two_way_bands, two_way_rate, two_way_summary
from harness.stats.estimate import Estimate
from harness.stats.rates import Interval
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Method, Replication
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import rate

INDEPENDENT = "new independent cases"


@dataclass(frozen=True, eq=False)
class CurveBasis:
    """What errors are computed from: the cases of one curve, how they were sampled, and the user's options.

    `precise` if the average precision gets an interval too, and the precision a band.
    """

    cases: ScoredCases
    sampling: Sampling
    subjects: Subjects | None
    options: CurveOptions
    precise: bool = False

    @property
    def sample(self) -> Sample:
        return self.sampling.sample

    @property
    def replication(self) -> Replication:
        """How to replicate: by what suits the statistic, or by the bootstrap if requested."""
        method = Method.BOOTSTRAP if self.options.bands is BandMethod.BOOTSTRAP else Method.AUTO
        return Replication(method=method, confidence=self.options.confidence, seed=self.options.seed)

    @property
    def target(self) -> str:
        """What the intervals of area and equal error rate are for."""
        if self.subjects is not None:
            return TARGET
        return self.sampling.target if self.sampling.known else INDEPENDENT

    @property
    def bands(self) -> BandMethod:
        """The requested kind of band, or the kind that suits the design."""
        requested = self.options.bands
        if requested is BandMethod.TWO_WAY and self.subjects is None:
            raise UsageError("--bands two-way: name the columns of the two subjects with --subjects ROW,COLUMN")
        if requested is BandMethod.BRR and not self.sampling.known:
            raise UsageError("--bands brr: no stratum and no PSU is known; name one with --stratum or --psu")
        if requested is BandMethod.SIMULTANEOUS and self.subjects is not None:
            raise UsageError(
                "--bands simultaneous: not for scores of two subjects each; choose two-way, or leave out --subjects"
            )
        if requested is not BandMethod.AUTO:
            return requested
        if self.subjects is not None:
            return BandMethod.TWO_WAY
        return BandMethod.BRR if self.sampling.known else BandMethod.WILSON


def subject_labels(aligned: AlignedRuns, names: Sequence[str]) -> list[npt.NDArray[np.str_]]:
    """The two subjects of each case, by label; every case must have both."""
    sides = []
    for name in names:
        column = aligned.column(name)
        if column is None:
            raise UsageError(f"--subjects: no column '{name}'; {nearest(name, aligned.column_names())}")
        if (column.codes < 0).any():
            raise UsageError(f"--subjects: case '{aligned.ids[int((column.codes < 0).argmax())]}' has no '{name}'")
        sides.append(np.asarray(column.labels)[column.codes])
    return sides


def find_subjects(aligned: AlignedRuns, names: Sequence[str] | None) -> Subjects | None:
    """The two subjects of each case, from two columns."""
    if names is None:
        return None
    if len(names) != 2 or not all(names):
        raise UsageError(f"--subjects {','.join(names)}: name two columns, such as probe,gallery")
    sides = subject_labels(aligned, names)
    try:
        return Subjects.of(*sides)
    except ValueError as error:
        raise UsageError(f"--subjects {','.join(names)}: {error}") from None


def identity_notes(basis: CurveBasis) -> list[str]:
    """A note if each score compares two identities, and nothing allows for that."""
    identities = basis.sampling.identities
    if identities is None or basis.subjects is not None or basis.sampling.psu is not None:
        return []
    a, b = identities
    return [
        f"scores that share a {a} or a {b} are alike, but are taken as independent here; --subjects {a},{b} allows for "
        "that"
    ]


def curve_estimate(basis: CurveBasis, summary: CurveSummary) -> Estimate:
    """Area or equal error rate, with the error that fits the design."""
    if basis.subjects is not None:
        return two_way_summary(summary.name, basis.cases, basis.subjects, confidence=basis.options.confidence)
    return summary_estimate(summary, basis.cases, basis.sample, basis.replication)


def curve_bands(basis: CurveBasis, counts: ThresholdCounts, at: IntArray) -> CurveBands | None:
    """Bands at some points of the curve, at their thresholds; two-way ones choose the points themselves."""
    kind, confidence = basis.bands, basis.options.confidence
    if kind is BandMethod.NONE:
        return None
    if kind is BandMethod.TWO_WAY and basis.subjects is not None:
        most = DEFAULT_POINTS if basis.options.points is None else at.size
        return two_way_bands(basis.cases, basis.subjects, confidence=confidence, most=most)
    if kind is BandMethod.SIMULTANEOUS:
        confidence = point_confidence(basis, at)
    if kind is BandMethod.WILSON or (kind is BandMethod.SIMULTANEOUS and not basis.sampling.known):
        return wilson_bands(counts, at, confidence=confidence)
    if kind is BandMethod.BOOTSTRAP and not basis.sampling.known:
        rng = np.random.default_rng(basis.options.seed)
        return bootstrap_bands(counts, at, rng=rng, confidence=confidence)
    return replicated_bands(
        basis.cases, basis.sample, at, replication=replace(basis.replication, confidence=confidence)
    )


def precision_limits(basis: CurveBasis, counts: ThresholdCounts) -> PrecisionBand | None:
    """The band of the precision, if it is asked for and the design has one."""
    none = (BandMethod.NONE, BandMethod.TWO_WAY, BandMethod.SIMULTANEOUS)
    if not basis.precise or basis.bands in none:
        return None
    try:
        return precision_band(basis.cases, counts, basis.sample, basis.replication)
    except ValueError:
        # Too few units for an error.
        return None


def fixed_bands(basis: CurveBasis, counts: ThresholdCounts, at: IntArray) -> FixedFprBands | None:
    """Bands at the false positive rates of some points; None if the design has none, or none were requested."""
    kind = basis.bands
    if kind in (BandMethod.NONE, BandMethod.TWO_WAY):
        return None
    known = basis.sampling.known and kind is not BandMethod.WILSON
    confidence = point_confidence(basis, at) if kind is BandMethod.SIMULTANEOUS else basis.options.confidence
    sample = basis.sample if known else None
    return along_curve(fixed_fpr_bands(basis.cases, sample, counts.fpr[at], confidence=confidence))


def point_confidence(basis: CurveBasis, at: IntArray) -> float:
    """The confidence that each point needs for the whole band to hold."""
    rng = np.random.default_rng(basis.options.seed)
    return simultaneous_confidence(basis.cases, basis.sample, at, rng=rng, confidence=basis.options.confidence)


# Errors that a rate needs to be within 30 % of the true one with 90 % confidence (Doddington and others 2000).
RULE_OF_30 = 30


def operating_point(counts: ThresholdCounts, at: PointLimit) -> OperatingPoint:
    """Where a rate is within its limit, or at a threshold."""
    if at.of == "fpr":
        return point_at_fpr(counts, at.value)
    return point_at_fnr(counts, at.value) if at.of == "fnr" else at_threshold(counts, at.value)


def requested_point(basis: CurveBasis, counts: ThresholdCounts, at: PointLimit) -> RequestedPoint:
    """An operating point; at a rate, its interval allows for a threshold that was set on these cases."""
    estimate = _estimate_at_threshold(basis, counts, at.value) if at.of == "threshold" else _estimate_at_rate(basis, at)
    return RequestedPoint(at, operating_point(counts, at), estimate)


def few_errors(text: str, of: str, rate: float, positive: BoolArray, answers: int) -> list[str]:
    """A note if a requested rate has too few cases: Doddington's rule of 30, and the rule of three for no errors.

    `positive` is of records, of which each case has so many answers.
    """
    if of not in ("fpr", "fnr"):
        return []
    kind, error = ("negative", "false positives") if of == "fpr" else ("positive", "false negatives")
    cases = int(np.count_nonzero(positive if of == "fnr" else ~positive)) // answers
    errors, none = rate * cases, f"may still be {3 / max(cases, 1):.2g} (rule of three)"
    if errors < 1:
        takes = f"; it takes {math.ceil(3 / rate):,} to show it" if rate > 0 else ""
        return [
            f"--at {text}: {cases:,} {kind} cases allow no error at that rate, and without errors the rate "
            f"{none}{takes}"
        ]
    if errors < RULE_OF_30:
        return [
            f"--at {text}: rests on {errors:.0f} {error}; being within 30 % of the true rate takes {RULE_OF_30} "
            f"(rule of 30), that is {math.ceil(RULE_OF_30 / rate):,} {kind} cases"
        ]
    return []


def least_cost(counts: ThresholdCounts, cost: ErrorCosts | None) -> DetectionCost | None:
    """The threshold that costs least."""
    if cost is None:
        return None
    return detection_cost(counts, prior=cost.prior, cost_miss=cost.fn, cost_false_alarm=cost.fp)


def _estimate_at_rate(basis: CurveBasis, at: PointLimit) -> Estimate | None:
    if basis.subjects is not None:
        # No error is known for a point that moves with the subjects on both sides.
        return None
    cases = basis.cases
    if at.of == "fnr":
        # With refusing and accepting swapped, the false-positive rate is the false-negative rate, and vice versa.
        cases = ScoredCases(-cases.better, ~cases.positive, cases.weights, cases.larger_is_better)
    sample = basis.sample if basis.sampling.known else None
    try:
        bands = fixed_fpr_bands(cases, sample, [at.value], confidence=basis.options.confidence)
    except ValueError:
        return None
    limits = Interval(1 - float(bands.high[0]), 1 - float(bands.low[0]))
    return Estimate(1 - float(bands.tpr[0]), math.nan, bands.df, limits, basis.options.confidence, "linearised")


def _estimate_at_threshold(basis: CurveBasis, counts: ThresholdCounts, threshold: float) -> Estimate:
    """The false-negative rate at a threshold that was fixed before the data."""
    sign = 1.0 if counts.larger_is_better else -1.0
    refused = np.asarray(basis.cases.better < sign * threshold)
    if basis.subjects is not None:
        weights = np.where(basis.cases.positive, basis.cases.weight, 0.0)
        try:
            return two_way_rate(refused, basis.subjects, weights=weights, confidence=basis.options.confidence)
        except ValueError as error:
            raise UsageError(f"--at threshold={threshold:g}: {error}") from None
    return make_estimate(basis.sample, rate(refused, within=basis.cases.positive), basis.replication)
