"""How sure one can be of a curve: independent cases, strata and clusters, or two subjects a score."""

from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.comparing.align import Aligned
from harness.analysis.comparing.sampling import Sampling
from harness.analysis.curves.curve import Sure
from harness.analysis.curves.wishes import Bands, Wishes
from harness.errors import UsageError
from harness.params import nearest
from harness.stats.curves.bands import CurveBands, bootstrap_bands, replicated_bands, wilson_bands
from harness.stats.curves.cases import Cases, IntArray
from harness.stats.curves.clustered import clustered_summary
from harness.stats.curves.counts import Counts
from harness.stats.curves.delong import auc_interval
from harness.stats.curves.replicated import AREA, Summary, replicated_summary
from harness.stats.curves.subjects import Subjects
from harness.stats.curves.two_way import TARGET, two_way_summary
from harness.stats.curves.two_way_bands import two_way_bands
from harness.stats.rates import Interval
from harness.stats.replication.balanced import balanced_size
from harness.stats.replication.grouped import GROUPINGS
from harness.stats.replication.plan import Method, Plan
from harness.stats.replication.sample import Sample, make_sample

# Replicates times cases beyond which an area is not computed anew in every replicate: some seconds.
MOST_REPLICATED = 1 << 25
INDEPENDENT = "new independent cases"


@dataclass(frozen=True, eq=False)
class Ground:
    """What certainty rests on: the cases of one curve, how they were sampled, and the user's wishes."""

    cases: Cases
    sampling: Sampling
    subjects: Subjects | None
    wishes: Wishes

    @property
    def sample(self) -> Sample:
        """The sample that the cases are."""
        return self.sampling.sample

    @property
    def plan(self) -> Plan:
        """How to replicate: by balanced replicates with strata, by the jackknife without."""
        method = Method.BOOTSTRAP if self.wishes.bands is Bands.BOOTSTRAP else Method.AUTO
        return Plan(method=method, confidence=self.wishes.confidence, seed=self.wishes.seed)

    @property
    def bands(self) -> Bands:
        """The kind of band that fits, or that was asked for."""
        wanted = self.wishes.bands
        if wanted is Bands.TWO_WAY and self.subjects is None:
            raise UsageError("--bands two-way: name the columns of the two subjects with --subjects ROW,COLUMN")
        if wanted is Bands.BRR and not self.sampling.known:
            raise UsageError("--bands brr: no stratum and no PSU is known; name one with --stratum or --psu")
        if wanted is not Bands.AUTO:
            return wanted
        if self.subjects is not None:
            return Bands.TWO_WAY
        return Bands.BRR if self.sampling.known else Bands.WILSON


def find_subjects(aligned: Aligned, names: tuple[str, str] | None) -> Subjects | None:
    """The two subjects of each case, from two columns."""
    if names is None:
        return None
    sides = []
    for name in names:
        column = aligned.column(name)
        if column is None:
            raise UsageError(f"--subjects: no column '{name}'; {nearest(name, aligned.column_names())}")
        if (column.codes < 0).any():
            raise UsageError(f"--subjects: case '{aligned.ids[int((column.codes < 0).argmax())]}' has no '{name}'")
        sides.append(np.asarray(column.labels)[column.codes])
    try:
        return Subjects.of(*sides)
    except ValueError as error:
        raise UsageError(f"--subjects {','.join(names)}: {error}") from None


def sure_area(ground: Ground, estimate: float) -> Sure:
    """The area with the interval that fits the design."""
    confidence = ground.wishes.confidence
    if ground.subjects is not None:
        two_way = two_way_summary("auc", ground.cases, ground.subjects, confidence=confidence)
        return Sure(estimate, two_way.interval, two_way.method, TARGET)
    if not ground.sampling.known:
        delong = auc_interval(ground.cases, confidence=confidence)
        return Sure(estimate, delong.interval, "DeLong", delong.target)
    if _affordable(ground, ground.plan):
        found = replicated_summary(AREA, ground.cases, ground.sample, plan=ground.plan).estimate
        return Sure(estimate, found.interval, str(found.method), ground.sampling.target)
    linear = clustered_summary("auc", ground.cases, ground.sample, confidence=confidence)
    return Sure(estimate, linear.interval, linear.method, ground.sampling.target)


def sure_equal_error(ground: Ground, estimate: float) -> Sure:
    """The equal error rate with the interval of its linear form, the best there is for a point where lines meet."""
    confidence = ground.wishes.confidence
    if ground.subjects is not None:
        two_way = two_way_summary("eer", ground.cases, ground.subjects, confidence=confidence)
        return Sure(estimate, two_way.interval, two_way.method, TARGET)
    known = ground.sampling.known
    sample = ground.sample if known else make_sample(ground.cases.better.size, weights=ground.sample.weights)
    linear = clustered_summary("eer", ground.cases, sample, confidence=confidence)
    return Sure(estimate, linear.interval, linear.method, ground.sampling.target if known else INDEPENDENT)


def sure_summary(ground: Ground, summary: Summary) -> tuple[Interval, str] | None:
    """A summary by replication, with the method; None where that would take too long, or the sample is too small."""
    plan, sample = ground.plan, ground.sample
    if not sample.stratified:
        # The delete-one jackknife is wrong where a curve meets a line.
        plan = replace(plan, method=Method.BOOTSTRAP)
    if not ground.sampling.known:
        # Independent cases are drawn within their class, as DeLong's variance has it: no resample lacks one.
        sample = make_sample(ground.cases.better.size, strata=ground.cases.positive, weights=sample.weights)
    if replicates_of(sample, plan) * ground.cases.better.size > MOST_REPLICATED:
        return None
    try:
        found = replicated_summary(summary, ground.cases, sample, plan=plan).estimate
    except ValueError:
        return None
    return found.interval, str(found.method)


def curve_bands(ground: Ground, counts: Counts, at: IntArray) -> CurveBands | None:
    """Pointwise bands at some places of the curve; two-way ones choose the places themselves."""
    kind, confidence = ground.bands, ground.wishes.confidence
    if kind is Bands.NONE:
        return None
    if kind is Bands.TWO_WAY and ground.subjects is not None:
        return two_way_bands(ground.cases, ground.subjects, confidence=confidence)
    if kind is Bands.WILSON:
        return wilson_bands(counts, at, confidence=confidence)
    if kind is Bands.BOOTSTRAP and not ground.sampling.known and ground.sampling.weights == "cases":
        rng = np.random.default_rng(ground.wishes.seed)
        return bootstrap_bands(counts, at, rng=rng, confidence=confidence)
    return replicated_bands(ground.cases, ground.sample, at, plan=ground.plan)


def _affordable(ground: Ground, plan: Plan) -> bool:
    return replicates_of(ground.sample, plan) * ground.cases.better.size <= MOST_REPLICATED


def replicates_of(sample: Sample, plan: Plan) -> int:
    """About how many there would be, without forming them."""
    if plan.method == Method.BOOTSTRAP:
        return 1000
    if not sample.stratified:
        return sample.units
    return (sample.strata + 1) * (GROUPINGS if balanced_size(sample) is None else 1)
