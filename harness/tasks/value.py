"""Task `value`: a number that must lie within a tolerance of the expected one.

The recorded score is the error, so that the tolerance is a decision parameter: any number of values costs one run.
"""

from collections.abc import Mapping
from decimal import Decimal
from math import inf

from msgspec import UNSET

from harness.model import REFUSAL, Answer, Case
from harness.params import Param, ParamType, Value
from harness.tasks.answers import bounded, fields, number
from harness.tasks.task import Accepts, AnswerError, Limits, Recorded, Rules

KEYS = frozenset({"value", "label"})


class ValueTask:
    """A claim is accepted when the number is within the tolerance of it."""

    name = "value"
    shows_claim = False
    needs_expect = True
    checks_cases = True
    decisions: Mapping[str, Param] = {
        "tolerance": Param("tolerance", ParamType.FLOAT, 0.0, True, "the largest error that is still right")
    }
    optional: frozenset[str] = frozenset()

    def answer(self, raw: object, case: Case, rules: Rules) -> Answer:
        """A number, {"value": number}, or None."""
        known = fields(raw, KEYS)
        given = known.get("value", known.get("label")) if known is not None else raw
        if given is None or given == "":
            return REFUSAL
        value = number(given, "value")
        return Answer(value, _error(value, case.expect, relative=rules.relative_tolerance) if case.expect else None)

    def acceptance(self, rules: Rules, params: Mapping[str, Value]) -> Accepts:
        """An error of at most the tolerance; a negative case without a claim accepts any number."""
        tolerance = float(params["tolerance"])

        def accepts(case: Case, answer: Answer) -> bool:
            return answer.actual is not None and (answer.score is None or answer.score <= tolerance)

        return accepts

    def limits(self, rules: Rules, params: Mapping[str, Value]) -> Limits:
        """The recorded error; an answer to a case without a claim has none, and every tolerance accepts it."""

        def of(trial: Recorded, positive: bool) -> float:
            actual, score = trial.actual, trial.score
            if actual is UNSET or actual is None:
                return inf
            return -inf if score is UNSET or score is None else score

        return Limits("tolerance", False, of)

    def mistake(self, case: Case, rules: Rules) -> str | None:
        """The claim must be a number, and not 0 where the tolerance is relative to it."""
        try:
            expected = number(case.expect, "expect")
        except AnswerError as error:
            return str(error)
        if expected == 0 and rules.relative_tolerance:
            return "expect is 0, to which no error is relative; use tolerance = {absolute = ...}"
        return None


def _error(value: float, expected: str, *, relative: bool) -> float:
    """In decimal arithmetic, as the two were written: 1.1 is 0.1 away from 1.0, which it is not in binary."""
    wanted = Decimal(expected)
    error = abs(Decimal(repr(value)) - wanted)
    return bounded(float(error / abs(wanted) if relative else error))


VALUE = ValueTask()
