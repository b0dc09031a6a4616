"""Look into a transcript: the cases that are asked for, in the order asked for."""

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

    def wants(self, trial: Trial) -> bool:
        """Whether the outcome is one of those; conditions are another matter."""
        return not self.outcomes or trial.outcome in self.outcomes or (ERROR in self.outcomes and bool(trial.error))

    def check(self, known: Iterable[str]) -> None:
        """A UsageError for a column that there is not."""
        names = list(known)
        _check_known((condition.name for condition in self.conditions), names, "--where")
        _check_known((key.removeprefix("-") for key in self.sort), names, "--sort")

    def arrange(self, items: list[Any], get: Callable[[Any, str], Any]) -> list[Any]:
        """Sorted and cut."""
        return sort_by(items, self.sort, get)[: self.limit]


@dataclass
class TranscriptOverview:
    """What is known of a transcript beside its records, while they go by and when they have gone."""

    header: Header
    complete: bool = False
    counts: Counts = field(default_factory=Counts)
    # The columns of its cases, in the order of their first appearance.
    columns: dict[str, None] = field(default_factory=dict)
    # The names of the values, likewise.
    values: dict[str, None] = field(default_factory=dict)

    def see(self, block: list[Trial]) -> None:
        """Count some more records, and learn their columns."""
        both = zip(msgspec.structs.astuple(self.counts), msgspec.structs.astuple(Counts.of(block)), strict=True)
        self.counts = Counts(*(a + b for a, b in both))
        for trial in block:
            if trial.columns:
                self.columns.update(dict.fromkeys(trial.columns))
            if trial.values:
                self.values.update(dict.fromkeys(trial.values))

    def blocks(self, reader: TranscriptReader) -> Iterable[list[Trial]]:
        """The records of a transcript, seen as they go by."""
        for block in reader.blocks():
            self.see(block)
            yield block
        self.complete = reader.end is not None


@dataclass(frozen=True)
class View:
    """A transcript as it is looked at."""

    run: TranscriptOverview
    # All that match, of which `trials` may be the first few.
    matching: int
    trials: list[Trial]


def look(path: Path, name: str, choice: CaseQuery) -> View:
    """Read the transcript once, and keep what is asked for."""
    kept: list[Trial] = []
    matching = 0
    room = choice.limit if choice.limit is not None and not choice.sort else None
    with open_transcript(path, name=name) as reader:
        run = TranscriptOverview(reader.header)
        for block in run.blocks(reader):
            found = [trial for trial in block if choice.wants(trial) and _holds(trial, choice)]
            matching += len(found)
            kept += found if room is None else found[: max(room - len(kept), 0)]
    choice.check([*FIELDS, *run.columns, *run.values, *(VALUES + name for name in run.values)])
    return View(run, matching, choice.arrange(kept, field_value))


def _holds(trial: Trial, choice: CaseQuery) -> bool:
    return all(condition.holds(field_value(trial, condition.name)) for condition in choice.conditions)


def field_value(trial: Trial, name: str) -> Any:
    """A field of a record; None where it has none. `truth` is the real class, also where the claim is true."""
    if name == "truth" and trial.truth is UNSET:
        found = trial.expect if trial.outcome.positive else None
    elif name in FIELDS:
        found = getattr(trial, name)
    else:
        found = _column_or_value(trial, name)
    return None if found is UNSET else found


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
    """Sorted by each key in turn, downwards after a leading -; items without a value come last either way."""
    result = list(items)
    for key in reversed(keys):
        name = key.removeprefix("-")
        found = [(get(item, name), item) for item in result]
        having = [pair for pair in found if pair[0] is not None]
        having.sort(key=lambda pair: sort_key(pair[0]), reverse=key.startswith("-"))
        result = [item for _, item in having] + [item for known, item in found if known is None]
    return result
