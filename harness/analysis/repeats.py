"""The variance of an algorithm that rolls dice, from a transcript with several answers a case."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np

from harness.stats.repeats import Repeats, repeats
from harness.transcript.columns import read_columns


def transcript_repeats(path: Path, times: int) -> Repeats:
    """Case and run variance, kept apart; records are in case order, each case's answers together."""
    columns = read_columns(path)
    return repeats(np.asarray(columns.success).reshape(-1, times))


def as_json(found: Repeats) -> dict[str, Any]:
    """What JSON can hold of it: null where one case or run is not enough."""
    plain = dataclasses.asdict(found)
    return {key: None if isinstance(v, float) and math.isnan(v) else v for key, v in plain.items()}


def sentence(found: Repeats) -> str:
    """The result in words."""
    return (
        f"{found.runs} answers a case: rate {found.rate:.4f}, standard error {found.se:.4f} for new cases, "
        f"{found.se_new_runs:.4f} for new cases and new runs; {found.share_runs:.0%} of the variance of an answer is "
        f"the dice, {found.share_cases:.0%} the case; all answers agree on {found.unanimous:.0%} of the cases"
    )
