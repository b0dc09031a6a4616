"""The choices of an analysis, and what they come to for a sample and a statistic."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np

from harness.stats.replication.balanced import balanced, balanced_size
from harness.stats.replication.bootstrap import rescaled_bootstrap
from harness.stats.replication.grouped import GROUPINGS, grouped_halves
from harness.stats.replication.jackknife import delete_group, delete_one
from harness.stats.replication.replicates import Centre, Replicates
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import OfTotals, OfWeights, Statistic

# Fay's rho for statistics that half a sample may not have.
FRAGILE_FAY = 0.5


class Method(StrEnum):
    """How the variance is found; `AUTO` takes what the sample calls for."""

    AUTO = "auto"
    BRR = "brr"
    JACKKNIFE = "jackknife"
    GROUP_JACKKNIFE = "group-jackknife"
    BOOTSTRAP = "bootstrap"
    LINEARISED = "linearised"


@dataclass(frozen=True, slots=True)
class Plan:
    """The choices of an analysis, all with defaults.

    `fay` is 0 where not given, and 0.5 for statistics that half a sample may not have. `groupings`: random groupings
    where strata have no balanced replicates; not given, rates and other functions of totals take all groupings at once
    (the textbook variance) and other statistics 20. `replicates`: of the bootstrap (1,000 by default), or the groups
    of the delete-a-group jackknife (30). `design_effect`: what to assume where the variance is zero.
    """

    method: Method | str = Method.AUTO
    fay: float | None = None
    groupings: int | None = None
    replicates: int | None = None
    centre: Centre = "full"
    df: Literal["design", "satterthwaite"] = "design"
    confidence: float = 0.95
    design_effect: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """What a plan comes to for a sample and a statistic; no replicates means the textbook variance."""

    method: Method
    replicates: Replicates | None
    groupings: int | Literal["all"] | None
    fay: float


def choose(sample: Sample, statistic: Statistic, plan: Plan) -> Choice:
    """The method and its replicates: balanced where they exist, the jackknife without strata."""
    method = _method(plan.method)
    if method is Method.AUTO:
        method = Method.BRR if sample.stratified else Method.JACKKNIFE
    rng = np.random.default_rng(plan.seed)
    if method is Method.BRR:
        return _choose_brr(sample, statistic, plan, rng)
    if method is Method.JACKKNIFE:
        return Choice(method, delete_one(sample), None, 0.0)
    if method is Method.GROUP_JACKKNIFE:
        return Choice(method, delete_group(sample, rng=rng, groups=_given(plan.replicates, 30)), None, 0.0)
    if method is Method.BOOTSTRAP:
        return Choice(method, rescaled_bootstrap(sample, rng=rng, replicates=_given(plan.replicates, 1000)), None, 0.0)
    if isinstance(statistic, OfWeights):
        raise ValueError("method 'linearised' needs a function of totals; use brr, jackknife or bootstrap")
    return Choice(method, None, None, 0.0)


def _choose_brr(sample: Sample, statistic: Statistic, plan: Plan, rng: np.random.Generator) -> Choice:
    fragile = isinstance(statistic, OfWeights) or statistic.fragile
    fay = plan.fay if plan.fay is not None else FRAGILE_FAY if fragile else 0.0
    if balanced_size(sample) is not None:
        return Choice(Method.BRR, balanced(sample, fay=fay), None, fay)
    if isinstance(statistic, OfTotals) and plan.groupings is None:
        return Choice(Method.BRR, None, "all", 0.0)
    groupings = _given(plan.groupings, GROUPINGS)
    return Choice(Method.BRR, grouped_halves(sample, rng=rng, groupings=groupings, fay=fay), groupings, fay)


def _given(number: int | None, default: int) -> int:
    return default if number is None else number


def _method(name: Method | str) -> Method:
    if name not in list(Method):
        raise ValueError(f"method={name!r}: choose one of {', '.join(Method)}")
    return Method(name)
