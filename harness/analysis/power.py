"""Plan a test: how many units it takes for a goal, from figures that a user gives or from earlier runs, a pilot."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.analysis.align import Run, align
from harness.analysis.cells import Measurement
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import UsageError
from harness.measures import MEASURES
from harness.model import finite, plural
from harness.options import DesignOptions
from harness.options.power import PlanningGoal, PowerOptions
from harness.stats.arrays import FloatArray
from harness.stats.estimate import Estimate
from harness.stats.limits import cases_without_variance, end_limit, t_quantiles
from harness.stats.power import (
    PlannedSample,
    detectable,
    difference_power,
    equivalence_power,
    independent_discordance,
    mcnemar_power,
    neyman_allocation,
    paired_variance,
    smallest_number,
    variance_interval,
    width_of_rate,
)
from harness.stats.replication.linearised import influences, stratum_variances
from harness.stats.replication.method import Replication

# Points of the curve of power over units.
CURVE_POINTS = 25


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
    # Whether some cases count more than others, as they do in the rates and the discordance.
    weighted: bool = False
    # Answers to each case, which are what was counted: more than 1 with --repeat.
    answers: float = 1.0
    # The shares of cases and units that count, by Kish.
    counted: tuple[float, float] = (1.0, 1.0)
    # What hate compare takes of such runs, unless told otherwise.
    main_measure: str = "rate"
    # Strata by name, their units, and each stratum's weight times its standard deviation.
    strata_names: list[str] = field(default_factory=list)
    strata_units: list[int] = field(default_factory=list)
    spread: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def sample(self) -> PlannedSample:
        """Its shape, for a larger test."""
        per_unit = max(self.cases / self.units, 1.0)
        effect = 1.0 if self.design_effect is None or not self.design_effect > 0 else self.design_effect
        icc = 0.0 if per_unit == 1 else (effect - 1) / (per_unit - 1)
        return PlannedSample(per_unit, min(max(icc, -1 / per_unit), 1.0), self.strata, effect, self.counted)

    @property
    def possible_discordance(self) -> float | None:
        """That of the pilot; without a discordant case, as much as so many cases leave possible."""
        return (
            1 - float(end_limit(self.cases / self.answers, self.units)) if self.discordance == 0 else self.discordance
        )

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
    measurement = Measurement(MEASURES["rate"], aligned, sampling, Replication())
    cells = measurement.runs()
    first = cells.estimate(0)
    estimate = first if len(runs) == 1 else cells.difference(0, 1)
    if first is None or estimate is None or not math.isfinite(estimate.se):
        raise UsageError(f"{runs[0].source}: its design gives no standard error, so it says nothing about a variance")
    names, units, spread = _strata(measurement, sampling, len(runs))
    weights, scale = sampling.sample.weights, first.scale
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
        rates=np.average(aligned.success, axis=1, weights=weights).tolist(),
        difference=estimate.value if len(runs) == 2 else None,
        discordance=float(np.average(aligned.success[0] != aligned.success[1], weights=weights))
        if len(runs) == 2
        else None,
        icc=estimate.icc,
        design_effect=finite(effect),
        assumed=assumed,
        weighted=sampling.is_weighted,
        answers=aligned.n / aligned.case_count(),
        counted=(float(scale.cases) / aligned.n, float(scale.units) / sampling.sample.units),
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
    effect = cases / float(cases_without_variance(cases / sampling.sample.answers, estimate.units))
    return half / float(t_quantiles(estimate.df, estimate.confidence)), effect


def _strata(measurement: Measurement, sampling: Sampling, runs: int) -> tuple[list[str], list[int], FloatArray]:
    """Strata by name, their units, and each one's weight times its standard deviation."""
    sample = sampling.sample
    if sampling.stratum is None:
        return [], [], np.empty(0)
    values = influences(
        sample, measurement.measure.statistic(measurement.aligned, [(run, None) for run in range(runs)])
    )
    if values is None:
        return [], [], np.empty(0)
    measured = values[:, 0] - values[:, 1] if runs == 2 else values[:, 0]
    sizes = sample.stratum_sizes
    # The variance is the sum of W^2 S^2 / n over the strata.
    spread = np.sqrt(stratum_variances(sample, measured[:, None])[:, 0] * sizes)
    # The names of the strata as the sample has them: joined ones together.
    joined = {name for names in sample.collapsed for name in names}
    labels = [name for name in sampling.shares if name not in joined] + ["+".join(names) for names in sample.collapsed]
    labels = sorted(labels) if len(labels) == sample.strata else list(sample.stratum_names)
    return labels, sizes.tolist(), spread


# The plan


@dataclass(frozen=True)
class StratumShare:
    """A stratum of a pilot: its units, and how many Neyman's allocation gives it in a test of the planned size."""

    stratum: str
    pilot: int
    proportional: int
    neyman: int


@dataclass(frozen=True)
class PowerPlan:
    """How large the test must be, or what one of a given size shows."""

    options: PowerOptions
    pilot: Pilot | None
    sample: PlannedSample
    # The test that will decide: McNemar's exact one, or the t test by design.
    exact: bool
    units: int | None
    # How many it may take, given how little a pilot says about the variance.
    units_interval: tuple[int | None, int | None] | None
    # What is measured, at that size.
    reached: float
    detectable: float | None
    curve_units: list[int]
    curve: list[float]
    discordance: float | None
    assumptions: list[str]
    allocation: list[StratumShare] = field(default_factory=list)

    @property
    def cases(self) -> int | None:
        """Cases in that many units."""
        return None if self.units is None else self.cases_in(self.units)

    def cases_in(self, units: int) -> int:
        """Cases in so many units, however many answers each gets."""
        answers = 1.0 if self.pilot is None else self.pilot.answers
        return math.ceil(round(units * self.sample.per_unit / answers, 9))

    @property
    def unit(self) -> str:
        """What a unit is called, in the plural."""
        if self.pilot is not None:
            return self.pilot.unit
        return "units" if self.sample.per_unit > 1 else "cases"


def plan_power(options: PowerOptions, pilot: Pilot | None = None) -> PowerPlan:
    """Plan a test; a UsageError if something is missing, or no number of units is enough."""
    try:
        return _plan(options, planned_sample(options) if pilot is None else pilot.sample, pilot)
    except ValueError as error:
        raise UsageError(str(error)) from None


def planned_sample(options: PowerOptions) -> PlannedSample:
    """The sample that figures describe; a UsageError if there is no such sample."""
    try:
        return PlannedSample(options.per_unit, options.icc, options.strata)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _plan(options: PowerOptions, sample: PlannedSample, pilot: Pilot | None) -> PowerPlan:
    assumptions: list[str] = []
    goal = _Goal(options, sample, *_case_variance(options, sample, pilot, assumptions))
    units = options.units
    if units is None:
        units = smallest_number(lambda n: goal.met(n), sample.least_units)
        if units is None:
            name, value = "difference", options.difference
            if options.question is not PlanningGoal.DIFFERENCE:
                name, value = ("width", options.width) if options.margin is None else ("margin", options.margin)
            raise UsageError(f"no number of units up to 1e9 is enough for --{name} {value:g}; ask for less")
    reached = goal.at(units)
    least = sample.least_units
    grid = np.geomspace(max(least, units / 10), max(2.5 * units, least + CURVE_POINTS), CURVE_POINTS)
    curve_units = sorted({*np.rint(grid).astype(int).tolist(), units})
    return PowerPlan(
        options=options,
        pilot=pilot,
        sample=sample,
        exact=goal.exact,
        units=units,
        units_interval=_units_interval(goal, pilot) if options.units is None else None,
        reached=reached,
        detectable=goal.detectable(units)
        if options.question in (PlanningGoal.DIFFERENCE, PlanningGoal.DETECTABLE)
        else None,
        curve_units=curve_units,
        curve=[goal.at(n) for n in curve_units],
        discordance=goal.discordance,
        assumptions=assumptions,
        allocation=[] if pilot is None else _allocation(pilot, units),
    )


@dataclass(frozen=True)
class _Goal:
    """Whether a number of units reaches the goal."""

    options: PowerOptions
    sample: PlannedSample
    unit_variance: float
    discordance: float | None
    exact: bool
    rate: float | None

    def at(self, units: int) -> float:
        """What is measured, for so many units."""
        options, strata = self.options, self.sample.strata
        if options.question is PlanningGoal.DETECTABLE:
            return self.detectable(units)
        if options.question is PlanningGoal.WIDTH:
            return width_of_rate(units, self.rate or 0.0, self.sample, confidence=options.confidence)
        if options.question is PlanningGoal.EQUIVALENCE:
            return equivalence_power(
                units,
                options.margin or 0.0,
                options.difference or 0.0,
                self.unit_variance,
                strata=strata,
                alpha=options.alpha,
            )
        if self.exact and self.discordance is not None:
            return mcnemar_power(units, options.difference or 0.0, self.discordance, alpha=options.alpha)
        return difference_power(
            units, options.difference or 0.0, self.unit_variance, strata=strata, alpha=options.alpha
        )

    def met(self, units: int) -> bool:
        """Whether that is enough."""
        if self.options.question is PlanningGoal.WIDTH:
            return self.at(units) <= (self.options.width or 0.0)
        return self.at(units) >= self.options.power

    def detectable(self, units: int) -> float:
        """The smallest difference that so many units show with the power."""
        if units <= self.sample.strata:
            return math.inf
        options = self.options
        se, df = math.sqrt(self.unit_variance / units), float(units - self.sample.strata)
        least = detectable(se, df, alpha=1 - options.confidence, power=options.power, comparisons=options.comparisons)
        # No two rates are farther apart.
        return least if least <= 1 else math.inf


def _case_variance(
    options: PowerOptions, sample: PlannedSample, pilot: Pilot | None, assumptions: list[str]
) -> tuple[float, float | None, bool, float | None]:
    """The variance of a unit, the discordance, whether McNemar's exact test decides, and the expected rate."""
    rates = list(options.rates or ()) or ([] if pilot is None else pilot.rates)
    if options.question is PlanningGoal.WIDTH:
        if not rates:
            raise UsageError("--width: say which rate is expected, such as --rates 0.9, or name a pilot")
        if pilot is not None and pilot.difference is not None:
            raise UsageError("--width is about the rate of one run; name one transcript as the pilot")
        return sample.unit_variance(rates[0] * (1 - rates[0])), None, False, rates[0]
    difference = options.difference or 0.0
    discordance = options.discordance if pilot is None or options.discordance else pilot.possible_discordance
    plain = pilot is None or (pilot.unit == "cases" and not pilot.weighted and pilot.answers == 1)
    independent = sample.strata == 1 and options.per_unit == 1 and plain
    exact = independent and options.question is PlanningGoal.DIFFERENCE
    if discordance is None:
        discordance = _assumed_discordance(rates, difference, assumptions)
    if pilot is not None and pilot.discordance is not None and options.discordance is None:
        assumptions += pilot.assumptions(exact=exact)
        if exact:
            # A pilot with less discordance than the difference was too small to show it.
            discordance = max(discordance, abs(difference))
            return sample.unit_variance(paired_variance(difference, discordance)), discordance, True, None
        return pilot.unit_variance, discordance, False, None
    if options.discordance is None:
        # A difference cannot be larger than the discordance.
        discordance = max(discordance, abs(difference))
    return sample.unit_variance(paired_variance(difference, discordance)), discordance, exact, None


def _assumed_discordance(rates: Sequence[float], difference: float, assumptions: list[str]) -> float:
    """Of two algorithms whose errors have nothing to do with each other: the worst case in practice."""
    if not rates:
        raise UsageError(
            "say how often the two will differ: --discordance 0.1 (the share of cases on which exactly one is right), "
            "or --rates 0.90,0.92, or name pilot transcripts"
        )
    first = rates[0]
    second = rates[1] if len(rates) > 1 else first + difference if first + difference <= 1 else first - difference
    if not 0 <= second <= 1:
        raise UsageError(f"--difference {difference:g}: a rate of {first:g} plus or minus that is not a rate")
    discordance = independent_discordance(first, second)
    assumptions.append(
        f"a discordance of {discordance:.4f}, as if the errors of the two were independent; real algorithms fail on "
        "the same hard cases, so fewer are usually enough: a pilot, or --discordance, says how many"
    )
    return discordance


def _units_interval(goal: _Goal, pilot: Pilot | None) -> tuple[int | None, int | None] | None:
    """How many units it may take, for the variances that the pilot leaves possible."""
    if (
        pilot is None
        or pilot.assumed
        or goal.exact
        or goal.options.question is PlanningGoal.WIDTH
        or not math.isfinite(pilot.df)
    ):
        return None
    numbers = []
    for variance in variance_interval(goal.unit_variance, pilot.df):
        other = _Goal(goal.options, goal.sample, variance, goal.discordance, exact=False, rate=None)
        numbers.append(smallest_number(other.met, goal.sample.least_units) if math.isfinite(variance) else None)
    return numbers[0], numbers[1]


def _allocation(pilot: Pilot, units: int) -> list[StratumShare]:
    if len(pilot.strata_names) < 2 or units < 2 * len(pilot.strata_names):
        return []
    sizes = np.array(pilot.strata_units, dtype=np.float64)
    neyman = neyman_allocation(pilot.spread, np.ones(pilot.spread.size), units)
    even = neyman_allocation(sizes, np.ones(sizes.size), units)
    rows = zip(pilot.strata_names, pilot.strata_units, even, neyman, strict=True)
    return [StratumShare(*row) for row in rows]


def power_json(plan: PowerPlan) -> dict[str, Any]:
    """Everything, as documented."""
    options, sample, measured = plan.options, plan.sample, plan.options.measured
    return {
        "question": options.question,
        "difference": options.difference,
        "margin": options.margin,
        "width": plan.reached if measured == "width" else None,
        "power": plan.reached if measured == "power" else None,
        "asked": {"power": options.power, "width": options.width, "units": options.units},
        "confidence": options.confidence,
        "alpha": options.alpha,
        "algorithms": options.algorithms,
        "test": "mcnemar exact" if plan.exact else "t by design" if measured != "width" else None,
        "discordance": plan.discordance,
        "per_unit": sample.per_unit,
        "icc": sample.icc,
        "design_effect": sample.design_effect,
        "strata": sample.strata,
        "units": plan.units,
        "cases": plan.cases,
        "units_interval": plan.units_interval,
        "detectable": plan.detectable,
        "curve": {"units": plan.curve_units, measured: plan.curve},
        "allocation": plan.allocation,
        "pilot": None if plan.pilot is None else _pilot_json(plan.pilot),
        "assumptions": plan.assumptions,
    }


def _pilot_json(pilot: Pilot) -> dict[str, Any]:
    names = ("names", "cases", "units", "strata", "df", "rates", "difference", "discordance", "icc", "design_effect")
    return {name: getattr(pilot, name) for name in names} | {"cases": round(pilot.cases / pilot.answers)}
