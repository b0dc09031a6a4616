"""What a task is: how an answer looks, how it is scored, which decision parameters it has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

from harness.model import Answer, Case
from harness.params import Param, Value
from harness.tasks.gallery import Gallery


class AnswerError(Exception):
    """What the program said is not an answer of this task; the text says why."""


@dataclass(frozen=True)
class Rules:
    """What a script says about deciding, beside the decision parameters."""

    larger_is_better: bool = True
    relative_tolerance: bool = False
    # Rank tests: whom a probe is compared with.
    gallery: Gallery | None = None


# Whether an answer accepts the claim of its case.
Accepts = Callable[[Case, Answer], bool]


class Recorded(Protocol):
    """What a transcript has of an answer; msgspec's UNSET, which is false, where a record lacks something."""

    @property
    def expect(self) -> Any:
        """The claim."""

    @property
    def actual(self) -> Any:
        """The answer as given."""

    @property
    def score(self) -> Any:
        """The number that is decided by."""

    @property
    def rank(self) -> Any:
        """The place of the right one."""


@dataclass(frozen=True)
class Limits:
    """How recorded answers are decided on anew, for any number of values of the task's decision parameter.

    Each answer has a limit: the strictest value of the parameter at which it is still accepted.
    """

    param: str
    # A threshold: values up to the limit accept. Otherwise, as for a tolerance, values from the limit on do.
    falling: bool
    # The limit of a recorded answer that is no error, and of a case that is positive, or not.
    of: Callable[[Recorded, bool], float]

    @property
    def always(self) -> float:
        """The limit of what every value accepts."""
        return inf if self.falling else -inf

    @property
    def never(self) -> float:
        """The limit of what no value accepts."""
        return -self.always


class Task(Protocol):
    """One task. Implementations are modules' constants: they have no state."""

    name: str
    # Whether the program may see `expect`: a claim to verify, or the very answer that is asked for.
    shows_claim: bool
    # Whether a positive case is meaningless without `expect`.
    needs_expect: bool
    # Whether `mistake` finds any.
    checks_cases: bool
    decisions: Mapping[str, Param]
    # Decision parameters that a test has only where its script declares them.
    optional: frozenset[str]

    def answer(self, raw: object, case: Case, rules: Rules) -> Answer:
        """An answer as the program gave it, in the terms of this task; AnswerError where it is none."""

    def acceptance(self, rules: Rules, params: Mapping[str, Value]) -> Accepts:
        """The decision for these decision parameters."""

    def limits(self, rules: Rules, params: Mapping[str, Value]) -> Limits:
        """The same decision for all values at once, from what was recorded; it must agree with `acceptance`.

        Where there are several decision parameters, `params` has the values of the others.
        """

    def mistake(self, case: Case, rules: Rules) -> str | None:
        """What is wrong with a case for this task, if anything."""
