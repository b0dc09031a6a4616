"""The gallery of an identification test: images of known people, against which a probe is compared."""

from collections.abc import Iterable
from typing import Any

import msgspec

from harness.model import Case


class Gallery:
    """Gallery images in the order of their table; `expect` of each is who it shows."""

    def __init__(self, entries: Iterable[Case]) -> None:
        self.entries = tuple(entries)
        # The places of images by their id, and the numbers of people by their name, in order of appearance.
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
        """The place of the image that the probe itself is, which it is not compared with; -1 where there is none."""
        return self._by_input.get(_key(case.input), -1)

    def own(self, case: Case) -> int:
        """The number of the person that a probe shows; -1 where no image of that person is there but the probe."""
        code = self.who.get(case.real_class, -1)
        if code >= 0 and self._images[code] == 1:
            twin = self.twin(case)
            if twin >= 0 and self.codes[twin] == code:
                return -1
        return code


def _key(given: Any) -> Any:
    return given if isinstance(given, str) else msgspec.json.encode(given, order="sorted")
