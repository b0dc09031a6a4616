"""How errors are to be found, and the variance method that suits a sample and a statistic."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np

from harness.stats.replication.balanced import GROUPINGS, balanced, balanced_size, grouped_halves
from harness.stats.replication.replicates import Centre, Replicates
from harness.stats.replication.resampling import delete_group, delete_one, rescaled_bootstrap
from harness.stats.replication.sample import Sample, unit_sums
from harness.stats.replication.statistic import Ratio, Statistic, Total, TotalsStatistic, WeightsStatistic

# Fay's rho for statistics that half a sample may not have.
FRAGILE_FAY = 0.5
# With more units a stratum than this, one of several with Fay's rho makes errors of ratios 8 to 15 % too small.
LARGEST_FRAGILE = 3
# Case weights in all replicates together beyond which a function of them takes a shorter way: some seconds.
MOST_WEIGHTS = 1 << 26
BOOTSTRAP = 1000


class Method(StrEnum):
    """How the variance is found; `AUTO` takes what the sample calls for."""

    AUTO = "auto"
    BRR = "brr"
    JACKKNIFE = "jackknife"
    GROUP_JACKKNIFE = "group-jackknife"
    BOOTSTRAP = "bootstrap"
    LINEARISED = "linearised"


@dataclass(frozen=True, slots=True)
class Replication:
    """The choices of an analysis, all with defaults.

    `fay` is 0 where not given, and 0.5 for statistics that half a sample may not have. `groupings`: random groupings
    where strata have no balanced replicates; not given, rates and other functions of totals take all groupings at once
    (the textbook variance) and other statistics 20. `replicates`: of the bootstrap (1,000 by default), or the groups
    of the delete-a-group jackknife (30). `complements`: half-samples of what is not linear come with their complements,
    so that it matters little which unit is the first. `design_effect`: what to assume where the variance is zero.
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
    """What a replication comes to for a sample and a statistic; no replicates means the textbook variance."""

    method: Method
    replicates: Replicates | None = None
    groupings: int | Literal["all"] | None = None
    fay: float = 0.0


TEXTBOOK = VarianceMethod(Method.LINEARISED)


def variance_method(sample: Sample, statistic: Statistic, replication: Replication) -> VarianceMethod:
    """The method that suits the statistic and can be afforded, and its replicates.

    Balanced replicates where there are strata, the jackknife without, for functions of totals; other statistics take
    their linear form or the bootstrap where the jackknife is wrong or replicates would take too long.
    """
    method = _method(replication.method)
    if method is Method.AUTO:
        method = _automatic(sample, statistic, replication)
    _check_suitable(statistic, method)
    rng = np.random.default_rng(replication.seed)
    if method is Method.BRR:
        return _brr(sample, statistic, replication, rng)
    if method is Method.JACKKNIFE:
        return VarianceMethod(method, delete_one(sample))
    if method is Method.GROUP_JACKKNIFE:
        return VarianceMethod(method, delete_group(sample, rng=rng, groups=_given(replication.replicates, 30)))
    if method is Method.BOOTSTRAP:
        draws = _given(replication.replicates, _draws(sample, statistic))
        return VarianceMethod(method, rescaled_bootstrap(sample, rng=rng, replicates=draws))
    return TEXTBOOK


def _automatic(sample: Sample, statistic: Statistic, replication: Replication) -> Method:
    if isinstance(statistic, TotalsStatistic):
        return Method.BRR if sample.stratified else Method.JACKKNIFE
    affordable = _replicates(sample, replication) * sample.cases <= MOST_WEIGHTS
    if sample.stratified and affordable and not (statistic.linear is not None and statistic.linear_first):
        return Method.BRR
    if statistic.linear is not None:
        return Method.LINEARISED
    return Method.JACKKNIFE if statistic.smooth and affordable and not sample.stratified else Method.BOOTSTRAP


def _check_suitable(statistic: Statistic, method: Method) -> None:
    if isinstance(statistic, TotalsStatistic):
        return
    if method is Method.JACKKNIFE and not statistic.smooth:
        raise ValueError(f"the delete-one jackknife is wrong for {statistic.words}; leave it out, or use the bootstrap")
    if method is Method.LINEARISED and statistic.linear is None:
        raise ValueError(f"{statistic.words} has no linear form; leave the method out, or use the bootstrap")


def _replicates(sample: Sample, replication: Replication) -> int:
    """About how many there would be, without forming them."""
    if not sample.stratified:
        return sample.units
    balanced_already = (balanced_size(sample) or sample.units) <= LARGEST_FRAGILE
    return (sample.strata + 1) * (1 if balanced_already else _given(replication.groupings, GROUPINGS))


def _draws(sample: Sample, statistic: Statistic) -> int:
    if isinstance(statistic, TotalsStatistic):
        return BOOTSTRAP
    return max(100, min(BOOTSTRAP, MOST_WEIGHTS // sample.cases))


def _brr(sample: Sample, statistic: Statistic, replication: Replication, rng: np.random.Generator) -> VarianceMethod:
    fay = replication.fay if replication.fay is not None else FRAGILE_FAY if statistic.fragile else 0.0
    units, linear = balanced_size(sample), _is_linear(sample, statistic)
    if units is not None and _is_balanced(statistic, replication, units, linear=linear):
        found = balanced(sample, fay=fay, complements=replication.complements and not linear)
        return VarianceMethod(Method.BRR, found, None, fay)
    if isinstance(statistic, TotalsStatistic) and replication.groupings is None:
        return VarianceMethod(Method.BRR, None, "all")
    groupings = _given(replication.groupings, GROUPINGS)
    return VarianceMethod(Method.BRR, grouped_halves(sample, rng=rng, groupings=groupings, fay=fay), groupings, fay)


def _is_balanced(statistic: Statistic, replication: Replication, units: int, *, linear: bool) -> bool:
    """Whether to take balanced replicates where they exist.

    What is not linear depends on which unit of a stratum meets which, unless there are two of them: the textbook
    variance, the mean over all groupings, does not.
    """
    if units == 2 or linear or replication.fay is not None:
        return True
    return isinstance(statistic, WeightsStatistic) and units <= LARGEST_FRAGILE


def _is_linear(sample: Sample, statistic: Statistic) -> bool:
    """Whether the statistic is linear in the units: a total, or a ratio whose denominator no replicate changes."""
    if isinstance(statistic, Total):
        return True
    if not isinstance(statistic, Ratio):
        return False
    below = unit_sums(sample, statistic.columns[:, statistic.members :])
    first = np.cumsum(sample.stratum_sizes) - sample.stratum_sizes
    apart = np.abs(below - below[first][sample.stratum_of_unit])
    return bool((apart <= 1e-9 * np.abs(below).max(initial=0.0)).all())


def _given(number: int | None, default: int) -> int:
    return default if number is None else number


def _method(name: Method | str) -> Method:
    if name not in list(Method):
        raise ValueError(f"method {name!r}: choose one of {', '.join(Method)}")
    return Method(name)
