"""Columns that tell what a program should find out: their values lie inside one class, more than chance would have it.

For every value of a column, take pairs of cases that have it. If two cases with the same value have the same answer no
more often than any two cases, the column tells nothing. The pairs of a value are averaged over all ways to pair its
cases off, so that neither the order of the cases nor what the values are called matters; the chance that so many pairs
agree is then at most exp(-n KL(share, expected)) for n pairs (W. Hoeffding, Probability inequalities for sums of
bounded random variables, JASA 58, 1963, theorem 1 and section 5).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from harness.model import Case
from harness.script.cases import CaseSet

# How far a column must bring someone from guessing towards knowing, and how improbable that must be by chance.
MIN_GAIN = 0.5
LEVEL = 1e-5
# Beginnings and ends of values are looked at up to this length, of so many different values.
MAX_AFFIX_LENGTH = 16
MAX_VALUES = 2_000

# How often each answer goes with each value; plain dictionaries, since there may be millions of values.
Counts = dict[Hashable, int]
Tally = Mapping[str, Counts]


@dataclass
class _Column:
    """What goes together with the values of a column: the answer, and whether the claim is true."""

    answers: dict[str, Counts] = field(default_factory=dict)
    positive: dict[str, Counts] = field(default_factory=dict)
    # What was said about inputs of several cases: said twice, it is no more than the input itself.
    seen: set[Hashable] = field(default_factory=set)
    # The value for each claim, and the claim for each value; None once there are two.
    of_claims: dict[str, str] | None = field(default_factory=dict)
    claims_of: dict[str, str] | None = field(default_factory=dict)

    def add(self, value: str, case: Case, answer: str, *, again: bool) -> None:
        """Note a case with this value; `again` if other cases have the same input."""
        self._count(self.answers, value, answer, (str(case.input),) if again else None)
        self._count(self.positive, value, case.positive, (str(case.input), case.expect) if again else None)
        if self.of_claims is not None and self.of_claims.setdefault(case.expect, value) != value:
            self.of_claims = None
        if self.claims_of is not None and self.claims_of.setdefault(value, case.expect) != case.expect:
            self.claims_of = None

    def _count(self, tally: dict[str, Counts], value: str, what: Hashable, asked: Hashable | None) -> None:
        if asked is not None:
            key = (asked, value, what)
            if key in self.seen:
                return
            self.seen.add(key)
        counts = tally.setdefault(value, {})
        counts[what] = counts.get(what, 0) + 1

    def tallies(self, *, shows_claim: bool, structured: bool) -> Iterator[Tally]:
        """What a program could learn from it. What follows from a claim that it is shown tells it nothing new."""
        if shows_claim and self.of_claims is not None:
            return
        yield self.positive
        if not (structured or (shows_claim and self.claims_of is not None)):
            yield self.answers


def right_answer(case: Case) -> str:
    """What the program should say; of a case without a claim that is a refusal, whatever the case is."""
    if case.positive or not case.expect:
        return case.expect
    return case.real_class or f"not {case.expect}"


def truth_of(case: Case) -> str:
    """The class of a case."""
    return case.real_class or case.expect


def telling_columns(cases: CaseSet, answer: Callable[[Case], str] = right_answer) -> list[str]:
    """Columns whose values, or their beginnings or ends, tell the answer or whether the claim is true."""
    task = cases.script.task
    originals = cases.originals()
    columns: dict[str, _Column] = defaultdict(_Column)
    repeated = _repeated_inputs(originals)
    for case in originals:
        again, said = hash(str(case.input)) in repeated, case.real_class if task.shows_claim else answer(case)
        for name in case.columns:
            columns[name].add(case.column(name), case, said, again=again)
    kind = {"shows_claim": task.shows_claim, "structured": task.structured_expect}
    return [name for name, column in columns.items() if any(map(_is_telling_by_affix, column.tallies(**kind)))]


def folders_tell(cases: CaseSet) -> bool:
    """Whether the folder that an input is in tells its class; the same input counts once."""
    folders: dict[str, Counts] = {}
    for path, real in {(str(case.input), truth_of(case)) for case in cases}:
        _add(folders.setdefault(str(PurePath(path).parent), {}), {real: 1})
    return is_telling(folders)


def _repeated_inputs(cases: CaseSet) -> set[int]:
    """The hashes of inputs that several cases have."""
    once, more = set[int](), set[int]()
    for case in cases:
        key = hash(str(case.input))
        (more if key in once else once).add(key)
    return more


def _is_telling_by_affix(tally: Tally) -> bool:
    """Whether the values, or their beginnings or ends, tell the answer."""
    if len({answer for counts in tally.values() for answer in counts}) < 2:
        return False
    return is_telling(tally) or any(map(is_telling, _affixes(tally)))


def _affixes(tally: Tally) -> Iterator[Tally]:
    """The same by beginnings and ends of the values, of a sample that does not depend on their order."""
    values = sorted(tally)
    values = values[:: -(-len(values) // MAX_VALUES)] if values else []
    longest = min(MAX_AFFIX_LENGTH, max(map(len, values), default=0) - 1)
    for length in range(1, longest + 1):
        for part in (slice(None, length), slice(-length, None)):
            merged: dict[str, Counts] = {}
            for value in values:
                _add(merged.setdefault(value[part], {}), tally[value])
            if 1 < len(merged) < len(values):
                yield merged


def _add(counts: Counts, more: Counts) -> None:
    for what, count in more.items():
        counts[what] = counts.get(what, 0) + count


def is_telling(tally: Tally) -> bool:
    """Whether the answers of cases with the same value agree, much more often than others and not by chance.

    Cases without a value are looked at both as if they shared one, and not at all.
    """
    return _agrees(tally.values()) or ("" in tally and _agrees(counts for value, counts in tally.items() if value))


def _agrees(groups: Iterable[Counts]) -> bool:
    totals: Counts = {}
    pairs, agreeing = 0, 0.0
    for counts in groups:
        _add(totals, counts)
        size = sum(counts.values())
        if size > 1:
            pairs += size // 2
            agreeing += size // 2 * _same(counts.values(), size)
    if not pairs or len(totals) < 2:
        return False
    expected, share = _same(totals.values(), sum(totals.values())), agreeing / pairs
    gain = (share - expected) / (1 - expected)
    return gain >= MIN_GAIN and pairs * _divergence(share, expected) >= -math.log(LEVEL)


def _same(sizes: Iterable[int], total: int) -> float:
    """The share of all pairs of cases that are of one class."""
    return sum(size * (size - 1) for size in sizes) / (total * (total - 1))


def _divergence(share: float, expected: float) -> float:
    """Kullback and Leibler's, of two probabilities."""
    parts = ((share, expected), (1 - share, 1 - expected))
    return sum(a * math.log(a / b) for a, b in parts if a > 0)
