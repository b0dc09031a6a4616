"""The kinds of cases that measures of outcomes tell apart: by the outcomes of some runs, and by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.model import Outcome

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from harness.measures.measure import Cell, Runs
    from harness.stats.arrays import BoolArray
    from harness.stats.replication.kinds import Kinds

# Kinds are numbered in two bytes.
_MOST = 1 << 16
_OUTCOMES = len(Outcome)


@dataclass(frozen=True, eq=False)
class OutcomeKinds:
    """Rows of equal cases: for each cell, the outcome of its run in each row, and whether the row is inside the cell.

    `kinds` is the row of each case; None if every case is a row of its own.
    """

    kinds: Kinds | None
    outcome: list[npt.NDArray[np.int8]]
    inside: list[BoolArray]


def outcome_kinds(runs: Runs, cells: Sequence[Cell]) -> OutcomeKinds:
    """The kinds of cases that these cells have; each case by itself if cells overlap, or if there are too many."""
    import numpy as np

    numbers = list(dict.fromkeys(run for run, _ in cells))
    masks = {id(inside): inside for _, inside in cells if inside is not None}
    codes = _group_numbers(list(masks.values()), runs.outcome.shape[1])
    size = (len(masks) + 1) * _OUTCOMES ** len(numbers)
    if codes is None or size > _MOST:
        return _case_by_case(runs, cells)
    for run in numbers:
        codes = codes * np.uint16(_OUTCOMES) + runs.outcome[run].astype(np.uint16)
    present = np.flatnonzero(np.bincount(codes, minlength=size))
    rows = np.zeros(size, dtype=np.uint16)
    rows[present] = np.arange(present.size)
    # The digits of a code: the group, and the outcome of each run.
    group, *outcomes = np.unravel_index(present, (len(masks) + 1, *[_OUTCOMES] * len(numbers)))
    outcome_of = dict(zip(numbers, (own.astype(np.int8) for own in outcomes), strict=True))
    members = {key: np.asarray(group == number) for number, key in enumerate(masks, 1)}
    members[id(None)] = np.ones(present.size, dtype=np.bool_)
    return OutcomeKinds(
        rows[codes], [outcome_of[run] for run, _ in cells], [members[id(inside)] for _, inside in cells]
    )


def _case_by_case(runs: Runs, cells: Sequence[Cell]) -> OutcomeKinds:
    import numpy as np

    whole = np.ones(runs.outcome.shape[1], dtype=np.bool_)
    inside = [whole if mask is None else mask for _, mask in cells]
    return OutcomeKinds(None, [runs.outcome[run] for run, _ in cells], inside)


def _group_numbers(masks: Sequence[BoolArray], cases: int) -> npt.NDArray[np.uint16] | None:
    """The number of the mask that each case is in, from 1; 0 for none. None if masks overlap."""
    import numpy as np

    groups = np.zeros(cases, dtype=np.uint16)
    for number, mask in enumerate(masks, 1):
        groups[mask] = number
    members = sum(int(np.count_nonzero(mask)) for mask in masks)
    return groups if members == int(np.count_nonzero(groups)) else None
