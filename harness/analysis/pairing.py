"""The records of two runs side by side, matched by case and repeat, whatever their order."""

from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import NamedTuple

from msgspec import UNSET

from harness.errors import TranscriptError
from harness.model import Trial

Key = str | tuple[str, int]


class Pair(NamedTuple):
    """One case in two runs; `place` is where the first run has it."""

    place: int
    a: Trial
    b: Trial


def key_of(trial: Trial) -> Key:
    """What a record is matched by. The first answer of a run with several is like the only one of another."""
    return trial.id if trial.repeat is UNSET or trial.repeat == 1 else (trial.id, trial.repeat)


def shown_key(key: Key) -> str:
    """The same for people."""
    return key if isinstance(key, str) else f"{key[0]} (answer {key[1]})"


class Pairing:
    """Goes through two runs at once. Runs of one test have their cases in one order, so hardly anything waits for its
    match and millions of cases need little memory."""

    def __init__(self, names: tuple[str, str]) -> None:
        # Records without a match, with their places; when all is read, those that only one run has.
        self.waiting_a: dict[Key, tuple[int, Trial]] = {}
        self.waiting_b: dict[Key, tuple[int, Trial]] = {}
        self._names = names
        self._done: set[Key] = set()

    def pairs(self, a: Iterable[list[Trial]], b: Iterable[list[Trial]]) -> Iterator[Pair]:
        """Every case that both have."""
        both = zip_longest(chain.from_iterable(a), chain.from_iterable(b))
        waiting_a, waiting_b, done = self.waiting_a, self.waiting_b, self._done
        for place, (one, other) in enumerate(both):
            # The usual case, in a hurry: both runs have this case here, and have not had it before.
            if one is not None and other is not None and one.id == other.id:
                key = key_of(one)
                if key == key_of(other) and not (key in done or key in waiting_a or key in waiting_b):
                    done.add(key)
                    yield Pair(place, one, other)
                    continue
            if one is not None:
                yield from self._meet_a(place, one)
            if other is not None:
                yield from self._meet_b(place, other)

    def _meet_a(self, place: int, trial: Trial) -> Iterator[Pair]:
        key = key_of(trial)
        self._check_new(key, self.waiting_a, self._names[0])
        if key in self.waiting_b:
            self._done.add(key)
            yield Pair(place, trial, self.waiting_b.pop(key)[1])
        else:
            self.waiting_a[key] = (place, trial)

    def _meet_b(self, place: int, trial: Trial) -> Iterator[Pair]:
        key = key_of(trial)
        self._check_new(key, self.waiting_b, self._names[1])
        if key in self.waiting_a:
            self._done.add(key)
            yield Pair(self.waiting_a[key][0], self.waiting_a.pop(key)[1], trial)
        else:
            self.waiting_b[key] = (place, trial)

    def _check_new(self, key: Key, waiting: dict[Key, tuple[int, Trial]], name: str) -> None:
        if key in waiting or key in self._done:
            raise TranscriptError(f"{name}: case '{shown_key(key)}' stands twice; which of the two counts?")
