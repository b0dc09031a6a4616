"""Decode records with the keys that were met so far; a decoder for just these is much faster than one for all keys.

It is for lines that cannot be taken apart, such as those with long texts.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, Struct

# A transcript whose records have new keys more often than this is decoded in full.
MOST_GUESSES = 20


class _Unexpected:
    """The type of a field that no record has had so far."""


def _refuse(_: type, value: object) -> Any:
    raise ValueError(value)


class RecordGuess:
    """The keys that records have, by those seen so far; `record` is what has all of them."""

    def __init__(self, record: type[Struct]) -> None:
        self._fields = msgspec.structs.fields(record)
        self._seen: set[str] = set()
        self._made = 0
        self.decoder: msgspec.json.Decoder[Any] | None = None

    def learn(self, records: Sequence[Any]) -> None:
        """Guess again, with records that the old guess did not fit."""
        self._made += 1
        for field in self._fields:
            if any(value is not UNSET for value in map(attrgetter(field.name), records)):
                self._seen.add(field.name)
        struct = msgspec.defstruct("_Record", [self._field(field) for field in self._fields], kw_only=True, gc=False)
        usable = self._made <= MOST_GUESSES
        self.decoder = msgspec.json.Decoder(struct, dec_hook=_refuse) if usable else None

    def is_absent(self, name: str) -> bool:
        """Whether no record that was decoded so has such a field."""
        return name.partition(".")[0] not in self._seen

    def _field(self, field: msgspec.structs.FieldInfo) -> Any:
        if field.required:
            return field.name, field.type
        return field.name, field.type if field.name in self._seen else _Unexpected, UNSET
