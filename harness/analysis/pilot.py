"""What one or two earlier runs say about a larger test of the same kind: its variance, its shape, its strata."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.analysis.align import Run, align
from harness.analysis.cells import Measurement
from harness.analysis.sampling import Sampling, finite, take_sample
from harness.errors import UsageError
from harness.measures import MEASURES
from harness.model import plural
from harness.options import DesignOptions
from harness.stats.arrays import FloatArray
from harness.stats.estimate import Estimate
from harness.stats.limits import cases_without_variance, end_limit, t_quantiles
from harness.stats.planning import PlannedSample
from harness.stats.replication.linearised import influences, stratum_variances
from harness.stats.replication.method import Replication


@dataclass(frozen=True)
class Pilot:
    """What earlier runs say about the variance of a rate of success in a test like theirs.

    Without any variance, `assumed`, variance and design effect are not theirs, but as large as their interval allows.
    """

    names: list[str]
    cases: int
    units: int
    strata: int
    unit: str
    unit_variance: float
    df: float
    rates: list[float]
    difference: float | None
    discordance: float | None
    icc: float | None
    design_effect: float | None
    assumed: bool = False
    # Answers to each case, which are what was counted: more than 1 with --repeat.
    answers: float = 1.0
    # What hate compare takes of such runs, unless told otherwise.
    main_measure: str = "rate"
    # Strata by name, their units, and each one's weight times its standard deviation.
    strata_names: list[str] = field(default_factory=list)
    strata_units: list[int] = field(default_factory=list)
    spread: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def sample(self) -> PlannedSample:
        """Its shape, for a larger test."""
        per_unit = max(self.cases / self.units, 1.0)
        effect = 1.0 if self.design_effect is None or not self.design_effect > 0 else self.design_effect
        icc = 0.0 if per_unit == 1 else (effect - 1) / (per_unit - 1)
        return PlannedSample(per_unit, min(max(icc, -1 / per_unit), 1.0), self.strata)

    @property
    def possible_discordance(self) -> float | None:
        """That of the pilot; without a discordant case, as much as so many cases leave possible."""
        return 1 - float(end_limit(self.cases, self.units)) if self.discordance == 0 else self.discordance

    def assumptions(self, *, exact: bool) -> list[str]:
        """What is assumed if nothing varied; `exact`: cases are independent, and only their discordance counts."""
        if not self.assumed:
            return []
        size, none = f"{self.units:,} {self.unit}", self.discordance == 0
        if exact:
            much = f"a discordance of {self.possible_discordance:.4f}, as much as {size} without a discordant one leave"
            return [f"{much} possible; --discordance says otherwise"] if none else []
        why = f"no case was discordant, in {size}" if none else f"all {size} had the same difference"
        return [f"the largest variance that the pilot's interval leaves possible, since {why}"]


def pilot_of(runs: Sequence[Run], design: DesignOptions, *, partial: bool = False) -> Pilot:
    """What one or two runs say about a larger test of the same kind."""
    if len(runs) > 2:
        raise UsageError(f"{len(runs)} transcripts: a pilot is one run, or two on the same cases")
    aligned = align(runs, partial=partial)
    sampling = take_sample(aligned, design)
    study = Measurement(MEASURES["rate"], aligned, sampling, Replication())
    cells = study.runs()
    estimate = cells.one(0) if len(runs) == 1 else cells.difference(0, 1)
    if estimate is None or not math.isfinite(estimate.se):
        raise UsageError(f"{runs[0].source}: its design gives no standard error, so it says nothing about a variance")
    names, units, spread = _strata(study, sampling, len(runs))
    assumed = estimate.se == 0
    se, effect = _without_variance(runs[0], estimate, sampling) if assumed else (estimate.se, estimate.design_effect)
    return Pilot(
        names=aligned.names,
        cases=aligned.n,
        units=sampling.sample.units,
        strata=sampling.sample.strata,
        unit=plural(sampling.psu or "case"),
        unit_variance=se**2 * sampling.sample.units,
        df=estimate.df,
        rates=[counts.rate for counts in aligned.counts],
        difference=estimate.value if len(runs) == 2 else None,
        discordance=float(np.mean(aligned.success[0] != aligned.success[1])) if len(runs) == 2 else None,
        icc=estimate.icc,
        design_effect=finite(effect),
        assumed=assumed,
        answers=aligned.n / aligned.case_count(np.ones(aligned.n, dtype=np.bool_)),
        main_measure=aligned.headers[0].test.main_measure,
        strata_names=names,
        strata_units=units,
        spread=spread,
    )


def _without_variance(run: Run, estimate: Estimate, sampling: Sampling) -> tuple[float, float]:
    """The standard error and the design effect to plan with if nothing varied, which proves nothing.

    The interval knows what that means: the standard error is its longer half over the quantile of t. The design effect
    is the one that such intervals assume.
    """
    if estimate.interval is None:
        raise UsageError(f"{run.source}: a single unit says nothing about a variance; a pilot needs more")
    half = max(estimate.interval.high - estimate.value, estimate.value - estimate.interval.low)
    cases = float(estimate.cases)
    effect = cases / float(cases_without_variance(cases, estimate.units))
    return half / float(t_quantiles(estimate.df, estimate.confidence)), effect


def _strata(study: Measurement, sampling: Sampling, runs: int) -> tuple[list[str], list[int], FloatArray]:
    """Strata by name, their units, and each one's weight times its standard deviation."""
    sample = sampling.sample
    if sampling.stratum is None:
        return [], [], np.empty(0)
    values = influences(sample, study.measure.statistic(study.aligned, [(run, None) for run in range(runs)]))
    if values is None:
        return [], [], np.empty(0)
    own = values[:, 0] - values[:, 1] if runs == 2 else values[:, 0]
    sizes = sample.stratum_sizes
    # The variance is the sum of W^2 S^2 / n over the strata.
    spread = np.sqrt(stratum_variances(sample, own[:, None])[:, 0] * sizes)
    return _labels(sampling), sizes.tolist(), spread


def _labels(sampling: Sampling) -> list[str]:
    """The names of the strata as the sample has them: joined ones together."""
    names, joined = list(sampling.shares), {one for names in sampling.sample.collapsed for one in names}
    own = [*(name for name in names if name not in joined), *("+".join(names) for names in sampling.sample.collapsed)]
    return sorted(own) if len(own) == sampling.sample.strata else list(sampling.sample.stratum_names)
