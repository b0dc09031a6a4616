"""Look into a transcript: the cases that a query selects, in its order."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from harness.errors import UsageError
from harness.files.conditions import Condition, sort_key
from harness.model import Counts, Trial
from harness.params import nearest
from harness.transcript.format import Header
from harness.transcript.read import TranscriptReader, open_transcript

ERROR = "ER"
# The fields of a record by name; columns and values have names of their own.
FIELDS = tuple(name for name in Trial.__struct_fields__ if name not in ("values", "columns"))
VALUES = "values."


@dataclass(frozen=True)
class CaseQuery:
    """Which cases, in which order, and how many of them."""

    # TP, TN, FP, FN, and ER for those in error; empty for all.
    outcomes: frozenset[str] = frozenset()
    conditions: tuple[Condition, ...] = ()
    sort: tuple[str, ...] = ()
    limit: int | None = None

    def selects_outcome(self, trial: Trial) -> bool:
        """Whether the outcome is one of `outcomes`; conditions are checked elsewhere."""
        return not self.outcomes or trial.outcome in self.outcomes or (ERROR in self.outcomes and bool(trial.error))

    def check(self, known: Iterable[str]) -> None:
        """A UsageError for an unknown column."""
        names = list(known)
        _check_known((condition.name for condition in self.conditions), names, "--where")
        _check_known((key.removeprefix("-") for key in self.sort), names, "--sort")

    def arrange(self, items: list[Any], get: Callable[[Any, str], Any]) -> list[Any]:
        """Sort the items and cut the list at the limit."""
        return sort_by(items, self.sort, get)[: self.limit]


@dataclass
class TranscriptOverview:
    """A summary of a transcript, updated as its records are read."""

    header: Header
    complete: bool = False
    counts: Counts = field(default_factory=Counts)
    # The columns of its cases, in the order of their first appearance.
    columns: dict[str, None] = field(default_factory=dict)
    # The names of the values, likewise.
    values: dict[str, None] = field(default_factory=dict)

    def add(self, block: list[Trial]) -> None:
        """Count more records, and collect their columns."""
        both = zip(msgspec.structs.astuple(self.counts), msgspec.structs.astuple(Counts.of(block)), strict=True)
        self.counts = Counts(*(a + b for a, b in both))
        for trial in block:
            if trial.columns:
                self.columns.update(dict.fromkeys(trial.columns))
            if trial.values:
                self.values.update(dict.fromkeys(trial.values))

    def blocks(self, reader: TranscriptReader) -> Iterable[list[Trial]]:
        """The records of a transcript, added to the summary as they are read."""
        for block in reader.blocks():
            self.add(block)
            yield block
        self.complete = reader.end is not None


@dataclass(frozen=True)
class View:
    """The cases of a transcript that a query selects."""

    run: TranscriptOverview
    # How many match; `trials` may be only the first few of them.
    matching: int
    trials: list[Trial]


def look(path: Path, name: str, query: CaseQuery) -> View:
    """Read the transcript once, and keep the cases that the query selects."""
    selected: list[Trial] = []
    matching = 0
    room = query.limit if query.limit is not None and not query.sort else None
    with open_transcript(path, name=name) as reader:
        run = TranscriptOverview(reader.header)
        for block in run.blocks(reader):
            matches = [trial for trial in block if query.selects_outcome(trial) and _holds(trial, query)]
            matching += len(matches)
            selected += matches if room is None else matches[: max(room - len(selected), 0)]
    query.check([*FIELDS, *run.columns, *run.values, *(VALUES + name for name in run.values)])
    return View(run, matching, query.arrange(selected, field_value))


def _holds(trial: Trial, query: CaseQuery) -> bool:
    return all(condition.holds(field_value(trial, condition.name)) for condition in query.conditions)


def field_value(trial: Trial, name: str) -> Any:
    """A field of a record; None if it has none. `truth` is the real class, even if the record only has the claim."""
    if name == "truth" and trial.truth is UNSET:
        value = trial.expect if trial.outcome.positive else None
    elif name in FIELDS:
        value = getattr(trial, name)
    else:
        value = _column_or_value(trial, name)
    return None if value is UNSET else value


def _column_or_value(trial: Trial, name: str) -> Any:
    """A column of the case, else a value by name; `values.NAME` is always the value."""
    if trial.columns and name in trial.columns:
        return trial.columns[name]
    values = trial.values or {}
    return values.get(name, values.get(name.removeprefix(VALUES)))


def _check_known(names: Iterable[str], known: Sequence[str], what: str) -> None:
    """A UsageError for a field that no record has."""
    for name in names:
        if name not in known:
            raise UsageError(f"{what} {name}: no such column; {nearest(name, known)}")


def sort_by(items: Iterable[Any], keys: Sequence[str], get: Callable[[Any, str], Any]) -> list[Any]:
    """Sorted by each key in turn, descending if it starts with -; items without a value always come last."""
    result = list(items)
    for key in reversed(keys):
        name = key.removeprefix("-")
        pairs = [(get(item, name), item) for item in result]
        known = [pair for pair in pairs if pair[0] is not None]
        known.sort(key=lambda pair: sort_key(pair[0]), reverse=key.startswith("-"))
        result = [item for _, item in known] + [item for value, item in pairs if value is None]
    return result
