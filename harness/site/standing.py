"""What a transcript is ranked by, as the index of a site says it."""

import math
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from harness.errors import HateError


class Standing(Struct, frozen=True):
    """The value of a run by the measure, the design and the weights of its test."""

    measure: Annotated[str, Meta(max_length=1000)]
    value: float
    # The same as a number such that more is better, whatever the measure is.
    merit: float


def by_rate(rate: float) -> Standing:
    """The standing by the share of successes, for what does not say another."""
    return Standing("rate", rate, rate)


def standing_of(path: Path) -> Standing | None:
    """What a judged run is ranked by; None if its sample gives no such number."""
    # numpy takes a while to import.
    from harness.analysis.standing import read_ranked, run_standing

    try:
        found = run_standing(read_ranked(path, path.name))
    except HateError:
        return None
    return Standing(found.measure.name, found.value, found.merit) if math.isfinite(found.merit) else None
