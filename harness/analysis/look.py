"""Look into a transcript: the cases that are asked for, in the order asked for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from harness.analysis.conditions import Condition
from harness.analysis.fields import OWN, VALUES, check_known, ordered, value
from harness.model import Counts, Trial
from harness.transcript.format import Header
from harness.transcript.read import TranscriptReader, open_transcript

ERROR = "ER"


@dataclass(frozen=True)
class Choice:
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
        check_known((condition.name for condition in self.conditions), names, "--where")
        check_known((key.removeprefix("-") for key in self.sort), names, "--sort")

    def arrange(self, items: list[Any], get: Callable[[Any, str], Any]) -> list[Any]:
        """Sorted and cut."""
        return ordered(items, self.sort, get)[: self.limit]


@dataclass
class Run:
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

    run: Run
    # All that match, of which `trials` may be the first few.
    matching: int
    trials: list[Trial]


def look(path: Path, name: str, choice: Choice) -> View:
    """Read the transcript once, and keep what is asked for."""
    kept: list[Trial] = []
    matching = 0
    room = choice.limit if choice.limit is not None and not choice.sort else None
    with open_transcript(path, name=name) as reader:
        run = Run(reader.header)
        for block in run.blocks(reader):
            found = [trial for trial in block if choice.wants(trial) and _holds(trial, choice)]
            matching += len(found)
            kept += found if room is None else found[: max(room - len(kept), 0)]
    choice.check([*OWN, *run.columns, *run.values, *(VALUES + name for name in run.values)])
    return View(run, matching, choice.arrange(kept, value))


def _holds(trial: Trial, choice: Choice) -> bool:
    return all(condition.holds(value(trial, condition.name)) for condition in choice.conditions)
