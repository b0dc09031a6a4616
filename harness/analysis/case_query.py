"""Look into a transcript: the cases that a query selects, in its order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, overload

from msgspec import UNSET

from harness.errors import UsageError
from harness.files.conditions import parse_condition, sort_key
from harness.model import Counts, Outcome, Trial
from harness.options.cases import ERROR, CaseOptions
from harness.params import nearest
from harness.transcript.format import Header
from harness.transcript.read import TranscriptReader, open_transcript

# The fields of a record by name; columns and values have names of their own.
FIELDS = tuple(name for name in Trial.__struct_fields__ if name not in ("values", "columns"))
VALUES = "values."
# The property of an outcome that says so is slow for a million records.
_POSITIVE = tuple(outcome for outcome in Outcome if outcome.positive)


class CaseQuery:
    """The cases that options ask for, in their order, and as many of them."""

    def __init__(self, options: CaseOptions) -> None:
        self.sort, self.limit = options.sort, options.limit
        self.conditions = list(map(parse_condition, options.where))
        # TP, TN, FP, FN, and ER for those in error; empty for all.
        self._outcomes = frozenset(options.outcome)

    def selects_outcome(self, trial: Trial) -> bool:
        """Whether the outcome is asked for; conditions are checked elsewhere."""
        return not self._outcomes or trial.outcome in self._outcomes or (ERROR in self._outcomes and bool(trial.error))

    def selected(self, block: list[Trial]) -> list[Trial]:
        """The records that the query selects."""
        if not self._outcomes and not self.conditions:
            return block
        return [trial for trial in block if self.selects_outcome(trial) and self._holds(trial)]

    def _holds(self, trial: Trial) -> bool:
        return all(condition.holds(field_value(trial, condition.name)) for condition in self.conditions)

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
        self.counts += Counts.of(block)
        for names, own in ((self.columns, "columns"), (self.values, "values")):
            for kind in dict.fromkeys(tuple(found) for found in map(attrgetter(own), block) if found):
                names.update(dict.fromkeys(kind))

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
    trials: Sequence[Trial]
    # The fields, columns and values that some of the matching cases have.
    present: frozenset[str]


def look(path: Path, name: str, options: CaseOptions) -> View:
    """Read the transcript once, to know what is in it; the cases are kept only if they must be sorted."""
    query = CaseQuery(options)
    selected: list[Trial] = []
    matching, present = 0, set[str]()
    # Standard input cannot be read again.
    kept = bool(query.sort) or str(path) == "-"
    with open_transcript(path, name=name) as reader:
        run = TranscriptOverview(reader.header)
        for block in run.blocks(reader):
            matches = query.selected(block)
            matching += len(matches)
            known = {*FIELDS, *run.columns, *run.values, *map(VALUES.__add__, run.values)}
            present |= _present(matches, known - present)
            selected += matches if kept else []
    query.check([*FIELDS, *run.columns, *run.values, *(VALUES + name for name in run.values)])
    count = matching if query.limit is None else min(matching, query.limit)
    trials = query.arrange(selected, field_value) if kept else SelectedTrials(path, name, query, count)
    return View(run, matching, trials, frozenset(present))


@dataclass(frozen=True)
class SelectedTrials(Sequence[Trial]):
    """The cases that a query selects, in the order of the file; read anew whenever they are gone through."""

    path: Path
    name: str
    query: CaseQuery
    size: int

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Trial]:
        return islice(chain.from_iterable(self._blocks()), self.size)

    @overload
    def __getitem__(self, place: int) -> Trial: ...
    @overload
    def __getitem__(self, place: slice) -> list[Trial]: ...
    def __getitem__(self, place: int | slice) -> Trial | list[Trial]:
        return list(self)[place]

    def _blocks(self) -> Iterator[list[Trial]]:
        with open_transcript(self.path, name=self.name) as reader:
            for block in reader.blocks():
                yield self.query.selected(block)


def _present(trials: Sequence[Trial], names: Iterable[str]) -> set[str]:
    """Which of the names have a value in some record."""
    return {name for name in names if field_values(trials, name).count(None) < len(trials)}


def field_values(trials: Sequence[Trial], name: str) -> list[Any]:
    """`field_value` of many records."""
    if name not in FIELDS or name == "truth":
        return [field_value(trial, name) for trial in trials]
    # The texts of outcomes, not the outcomes: they are equal, and faster to print by the million.
    values = list(map(attrgetter("outcome._value_" if name == "outcome" else name), trials))
    missing = values.count(UNSET)
    if missing == len(values):
        return [None] * missing
    return [None if value is UNSET else value for value in values] if missing else values


def field_value(trial: Trial, name: str) -> Any:
    """A field of a record; None if it has none. `truth` is the real class, even if the record only has the claim."""
    if name == "truth" and trial.truth is UNSET:
        value = trial.expect if trial.outcome in _POSITIVE else None
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
