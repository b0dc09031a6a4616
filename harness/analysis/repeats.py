"""The variance of an algorithm that rolls dice, from a transcript with several answers a case."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.stats.repeats import Repeats, repeats
from harness.transcript.columns import Coded, Columns, read_columns

Labels = npt.NDArray[np.int32]


def transcript_repeats(path: Path, times: int) -> Repeats:
    """Case and run variance, kept apart; records are in case order, each case's answers together."""
    columns = read_columns(path)
    return repeats(np.asarray(columns.success).reshape(-1, times), **case_groups(columns, times))


def case_groups(columns: Columns, times: int) -> "dict[str, Labels | None]":
    """The unit and the stratum of each case, for runs that ask it several times."""
    return {
        "units": _labels(columns.psu, times),
        "strata": _labels(columns.stratum, times),
    }


def _labels(column: Coded, times: int) -> "Labels | None":
    return None if (column.codes < 0).any() else column.codes[::times]


def as_json(found: Repeats) -> dict[str, Any]:
    """What JSON can hold of it: null where one case or run is not enough."""
    plain = dataclasses.asdict(found)
    return {key: None if isinstance(v, float) and math.isnan(v) else v for key, v in plain.items()}


def sentence(found: Repeats, psu: str = "units") -> str:
    """The result in words; `psu` is what the units are."""
    new = "new cases" if found.units == found.cases else f"new {psu}"
    return (
        f"{found.runs} answers a case: rate {found.rate:.4f}, standard error {found.se:.4f} for {new}, "
        f"{found.se_new_runs:.4f} for {new} and new runs; {found.share_runs:.0%} of the variance of an answer is "
        f"the dice, {found.share_cases:.0%} the case; all answers agree on {found.unanimous:.0%} of the cases"
    )
