"""Match the records of runs of one test: by case, and by answer if each case has several."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from harness.errors import TranscriptError
from harness.stats.arrays import IntArray
from harness.transcript.columns import TextList

if TYPE_CHECKING:
    from harness.analysis.align import Run

_Number = TypeVar("_Number", bound=np.generic)
MAX_NAMED = 5
# If runs have different numbers of answers per case, their least common multiple is matched, up to this many.
MAX_ANSWERS = 1000


def taken(values: npt.NDArray[_Number], places: IntArray) -> npt.NDArray[_Number]:
    """The values at these places; the array itself if these are all of its places in turn, as they usually are."""
    count = len(values)
    if len(places) == count and count and places[0] == 0 and places[-1] == count - 1:
        in_turn = bool((places[1:] > places[:-1]).all())
        return values if in_turn else values[places]
    return values[places]


def matched_records(runs: Sequence[Run]) -> list[tuple[Sequence[str], IntArray | None]]:
    """The keys that the records of each run are matched by, and where those records are; None for their own order.

    If runs have different numbers of answers per case, each answer of a run with fewer is repeated. The mean over a
    case does not change, and so nothing else does, since the case is then the unit.
    """
    answers = [int(run.columns.repeat.max(initial=1)) for run in runs]
    if len(set(answers)) == 1:
        return [(_keys(run), None) for run in runs]
    common = math.lcm(*answers)
    if common > MAX_ANSWERS:
        many = ", ".join(map(str, sorted(set(answers))))
        raise TranscriptError(
            f"{runs[0].source} and the others have {many} answers per case, with a common multiple over "
            f"{MAX_ANSWERS}; compare runs with the same number of answers, or a multiple of it"
        )
    matched: list[tuple[Sequence[str], IntArray | None]] = []
    for run, own in zip(runs, answers, strict=True):
        copies = common // own
        keys = [key for copy in range(copies) for key in _keys(run, copy * own)]
        matched.append((keys, np.tile(np.arange(len(run.columns.ids)), copies)))
    return matched


def copies(order: IntArray) -> int:
    """How often each answer of a run was matched: more than once if other runs have more answers per case."""
    return int(np.gcd.reduce(np.unique(order, return_counts=True)[1]))


def _keys(run: Run, offset: int = 0) -> Sequence[str]:
    """The id of each record, and which of several answers it is."""
    columns = run.columns
    if not offset and not (columns.repeat > 1).any():
        return columns.ids
    numbers = (columns.repeat + offset).tolist()
    return [f"{i}\0{r}" if r > 1 else i for i, r in zip(columns.ids, numbers, strict=True)]


def _check_once(run: Run, keys: Sequence[str]) -> None:
    if isinstance(keys, TextList) and keys.is_ascending:
        return
    if len(set(keys)) != len(keys):
        twice = Counter(keys).most_common(1)[0][0]
        raise TranscriptError(f"{run.source}: case '{_case_text(twice)}' occurs twice")


def orders_of(runs: Sequence[Run], keys: Sequence[Sequence[str]], *, intersect: bool) -> tuple[list[IntArray], int]:
    """For each run, where its records of the common cases are, in the order of the first run."""
    _check_once(runs[0], keys[0])
    if all(other == keys[0] for other in keys[1:]):
        return [np.arange(len(keys[0]))] * len(keys), 0
    for run, own in zip(runs[1:], keys[1:], strict=True):
        _check_once(run, own)
    common = set(keys[0]).intersection(*keys[1:])
    everything = set(keys[0]).union(*keys[1:])
    missing = len(everything) - len(common)
    if missing and not intersect:
        raise TranscriptError(_missing(runs, keys, everything))
    if not common:
        raise TranscriptError(f"{runs[0].source} and the others have no case in common")
    ordered = [key for key in keys[0] if key in common]
    orders = []
    for own in keys:
        place = {key: number for number, key in enumerate(own)}
        orders.append(np.fromiter((place[key] for key in ordered), np.intp, len(ordered)))
    return orders, missing


def _missing(runs: Sequence[Run], keys: Sequence[Sequence[str]], everything: set[str]) -> str:
    parts = []
    for run, own in zip(runs, keys, strict=True):
        lacking = sorted(everything.difference(own))
        if lacking:
            some = ", ".join(_case_text(key) for key in lacking[:MAX_NAMED])
            more = ", ..." if len(lacking) > MAX_NAMED else ""
            parts.append(f"{run.source} lacks {len(lacking):,} ({some}{more})")
    return f"not the same cases: {'; '.join(parts)}; --intersect compares the cases that all have"


def _case_text(key: str) -> str:
    return key.replace("\0", " (answer ") + (")" if "\0" in key else "")
