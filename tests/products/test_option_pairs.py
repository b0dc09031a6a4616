"""Every two options of a command, together: an answer, or a line that says what is wrong.

Rows of options are made such that every two values that may stand together do so in one of them, on a test of every
task. Options that may not are in `EXCLUSIVE`, and each of these pairs is refused. Leaving out any one option of a row
changes what the row comes to, or the option is in `SILENT`: an option that is accepted and does nothing is a wrong
answer that nobody sees.
"""

import json
import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from tests.products.conftest import AllRuns
from tests.products.exclusive_options import (
    MATTERS,
    SILENT,
    exclusive,
    find,
    why_elsewhere,
    why_silent,
)
from tests.products.option_values import (
    CALLS,
    SUBJECT,
    Word,
    command_line,
    commands_with_options,
    factors,
    inputs,
    needed,
    options_of,
    words_of,
)
from tests.rooms import MISSING
from tests.workshop import Done, Workshop

LONGEST = 9  # values of a row: the more, the fewer rows, and the more likely that one option hides another
LONG = ("roc", "report", "sweep")  # commands of which each call takes long
EVERY = 12  # of the rows, those that are tried without each of their options
FAST = 5  # rows that are run before every commit; the others are slow


@pytest.mark.parametrize("command", CALLS)
def test_every_option_has_a_value(command: str) -> None:
    assert [words_of(command, one) for one in options_of(command)]
    assert command in commands_with_options()


@cache
def clashes(command: str) -> frozenset[frozenset[Word]]:
    """The values that may not be used, and those that may not stand together."""
    values = [word for one in factors(command) for word in one]
    alone = {frozenset((word,)) for word in values if why_elsewhere(command, word)}
    return frozenset(alone | {frozenset(words) for some, _ in exclusive(command, values) for words in some})


def may_stand_together(command: str, row: Sequence[Word]) -> bool:
    refused = clashes(command)
    return not any(frozenset(some) in refused for count in (1, 2, 3) for some in combinations(row, count))


def rows(command: str) -> list[list[Word]]:
    """Rows in which every two values that may stand together do so, greedily, always the same."""
    rng = random.Random(0)
    whole = {word: own for one in factors(command) for word in one if (own := completed(command, word))}
    values = list(whole)
    left = {
        frozenset(pair)
        for pair in combinations(values, 2)
        if pair[0][0] != pair[1][0] and joined(command, whole[pair[0]], whole[pair[1]]) is not None
    }
    left |= {frozenset((word,)) for word in values}
    found = []
    while left:
        seed = min(left, key=lambda pair: sorted(pair))
        row: list[Word] = []
        for word in sorted(seed):
            row = joined(command, row, whole[word]) or row
        rng.shuffle(values)
        while len(row) < LONGEST:
            gains = [
                (sum(frozenset((word, other)) in left for other in row), word)
                for word in values
                if all(word[0] != other[0] for other in row)
            ]
            for gain, word in sorted(gains, key=lambda one: -one[0]):
                longer = joined(command, row, whole[word]) if gain else None
                if longer is not None:
                    row = longer
                    break
            else:
                break
        left -= {frozenset(pair) for pair in combinations(row, 2)} | {frozenset((word,)) for word in row}
        found.append(row)
    return found


def completed(command: str, word: Word) -> list[Word]:
    """A value with what it needs; nothing if it is refused even then."""
    found = with_needs(command, [word])
    return found if may_stand_together(command, found) else []


def with_needs(command: str, row: list[Word]) -> list[Word]:
    """A row with what its values need, whether they may stand together or not."""
    while missing := [more for one in row if (more := lacking(command, one, row)) is not None]:
        row = [*row, missing[0]]
    return row


def is_default(command: str, word: Word) -> bool:
    return any(one.spec.flags[0] == word[0] and str(one.default) == word[-1] for one in options_of(command))


def lacking(command: str, word: Word, row: Sequence[Word]) -> Word | None:
    needs = needed(command, word)
    return None if not needs or any(one[0] == other[0] for one in needs for other in row) else needs[0]


def joined(command: str, row: Sequence[Word], more: Sequence[Word]) -> list[Word] | None:
    """Two rows as one; None if they do not go together."""
    together = [*row, *(word for word in more if word not in row)]
    flags = [word[0] for word in together]
    if len(set(flags)) < len(flags) or not may_stand_together(command, together):
        return None
    return together


class Desk:
    """A folder in which command lines are tried, and left empty."""

    def __init__(self, shop: Workshop, runs: AllRuns, command: str) -> None:
        self.shop, self.runs, self.command = shop, runs, command
        self._known: dict[tuple[str, ...], tuple[Done, dict[str, bytes]]] = {}

    def did(self, row: Sequence[Word]) -> tuple[Done, dict[str, bytes]]:
        """How a row ended, and the files that it wrote."""
        line = tuple(command_line(self.command, row, self.runs))
        if line not in self._known:
            done = self.shop.call(*line)
            files = {}
            for path in sorted(self.shop.folder.rglob("*"), reverse=True):
                if path.is_dir():
                    path.rmdir()
                else:
                    files[str(path.relative_to(self.shop.folder))] = path.read_bytes()
                    path.unlink()
            self._known[line] = done, files
        return self._known[line]

    def mistakes(self, row: Sequence[Word]) -> Iterator[str]:
        """What is wrong with how a row ended; it should not be refused."""
        done, _ = self.did(row)
        if done.status == 2:
            yield from self.untidy(row)
            yield f"refused: {done.err.strip()} (the cause: {self.cause(row)})"
        elif done.status not in (0, 1):
            yield f"exit status {done.status}"
        elif ("--format", "json") in row and ("--case", "c01") not in row:
            yield from not_numbers(json.loads(done.out))

    def untidy(self, row: Sequence[Word]) -> Iterator[str]:
        """What is wrong with how a row was refused: one line, and nothing else."""
        done, files = self.did(row)
        if done.status != 2:
            yield f"exit status {done.status}; is the table out of date?"
        elif done.err.count("\n") != 1 or done.out or files:
            yield f"said more than a line, or wrote {sorted(files)}: {done.err}{done.out[:80]}"

    def cause(self, row: Sequence[Word]) -> str:
        """The fewest words of a row that are refused."""
        for count in (1, 2):
            for some in combinations(row, count):
                if self.did(some)[0].status == 2 and all(lacking(self.command, word, some) is None for word in some):
                    return " + ".join(" ".join(word) for word in some)
        return "all of it"

    def came_to(self, row: Sequence[Word]) -> Any:
        """What a row printed and wrote, but for times; as JSON if it may be, which has more than any other format."""
        plain = [word for word in row if word[0] != "--format"]
        styled = joined(self.command, plain, [("--format", "json")])
        has_json = any("json" in one.choices for one in options_of(self.command))
        done, files = self.did(styled if styled is not None and has_json else plain)
        texts = {name: timeless(data.decode(errors="replace")) for name, data in files.items()}
        return done.status, timeless(done.out), texts


def not_numbers(found: Any) -> Iterator[str]:
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        for one in found:
            yield from not_numbers(one)
    elif isinstance(found, float) and not abs(found) < float("inf"):
        yield f"{found} in JSON"


def timeless(text: str) -> str:
    """Without what differs from one second to the next."""
    text = re.sub(r'"seconds":[-+.\de]+,?|"memory":\d{1,9}\b,?|hate report .*|[0-9a-f]{16,}', "", text)
    return re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?( UTC|Z)?|\"sha256\":\"[0-9a-f]{64}\"", "", text)


def checked(shop: Workshop, runs: AllRuns, command: str, chosen: Sequence[Sequence[Word]]) -> None:
    desk = Desk(shop, runs, command)
    before = inputs(runs)
    wrong = [f"{shown(row)}: {text}" for row in chosen for text in desk.mistakes(row)]
    assert not wrong, f"{len(wrong)} mistakes\n" + "\n".join(wrong)
    assert inputs(runs) == before


def shown(row: Sequence[Word]) -> str:
    return " ".join(text for word in row for text in word)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("command", CALLS)
def test_options_that_may_stand_together_do(shop: Workshop, all_runs: AllRuns, command: str) -> None:
    checked(shop, all_runs, command, rows(command)[:FAST])


@pytest.mark.slow
@pytest.mark.parametrize("command", CALLS)
def test_every_two_options_that_may_stand_together_do(shop: Workshop, all_runs: AllRuns, command: str) -> None:
    checked(shop, all_runs, command, rows(command)[FAST:])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", CALLS)
def test_what_may_not_stand_together_is_refused(shop: Workshop, all_runs: AllRuns, command: str) -> None:
    desk = Desk(shop, all_runs, command)
    before = inputs(all_runs)
    values = [word for one in factors(command) for word in one]
    wrong = []
    for some, says in exclusive(command, values):
        if not some and MISSING:
            continue
        row = with_needs(command, list(some[0]))
        wrong += [f"{shown(row)}: {text}" for text in desk.untidy(row)]
        wrong += [] if says in desk.did(row)[0].err else [f"{shown(row)}: {desk.did(row)[0].err} does not say {says!r}"]
    for word in values:
        if says := why_elsewhere(command, word):
            row = with_needs(command, [word])
            wrong += [f"{shown(row)}: {text}" for text in desk.untidy(row)]
            wrong += [] if says in desk.did(row)[0].err else [f"{shown(row)}: {desk.did(row)[0].err}: not {says!r}"]
        elif (needs := needed(command, word)) and not is_default(command, word) and desk.did([word])[0].status != 2:
            wrong.append(f"{shown([word])} is accepted without {shown(needs)}")
    assert not wrong, f"{len(wrong)} mistakes\n" + "\n".join(wrong)
    assert inputs(all_runs) == before


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "command", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in CALLS]
)
def test_no_option_does_nothing(shop: Workshop, all_runs: AllRuns, command: str) -> None:
    """Alone, or with what it needs, each value of an option changes what is printed or written."""
    desk = Desk(shop, all_runs, command)
    wrong = []
    for one in options_of(command):
        flag = one.spec.flags[0]
        matters = find(MATTERS, command, flag)
        beside = [] if matters is None else [matters]
        rows = [joined(command, completed(command, word), beside) for word in words_of(command, one)]
        changed = [desk.came_to(row) != desk.came_to(row[1:]) for row in rows if row]
        if changed and flag != "--format" and any(changed) == (find(SILENT, command, flag) is not None):
            wrong.append(f"{flag}: {'changes something, and is in SILENT' if any(changed) else 'changes nothing'}")
    assert not wrong, wrong


@pytest.mark.slow
@pytest.mark.parametrize("command", CALLS)
def test_no_option_is_dropped_beside_others(shop: Workshop, all_runs: AllRuns, command: str) -> None:
    """Leaving out any one option of a row changes what it comes to."""
    desk = Desk(shop, all_runs, command)
    wrong = []
    for row in rows(command)[::EVERY]:
        if desk.did(row)[0].status == 2:
            wrong.append(f"{shown(row)}: refused")
            continue
        for word in row:
            rest = [other for other in row if other is not word]
            if word[0] in (SUBJECT, "--format") or is_default(command, word) or find(SILENT, command, word[0]):
                continue
            if (matters := find(MATTERS, command, word[0])) is not None and matters not in rest:
                continue
            if any(lacking(command, other, rest) for other in rest) or why_silent(command, word, rest):
                continue
            if desk.came_to(row) == desk.came_to(rest):
                wrong.append(f"{shown([word])} does nothing beside {shown(rest)}")
    assert not wrong, f"{len(wrong)} mistakes\n" + "\n".join(wrong)
