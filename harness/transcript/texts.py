"""Columns of texts, ready for millions of cases: each text once, or all of them in one piece of memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

# Texts of one length up to this are compared as arrays.
LONGEST_COMPARED = 64


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
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice) or "_texts" in self.__dict__:
            return self._texts[place]
        place = range(len(self.ends))[place]
        return self.data[int(self.ends[place - 1]) if place else 0 : int(self.ends[place])].decode()

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
        if not 0 < length <= LONGEST_COMPARED or not np.array_equal(self.ends, np.arange(1, count + 1) * length):
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
    """A column of texts: each an index into `labels`, -1 if a record has none."""

    codes: npt.NDArray[np.int32]
    labels: Sequence[str]

    def numbers(self) -> npt.NDArray[np.float64]:
        """The texts as numbers; NaN for what is not a finite number, or if a record has none."""
        try:
            numbers = list(map(float, self.labels))
        except ValueError:
            numbers = list(map(_number, self.labels))
        values = np.array([*numbers, np.nan])[self.codes]
        return np.where(np.isfinite(values), values, np.nan)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
