"""The options of variance estimation, and the method that suits a sample and a statistic."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np

from harness.stats.replication.balanced import GROUPINGS, balanced, balanced_size, grouped_halves
from harness.stats.replication.replicates import Centre, Replicates
from harness.stats.replication.resampling import delete_group, delete_one, rescaled_bootstrap
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import Ratio, Statistic, Total, TotalsStatistic, WeightsStatistic, unit_totals

# Fay's rho for statistics that may not exist for half a sample.
FRAGILE_FAY = 0.5
# With more units per stratum, replicates of one of several with Fay's rho make errors of ratios 8 to 15 % too small.
MAX_FRAGILE_UNITS = 3
# With more case weights than this in all replicates together (some seconds), a faster method is used.
MAX_WEIGHTS = 1 << 26
BOOTSTRAP = 1000


class Method(StrEnum):
    """How the variance is estimated; `AUTO` chooses what suits the sample."""

    AUTO = "auto"
    BRR = "brr"
    JACKKNIFE = "jackknife"
    GROUP_JACKKNIFE = "group-jackknife"
    BOOTSTRAP = "bootstrap"
    LINEARISED = "linearised"


@dataclass(frozen=True, slots=True)
class Replication:
    """The options of an analysis, all with defaults.

    `fay` is 0 by default, and 0.5 for statistics that may not exist for half a sample. `groupings`: random groupings
    for strata without balanced replicates; by default, rates and other functions of totals use all groupings at once
    (the textbook variance) and other statistics 20. `replicates`: of the bootstrap (1,000 by default), or the groups
    of the delete-a-group jackknife (30). `complements`: half-samples of nonlinear statistics come with their
    complements, so that it matters little which unit comes first. `design_effect`: what to assume if the variance is 0.
    """

    method: Method | str = Method.AUTO
    fay: float | None = None
    groupings: int | None = None
    replicates: int | None = None
    centre: Centre = "full"
    df: Literal["design", "satterthwaite"] = "design"
    confidence: float = 0.95
    complements: bool = True
    design_effect: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class VarianceMethod:
    """The method chosen for a sample and a statistic; no replicates means the textbook variance."""

    method: Method
    replicates: Replicates | None = None
    groupings: int | Literal["all"] | None = None
    fay: float = 0.0


TEXTBOOK = VarianceMethod(Method.LINEARISED)


def variance_method(sample: Sample, statistic: Statistic, replication: Replication) -> VarianceMethod:
    """The method that suits the statistic and is affordable, and its replicates.

    For functions of totals, balanced replicates with strata and the jackknife without; other statistics use their
    linear form or the bootstrap if the jackknife is wrong or replicates would take too long.
    """
    if replication.method not in list(Method):
        raise ValueError(f"method {replication.method!r}: expected one of {', '.join(Method)}")
    method = Method(replication.method)
    if method is Method.AUTO:
        method = _automatic(sample, statistic, replication)
    if isinstance(statistic, WeightsStatistic):
        if method is Method.JACKKNIFE and not statistic.smooth:
            raise ValueError(
                f"the delete-one jackknife is wrong for {statistic.words}: use the default, or the bootstrap"
            )
        if method is Method.LINEARISED and statistic.linear is None:
            raise ValueError(f"{statistic.words} has no linear form: use the default method, or the bootstrap")
    rng = np.random.default_rng(replication.seed)
    if method is Method.BRR:
        return _brr(sample, statistic, replication, rng)
    if method is Method.JACKKNIFE:
        return VarianceMethod(method, delete_one(sample))
    if method is Method.GROUP_JACKKNIFE:
        return VarianceMethod(method, delete_group(sample, rng=rng, groups=_or_default(replication.replicates, 30)))
    if method is Method.BOOTSTRAP:
        is_slow = isinstance(statistic, WeightsStatistic)
        affordable = max(100, min(BOOTSTRAP, MAX_WEIGHTS // sample.cases)) if is_slow else BOOTSTRAP
        draws = _or_default(replication.replicates, affordable)
        return VarianceMethod(method, rescaled_bootstrap(sample, rng=rng, replicates=draws))
    return TEXTBOOK


def _automatic(sample: Sample, statistic: Statistic, replication: Replication) -> Method:
    if isinstance(statistic, TotalsStatistic):
        return Method.BRR if sample.stratified else Method.JACKKNIFE
    affordable = _number_of_replicates(sample, replication) * sample.cases <= MAX_WEIGHTS
    if sample.stratified and affordable and not (statistic.linear is not None and statistic.linear_first):
        return Method.BRR
    if statistic.linear is not None:
        return Method.LINEARISED
    return Method.JACKKNIFE if statistic.smooth and affordable and not sample.stratified else Method.BOOTSTRAP


def _number_of_replicates(sample: Sample, replication: Replication) -> int:
    """About how many replicates there would be, without forming them."""
    if not sample.stratified:
        return sample.units
    is_balanced = (balanced_size(sample) or sample.units) <= MAX_FRAGILE_UNITS
    return (sample.strata + 1) * (1 if is_balanced else _or_default(replication.groupings, GROUPINGS))


def _brr(sample: Sample, statistic: Statistic, replication: Replication, rng: np.random.Generator) -> VarianceMethod:
    fay = replication.fay if replication.fay is not None else FRAGILE_FAY if statistic.fragile else 0.0
    units, linear = balanced_size(sample), _is_linear(sample, statistic)
    if units is not None and _use_balanced(statistic, replication, units, linear=linear):
        replicates = balanced(sample, fay=fay, complements=replication.complements and not linear)
        return VarianceMethod(Method.BRR, replicates, None, fay)
    if isinstance(statistic, TotalsStatistic) and replication.groupings is None:
        return VarianceMethod(Method.BRR, None, "all")
    groupings = _or_default(replication.groupings, GROUPINGS)
    return VarianceMethod(Method.BRR, grouped_halves(sample, rng=rng, groupings=groupings, fay=fay), groupings, fay)


def _use_balanced(statistic: Statistic, replication: Replication, units: int, *, linear: bool) -> bool:
    """Whether to use balanced replicates if they exist.

    With more than two units per stratum, the replicates of a nonlinear statistic depend on which units are combined.
    The textbook variance, the mean over all groupings, does not.
    """
    if units == 2 or linear or replication.fay is not None:
        return True
    return isinstance(statistic, WeightsStatistic) and units <= MAX_FRAGILE_UNITS


def _is_linear(sample: Sample, statistic: Statistic) -> bool:
    """Whether the statistic is linear in the units: a total, or a ratio whose denominator no replicate changes."""
    if isinstance(statistic, Total):
        return True
    if not isinstance(statistic, Ratio):
        return False
    denominators = unit_totals(sample, statistic)[:, statistic.members :]
    sizes = sample.stratum_sizes
    first, most = np.cumsum(sizes) - sizes, 1e-9 * np.abs(denominators).max(initial=0.0)
    # One at a time: the first usually tells.
    return all(
        bool((np.abs(denominator - np.repeat(denominator[first], sizes)) <= most).all())
        for denominator in denominators.T
    )


def _or_default(number: int | None, default: int) -> int:
    return default if number is None else number
