"""Match the records of runs of one test, by case and by answer; and check that the runs agree about their cases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from harness.errors import TranscriptError, UsageError
from harness.stats.arrays import IntArray
from harness.transcript.columns import Coded, Columns, TextList
from harness.transcript.format import Header

if TYPE_CHECKING:
    from harness.analysis.align import Run

_Number = TypeVar("_Number", bound=np.generic)
MAX_NAMED = 5
# If runs have different numbers of answers per case, their least common multiple is matched, up to this many.
MAX_ANSWERS = 1000
# What a case claims, how it was sampled and what is right does not differ between runs.
FACTS = ("positive", "expect", "stratum", "psu")


def take(values: npt.NDArray[_Number], order: IntArray) -> npt.NDArray[_Number]:
    """The values in this order; the array itself if it is the order of all of them, as it usually is."""
    count = len(values)
    if len(order) == count and count and order[0] == 0 and order[-1] == count - 1:
        in_turn = bool((order[1:] > order[:-1]).all())
        return values if in_turn else values[order]
    return values[order]


def matched_records(runs: Sequence[Run]) -> list[tuple[Sequence[str], IntArray | None]]:
    """The keys that the records of each run are matched by, and where those records are; None for the order of the run.

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
    for run, count in zip(runs, answers, strict=True):
        copies = common // count
        keys = [key for copy in range(copies) for key in _keys(run, copy * count)]
        matched.append((keys, np.tile(np.arange(len(run.columns.ids)), copies)))
    return matched


def copy_count(order: IntArray) -> int:
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
    for run, of_run in zip(runs[1:], keys[1:], strict=True):
        _check_once(run, of_run)
    common = set(keys[0]).intersection(*keys[1:])
    everything = set(keys[0]).union(*keys[1:])
    missing = len(everything) - len(common)
    if missing and not intersect:
        parts = []
        for run, of_run in zip(runs, keys, strict=True):
            lacking = sorted(everything.difference(of_run))
            if lacking:
                some = ", ".join(_case_text(key) for key in lacking[:MAX_NAMED])
                more = ", ..." if len(lacking) > MAX_NAMED else ""
                parts.append(f"{run.source} lacks {len(lacking):,} ({some}{more})")
        raise TranscriptError(f"not the same cases: {'; '.join(parts)}; --intersect compares the cases that all have")
    if not common:
        raise TranscriptError(f"{runs[0].source} and the others have no case in common")
    ordered = [key for key in keys[0] if key in common]
    orders = []
    for of_run in keys:
        index = {key: number for number, key in enumerate(of_run)}
        orders.append(np.fromiter((index[key] for key in ordered), np.intp, len(ordered)))
    return orders, missing


def _case_text(key: str) -> str:
    return key.replace("\0", " (answer ") + (")" if "\0" in key else "")


def check_agreement(runs: Sequence[Run], orders: Sequence[IntArray]) -> None:
    """A TranscriptError if two runs say different things about a case; `orders` are where the cases are in each.

    A run that does not say is not contradicted.
    """
    for run, order in zip(runs[1:], orders[1:], strict=True):
        for name in FACTS:
            ours, theirs = (_fact(each.columns, name) for each in (runs[0], run))
            first = _first_difference(ours, orders[0], theirs, order)
            if first is not None:
                at = orders[0][first]
                who, case = f"{runs[0].source} and {run.source}", runs[0].columns.ids[at]
                values = f"'{ours.labels[ours.codes[at]]}' and '{theirs.labels[theirs.codes[order[first]]]}'"
                raise TranscriptError(
                    f"{who} disagree on {name} of case '{case}': {values}; "
                    "they are not of the same test, or one was changed (`hate check` shows where)"
                )


def check_same_metric(names: Sequence[str], headers: Sequence[Header]) -> None:
    """A TranscriptError if other tools judged two runs by different metrics: what is right in one is not in the other.

    The metric is no part of a test's identity. A run that the harness judged has none.
    """
    said = [(name, header.metric) for name, header in zip(names, headers, strict=True) if header.metric is not None]
    for name, metric in said[1:]:
        if metric != said[0][1]:
            raise TranscriptError(
                f"{said[0][0]} and {name} were not judged by the same metric: '{said[0][1]}' there, '{metric}' here; "
                "import both again with the same --metric (tables: --success)"
            )


def agreed_direction(names: Sequence[str], headers: Sequence[Header], value: str) -> bool | None:
    """Whether more of a recorded value is better; None if no run says. A TranscriptError if two contradict each other.

    A run that does not say is not contradicted.
    """
    said = [
        (name, larger)
        for name, header in zip(names, headers, strict=True)
        if (larger := header.direction(value)) is not None
    ]
    for name, larger in said[1:]:
        if larger != said[0][1]:
            first, other = ("more" if more else "less" for more in (said[0][1], larger))
            raise TranscriptError(
                f"{said[0][0]} and {name} contradict each other: {first} {value} is better there, {other} here; "
                f"run or import both again with --higher {value} or --lower {value}"
            )
    return said[0][1] if said else None


def _fact(columns: Columns, name: str) -> Coded:
    if name == "positive":
        return Coded(columns.positive.astype(np.int32), ("false", "true"))
    column: Coded = getattr(columns, name)
    return column


def _first_difference(ours: Coded, order: IntArray, theirs: Coded, other: IntArray) -> int | None:
    """The first case of which both have a value, and not the same."""
    mine, codes = take(ours.codes, order), take(theirs.codes, other)
    # Runs of one test nearly always have the same values in the same order.
    same_labels = ours.labels == theirs.labels or list(ours.labels) == list(theirs.labels)
    if same_labels and np.array_equal(mine, codes):
        return None
    code_of = {label: code for code, label in enumerate(ours.labels)}
    # Labels that the first run does not have get a code that none has; the last entry is for records without one.
    table = np.array([*(code_of.get(label, -2) for label in theirs.labels), -1], dtype=np.int64)
    said = table[codes]
    differing = np.flatnonzero((mine != said) & (mine != -1) & (said != -1))
    return int(differing[0]) if differing.size else None


def lacking_value(name: str, names: Sequence[str], values: Sequence[Container[str]]) -> UsageError | None:
    """The error if some runs have the value that a measure is called after, and others do not."""
    value = name.removeprefix("values.")
    lacking = [run for run, recorded in zip(names, values, strict=True) if value not in recorded]
    if 0 < len(lacking) < len(names):
        return UsageError(f"--statistic {name}: no record of {', '.join(lacking)} has this value")
    return None
