"""The cases on which two runs of a test differ: records matched by case and repeat, whatever their order."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET

from harness.analysis.case_query import FIELDS, CaseQuery, TranscriptOverview, field_value
from harness.analysis.run_names import check_same_test
from harness.errors import TranscriptError
from harness.model import Trial
from harness.options.cases import DiffOptions
from harness.transcript.read import open_transcript

Key = str | tuple[str, int]


class TrialPair(NamedTuple):
    """One case in two runs; `place` is where the first run has it."""

    place: int
    a: Trial
    b: Trial


def key_of(trial: Trial) -> Key:
    """The key that a record is matched by. The first of several answers matches the only answer of another run."""
    return trial.id if trial.repeat is UNSET or trial.repeat == 1 else (trial.id, trial.repeat)


def key_text(key: Key) -> str:
    """A key for people."""
    return key if isinstance(key, str) else f"{key[0]} (answer {key[1]})"


class Pairing:
    """Reads two runs in parallel. Runs of one test have their cases in the same order, so few records wait for their
    match and millions of cases need little memory."""

    def __init__(self, names: tuple[str, str]) -> None:
        # Records still without a match, with their places; at the end, those that only one run has.
        self.waiting_a: dict[Key, tuple[int, Trial]] = {}
        self.waiting_b: dict[Key, tuple[int, Trial]] = {}
        self._names = names
        self._done: set[Key] = set()

    def pairs(self, a: Iterable[list[Trial]], b: Iterable[list[Trial]]) -> Iterator[TrialPair]:
        """Every case that both have."""
        both = zip_longest(chain.from_iterable(a), chain.from_iterable(b))
        waiting_a, waiting_b, done = self.waiting_a, self.waiting_b, self._done
        for place, (one, other) in enumerate(both):
            # A fast path for the usual case: both runs have this case here, for the first time.
            if one is not None and other is not None and one.id == other.id:
                key = key_of(one)
                if key == key_of(other) and not (key in done or key in waiting_a or key in waiting_b):
                    done.add(key)
                    yield TrialPair(place, one, other)
                    continue
            if one is not None:
                yield from self._meet_a(place, one)
            if other is not None:
                yield from self._meet_b(place, other)

    def _meet_a(self, place: int, trial: Trial) -> Iterator[TrialPair]:
        key = key_of(trial)
        self._check_new(key, self.waiting_a, self._names[0])
        if key in self.waiting_b:
            self._done.add(key)
            yield TrialPair(place, trial, self.waiting_b.pop(key)[1])
        else:
            self.waiting_a[key] = (place, trial)

    def _meet_b(self, place: int, trial: Trial) -> Iterator[TrialPair]:
        key = key_of(trial)
        self._check_new(key, self.waiting_b, self._names[1])
        if key in self.waiting_a:
            self._done.add(key)
            yield TrialPair(self.waiting_a[key][0], self.waiting_a.pop(key)[1], trial)
        else:
            self.waiting_b[key] = (place, trial)

    def _check_new(self, key: Key, waiting: dict[Key, tuple[int, Trial]], name: str) -> None:
        if key in waiting or key in self._done:
            raise TranscriptError(f"{name}: case '{key_text(key)}' occurs twice; remove one of the two records")


# The fields that come from the run; all others belong to the case and are the same in both runs.
OF_RUN = ("outcome", "actual", "score", "error", "message", "seconds", "memory")
MAX_NAMED = 5


@dataclass(frozen=True)
class UnmatchedCases:
    """Cases that only one run has: how many, and the first few."""

    count: int
    ids: list[str]


@dataclass(frozen=True)
class Differences:
    """Two runs, case by case."""

    a: TranscriptOverview
    b: TranscriptOverview
    common: int
    # A right and B wrong, and vice versa; then different answers with the same outcome.
    n_sf: int
    n_fs: int
    other_answers: int
    only_a: UnmatchedCases
    only_b: UnmatchedCases
    # How many match; `pairs` may be only the first few of them.
    matching: int
    pairs: list[TrialPair]

    @property
    def columns(self) -> list[str]:
        """The columns of the cases."""
        return list(self.a.columns | self.b.columns)


def pair_value(pair: TrialPair, name: str) -> Any:
    """A field of a case in two runs: `score_a` and `score_b` are the runs'; `score` is the first run's."""
    own, _, side = name.rpartition("_")
    if own in OF_RUN and side in ("a", "b"):
        return field_value(pair.a if side == "a" else pair.b, own)
    value = field_value(pair.a, name)
    return field_value(pair.b, name) if value is None and name not in OF_RUN else value


def find_differences(paths: tuple[Path, Path], names: tuple[str, str], options: DiffOptions) -> Differences:
    """Read both transcripts once."""
    query, pairing = CaseQuery(options), Pairing(names)
    tally = {"common": 0, "n_sf": 0, "n_fs": 0, "other_answers": 0}
    selected: list[TrialPair] = []
    with ExitStack() as stack:
        readers = [stack.enter_context(open_transcript(p, name=n)) for p, n in zip(paths, names, strict=True)]
        check_same_test(names, [reader.header for reader in readers])
        a, b = (TranscriptOverview(reader.header) for reader in readers)
        for pair in pairing.pairs(a.blocks(readers[0]), b.blocks(readers[1])):
            kind = _kind(pair)
            tally["common"] += 1
            if kind:
                tally[kind] += 1
                if (options.answers or kind != "other_answers") and _selects(pair, query):
                    selected.append(pair)
    query.check(_known([*a.columns, *b.columns]))
    selected.sort(key=lambda pair: pair.place)
    return Differences(
        a=a,
        b=b,
        only_a=_unmatched(pairing.waiting_a),
        only_b=_unmatched(pairing.waiting_b),
        matching=len(selected),
        pairs=query.arrange(selected, pair_value),
        **tally,
    )


def _kind(pair: TrialPair) -> str:
    """Which count a pair belongs to; empty when there is no difference."""
    one, other = pair.a, pair.b
    if one.outcome is not other.outcome and one.outcome.success != other.outcome.success:
        return "n_sf" if one.outcome.success else "n_fs"
    same = one.actual == other.actual and one.error == other.error
    return "" if same or _answer(one) == _answer(other) else "other_answers"


def _answer(trial: Trial) -> tuple[Any, Any]:
    return field_value(trial, "actual"), field_value(trial, "error")


def _selects(pair: TrialPair, query: CaseQuery) -> bool:
    """Whether the query selects the pair; what concerns a run's own fields may hold for either run."""
    if not (query.selects_outcome(pair.a) or query.selects_outcome(pair.b)):
        return False
    for condition in query.conditions:
        if condition.name in OF_RUN:
            held = any(condition.holds(field_value(trial, condition.name)) for trial in (pair.a, pair.b))
        else:
            held = condition.holds(pair_value(pair, condition.name))
        if not held:
            return False
    return True


def _known(columns: Iterable[str]) -> list[str]:
    return [*FIELDS, *(f"{name}_{side}" for name in OF_RUN for side in "ab"), *columns]


def _unmatched(waiting: dict[Key, tuple[int, Trial]]) -> UnmatchedCases:
    first = sorted(waiting, key=lambda key: waiting[key][0])[:MAX_NAMED]
    return UnmatchedCases(len(waiting), [key_text(key) for key in first])
