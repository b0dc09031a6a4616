"""An estimate by replication, in the words of the JSON that users rely on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from harness.stats.multiplicity import holm
from harness.stats.rates import Interval


@dataclass(frozen=True)
class Replicated:
    """An estimate and its error; `p_value` is of a difference only."""

    method: str
    estimate: float
    se: float
    df: float
    interval: Interval
    p_value: float | None
    p_adjusted: float | None
    design_effect: float | None
    icc: float | None
    replicates: int | None
    groupings: int | Literal["all"] | None
    fay: float


def with_holm(found: Sequence[Replicated]) -> list[Replicated]:
    """The same with p-values corrected for their number."""
    p_values = np.array([math.nan if one.p_value is None else one.p_value for one in found])
    return [
        replace(one, p_adjusted=None if math.isnan(p) else float(p))
        for one, p in zip(found, holm(p_values), strict=True)
    ]
