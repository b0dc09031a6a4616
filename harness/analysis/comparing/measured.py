"""A statistic of all runs and of their differences, by replication, in the words of a comparison."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.comparing.align import BoolArray, FloatArray
from harness.analysis.comparing.replicated import Replicated
from harness.analysis.comparing.statistics import Form
from harness.errors import UsageError
from harness.stats.cochran import WaldTest, equal_rates
from harness.stats.rates import Interval
from harness.stats.replication.estimate import replicate
from harness.stats.replication.grouped import GROUPINGS
from harness.stats.replication.intervals import interval_without_variance, t_interval, t_p_value
from harness.stats.replication.linearised import independent_variance
from harness.stats.replication.plan import Method, Plan
from harness.stats.replication.sample import Sample, unit_sums
from harness.stats.replication.several import Several, several, several_linear
from harness.stats.replication.statistic import OfTotals, Statistic, full_estimate

# Beyond that many weights in all replicates of one run, a statistic that needs each of them takes a shorter way.
MANY = 1 << 26
BOOTSTRAP = 1000


@dataclass(frozen=True)
class Measured:
    """A statistic of every run that has it. `place` is where a run stands in `found`; without it, it has no value."""

    form: Form
    sample: Sample
    plan: Plan
    found: Several
    place: dict[int, int]
    inside: BoolArray | None = None
    # Degrees of freedom of a group of cases, which may lie in few strata; None for the design's own.
    group_df: float | None = None

    def run(self, number: int) -> Replicated | None:
        """One run by itself; None where it has no value."""
        if number not in self.place:
            return None
        contrast = self._contrast(number)
        return self._replicated(contrast, lambda: self.form.single(number, self.inside), self.form.bounds)

    def pair(self, a: int, b: int) -> Replicated | None:
        """One run less another."""
        if a not in self.place or b not in self.place:
            return None
        width = self.form.bounds[1] - self.form.bounds[0]
        contrast = self._contrast(a) - self._contrast(b)
        found = self._replicated(contrast, lambda: self.form.paired(a, b, self.inside), (-width, width))
        if found.se > 0:
            return replace(found, p_value=t_p_value(found.estimate, found.se, found.df))
        return replace(found, p_value=1.0) if found.p_value is None and abs(found.estimate) < 1e-12 else found

    def wald(self) -> WaldTest | None:
        """Whether any two of three or more runs differ."""
        if len(self.place) < 3:
            return None
        return equal_rates(self.found.estimates, self.found.covariance, df=self.found.design_df)

    def _contrast(self, number: int) -> FloatArray:
        contrast = np.zeros(len(self.place))
        contrast[self.place[number]] = 1.0
        return contrast

    def _replicated(
        self, contrast: FloatArray, statistic: Callable[[], Statistic], bounds: tuple[float, float]
    ) -> Replicated:
        estimate, variance = float(self.found.estimates @ contrast), self.found.variance(contrast)
        se, df = math.sqrt(variance), self.group_df or self.found.df(contrast)
        p_value = None
        if se > 0:
            interval = t_interval(estimate, se, df, bounds=bounds, confidence=self.plan.confidence)
        else:
            interval, p_value = self._without_variance(statistic(), estimate)
        return Replicated(
            method=str(self.found.method),
            estimate=estimate,
            se=se,
            df=df,
            interval=interval,
            p_value=p_value,
            p_adjusted=None,
            design_effect=self._design_effect(statistic(), variance),
            icc=None,
            replicates=self.found.replicates,
            groupings=self.found.groupings,
            fay=self.found.fay,
        )

    def _without_variance(self, statistic: Statistic, estimate: float) -> tuple[Interval, float | None]:
        """Never a single point: Wilson's limits with the cases of a unit taken for one."""
        if isinstance(statistic, OfTotals):
            found = replicate(self.sample, statistic, replace(self.plan, method=Method.LINEARISED))
            return found.interval, found.p_value
        units = unit_sums(self.sample, np.ones(self.sample.cases) if self.inside is None else self.inside)
        size = float(units.sum() ** 2 / (units**2).sum())
        return interval_without_variance(self.sample, statistic, estimate, size, self.plan.confidence), None

    def _design_effect(self, statistic: Statistic, variance: float) -> float | None:
        if not isinstance(statistic, OfTotals) or self.inside is not None:
            return None
        independent = independent_variance(self.sample, statistic)
        return variance / independent if independent > 1e-24 else None


def measure(form: Form, runs: int, sample: Sample, plan: Plan, inside: BoolArray | None = None) -> Measured | None:
    """Replicate the statistic of all runs that have it; None where none has."""
    place: dict[int, int] = {}
    for run in range(runs):
        if _defined(sample, form.single(run, inside)):
            place[run] = len(place)
    if not place:
        return None
    suited = suitable(form, sample, plan)
    found = _or_linear(form, suited, lambda chosen: _replicate(form, sample, chosen, list(place), inside))
    return Measured(form, sample, suited, found, place, inside)


def _or_linear(form: Form, plan: Plan, replicated: Callable[[Plan], Several]) -> Several:
    """Where a part of the sample has no value, such as half of few positives, the linear form is left."""
    try:
        try:
            return replicated(plan)
        except ValueError:
            if plan.method != Method.AUTO or not form.linearises:
                raise
            return replicated(replace(plan, method=Method.LINEARISED))
    except ValueError as error:
        raise UsageError(f"--statistic {form.name}: {error}") from None


def _replicate(form: Form, sample: Sample, plan: Plan, runs: Sequence[int], inside: BoolArray | None) -> Several:
    if plan.method == Method.LINEARISED and not isinstance(form.single(runs[0], inside), OfTotals):
        forms = [form.linear(run, sample, inside) for run in runs]
        known = [one for one in forms if one is not None]
        estimates = np.array([one.estimate for one in known])
        return several_linear(sample, estimates, np.stack([one.deviations for one in known], axis=1), plan)
    return several(sample, [form.single(run, inside) for run in runs], plan)


def gaps_together(
    form: Form, sample: Sample, plan: Plan, pair: tuple[int, int], insides: Sequence[BoolArray]
) -> Several:
    """The difference of two runs in several groups of cases, with the covariance of the groups."""
    suited = suitable(form, sample, plan)
    return _or_linear(form, suited, lambda chosen: _gaps(form, sample, chosen, pair, insides))


def _gaps(form: Form, sample: Sample, plan: Plan, pair: tuple[int, int], insides: Sequence[BoolArray]) -> Several:
    a, b = pair
    statistics = [form.paired(a, b, inside) for inside in insides]
    if plan.method != Method.LINEARISED or isinstance(statistics[0], OfTotals):
        return several(sample, statistics, plan)
    forms = [(form.linear(a, sample, inside), form.linear(b, sample, inside)) for inside in insides]
    known = [(one, other) for one, other in forms if one is not None and other is not None]
    estimates = np.array([one.estimate - other.estimate for one, other in known])
    deviations = np.stack([one.deviations - other.deviations for one, other in known], axis=1)
    return several_linear(sample, estimates, deviations, plan)


def _defined(sample: Sample, statistic: Statistic) -> bool:
    try:
        full_estimate(sample, statistic)
    except ValueError:
        return False
    return True


def suitable(form: Form, sample: Sample, plan: Plan) -> Plan:
    """The plan with a method that holds for the statistic; a UsageError where the user chose one that does not.

    Functions of totals can have any. Where a curve meets a line the delete-one jackknife is wrong, as for a median.
    """
    statistic = form.single(0)
    if isinstance(statistic, OfTotals):
        return plan
    has_linear = form.linearises
    if plan.method == Method.JACKKNIFE and not form.smooth:
        raise UsageError(f"--method jackknife is wrong for {form.words}: leave it out, or take the bootstrap")
    if plan.method == Method.LINEARISED and not has_linear:
        raise UsageError(f"--method linear: {form.words} has no linear form; leave it out, or take the bootstrap")
    replicates = sample.stratified and sample.cases * sample.strata * GROUPINGS <= MANY
    linear = plan.method == Method.LINEARISED or (plan.method == Method.AUTO and has_linear and not replicates)
    if plan.df != "design" and not linear:
        raise UsageError(f"--df {plan.df}: replicates of {form.words} have no such degrees of freedom; leave it out")
    if linear:
        return replace(plan, method=Method.LINEARISED)
    if plan.method != Method.AUTO or replicates:
        return plan
    draws = max(100, min(BOOTSTRAP, MANY // sample.cases))
    return replace(plan, method=Method.BOOTSTRAP, replicates=plan.replicates or draws)
