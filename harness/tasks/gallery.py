"""The gallery of an identification test: images of known people, with which a probe is compared."""

from collections.abc import Iterable
from typing import Any

import msgspec

from harness.model import Case


class Gallery:
    """Gallery images in the order of their table; `expect` names the person that each shows."""

    def __init__(self, entries: Iterable[Case]) -> None:
        self.entries = tuple(entries)
        # Indices of images by id, and numbers of people by name, in order of appearance.
        self.place = {entry.id: place for place, entry in enumerate(self.entries)}
        self.who: dict[str, int] = {}
        self.codes = [self.who.setdefault(entry.expect, len(self.who)) for entry in self.entries]
        self.names = list(self.who)
        self._images = [0] * len(self.who)
        for code in self.codes:
            self._images[code] += 1
        self._by_input = {_key(entry.input): place for place, entry in enumerate(self.entries) if entry.input != ""}

    def __len__(self) -> int:
        return len(self.entries)

    def twin(self, case: Case) -> int:
        """The index of the probe's own image, which it is not compared with; -1 if it is not in the gallery."""
        return self._by_input.get(_key(case.input), -1)

    def own(self, case: Case) -> int:
        """The number of the person that a probe shows; -1 if the gallery has no other image of that person."""
        code = self.who.get(case.real_class, -1)
        if code >= 0 and self._images[code] == 1:
            twin = self.twin(case)
            if twin >= 0 and self.codes[twin] == code:
                return -1
        return code


def _key(value: Any) -> Any:
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted")
