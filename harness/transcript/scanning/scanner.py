"""Find out what the lines of a transcript look like, and take apart those that are as expected."""

from collections.abc import Iterator
from typing import Any, Union

import msgspec
from msgspec import Struct, UnsetType

from harness.transcript.scanning.lines import LineBlock
from harness.transcript.scanning.shapes import LineShape, Slot

# A transcript whose lines are of more kinds than this, or mostly unlike each other, is decoded line by line.
MOST_SHAPES = 16
MOST_LESSONS = 200
MOST_FRUITLESS = 2
# How many lines of a block are tried if others had no shape.
_TRIES = 3
_TEXTS = frozenset({"id", "outcome", "expect", "truth", "actual", "error", "message", "stratum", "psu"})
_OBJECTS = {"columns": True, "values": False}
_NOT_COLLECTED = frozenset({"positive", "best_wrong"})
_NUMBERS = _NOT_COLLECTED | {"score", "rank", "seconds", "memory", "repeat"}


class Scanner:
    """Learns shapes of lines as it goes on; `record` is what a line that has none of them is decoded into."""

    def __init__(self, record: type[Struct]) -> None:
        self._decoder = msgspec.json.Decoder(record)
        self._kinds = {field.name: _given(field.type) for field in msgspec.structs.fields(record)}
        self._shapes: list[LineShape] = []
        self._lessons = 0
        self._fruitless = 0

    def kind(self, name: str) -> Any:
        """What a field may be if it is there."""
        return self._kinds.get(name, Any)

    def take_apart(self, body: bytes) -> LineBlock | None:
        """Lines, most of them taken apart; None if they are not alike. ValueError if they are no records."""
        if self._fruitless == MOST_FRUITLESS:
            return None
        block = LineBlock(body)
        for shape in self._shapes:
            block.take(shape)
        for shape in self._learn(block):
            block.take(shape)
        if 2 * block.left.sum() > block.size:
            self._fruitless += 1
            return None
        self._fruitless = 0
        if not block.is_sound:
            return None
        self._check(block)
        return block

    def _learn(self, block: LineBlock) -> Iterator[LineShape]:
        """New shapes, from lines that are still left."""
        failed = 0
        while failed < _TRIES and len(self._shapes) < MOST_SHAPES and self._lessons < MOST_LESSONS:
            left = block.left.nonzero()[0][failed:]
            if not len(left):
                return
            self._lessons += 1
            shape = LineShape.of(block.line(int(left[0])))
            if shape is None or shape in self._shapes or not self._is_usable(shape):
                failed += 1
            else:
                self._shapes.append(shape)
                yield shape

    def _is_usable(self, shape: LineShape) -> bool:
        """Whether a record has such keys, and all that it needs."""
        return {("id",), ("outcome",)} <= {slot.path for slot in shape.slots} and all(map(self._may_be, shape.slots))

    def _may_be(self, slot: Slot) -> bool:
        """Whether a value is of the kind that a record has there, as far as its quotes tell."""
        name = slot.path[0]
        if name not in self._kinds:
            return True
        if len(slot.path) > 1:
            return _OBJECTS.get(name) is slot.is_text
        return slot.is_text if name in _TEXTS else name in _NUMBERS and not slot.is_text

    def _check(self, block: LineBlock) -> None:
        """Whether values that nobody collects could be decoded."""
        for path, values in block.found(is_text=False):
            if (path[0] not in self._kinds or path[0] in _NOT_COLLECTED) and not block.are_booleans(values):
                block.decode(values, self.kind(path[0]))

    def decode_rest(self, block: LineBlock) -> list[Any]:
        """The records in the lines that were not taken apart."""
        records = self._decoder.decode_lines(block.rest()) if block.left.any() else []
        if len(records) != block.left.sum():
            raise ValueError("a line that is no record")
        return records


def _given(kind: Any) -> Any:
    """A type of a field without UNSET."""
    arguments = getattr(kind, "__args__", ())
    if UnsetType not in arguments:
        return kind
    given: Any = Union[tuple(one for one in arguments if one is not UnsetType)]  # noqa: UP007 (made of a tuple)
    return given
