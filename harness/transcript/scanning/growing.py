"""Columns of numbers and of texts that grow by some lines at a time."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from harness.model import plain_text
from harness.transcript.scanning.lines import LONGEST, LineBlock, Places, Values, Words
from harness.transcript.texts import Coded, TextList

Codes = npt.NDArray[np.int32]
_TEXTS = {str, UnsetType, type(None)}
_NOTHING = {UnsetType, type(None)}
# Odd numbers without a pattern, one a word, so that their products spread texts over a table.
_SPREAD = np.array([0x9E3779B97F4A7C15 * (2 * word + 1) % (1 << 64) for word in range(LONGEST // 8)], np.uint64)
_TABLE_BITS = 12


@dataclass(frozen=True)
class Part:
    """What some lines have of one column: places in the lines that were taken apart, objects of the others."""

    size: int
    block: LineBlock | None
    values: Values | None
    # The numbers of the other lines, and what they have: UNSET or None is nothing. Or none of them has anything.
    left: Places
    others: Sequence[Any]


class _Growing(ABC):
    """A column that grows; `missing` is for lines that have nothing."""

    def __init__(self, missing: np.generic, before: int) -> None:
        self._missing = missing
        self.parts: list[npt.NDArray[Any]] = [np.full(before, missing)]

    def read(self, part: Part) -> npt.NDArray[Any]:
        """What some lines have, to be added; ValueError if it is not of the kind of this column."""
        if part.block is None and part.others:
            return self._of_objects(part.others)
        if part.block is not None and part.values is not None and part.values.everywhere:
            return self._of_block(part.block, part.values)
        if part.values is None and not part.others:
            return np.broadcast_to(self._missing, part.size)
        numbers = np.full(part.size, self._missing)
        if part.block is not None and part.values is not None:
            numbers[part.values.lines] = self._of_block(part.block, part.values)
        if part.others:
            numbers[part.left] = self._of_objects(part.others)
        return numbers

    def add(self, values: Sequence[Any], places: Codes) -> None:
        """Add decoded values, each for the lines that have its place here, -1 for none."""
        self.parts.append(np.append(self._of_objects(values), self._missing)[places])

    @abstractmethod
    def _of_objects(self, values: Sequence[Any]) -> npt.NDArray[Any]:
        """What to add for values that were decoded."""

    @abstractmethod
    def _of_block(self, block: LineBlock, values: Values) -> npt.NDArray[Any]:
        """What to add for values in place."""

    def _join(self) -> npt.NDArray[Any]:
        """All of it; nothing is kept here, so that the memory can be used for other columns."""
        numbers = np.concatenate(self.parts)
        self.parts.clear()
        return numbers


class GrowingNumbers(_Growing):
    """A column of numbers that grows."""

    def __init__(self, kind: Any = float | None, missing: float = np.nan, before: int = 0) -> None:
        super().__init__(np.float64(missing), before)
        self._kind = kind

    def _of_objects(self, values: Sequence[Any]) -> npt.NDArray[np.float64]:
        if _NOTHING.isdisjoint(map(type, values)):
            return np.array(values, np.float64)
        if values.count(UNSET) == len(values):
            return np.full(len(values), self._missing)
        return np.array([self._missing if value is None or value is UNSET else value for value in values], np.float64)

    def _of_block(self, block: LineBlock, values: Values) -> npt.NDArray[np.float64]:
        try:
            return np.array(block.decode(values, float if self._kind == float | None else self._kind), np.float64)
        except (msgspec.ValidationError, TypeError):  # nulls
            return self._of_objects(block.decode(values, self._kind))

    def finish(self) -> npt.NDArray[np.float64]:
        """All of it."""
        return self._join()


class GrowingTexts(_Growing):
    """A column of texts that grows.

    A text in place that is not in the table of those met last gets the next number, whether it was met long ago or
    never; so no object is made for a line. Texts that were decoded have numbers below -1. In the end, all numbers of a
    text become one code.
    """

    def __init__(self, kind: Any = str, before: int = 0) -> None:
        super().__init__(np.int32(-1), before)
        # Only for what not every text is.
        self._kind = None if kind in (str, str | None, Any) else kind
        self._table = _Table()
        self._words: list[Words] = []
        self._count = 0
        # A new text gets the next number, all of that without a step in Python.
        self._known: dict[Any, int] = defaultdict(count(-2, -1).__next__, {UNSET: -1, None: -1})

    def _of_objects(self, values: Sequence[Any]) -> Codes:
        if not _TEXTS.issuperset(map(type, values)):
            # 1 and 1.0 and True would share a number.
            values = [value if type(value) in _TEXTS else plain_text(value) for value in values]
        return np.fromiter(map(self._known.__getitem__, values), np.int32, len(values))

    def _of_block(self, block: LineBlock, values: Values) -> Codes:
        if values.longest > LONGEST:
            texts = [text.decode() for text in block.texts(values)]
            self._check(texts)
            return self._of_objects(texts)
        words = block.words(values)
        heads = _heads(words)
        words = words[:, heads]
        numbers = self._table.find(words)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            numbers[unknown] = self._new(words[:, unknown])
            self._table.note(words[:, unknown], numbers[unknown])
        return np.repeat(numbers, np.diff(heads, append=len(values.starts)))

    def _new(self, words: Words) -> Codes:
        """The next numbers for some texts."""
        if self._kind is not None:
            self._check(_texts(words))
        self._words.append(words)
        self._count += words.shape[1]
        return np.arange(self._count - words.shape[1], self._count, dtype=np.int32)

    def _check(self, texts: Sequence[str]) -> None:
        for text in set(texts if self._kind is not None else ()):
            msgspec.convert(text, self._kind)

    def finish(self) -> Coded:
        """All of it, with a code for each text, in the order in which they appear."""
        numbers, decoded = self._join(), list(self._known)[2:]
        if not self._words:
            return Coded(np.where(numbers < -1, -2 - numbers, -1).astype(np.int32), [str(text) for text in decoded])
        words = _together(self._words)
        if decoded:
            return _code(np.where(numbers < -1, self._count - 2 - numbers, numbers), [*_texts(words), *decoded])
        groups, firsts = _group(words)
        order = np.argsort(firsts)
        codes = np.empty(len(order), np.int32)
        codes[order] = np.arange(len(order))
        return Coded(np.append(codes[groups], np.int32(-1))[numbers], _labels(words[:, firsts[order]]))


def _code(numbers: npt.NDArray[Any], texts: Sequence[str]) -> Coded:
    """Numbers of texts, of which some may be the same, as codes in the order in which they appear."""
    used, first = np.unique(numbers, return_index=True)
    known: dict[str, int] = {}
    codes = np.full(len(texts) + 1, -1, np.int32)
    for number in used[np.argsort(first)].tolist():
        if number >= 0:
            codes[number] = known.setdefault(texts[number], len(known))
    return Coded(codes[numbers], list(known))


class _Table:
    """The texts that were met last, by their words; those that return often are found here at once."""

    def __init__(self) -> None:
        self._words: Words = np.zeros((LONGEST // 8, 1 << _TABLE_BITS), np.uint64)
        self._codes: Codes = np.full(1 << _TABLE_BITS, -1, np.int32)
        self._longest = 1

    def find(self, words: Words) -> Codes:
        """The codes of texts, -1 for those that are not here."""
        places = _places(words)
        codes = self._codes[places]
        for own, other in zip(words, self._words, strict=False):
            codes[own != other[places]] = -1
        for other in self._words[len(words) : self._longest]:  # what is here may be longer
            codes[other[places] != 0] = -1
        return codes

    def note(self, words: Words, codes: Codes) -> None:
        """Remember texts, in the place of others."""
        # Of several in one place, all of the last one.
        places, last = np.unique(_places(words)[::-1], return_index=True)
        self._words[:, places] = 0
        self._words[: len(words), places] = words[:, ::-1][:, last]
        self._codes[places] = codes[::-1][last]
        self._longest = max(self._longest, len(words))


def _places(words: Words) -> Places:
    mixed = words[0] * _SPREAD[0]
    for own, spread in zip(words[1:], _SPREAD[1:], strict=False):
        mixed += own * spread
    places: Places = (mixed >> np.uint64(64 - _TABLE_BITS)).astype(np.int64)
    return places


def _heads(words: Words) -> Places:
    """Where texts begin that differ from the one before; texts often come in groups."""
    changes = words[0, 1:] != words[0, :-1]
    for own in words[1:]:
        changes |= own[1:] != own[:-1]
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


def _group(words: Words) -> tuple[Places, Places]:
    """Which texts are the same: the number of a group for each of them; and the first text of each group."""
    order = np.argsort(words[0], kind="stable") if len(words) == 1 else np.lexsort(words)
    new = np.zeros(len(order), bool)
    new[0] = True
    for own in words[:, order]:
        new[1:] |= own[1:] != own[:-1]
    groups = np.empty(len(order), np.int64)
    groups[order] = np.cumsum(new) - 1
    return groups, order[new]


def _together(pieces: Sequence[Words]) -> Words:
    """All words, with zeros after those of shorter texts."""
    words = np.zeros((max(map(len, pieces)), sum(piece.shape[1] for piece in pieces)), np.uint64)
    start = 0
    for piece in pieces:
        words[: len(piece), start : (start := start + piece.shape[1])] = piece
    return words


def _labels(words: Words) -> TextList:
    rows = np.ascontiguousarray(words.T).view(np.uint8)
    return TextList(rows[rows != 0].tobytes(), np.cumsum((rows != 0).sum(axis=1)))


def _texts(words: Words) -> list[str]:
    return [text.decode() for text in np.ascontiguousarray(words.T).view(f"S{8 * len(words)}")[:, 0].tolist()]
