"""A whole transcript as columns: numpy arrays, texts by code, ready to be compared."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import UNSET

from harness.model import Outcome, Trial, plain_text
from harness.transcript.format import Header
from harness.transcript.read import TranscriptReader, open_transcript

OUTCOMES = tuple(Outcome)
_CODE = {outcome.value: code for code, outcome in enumerate(OUTCOMES)}


@dataclass(frozen=True)
class Coded:
    """A column of texts: each as a number into `labels`, -1 where a record has none."""

    codes: npt.NDArray[np.int32]
    labels: Sequence[str]


@dataclass(frozen=True)
class Columns:
    """All records of a transcript, in the order of the file."""

    header: Header
    complete: bool
    ids: list[str]
    # Indexes into OUTCOMES.
    outcome: npt.NDArray[np.int8]
    # Numbers are not-a-number where a record has none.
    score: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64]
    memory: npt.NDArray[np.float64]
    repeat: npt.NDArray[np.int32]
    expect: Coded
    truth: Coded
    actual: Coded
    error: Coded
    stratum: Coded
    psu: Coded
    columns: dict[str, Coded] = field(default_factory=dict)

    @property
    def success(self) -> npt.NDArray[np.bool_]:
        """TP or TN."""
        good = np.array([outcome.success for outcome in OUTCOMES])
        chosen: npt.NDArray[np.bool_] = good[self.outcome]
        return chosen

    @property
    def positive(self) -> npt.NDArray[np.bool_]:
        """TP or FN."""
        good = np.array([outcome.positive for outcome in OUTCOMES])
        chosen: npt.NDArray[np.bool_] = good[self.outcome]
        return chosen


def read_columns(path: Path, *, name: str | None = None) -> Columns:
    """Read a transcript, plain or gzipped; whether it is complete is told, not judged. `name` is for messages."""
    with open_transcript(path, name=name) as reader:
        return collect(reader)


def collect(reader: TranscriptReader) -> Columns:
    """The columns of an open transcript."""
    building = _Building()
    for block in reader.blocks():
        building.add(block)
    return building.finish(reader)


class _Texts:
    """A column of texts that grows."""

    def __init__(self, before: int = 0) -> None:
        self._known: dict[Any, int] = {UNSET: -1, None: -1}
        self._parts = [np.full(before, -1, np.int32)]

    def add(self, values: Iterable[Any], count: int) -> None:
        known = self._known
        codes = (known[v] if v in known else self._learn(v) for v in values)
        self._parts.append(np.fromiter(codes, np.int32, count))

    def _learn(self, value: Any) -> int:
        code: int = len(self._known) - 2
        self._known[value] = code
        return code

    def finish(self) -> Coded:
        return Coded(np.concatenate(self._parts), [plain_text(value) for value in list(self._known)[2:]])


class _Building:
    """Columns that grow block by block."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.outcome = [np.empty(0, np.int8)]
        self.numbers: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in ("score", "seconds", "memory")}
        self.repeat = [np.empty(0, np.int32)]
        self.texts = {name: _Texts() for name in ("expect", "truth", "actual", "error", "stratum", "psu")}
        self.columns: dict[str, _Texts] = {}

    def add(self, block: Sequence[Trial]) -> None:
        count = len(block)
        self.outcome.append(np.fromiter((_CODE[t.outcome.value] for t in block), np.int8, count))
        for name, parts in self.numbers.items():
            values = (getattr(t, name) for t in block)
            parts.append(np.fromiter((np.nan if v is UNSET or v is None else v for v in values), np.float64, count))
        self.repeat.append(np.fromiter((1 if t.repeat is UNSET else t.repeat for t in block), np.int32, count))
        for name, texts in self.texts.items():
            texts.add((_hashable(getattr(t, name)) for t in block), count)
        self._add_columns(block)
        self.ids += [t.id for t in block]

    def _add_columns(self, block: Sequence[Trial]) -> None:
        """Any columns of the cases; a record may lack some, and a later one may bring new ones."""
        given = [{} if t.columns is UNSET else t.columns for t in block]
        for name in dict.fromkeys(key for columns in given for key in columns):
            self.columns.setdefault(name, _Texts(len(self.ids)))
        for name, texts in self.columns.items():
            texts.add((_hashable(columns.get(name)) for columns in given), len(block))

    def finish(self, reader: TranscriptReader) -> Columns:
        named: dict[str, Any] = {name: np.concatenate([np.empty(0), *p]) for name, p in self.numbers.items()}
        named |= {name: texts.finish() for name, texts in self.texts.items()}
        return Columns(
            header=reader.header,
            complete=reader.end is not None,
            ids=self.ids,
            outcome=np.concatenate(self.outcome),
            repeat=np.concatenate(self.repeat),
            columns={name: texts.finish() for name, texts in self.columns.items()},
            **named,
        )


def _hashable(value: Any) -> Any:
    """1 and 1.0 and True would share a code; texts, by far the most frequent, are taken as they are."""
    return value if type(value) is str or value is UNSET or value is None else plain_text(value)
