"""A transcript as columns: numpy arrays of numbers and of codes for texts, ready to be compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from harness.model import Outcome
from harness.transcript.format import Header

OUTCOMES = tuple(Outcome)
# The fields of a record that become columns, by their kind.
TEXTS = ("expect", "truth", "actual", "error", "stratum", "psu")
NUMBERS = ("score", "seconds", "memory", "rank")
DETAILS = ("pixels", "boxes")
# What is left out if columns are read for outcomes and resources alone.
NOT_LEAN = frozenset({"expect", "truth", "actual", "score", "rank", "columns", "values", "details"})
# Texts of one length up to this are compared as arrays.
MAX_COMPARED_LENGTH = 64


class TextList(Sequence[str]):
    """Many texts in one piece: their UTF-8 bytes, and where each of them ends.

    Two of them are compared without making a single text; a list is made when somebody asks for the texts.
    """

    def __init__(self, data: bytes, ends: npt.NDArray[np.int64]) -> None:
        self.data = data
        self.ends = ends

    @staticmethod
    def of(texts: Sequence[str]) -> "TextList":
        """The same texts in one piece."""
        data = "".join(texts).encode()
        return TextList(data, np.cumsum(text_lengths(texts, len(data)), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice) or "_texts" in self.__dict__:
            return self._texts[index]
        index = range(len(self.ends))[index]
        return self.data[int(self.ends[index - 1]) if index else 0 : int(self.ends[index])].decode()

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TextList):
            return self.data == other.data and np.array_equal(self.ends, other.ends)
        return isinstance(other, list) and self._texts == other

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._texts, dtype=dtype)

    @cached_property
    def _texts(self) -> list[str]:
        ends = self.ends.tolist()
        if self.data.isascii():
            text = self.data.decode("ascii")
            return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        return [self.data[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]

    @property
    def is_ascending(self) -> bool:
        """Whether each text plainly comes after the one before it, so that no two are the same."""
        count = len(self.ends)
        length = len(self.data) // count if count else 0
        if not 0 < length <= MAX_COMPARED_LENGTH or not np.array_equal(self.ends, np.arange(1, count + 1) * length):
            return False
        texts = np.frombuffer(self.data, f"S{length}")
        return bool((texts[1:] > texts[:-1]).all())


def text_lengths(texts: Sequence[str], size: int) -> npt.NDArray[np.int64]:
    """How many bytes each text has in UTF-8, if all of them have `size`."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    if int(lengths.sum()) == size:
        return lengths
    return np.fromiter((len(text.encode()) for text in texts), np.int64, len(texts))


@dataclass(frozen=True)
class Coded:
    """A column of texts: each an index into `labels`, -1 if a record has none.

    `column[:3]` and `np.asarray(column)` are the texts, None for a record that has none.
    """

    codes: npt.NDArray[np.int32]
    labels: Sequence[str]

    def __getitem__(self, index: Any) -> Any:
        """A text, or an array of those that a slice, a list or an array of numpy picks."""
        return np.array([*self.labels, None], dtype=object)[self.codes[index]]

    def __iter__(self) -> Iterator[str | None]:
        return iter(self[:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self[:], dtype=dtype)

    def __repr__(self) -> str:
        return f"<{len(self.codes):,} texts, {len(self.labels):,} different>"

    def numbers(self) -> npt.NDArray[np.float64]:
        """The texts as numbers; NaN for what is not a finite number, or if a record has none."""
        try:
            numbers = list(map(float, self.labels))
        except ValueError:
            numbers = list(map(number_or_nan, self.labels))
        values = np.array([*numbers, np.nan])[self.codes]
        return np.where(np.isfinite(values), values, np.nan)


def number_or_nan(text: str) -> float:
    """The number that a text is; NaN for any other text."""
    try:
        return float(text)
    except ValueError:
        return np.nan


@dataclass(frozen=True, repr=False)
class Columns:
    """All records of a transcript, in the order of the file."""

    header: Header
    complete: bool
    ids: Sequence[str]
    # Indexes into OUTCOMES.
    outcome: npt.NDArray[np.int8]
    # Numbers are NaN if a record has none.
    score: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64]
    memory: npt.NDArray[np.float64]
    rank: npt.NDArray[np.float64]
    repeat: npt.NDArray[np.int32]
    expect: Coded
    truth: Coded
    actual: Coded
    error: Coded
    stratum: Coded
    psu: Coded
    columns: dict[str, Coded] = field(default_factory=dict)
    # Further numbers by name, also NaN if a record has none.
    values: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    # What tasks record of images and boxes, by the key of the record; None for a record without it.
    details: dict[str, list[Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        names = [*self.__dataclass_fields__][2:-3]
        further = [*self.columns, *self.values, *self.details]
        return f"<{len(self.ids):,} records: {', '.join([*names, *further])}>"

    @property
    def real_class(self) -> Coded:
        """The truth, or the claim if it is true: a record of a true claim need not state both."""
        labels = list(dict.fromkeys([*self.truth.labels, *self.expect.labels]))
        code_of = {label: code for code, label in enumerate(labels)}
        tables = [np.array([*map(code_of.get, each.labels), -1], dtype=np.int32) for each in (self.truth, self.expect)]
        claimed = np.where(self.positive, tables[1][self.expect.codes], -1)
        return Coded(np.where(self.truth.codes >= 0, tables[0][self.truth.codes], claimed), labels)

    @property
    def success(self) -> npt.NDArray[np.bool_]:
        """Whether each outcome is TP or TN."""
        return self._is(Outcome.TP) | self._is(Outcome.TN)

    @property
    def positive(self) -> npt.NDArray[np.bool_]:
        """Whether each outcome is TP or FN."""
        return self._is(Outcome.TP) | self._is(Outcome.FN)

    def _is(self, outcome: Outcome) -> npt.NDArray[np.bool_]:
        matches: npt.NDArray[np.bool_] = self.outcome == OUTCOMES.index(outcome)
        return matches


def read_columns(path: Path, *, name: str | None = None, lean: bool = False) -> Columns:
    """Read a transcript, plain or gzipped; it may be incomplete. `name` is for messages.

    `lean` leaves out what only some analyses need: see `NOT_LEAN`.
    """
    # With their decoders, which programs that only name columns need not make.
    from harness.transcript.collect import collect
    from harness.transcript.kept_columns import find_columns
    from harness.transcript.storage import is_parquet

    columns = find_columns(path, lean=lean)
    if columns is None and is_parquet(path):
        from harness.transcript.parquet_columns import read_parquet_columns

        columns = read_parquet_columns(path, lean=lean)
    return collect(path, name=name, lean=lean) if columns is None else columns
