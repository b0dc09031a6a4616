"""How far a run is: what its transcript, finished or not, says about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from msgspec import UNSET

from harness.model import Counts
from harness.transcript.format import Header


class RunState(StrEnum):
    """Whether a run is under way, has ended, or was stopped before its end."""

    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Speed:
    """How fast a run is, in cases a second; None where it cannot be told."""

    # Seconds from its start to now, or to its last record.
    seconds: float | None
    overall: float | None
    # While it was watched, and for how many seconds that was.
    recent: float | None = None
    watched: float = 0.0

    def seconds_left(self, cases: int) -> float | None:
        """For so many more cases, at the recent speed if that is known."""
        rate = self.recent or self.overall
        return cases / rate if rate else None


@dataclass(frozen=True)
class RunStatus:
    """How far a run is, and what has come of it."""

    path: Path
    header: Header
    state: RunState
    counts: Counts
    # How many errors there are of each kind.
    errors: Mapping[str, int]
    speed: Speed
    # Whether this system can tell if a run is writing the file.
    certain: bool = True

    @property
    def done(self) -> int:
        """The trials so far."""
        return self.counts.tests

    @property
    def total(self) -> int | None:
        """The trials of the whole run; None if its transcript does not say."""
        return self.done if self.state is RunState.COMPLETE else _planned(self.header)

    @property
    def may_stop_early(self) -> bool:
        """Whether it was started with --stop-when."""
        return "stop_when" in self.header.part

    @property
    def seconds_left(self) -> float | None:
        """How long it will still take; None if that cannot be told."""
        if self.total is None or self.state is RunState.STOPPED:
            return None
        return self.speed.seconds_left(max(self.total - self.done, 0))


def _planned(header: Header) -> int | None:
    """The trials that a run began with; None if it is of a part of its test whose size is not recorded."""
    part, gallery = header.part, header.test.gallery
    cases = part.get("limit", header.test.cases)
    unknown = "vary" in part or (gallery is not UNSET and gallery.probes is not UNSET)
    if not isinstance(cases, int) or (unknown and "limit" not in part):
        return None
    return cases * (header.repeat if isinstance(header.repeat, int) else 1)
