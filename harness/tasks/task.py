"""What a task is: how an answer looks, how it is scored, which decision parameters it has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from harness.model import Answer, Case
from harness.params import Param, Value


class AnswerError(Exception):
    """What the program said is not an answer of this task; the text says why."""


@dataclass(frozen=True)
class Rules:
    """What a script says about deciding, beside the decision parameters."""

    larger_is_better: bool = True
    relative_tolerance: bool = False


# Whether an answer accepts the claim of its case.
Accepts = Callable[[Case, Answer], bool]


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

    def answer(self, raw: object, case: Case, rules: Rules) -> Answer:
        """An answer as the program gave it, in the terms of this task; AnswerError where it is none."""

    def acceptance(self, rules: Rules, params: Mapping[str, Value]) -> Accepts:
        """The decision for these decision parameters."""

    def mistake(self, case: Case, rules: Rules) -> str | None:
        """What is wrong with a case for this task, if anything."""
