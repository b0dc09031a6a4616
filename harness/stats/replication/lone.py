"""Strata with a single unit: what to do with them, since one unit alone says nothing of its stratum's variance."""

from collections.abc import Sequence
from enum import StrEnum

from harness.stats.replication.arrays import IntArray


class Lone(StrEnum):
    """What happens to strata of one unit; all but the first are the choices of R's survey.lonely.psu."""

    COLLAPSE = "collapse"
    FAIL = "fail"
    REMOVE = "remove"
    CERTAINTY = "certainty"
    ADJUST = "adjust"
    AVERAGE = "average"


def groups_of_strata(sizes: IntArray, names: Sequence[str], lone: Lone) -> list[tuple[int, ...]]:
    """The strata after treatment, as tuples of positions in the order given, which outcomes never decide."""
    alone = [i for i, size in enumerate(sizes) if size == 1]
    if len(alone) == len(sizes) and (len(sizes) == 1 or lone is not Lone.COLLAPSE):
        raise ValueError(
            f"no stratum has two units (the first is {names[0]}); a variance needs at least one such stratum: "
            "drop the stratum, or join strata with lone='collapse'"
        )
    if alone and lone is Lone.FAIL:
        raise ValueError(f"stratum {names[alone[0]]} has a single unit ({len(alone)} such strata); choose another lone")
    joins = _joins(alone, len(sizes)) if lone is Lone.COLLAPSE else []
    taken = {i for join in joins for i in join}
    return sorted([*joins, *((i,) for i in range(len(sizes)) if i not in taken)])


def _joins(alone: list[int], strata: int) -> list[tuple[int, ...]]:
    if len(alone) == 1:
        neighbour = alone[0] + 1 if alone[0] + 1 < strata else alone[0] - 1
        return [(min(alone[0], neighbour), max(alone[0], neighbour))]
    pairs = [tuple(alone[i : i + 2]) for i in range(0, len(alone) - 1, 2)]
    if len(alone) % 2 and pairs:
        pairs[-1] = (*pairs[-1], alone[-1])
    return pairs
