"""What the records of a transcript look like, guessed from those read so far, to decode the others quickly.

Records of one transcript nearly always have the same keys. A decoder for just these keys is much faster than one for
everything that a record may have; lines that it does not fit are decoded in full, and then guessed anew.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from operator import attrgetter
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from harness.model import Bytes, Outcome, Turn

TEXT_KEYS = ("expect", "truth", "actual", "error", "stratum", "psu")
# What a field is if every record has it.
_ALWAYS: dict[str, Any] = {
    **dict.fromkeys(TEXT_KEYS, str),
    **dict.fromkeys(("score", "seconds"), float),
    **dict.fromkeys(("rank", "repeat"), Turn),
    "memory": Bytes,
}
# What msgspec takes for the name of a field.
_FIELD_NAME = re.compile(r'[^\\"\x00-\x1f]*')
# A transcript with records of more kinds than this is decoded in full.
MOST_GUESSES = 50


class Presence(Enum):
    """Which records have a key, as far as is known: with a plain value, if all of them do."""

    NEVER = 0
    SOMETIMES = 1
    ALWAYS = 2


class LeanRecord(Struct, gc=False):
    """A record without what `lean` leaves out, which is not even decoded."""

    id: str
    outcome: Outcome
    score: float | UnsetType | None = UNSET
    error: str | UnsetType | None = UNSET
    seconds: float | UnsetType | None = UNSET
    memory: Bytes | UnsetType | None = UNSET
    repeat: Turn | UnsetType = UNSET
    stratum: str | UnsetType = UNSET
    psu: str | UnsetType = UNSET


class _Unexpected:
    """The type of a field that no record has had so far."""


def _refuse(_: type, value: object) -> Any:
    raise ValueError(value)


class RecordGuess:
    """What records look like, by those seen so far: which keys they have, and which keys all of them have."""

    def __init__(self, record: type[Struct]) -> None:
        self._fields = {field.name: field.type for field in msgspec.structs.fields(record)}
        self._presence = dict.fromkeys(self._fields, Presence.NEVER)
        self._made = 0
        # The columns of the cases, and whether each is always a text.
        self.columns: dict[str, bool] = {}
        self.decoder: msgspec.json.Decoder[Any] | None = None

    def presence(self, name: str) -> Presence:
        """Which records have the key."""
        return self._presence[name]

    def learn(self, block: Sequence[Any]) -> None:
        """Guess again, with the records of a block that the old guess did not fit."""
        if not block:
            return
        self._made += 1
        for name in self._fields.keys() - {"id", "outcome"}:
            self._presence[name] = self._learn_key(name, set(map(type, map(attrgetter(name), block))))
        if self._presence.get("columns") is Presence.ALWAYS:
            self._learn_columns([record.columns for record in block])
        usable = self._made <= MOST_GUESSES
        self.decoder = msgspec.json.Decoder(self._struct(), dec_hook=_refuse) if usable else None

    def _learn_key(self, name: str, kinds: set[type]) -> Presence:
        before = self._presence[name]
        if kinds == {UnsetType}:
            return Presence.NEVER if before is Presence.NEVER else Presence.SOMETIMES
        plain = kinds == {dict} if name == "columns" else kinds in ({str}, {float}, {int}) and name in _ALWAYS
        if not plain or (name in TEXT_KEYS and kinds != {str}) or before is Presence.SOMETIMES:
            return Presence.SOMETIMES
        return Presence.ALWAYS

    def _learn_columns(self, mappings: Sequence[Mapping[str, Any]]) -> None:
        kinds = dict.fromkeys(map(tuple, mappings))
        for name in dict.fromkeys([*self.columns, *(name for names in kinds for name in names)]):
            texts = all(type(mapping.get(name)) is str for mapping in mappings)
            self.columns[name] = texts and self.columns.get(name, True)
            if not _FIELD_NAME.fullmatch(name):
                self._presence["columns"] = Presence.SOMETIMES

    def _struct(self) -> type[Struct]:
        fields = [self._field(name) for name in self._fields]
        return msgspec.defstruct("_Record", fields, kw_only=True, gc=False)

    def _field(self, name: str) -> Any:
        if name == "id":
            return name, str
        if name == "outcome":
            return name, Literal["TP", "TN", "FP", "FN"]
        if self._presence[name] is Presence.NEVER:
            return name, _Unexpected, UNSET
        if self._presence[name] is Presence.SOMETIMES:
            return name, self._fields[name], UNSET
        return name, self._columns_struct() if name == "columns" else _ALWAYS[name]

    def _columns_struct(self) -> type[Struct]:
        names = {f"c{number}": name for number, name in enumerate(self.columns)}
        fields = [(own, str) if self.columns[name] else (own, Any, UNSET) for own, name in names.items()]
        return msgspec.defstruct("_Case", fields, rename=names, kw_only=True, forbid_unknown_fields=True, gc=False)
