"""The records that a transcript has when a run carries on with it: counted, then matched with the cases of the test.

They are nearly in case order, for workers are ahead of one another by a bounded number of cases. So records and cases
are read side by side, and little has to be remembered.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.json import Decoder

from harness.model import BlindTrial, Case, ErrorKind, Outcome, Turn
from harness.transcript.format import Header
from harness.transcript.write import TranscriptWriter

# Its index in the run, its turn from 1 if cases are asked several times, and the case. There are millions of them, and
# a plain tuple is made five times as fast as one with names.
PlannedTrial = tuple[int, int, Case]
_Key = tuple[str, int]
# How many bytes of lines are read at a time.
_BLOCK = 1 << 17


class _Judged(Struct, frozen=True, gc=False):
    """What is counted of a record; to decode the rest takes longer."""

    id: str
    outcome: Outcome
    error: ErrorKind | UnsetType | None = UNSET


class _Identity(Struct, frozen=True, gc=False):
    """Whose record it is."""

    id: str
    repeat: Turn | UnsetType = UNSET


def counted_type(header: Header) -> Any:
    """What the records of a transcript are decoded into to be counted."""
    return BlindTrial if header.is_blind else _Judged


def unanswered(writer: TranscriptWriter, trials: Iterator[PlannedTrial]) -> list[PlannedTrial]:
    """Tell the writer the case of each record that it has; returns the trials before the last of them without one.

    The trials after that are still in the iterator.
    """
    waiting: dict[_Key, PlannedTrial] = {}
    for key, start, stop in _records(writer):
        trial = waiting.pop(key, None) if waiting else None
        trial = trial or _advance(trials, key, waiting)
        if trial is not None:
            writer.keep(trial[0], start, stop)
    return list(waiting.values())


def _advance(trials: Iterator[PlannedTrial], key: _Key, waiting: dict[_Key, PlannedTrial]) -> PlannedTrial | None:
    """The trial of a record; those before it have to wait for theirs. None if the test has no such case."""
    for trial in trials:
        _, turn, case = trial
        if key == (case.id, turn):
            return trial
        waiting[case.id, turn] = trial
    return None


def _records(writer: TranscriptWriter) -> Iterator[tuple[_Key, int, int]]:
    """Whose each record is, and where its line begins and ends."""
    decode = Decoder(_Identity).decode
    with writer.path.open("rb") as file:
        start = file.seek(writer.head)
        while lines := file.readlines(_BLOCK):
            for line in lines:
                stop = start + len(line)
                if line.strip():
                    record = decode(line)
                    yield (record.id, record.repeat if isinstance(record.repeat, int) else 1), start, stop
                start = stop
