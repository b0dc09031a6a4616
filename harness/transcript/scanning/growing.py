"""Columns of numbers and of texts that grow by some lines at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET

from harness.model import plain_text
from harness.transcript.scanning.lines import LONGEST, LineBlock, Places, Values, Words
from harness.transcript.texts import Coded, TextList

Codes = npt.NDArray[np.int32]
# Odd numbers without a pattern, one a word, so that their products spread texts over a table.
_SPREAD = np.array([0x9E3779B97F4A7C15 * (2 * word + 1) % (1 << 64) for word in range(LONGEST // 8)], np.uint64)
_TABLE_BITS = 12


@dataclass(frozen=True)
class Part:
    """What some lines have of one column: places in the lines that were taken apart, objects of the others."""

    size: int
    block: LineBlock | None
    values: Values | None
    # The numbers of the other lines, and what they have: UNSET or None is nothing.
    left: Places
    others: Sequence[Any]

    def given(self) -> tuple[Places, list[Any]]:
        """The other lines that have something, and what."""
        own = [number for number, value in enumerate(self.others) if value is not None and value is not UNSET]
        return self.left[own], [self.others[number] for number in own]


class GrowingNumbers:
    """A column of numbers that grows."""

    def __init__(self, kind: Any, missing: float = np.nan, before: int = 0) -> None:
        self._kind = kind
        self._missing = missing
        self.parts = [np.full(before, missing)]

    def read(self, part: Part) -> npt.NDArray[np.float64]:
        """What some lines have, to be added; ValueError if it is no number."""
        if part.block is not None and part.values is not None and part.values.everywhere:
            return self._decoded(part.block, part.values)
        numbers = np.full(part.size, self._missing)
        if part.block is not None and part.values is not None:
            numbers[part.values.lines] = self._decoded(part.block, part.values)
        lines, others = part.given()
        numbers[lines] = others
        return numbers

    def _decoded(self, block: LineBlock, values: Values) -> npt.NDArray[np.float64]:
        try:
            return np.array(block.decode(values, float if self._kind == float | None else self._kind), np.float64)
        except (msgspec.ValidationError, TypeError):  # nulls
            decoded = block.decode(values, self._kind)
            return np.array([self._missing if number is None else number for number in decoded], np.float64)

    def finish(self) -> npt.NDArray[np.float64]:
        """All of it."""
        return np.concatenate(self.parts)


class GrowingTexts:
    """A column of texts that grows.

    A text that is not in the table of those met last gets the next number, whether it was met long ago or never; in the
    end, numbers of the same text become one code. So no text is made for a line.
    """

    def __init__(self, kind: Any = str, before: int = 0) -> None:
        self._kind = kind
        self._table = _Table()
        # The texts by number: as words, or in bytes if they were decoded or are long.
        self._texts: list[Words | list[bytes]] = []
        self._count = 0
        self._mixed = False
        self.parts: list[Codes] = [np.full(before, -1, np.int32)]

    def read(self, part: Part) -> Codes:
        """What some lines have, to be added."""
        if part.block is not None and part.values is not None and part.values.everywhere:
            return self._of_block(part.block, part.values)
        codes = np.full(part.size, -1, np.int32)
        if part.block is not None and part.values is not None:
            codes[part.values.lines] = self._of_block(part.block, part.values)
        lines, others = part.given()
        if others:
            self._mixed = True
            codes[lines] = self._new([_utf8(value) for value in others])
        return codes

    def _of_block(self, block: LineBlock, values: Values) -> Codes:
        if values.longest > LONGEST:
            return self._new(block.texts(values))
        words = block.words(values)
        heads = _heads(words)
        words = words[:, heads]
        codes = self._table.find(words)
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            codes[unknown] = self._new(words[:, unknown])
            self._table.note(words[:, unknown], codes[unknown])
        return (
            codes if len(heads) == len(values.starts) else np.repeat(codes, np.diff(heads, append=len(values.starts)))
        )

    def _new(self, texts: Words | list[bytes]) -> Codes:
        """The next numbers for some texts; ValueError if they are not of the kind of this column."""
        count = len(texts) if isinstance(texts, list) else texts.shape[1]
        if self._kind is not str:
            for text in set(texts if isinstance(texts, list) else _bytes(texts)):
                msgspec.convert(text.decode(), self._kind)
        self._texts.append(texts)
        self._count += count
        return np.arange(self._count - count, self._count, dtype=np.int32)

    def finish(self) -> Coded:
        """All of it, with a code for each text, in the order in which they appear."""
        numbers = np.concatenate(self.parts)
        if not self._texts:
            return Coded(numbers, [])
        groups = _group(self._texts)
        first = self._first_lines(numbers) if self._mixed else np.arange(self._count)
        firsts = np.full(int(groups.max()) + 1, len(numbers) + self._count)
        np.minimum.at(firsts, groups, first)
        order = np.argsort(firsts, kind="stable")
        codes, some = np.empty(len(order), np.int32), np.empty(len(order), np.int64)
        codes[order] = np.arange(len(order))
        some[groups] = np.arange(self._count)
        return Coded(np.append(codes[groups], np.int32(-1))[numbers], _labels(self._texts, some[order]))

    def _first_lines(self, numbers: Codes) -> Places:
        """The line in which each number is met first; those of lines that were decoded came after the others."""
        first = np.full(self._count + 1, len(numbers))
        first[numbers[::-1]] = np.arange(len(numbers))[::-1]
        return first[:-1]


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


def _group(texts: Sequence[Words | list[bytes]]) -> Places:
    """Which texts are the same: a number for each of them, from 0 on."""
    if not all(isinstance(piece, np.ndarray) for piece in texts):
        known: dict[bytes, int] = {}
        every = [text for piece in texts for text in (piece if isinstance(piece, list) else _bytes(piece))]
        return np.fromiter((known.setdefault(text, len(known)) for text in every), np.int64, len(every))
    words = _join(texts)
    order = np.argsort(words[0]) if len(words) == 1 else np.lexsort(words)
    new = np.zeros(len(order), bool)
    for own in words[:, order]:
        new[1:] |= own[1:] != own[:-1]
    groups = np.empty(len(order), np.int64)
    groups[order] = np.cumsum(new)
    return groups


def _join(texts: Sequence[Any]) -> Words:
    """All words, with zeros after those of shorter texts."""
    words = np.zeros((max(map(len, texts), default=1), sum(piece.shape[1] for piece in texts)), np.uint64)
    start = 0
    for piece in texts:
        words[: len(piece), start : (start := start + piece.shape[1])] = piece
    return words


def _labels(texts: Sequence[Words | list[bytes]], numbers: Places) -> TextList:
    """The texts of these numbers."""
    if all(isinstance(piece, np.ndarray) for piece in texts):
        rows = np.ascontiguousarray(_join(texts)[:, numbers].T).view(np.uint8)
        return TextList(rows[rows != 0].tobytes(), np.cumsum((rows != 0).sum(axis=1)))
    every = [text for piece in texts for text in (piece if isinstance(piece, list) else _bytes(piece))]
    own = [every[number] for number in numbers.tolist()]
    return TextList(b"".join(own), np.cumsum(np.fromiter(map(len, own), np.int64, len(own))))


def _bytes(words: Words) -> list[bytes]:
    texts: list[bytes] = np.ascontiguousarray(words.T).view(f"S{8 * len(words)}")[:, 0].tolist()
    return texts


def _utf8(value: Any) -> bytes:
    return (value if type(value) is str else plain_text(value)).encode()
