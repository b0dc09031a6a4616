"""What the lines of a transcript look like: the same keys in the same order, and only the values differ."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from harness.transcript.explain import UNUSABLE

Path = tuple[str, ...]
# A number for each word or value, one below the other.
Column = npt.NDArray[np.int64]
# A key, perhaps that of an object and the first key in it, then a value without any punctuation of JSON.
_SEGMENT = re.compile(
    rb'(?P<before> *+(?:\{ *+)?"(?P<key>[^"\\]*+)" *+: *+(?P<inside>\{ *+"(?P<inner>[^"\\]*+)" *+: *+)?(?P<quote>"?))'
    # In quotes, blanks at the end belong to the value.
    rb'(?P<value>(?<=")[^"\\{}\[\]]*+|(?<!")(?: *+[^"\\{}\[\] ]++)*+)(?P<after>(?P=quote)[ }]*+)'
)


@dataclass(frozen=True)
class Slot:
    """Where a line has a value: of which key, in quotes or not, and what stands around it between commas."""

    path: Path
    is_text: bool
    before: bytes
    after: bytes


@dataclass(frozen=True)
class PartWords:
    """The fixed parts of a line in words of at most 8 bytes, one below the other.

    The edges of a line are the place before it, its commas, and its end.
    """

    edge: npt.NDArray[np.int64]
    # How far from the edge a word stands, which of its bytes count, and what they are.
    offset: Column
    mask: npt.NDArray[np.uint64]
    content: npt.NDArray[np.uint64]


@dataclass(frozen=True)
class LineShape:
    """The fixed parts of a line and the places of its values. Lines of one shape have as many commas."""

    slots: tuple[Slot, ...]

    @staticmethod
    def of(line: bytes) -> "LineShape | None":
        """The shape of a record's line; None if it has escapes, lists, commas in texts, or objects within objects."""
        matches = [_SEGMENT.fullmatch(segment) for segment in line.rstrip(b"\n").split(b",")]
        slots, values, outer = [], [], ""
        for match in matches:
            if match is None:
                return None
            outer = match["key"].decode() if match["inside"] else outer
            key = (match["inner"] if match["inside"] else match["key"]).decode()
            slots.append(Slot((outer, key) if outer else (key,), bool(match["quote"]), match["before"], match["after"]))
            values.append(match["quote"] + match["value"] + match["quote"])
            outer = "" if b"}" in match["after"] else outer
        return LineShape(tuple(slots)) if _means(line, slots, values) else None

    @cached_property
    def parts(self) -> list[bytes]:
        """What stands before the first value, between the values, and after the last one."""
        before, after = [slot.before for slot in self.slots], [slot.after for slot in self.slots]
        between = [left + b"," + right for left, right in zip(after[:-1], before[1:], strict=True)]
        return [before[0], *between, after[-1]]

    @cached_property
    def words(self) -> "PartWords":
        """The same in words, to be compared."""
        found = []
        for edge, part in enumerate(self.parts):
            start = 1 if edge == 0 else -len(self.slots[edge - 1].after)
            places = range(0, len(part), 8) if len(part) < 8 else [*range(0, len(part) - 8, 8), len(part) - 8]
            found += [(edge, start + place, part[place : place + 8]) for place in places]
        edges, offsets, parts = zip(*found, strict=True)
        return PartWords(
            np.array(edges),
            np.array(offsets)[:, None],
            np.array([(1 << 8 * len(part)) - 1 for part in parts], np.uint64)[:, None],
            np.array([int.from_bytes(part, "little") for part in parts], np.uint64)[:, None],
        )

    @cached_property
    def margins(self) -> tuple[Column, Column, Column]:
        """How far each value is from the edge before and from the edge after it, and how long it is at least."""
        sizes = [(1 + len(slot.before), len(slot.after), 0 if slot.is_text else 1) for slot in self.slots]
        before, after, least = np.array(sizes).T[:, :, None]
        return before, after, least

    @cached_property
    def quotes(self) -> int:
        """How many quotation marks a line has, if its values have none."""
        return sum(part.count(b'"') for part in self.parts)


def _means(line: bytes, slots: Sequence[Slot], values: Sequence[bytes]) -> bool:
    """Whether a JSON decoder reads the same from the line; it also sees keys that are there twice."""
    try:
        read = [(slot.path, msgspec.json.decode(value)) for slot, value in zip(slots, values, strict=True)]
        return [(path, type(value), value) for path, value in read] == list(_leaves(msgspec.json.decode(line), ()))
    except UNUSABLE:
        return False


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, type, Any]]:
    if isinstance(value, dict) and value and len(path) < 2:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    else:
        yield path, type(value), value
