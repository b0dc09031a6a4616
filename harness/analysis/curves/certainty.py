"""How sure one can be of a curve: independent cases, strata and clusters, or two subjects a score."""

from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.comparing.align import Aligned
from harness.analysis.comparing.sampling import Sampling
from harness.analysis.curves.wishes import Bands, Wishes
from harness.errors import UsageError
from harness.params import nearest
from harness.stats.curves.bands import CurveBands, bootstrap_bands, replicated_bands, wilson_bands
from harness.stats.curves.cases import Cases, IntArray
from harness.stats.curves.counts import Counts
from harness.stats.curves.fixed_fpr import FixedFprBands, along_curve, fixed_fpr_bands
from harness.stats.curves.simultaneous import simultaneous_confidence
from harness.stats.curves.subjects import Subjects
from harness.stats.curves.summaries import Summary, summary_estimate
from harness.stats.curves.two_way import TARGET, two_way_summary
from harness.stats.curves.two_way_bands import two_way_bands
from harness.stats.estimate import Estimate
from harness.stats.replication.plan import Method, Plan
from harness.stats.replication.sample import Sample

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
        """How to replicate: by what suits the statistic, or by the bootstrap where that was asked for."""
        method = Method.BOOTSTRAP if self.wishes.bands is Bands.BOOTSTRAP else Method.AUTO
        return Plan(method=method, confidence=self.wishes.confidence, seed=self.wishes.seed)

    @property
    def target(self) -> str:
        """What area and equal error rate speak of."""
        if self.subjects is not None:
            return TARGET
        return self.sampling.target if self.sampling.known else INDEPENDENT

    @property
    def bands(self) -> Bands:
        """The kind of band that fits, or that was asked for."""
        wanted = self.wishes.bands
        if wanted is Bands.TWO_WAY and self.subjects is None:
            raise UsageError("--bands two-way: name the columns of the two subjects with --subjects ROW,COLUMN")
        if wanted is Bands.BRR and not self.sampling.known:
            raise UsageError("--bands brr: no stratum and no PSU is known; name one with --stratum or --psu")
        if wanted is Bands.SIMULTANEOUS and self.subjects is not None:
            raise UsageError(
                "--bands simultaneous: not for scores of two subjects each; take two-way, or leave --subjects out"
            )
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


def curve_estimate(ground: Ground, summary: Summary) -> Estimate:
    """Area or equal error rate, with the error that fits the design."""
    if ground.subjects is not None:
        return two_way_summary(summary.name, ground.cases, ground.subjects, confidence=ground.wishes.confidence)
    return summary_estimate(summary, ground.cases, ground.sample, ground.plan)


def curve_bands(ground: Ground, counts: Counts, at: IntArray) -> CurveBands | None:
    """Bands at some places of the curve, at their thresholds; two-way ones choose the places themselves."""
    kind, confidence = ground.bands, ground.wishes.confidence
    if kind is Bands.NONE:
        return None
    if kind is Bands.TWO_WAY and ground.subjects is not None:
        return two_way_bands(ground.cases, ground.subjects, confidence=confidence)
    if kind is Bands.SIMULTANEOUS:
        confidence = point_confidence(ground, at)
    if kind is Bands.WILSON or (kind is Bands.SIMULTANEOUS and not ground.sampling.known):
        return wilson_bands(counts, at, confidence=confidence)
    if kind is Bands.BOOTSTRAP and not ground.sampling.known:
        rng = np.random.default_rng(ground.wishes.seed)
        return bootstrap_bands(counts, at, rng=rng, confidence=confidence)
    return replicated_bands(ground.cases, ground.sample, at, plan=replace(ground.plan, confidence=confidence))


def fixed_bands(ground: Ground, counts: Counts, at: IntArray) -> FixedFprBands | None:
    """Bands at the false positive rates of some places; None where the design has none, or none were asked for."""
    kind = ground.bands
    if kind in (Bands.NONE, Bands.TWO_WAY):
        return None
    known = ground.sampling.known and kind is not Bands.WILSON
    confidence = point_confidence(ground, at) if kind is Bands.SIMULTANEOUS else ground.wishes.confidence
    sample = ground.sample if known else None
    return along_curve(fixed_fpr_bands(ground.cases, sample, counts.fpr[at], confidence=confidence))


def point_confidence(ground: Ground, at: IntArray) -> float:
    """The confidence that each point needs for the whole band to hold."""
    rng = np.random.default_rng(ground.wishes.seed)
    return simultaneous_confidence(ground.cases, ground.sample, at, rng=rng, confidence=ground.wishes.confidence)
