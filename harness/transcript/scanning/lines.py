"""Take apart lines that look alike, many at a time with numpy: no object a record, which is much faster than decoding.

The values of a line lie between its fixed parts (see `LineShape`), and those are compared byte by byte. What is not
just so is left to the JSON decoder: an escape, a comma within a text, a key more or less, anything damaged.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from harness.transcript.scanning.shapes import LineShape, PartWords, Path

# Values up to this many bytes are taken as arrays.
LONGEST = 64
_NEWLINE, _COMMA, _QUOTE, _BACKSLASH, _SPACE = 10, 44, 34, 92, 32
# By how many of its eight bytes a word has: those bytes; spaces for the others.
_OWN = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
_SPACES = ~_OWN & np.uint64(0x2020202020202020)
_TRUE, _FALSE = (np.uint64(int.from_bytes(word, "little")) for word in (b"true", b"false"))

Places = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
# A path, and whether the value is in quotes.
Key = tuple[Path, bool]


@dataclass(frozen=True)
class Values:
    """The values of one key: the lines that have one, where it begins, and its length."""

    lines: Places
    starts: Places
    lengths: Places
    # Whether all lines of the block have one.
    everywhere: bool

    @cached_property
    def longest(self) -> int:
        """The length of the longest."""
        return int(self.lengths.max(initial=0))

    @cached_property
    def is_even(self) -> bool:
        """Whether all have the same length."""
        return int(self.lengths.min(initial=LONGEST)) >= self.longest


class LineBlock:
    """Whole lines, of which those with known shapes are taken apart; `left` are the others."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self._bytes = np.frombuffer(body, np.uint8)
        # Eight bytes from every place on; some more after the end, for the last value.
        padded = body + bytes(LONGEST + 8)
        self._words: Words = np.ndarray((len(body) + LONGEST,), "<u8", padded, 0, (1,))
        self._stops = np.flatnonzero(self._bytes == _NEWLINE)
        self._starts = np.concatenate([[0], self._stops[:-1] + 1]) if len(self._stops) else self._stops
        self._commas = np.flatnonzero(self._bytes == _COMMA)
        self._count, self._after = self._count_commas()
        self._quotes = 0
        # From each shape that has the key.
        self._found: dict[Key, list[Values]] = {}
        self.left = np.ones(len(self._stops), bool)
        self._plain = self._without_escapes()

    @property
    def size(self) -> int:
        """The number of lines."""
        return len(self._stops)

    def _count_commas(self) -> tuple[Places, Places]:
        """How many commas each line has, and how many there are up to its end."""
        each = len(self._commas) // max(1, self.size)
        if each and len(self._commas) == each * self.size:
            in_time = (self._commas[each - 1 :: each] < self._stops).all()
            if in_time and (self._commas[each::each] > self._stops[:-1]).all():
                return np.full(self.size, each), np.arange(1, self.size + 1) * each
        after = np.searchsorted(self._commas, self._stops)
        return np.diff(after, prepend=0), after

    def _without_escapes(self) -> npt.NDArray[np.bool_]:
        plain = np.ones(self.size, bool)
        if b"\\" in self.body:
            plain[np.searchsorted(self._stops, np.flatnonzero(self._bytes == _BACKSLASH))] = False
        return plain

    @property
    def is_sound(self) -> bool:
        """Whether these are lines of UTF-8 text without control characters, and no text of a line has a quote."""
        if not self.body.endswith(b"\n") or np.count_nonzero(self._bytes < _SPACE) != self.size:
            return False
        try:
            _ = self.body.isascii() or self.body.decode()
        except ValueError:
            return False
        others = self.rest().count(b'"') if self.left.any() else 0
        return int(np.count_nonzero(self._bytes == _QUOTE)) == self._quotes + others

    def rest(self) -> bytes:
        """The lines that are left."""
        lines = np.flatnonzero(self.left)
        return b"".join(map(self.line, lines.tolist()))

    def line(self, number: int) -> bytes:
        """One line."""
        return self.body[int(self._starts[number]) : int(self._stops[number]) + 1]

    def take(self, shape: LineShape) -> None:
        """Take those lines apart that have this shape."""
        lines = np.flatnonzero(self.left & self._plain & (self._count == len(shape.slots) - 1))
        if not len(lines):
            return
        edges = self._edges(lines)
        before, after, least = shape.margins
        starts = edges[:-1] + before
        lengths = edges[1:] - after - starts
        fits = (lengths >= least).all(axis=0) & self._has(edges, shape.words)
        if not fits.all():
            lines, starts, lengths = lines[fits], starts[:, fits], lengths[:, fits]
        self.left[lines] = False
        self._quotes += len(lines) * shape.quotes
        everywhere = len(lines) == self.size
        for slot, start, length in zip(shape.slots, starts, lengths, strict=True):
            self._found.setdefault((slot.path, slot.is_text), []).append(Values(lines, start, length, everywhere))

    def _edges(self, lines: Places) -> Places:
        """The place before each line, its commas, and its end; all of them have as many commas."""
        commas = int(self._count[lines[0]])
        edges = np.empty((commas + 2, len(lines)), np.int64)
        edges[0], edges[-1] = self._starts[lines] - 1, self._stops[lines]
        first = self._after[lines] - commas
        edges[1:-1] = self._commas[first + np.arange(commas)[:, None]]
        return edges

    def _has(self, edges: Places, words: PartWords) -> npt.NDArray[np.bool_]:
        """Whether each line has the fixed parts of a shape."""
        found = self._words[edges[words.edge] + words.offset]
        found &= words.mask
        fits: npt.NDArray[np.bool_] = (found == words.content).all(axis=0)
        return fits

    def found(self, *, is_text: bool) -> Iterator[tuple[Path, Values]]:
        """The keys of the lines that were taken apart and their values, in quotes or not."""
        for path, quoted in self._found:
            if quoted is is_text and (values := self.values(path, is_text=is_text)) is not None:
                yield path, values

    def values(self, path: Path, *, is_text: bool) -> Values | None:
        """The values of one key, in the order of the lines; None if no line has it."""
        found = self._found.get((path, is_text), [])
        if len(found) < 2:
            return found[0] if found else None
        starts, lengths = np.zeros(self.size, np.int64), np.full(self.size, -1)
        for values in found:
            starts[values.lines], lengths[values.lines] = values.starts, values.lengths
        lines = np.flatnonzero(lengths >= 0)
        if len(lines) == self.size:
            return Values(lines, starts, lengths, everywhere=True)
        return Values(lines, starts[lines], lengths[lines], everywhere=False)

    def words(self, values: Values, *, size: int = 0, spaces: bool = False) -> Words:
        """The values as `size` words each, the first words of all of them first; zeros or spaces follow a value.

        No value has a zero in it, so values are the same if their words are. By default, as many words as needed.
        """
        size = size or max(1, -(-values.longest // 8))
        words = np.empty((size, len(values.starts)), np.uint64)
        for number in range(size):
            words[number] = self._words[values.starts + 8 * number if number else values.starts]
            rest = values.longest if values.is_even else values.lengths
            own = np.clip(rest - 8 * number, 0, 8)
            words[number] &= _OWN[own]
            if spaces:
                words[number] |= _SPACES[own]
        return words

    def decode(self, values: Values, kind: Any) -> list[Any]:
        """Values that are not in quotes, as a JSON decoder reads them; ValueError if they are not of this kind."""
        if values.longest >= LONGEST:
            raise ValueError("a long number")
        words = self.words(values, size=values.longest // 8 + 1, spaces=True)
        rows = np.ascontiguousarray(words.T).view(np.uint8)
        rows[:, -1] = _COMMA
        decoded: list[Any] = msgspec.json.decode(b"[" + rows.tobytes()[:-1] + b"]", type=list[kind])
        if len(decoded) != len(values.starts):
            raise ValueError("several values in the place of one")
        return decoded

    def are_booleans(self, values: Values) -> bool:
        """Whether all of them are true or false."""
        if values.longest > 5:
            return False
        [words] = self.words(values)
        return bool(((words == _TRUE) | (words == _FALSE)).all())

    def joined(self, values: Values) -> bytes:
        """All of the texts, one after the other."""
        if values.longest > LONGEST:
            return b"".join(self.texts(values))
        rows = np.ascontiguousarray(self.words(values).T).view(np.uint8)
        if values.is_even:
            return rows[:, : values.longest].tobytes()
        joined: bytes = rows[rows != 0].tobytes()
        return joined

    def texts(self, values: Values) -> list[bytes]:
        """Each of the texts."""
        starts = values.starts.tolist()
        return [self.body[start : start + size] for start, size in zip(starts, values.lengths.tolist(), strict=True)]
