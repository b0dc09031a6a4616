"""Cases of transcripts: those that a query selects, in its order, and those on which two runs of a test differ."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, overload

from msgspec import UNSET

from harness.analysis.run_identity import check_same_test
from harness.errors import TranscriptError, UsageError
from harness.files.conditions import parse_condition, sort_key
from harness.model import Counts, Trial
from harness.options.cases import ERROR, CaseOptions, DiffOptions
from harness.params import nearest
from harness.transcript.format import Header
from harness.transcript.read import TranscriptReader, open_transcript

# The fields of a record by name; columns and values have names of their own.
FIELDS = tuple(name for name in Trial.__struct_fields__ if name not in ("values", "columns"))
VALUES = "values."


class CaseQuery:
    """The cases that options ask for, in their order, and as many of them."""

    def __init__(self, options: CaseOptions) -> None:
        self.sort, self.limit = options.sort, options.limit
        self.conditions = list(map(parse_condition, options.where))
        # TP, TN, FP, FN, and ER for those in error; empty for all.
        self._outcomes = frozenset(options.outcome)

    def selects_outcome(self, trial: Trial) -> bool:
        """Whether the outcome is asked for; conditions are checked elsewhere."""
        return not self._outcomes or trial.outcome in self._outcomes or (ERROR in self._outcomes and bool(trial.error))

    def selected(self, block: list[Trial]) -> list[Trial]:
        """The records that the query selects."""
        if not self._outcomes and not self.conditions:
            return block
        return [
            trial
            for trial in block
            if self.selects_outcome(trial)
            and all(condition.holds(field_value(trial, condition.name)) for condition in self.conditions)
        ]

    def check(self, known: Iterable[str]) -> None:
        """A UsageError for an unknown column."""
        names = list(known)
        _check_known((condition.name for condition in self.conditions), names, "--where")
        _check_known((key.removeprefix("-") for key in self.sort), names, "--sort")

    def arrange(self, items: list[Any], get: Callable[[Any, str], Any]) -> list[Any]:
        """Sort the items and cut the list at the limit."""
        return sort_by(items, self.sort, get)[: self.limit]


@dataclass
class TranscriptOverview:
    """A summary of a transcript, updated as its records are read."""

    header: Header
    complete: bool = False
    counts: Counts = field(default_factory=Counts)
    # The columns of its cases, in the order of their first appearance.
    columns: dict[str, None] = field(default_factory=dict)
    # The names of the values, likewise.
    values: dict[str, None] = field(default_factory=dict)

    def add(self, block: list[Trial]) -> None:
        """Count more records, and collect their columns."""
        self.counts += Counts.of(block)
        for names, field_name in ((self.columns, "columns"), (self.values, "values")):
            for kind in dict.fromkeys(tuple(part) for part in map(attrgetter(field_name), block) if part):
                names.update(dict.fromkeys(kind))

    def blocks(self, reader: TranscriptReader) -> Iterable[list[Trial]]:
        """The records of a transcript, added to the summary as they are read."""
        for block in reader.blocks():
            self.add(block)
            yield block
        self.complete = reader.end is not None


@dataclass(frozen=True)
class CaseSelection:
    """The cases of a transcript that a query selects."""

    run: TranscriptOverview
    # How many match; `trials` may be only the first few of them.
    matching: int
    trials: Sequence[Trial]
    # The fields, columns and values that some of the matching cases have.
    present: frozenset[str]


def select_cases(path: Path, name: str, options: CaseOptions) -> CaseSelection:
    """Read the transcript once, to know what is in it; the cases are kept only if they must be sorted."""
    query = CaseQuery(options)
    selected: list[Trial] = []
    matching, present = 0, set[str]()
    # Standard input cannot be read again.
    kept = bool(query.sort) or str(path) == "-"
    with open_transcript(path, name=name) as reader:
        run = TranscriptOverview(reader.header)
        for block in run.blocks(reader):
            matches = query.selected(block)
            matching += len(matches)
            known = {*FIELDS, *run.columns, *run.values, *map(VALUES.__add__, run.values)}
            present |= {name for name in known - present if field_values(matches, name).count(None) < len(matches)}
            selected += matches if kept else []
    query.check([*FIELDS, *run.columns, *run.values, *(VALUES + name for name in run.values)])
    count = matching if query.limit is None else min(matching, query.limit)
    trials = query.arrange(selected, field_value) if kept else SelectedTrials(path, name, query, count)
    return CaseSelection(run, matching, trials, frozenset(present))


@dataclass(frozen=True)
class SelectedTrials(Sequence[Trial]):
    """The cases that a query selects, in the order of the file; read anew whenever they are gone through."""

    path: Path
    name: str
    query: CaseQuery
    size: int

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Trial]:
        with open_transcript(self.path, name=self.name) as reader:
            yield from islice(chain.from_iterable(map(self.query.selected, reader.blocks())), self.size)

    @overload
    def __getitem__(self, index: int) -> Trial: ...
    @overload
    def __getitem__(self, index: slice) -> list[Trial]: ...
    def __getitem__(self, index: int | slice) -> Trial | list[Trial]:
        return list(self)[index]


def field_values(trials: Sequence[Trial], name: str) -> list[Any]:
    """`field_value` of many records."""
    if name not in FIELDS or name == "truth":
        return [field_value(trial, name) for trial in trials]
    # The texts of outcomes, not the outcomes: they are equal, and faster to print by the million.
    values = list(map(attrgetter("outcome._value_" if name == "outcome" else name), trials))
    missing = values.count(UNSET)
    if missing == len(values):
        return [None] * missing
    return [None if value is UNSET else value for value in values] if missing else values


def field_value(trial: Trial, name: str) -> Any:
    """A field of a record; None if it has none. `truth` is the real class, even if the record only has the claim."""
    value: Any
    if name == "truth":
        return trial.real_class
    if name in FIELDS:
        value = getattr(trial, name)
    else:
        # A column of the case, else a value by name; `values.NAME` is always the value.
        if trial.columns and name in trial.columns:
            return trial.columns[name]
        values = trial.values or {}
        value = values.get(name, values.get(name.removeprefix(VALUES)))
    return None if value is UNSET else value


def _check_known(names: Iterable[str], known: Sequence[str], what: str) -> None:
    """A UsageError for a field that no record has."""
    for name in names:
        if name not in known:
            raise UsageError(f"{what} {name}: no such column; {nearest(name, known)}")


def sort_by(items: Iterable[Any], keys: Sequence[str], get: Callable[[Any, str], Any]) -> list[Any]:
    """Sorted by each key in turn, descending if it starts with -; items without a value always come last."""
    result = list(items)
    for key in reversed(keys):
        name = key.removeprefix("-")
        pairs = [(get(item, name), item) for item in result]
        known = [pair for pair in pairs if pair[0] is not None]
        known.sort(key=lambda pair: sort_key(pair[0]), reverse=key.startswith("-"))
        result = [item for _, item in known] + [item for value, item in pairs if value is None]
    return result


Key = str | tuple[str, int]
# Records without a match so far, each with its position in the run.
Waiting = dict[Key, tuple[int, Trial]]


class TrialPair(NamedTuple):
    """One case in two runs; `position` is where the first run has it."""

    position: int
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
        # Records still without a match, with their positions; at the end, those that only one run has.
        self.waiting_a: Waiting = {}
        self.waiting_b: Waiting = {}
        self._names = names
        self._done: set[Key] = set()

    def pairs(self, a: Iterable[list[Trial]], b: Iterable[list[Trial]]) -> Iterator[TrialPair]:
        """Every case that both have."""
        both = zip_longest(chain.from_iterable(a), chain.from_iterable(b))
        waiting_a, waiting_b, done = self.waiting_a, self.waiting_b, self._done
        for position, (of_a, of_b) in enumerate(both):
            # A fast path for the usual case: both runs have this case here, for the first time.
            if of_a is not None and of_b is not None and of_a.id == of_b.id:
                key = key_of(of_a)
                if key == key_of(of_b) and not (key in done or key in waiting_a or key in waiting_b):
                    done.add(key)
                    yield TrialPair(position, of_a, of_b)
                    continue
            if of_a is not None:
                other = self._match(position, of_a, waiting_a, waiting_b, self._names[0])
                if other is not None:
                    yield TrialPair(position, of_a, other[1])
            if of_b is not None:
                other = self._match(position, of_b, waiting_b, waiting_a, self._names[1])
                if other is not None:
                    yield TrialPair(other[0], other[1], of_b)

    def _match(
        self, position: int, trial: Trial, waiting: Waiting, others: Waiting, name: str
    ) -> tuple[int, Trial] | None:
        """The other run's record of this case, with its position; None if this one has to wait for it."""
        key = key_of(trial)
        if key in waiting or key in self._done:
            raise TranscriptError(f"{name}: case '{key_text(key)}' occurs twice; remove one of the two records")
        if key not in others:
            waiting[key] = (position, trial)
            return None
        self._done.add(key)
        return others.pop(key)


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
    of_run, _, side = name.rpartition("_")
    if of_run in OF_RUN and side in ("a", "b"):
        return field_value(pair.a if side == "a" else pair.b, of_run)
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
            kind = _difference_kind(pair)
            tally["common"] += 1
            if kind:
                tally[kind] += 1
                if (options.answers or kind != "other_answers") and _selects(pair, query):
                    selected.append(pair)
    query.check([*FIELDS, *(f"{name}_{side}" for name in OF_RUN for side in "ab"), *a.columns, *b.columns])
    selected.sort(key=lambda pair: pair.position)
    return Differences(
        a=a,
        b=b,
        only_a=_unmatched(pairing.waiting_a),
        only_b=_unmatched(pairing.waiting_b),
        matching=len(selected),
        pairs=query.arrange(selected, pair_value),
        **tally,
    )


def _difference_kind(pair: TrialPair) -> str:
    """Which count a pair belongs to; empty when there is no difference."""
    a, b = pair.a, pair.b
    if a.outcome is not b.outcome and a.outcome.success != b.outcome.success:
        return "n_sf" if a.outcome.success else "n_fs"
    same = a.actual == b.actual and a.error == b.error
    return "" if same or _answer(a) == _answer(b) else "other_answers"


def _answer(trial: Trial) -> tuple[Any, Any]:
    return field_value(trial, "actual"), field_value(trial, "error")


def _selects(pair: TrialPair, query: CaseQuery) -> bool:
    """Whether the query selects the pair; a condition on a field of the run may hold for either run."""
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


def _unmatched(waiting: Waiting) -> UnmatchedCases:
    first = sorted(waiting, key=lambda key: waiting[key][0])[:MAX_NAMED]
    return UnmatchedCases(len(waiting), [key_text(key) for key in first])
