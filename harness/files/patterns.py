"""Regular expressions from others, in bounded time: Python's engine can take for ever on a few hostile characters.

The time that a match may take is bounded from the expression and the length of the text. Where the bound is low, which
is nearly always, the text is matched at once. Otherwise that is done in a process of its own, which can be killed.
"""

import contextlib
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, log2
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from time import perf_counter
from typing import IO, Any

from harness.errors import ScriptError

MAX_PATTERN_LENGTH = 2_000
# Steps that take well under a second.
MAX_STEPS = 10_000_000
# What one match may take, and what many may take together for each of them, in seconds.
MATCH_SECONDS = 5.0
EACH_SECONDS = 0.001
# A repetition of more than this counts as unlimited.
MANY = 10

_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT)
# Reads an expression and its flags, then texts, each as a line of JSON; writes the groups of each, or null.
_MATCHER = """
import json, re, signal, sys
pattern = re.compile(*json.loads(sys.stdin.readline()))
for line in sys.stdin:
    signal.alarm(10)  # ends this process, should nobody be left to do so
    found = pattern.search(json.loads(line))
    signal.alarm(0)
    print(json.dumps(None if found is None else found.groupdict()), flush=True)
"""


def compile_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """An expression; a ScriptError says why it is none, or is too long."""
    if len(text) > MAX_PATTERN_LENGTH:
        raise ScriptError(f"an expression of {len(text):,} characters; at most {MAX_PATTERN_LENGTH:,} are allowed")
    try:
        return re.compile(text, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise ScriptError(f"not a regular expression: {error}") from None


class Matcher:
    """Searches texts for an expression; a ScriptError if that takes too long. Use it as a context."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._cost = cost(pattern)
        self._child: subprocess.Popen[str] | None = None
        self._waited = 0.0
        self._texts = 0

    def __enter__(self) -> "Matcher":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def search(self, text: str) -> dict[str, Any] | None:
        """The named groups of the first match; None if there is none."""
        if self._cost.allows(len(text)):
            match = self._pattern.search(text)
            return None if match is None else match.groupdict()
        return self._search_outside(text)

    def _search_outside(self, text: str) -> dict[str, Any] | None:
        self._texts += 1
        child = self._started()
        begin, allowed = perf_counter(), MATCH_SECONDS + self._texts * EACH_SECONDS - self._waited
        timer = threading.Timer(max(0.0, min(MATCH_SECONDS, allowed)), child.kill)
        timer.start()
        line = ""  # if the process was killed
        try:
            with contextlib.suppress(OSError):
                _pipe(child.stdin).write(_line(text))
                _pipe(child.stdin).flush()
                line = _pipe(child.stdout).readline()
        finally:
            timer.cancel()
            self._waited += perf_counter() - begin
        if not line:
            self.close()
            shown = text if len(text) <= 60 else f"{text[:57]}..."
            raise ScriptError(f"takes too long to match {shown!r}; avoid repetitions in repetitions, such as (a+)+")
        groups: dict[str, Any] | None = json.loads(line)
        return groups

    def _started(self) -> subprocess.Popen[str]:
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _MATCHER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="ascii",
                start_new_session=True,
            )
            with contextlib.suppress(OSError):
                _pipe(self._child.stdin).write(_line([self._pattern.pattern, self._pattern.flags & ~re.UNICODE]))
        return self._child

    def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                with contextlib.suppress(OSError):
                    _pipe(pipe).close()


def _line(value: Any) -> str:
    """JSON in ASCII: a text from elsewhere may have characters that UTF-8 cannot hold."""
    return json.dumps(value) + "\n"


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise OSError("no pipe")
    return pipe


@dataclass(frozen=True)
class Cost:
    """A bound of the steps of a match: the text's length to a power, times 2 to the number of choices."""

    power: float = 0.0
    choices: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.power + other.power, self.choices + other.choices)

    def times(self, count: int) -> "Cost":
        """The cost of `count` such matches in a row."""
        return Cost(self.power * count, self.choices * count)

    def allows(self, length: int) -> bool:
        """Whether a text of this length can be searched within the steps that are allowed."""
        return self.power * log2(length + 2) + self.choices <= log2(MAX_STEPS)


# The steps may double with each character.
EXPONENTIAL = Cost(inf)


def cost(pattern: re.Pattern[str]) -> Cost:
    """The cost of a search, which may begin at any character."""
    try:
        return Cost(1.0) + _cost(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE), nested=False)
    except (re.error, RecursionError, ValueError):
        return EXPONENTIAL


def _cost(tree: Any, *, nested: bool) -> Cost:
    """Of parts that follow each other; `nested` inside a repetition, where any choice makes it exponential."""
    total = Cost()
    for code, value in tree:
        total += _cost_of(code, value, nested=nested)
    return total


def _cost_of(code: Any, value: Any, *, nested: bool) -> Cost:
    if code in _REPEATS:
        low, high, body = value
        if low == high:
            return _cost(body, nested=nested).times(high)
        if nested:
            return EXPONENTIAL
        if high is codes.MAXREPEAT or high > MANY:
            return Cost(1.0) + _cost(body, nested=True)
        return Cost(0.0, log2(high - low + 1)) + _cost(body, nested=False).times(high)
    if code in (codes.GROUPREF, codes.GROUPREF_EXISTS) or (code is codes.BRANCH and nested):
        return EXPONENTIAL  # (a|a)+ has as many ways as (a+)+
    ways = len(value[1]) if code is codes.BRANCH else 1
    return sum((_cost(part, nested=nested) for part in _parts(code, value)), Cost(0.0, log2(ways)))


def _parts(code: Any, value: Any) -> Iterator[Any]:
    """The expressions inside an element."""
    if code is codes.SUBPATTERN:
        yield value[-1]
    elif code is codes.BRANCH:
        yield from value[1]
    elif code in (codes.ASSERT, codes.ASSERT_NOT):
        yield value[1]
    elif code is codes.ATOMIC_GROUP:
        yield value
    elif code is codes.POSSESSIVE_REPEAT:
        yield value[2]
