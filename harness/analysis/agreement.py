"""Whether runs agree about their cases: what a case claims, how it was sampled and what is right is no run's own."""

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.matching import taken
from harness.errors import TranscriptError, UsageError
from harness.stats.arrays import IntArray
from harness.transcript.columns import Coded, Columns
from harness.transcript.format import Header

if TYPE_CHECKING:
    from harness.analysis.align import Run

FACTS = ("positive", "expect", "stratum", "psu")


def check_agreement(runs: Sequence["Run"], orders: Sequence[IntArray]) -> None:
    """A TranscriptError if two runs say different things about a case; `orders` are where the cases are in each.

    A run that does not say is not contradicted.
    """
    for run, order in zip(runs[1:], orders[1:], strict=True):
        for name in FACTS:
            ours, theirs = (_fact(each.columns, name) for each in (runs[0], run))
            place = _first_difference(ours, orders[0], theirs, order)
            if place is not None:
                at = orders[0][place]
                who, case = f"{runs[0].source} and {run.source}", runs[0].columns.ids[at]
                values = f"'{ours.labels[ours.codes[at]]}' and '{theirs.labels[theirs.codes[order[place]]]}'"
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
            first, other = ("more" if one else "less" for one in (said[0][1], larger))
            raise TranscriptError(
                f"{said[0][0]} and {name} contradict each other: {first} {value} is better there, {other} here; "
                f"run or import both again with --higher {value} or --lower {value}"
            )
    return said[0][1] if said else None


def _fact(columns: Columns, name: str) -> Coded:
    if name == "positive":
        return Coded(columns.positive.astype(np.int32), ("false", "true"))
    found: Coded = getattr(columns, name)
    return found


def _first_difference(ours: Coded, order: IntArray, theirs: Coded, other: IntArray) -> int | None:
    """The first place at which both have a value, and not the same."""
    mine, codes = taken(ours.codes, order), taken(theirs.codes, other)
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
    lacking = [one for one, own in zip(names, values, strict=True) if name.removeprefix("values.") not in own]
    if 0 < len(lacking) < len(names):
        return UsageError(f"--statistic {name}: no record of {', '.join(lacking)} has this value")
    return None
