"""Strata with a single unit: what to do with them, since one unit alone says nothing of its stratum's variance."""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from harness.stats.replication.arrays import IntArray


class Lone(StrEnum):
    """What happens to strata of one unit; all but the first are the choices of R's survey.lonely.psu."""

    COLLAPSE = "collapse"
    FAIL = "fail"
    REMOVE = "remove"
    CERTAINTY = "certainty"
    ADJUST = "adjust"
    AVERAGE = "average"


def joins_of_strata(sizes: IntArray, names: Sequence[str], lone: Lone) -> list[tuple[int, ...]]:
    """Which strata are to be joined, as positions in the order given; outcomes never decide it."""
    alone = np.flatnonzero(sizes == 1).tolist()
    if len(alone) == len(sizes) and (len(sizes) == 1 or lone is not Lone.COLLAPSE):
        raise ValueError(
            f"no stratum has two units (the first is {names[0]}); a variance needs at least one such stratum: "
            "drop the stratum, or join strata with lone='collapse'"
        )
    if alone and lone is Lone.FAIL:
        raise ValueError(f"stratum {names[alone[0]]} has a single unit ({len(alone)} such strata); choose another lone")
    return _joins(alone, len(sizes)) if lone is Lone.COLLAPSE else []


def _joins(alone: list[int], strata: int) -> list[tuple[int, ...]]:
    """Pairs, a triple if they are odd in number, and a single one with its neighbour."""
    if len(alone) == 1:
        neighbour = alone[0] + 1 if alone[0] + 1 < strata else alone[0] - 1
        return [(min(alone[0], neighbour), max(alone[0], neighbour))]
    pairs = [tuple(alone[i : i + 2]) for i in range(0, len(alone) - 1, 2)]
    if len(alone) % 2 and pairs:
        pairs[-1] = (*pairs[-1], alone[-1])
    return pairs
