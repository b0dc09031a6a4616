"""Estimates as JSON has them, under the names that the documentation promises."""

import math
from typing import Any

from harness.analysis.comparing.sampling import Sampling
from harness.stats.estimate import Estimate
from harness.stats.rates import Interval


def finite(value: float | None) -> float | None:
    """JSON has no infinity, and no number that is none: null."""
    return value if value is not None and math.isfinite(value) else None


def interval_json(interval: Interval | None) -> list[float | None] | None:
    """Two numbers, or nothing."""
    return None if interval is None else [finite(interval.low), finite(interval.high)]


def replication_json(one: Estimate | None, sampling: Sampling) -> dict[str, Any] | None:
    """An estimate by the design, with all that is to be known of how it was made."""
    if one is None:
        return None
    return {
        "method": one.method,
        "target": sampling.target,
        "stratum": sampling.stratum,
        "psu": sampling.psu,
        "weights": sampling.weights,
        "strata": one.strata,
        "units": one.units,
        "replicates": one.replicates,
        "groupings": one.groupings,
        "collapsed": [list(names) for names in sampling.sample.collapsed],
        "fay": one.fay,
        "seed": one.seed,
        **estimate_json(one),
        "p_value": finite(one.p_value),
        "p_adjusted": finite(one.p_adjusted),
        "p_sign_flip": finite(one.p_sign_flip),
        "design_effect": finite(one.design_effect),
        "icc": finite(one.icc),
    }


def estimate_json(one: Estimate | None) -> dict[str, Any]:
    """The number with its error alone; nulls where there is none."""
    if one is None:
        return {"estimate": None, "se": None, "df": None, "interval": None}
    return {
        "estimate": finite(one.value),
        "se": finite(one.se),
        "df": finite(one.df),
        "interval": interval_json(one.interval),
    }
