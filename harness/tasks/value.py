"""Task `value`: a number that must lie within a tolerance of the expected one.

The recorded score is the error, so the tolerance is a decision parameter: any number of values costs one run.
"""

from collections.abc import Mapping
from decimal import Decimal
from math import inf

from msgspec import UNSET

from harness.model import REFUSAL, Answer, Case, Trial
from harness.params import Param, ParamType, Value
from harness.tasks.answers import bounded, fields, number
from harness.tasks.task import (
    Accepts,
    AnswerError,
    CurveRule,
    DecisionLimits,
    ExampleScript,
    RecordColumns,
    RecordedAnswer,
    Task,
    TaskRules,
    answered,
)

KEYS = frozenset({"value", "label"})


class ValueTask(Task):
    """A claim is accepted if the number is within the tolerance of it."""

    name = "value"
    summary = "give a number, which must be within the tolerance"
    keys = KEYS
    checks_cases = True
    claims_classes = False
    answers_numbers = True
    script_keys = frozenset({"tolerance"})
    measures = ("mae", "rmse", "bias")
    example = ExampleScript(
        test="tolerance = {absolute = 0.1}    # or relative\n",
        tables={"cases.csv": "id,input,expect\n0001,an input,1.5\n0002,another input,2.5\n"},
    )
    decisions = {"tolerance": Param("tolerance", ParamType.FLOAT, 0.0, True, "the largest error that counts as right")}

    def answer(self, raw: object, case: Case, rules: TaskRules) -> Answer:
        """A number, {"value": number}, or None."""
        known = fields(raw, KEYS)
        content = known.get("value", known.get("label")) if known is not None else raw
        if content is None or content == "":
            return REFUSAL
        value = number(content, "value")
        return Answer(value, _error(value, case.expect, relative=rules.relative_tolerance) if case.expect else None)

    def recorded_answer(self, trial: Trial, case: Case, rules: TaskRules) -> Answer:
        """The recorded number; its error follows from the claim."""
        if case.expect and number(case.expect, "expect") == 0 and rules.relative_tolerance:
            raise AnswerError("expect is 0, so a relative error is undefined")
        return super().recorded_answer(trial, case, rules)

    def acceptance(self, rules: TaskRules, params: Mapping[str, Value]) -> Accepts:
        """An error of at most the tolerance; a negative case without a claim accepts any number."""
        tolerance = float(params["tolerance"])

        def accepts(case: Case, answer: Answer) -> bool:
            return answer.actual is not None and (answer.score is None or answer.score <= tolerance)

        return accepts

    def limits(self, rules: TaskRules, params: Mapping[str, Value]) -> DecisionLimits:
        """The recorded error; an answer to a case without a claim has none, and every tolerance accepts it."""

        def of(trial: RecordedAnswer, positive: bool) -> float:
            actual, score = trial.actual, trial.score
            if actual is UNSET or actual is None:
                return inf
            return -inf if score is UNSET or score is None else score

        return DecisionLimits("tolerance", False, of)

    def case_mistake(self, case: Case, rules: TaskRules) -> str | None:
        """The claim must be a number, and not 0 if the tolerance is relative."""
        try:
            expected = number(case.expect, "expect")
        except AnswerError as error:
            return str(error)
        if expected == 0 and rules.relative_tolerance:
            return "expect is 0, so a relative error is undefined; use tolerance = {absolute = ...}"
        return None

    def curve(self, columns: RecordColumns, rules: TaskRules, params: Mapping[str, Value]) -> CurveRule:
        """The recorded score is the error, which the tolerance bounds from above."""
        has_answer = answered(columns)
        return CurveRule(False, counts=has_answer, needed=has_answer)


def _error(value: float, expected: str, *, relative: bool) -> float:
    """In decimal arithmetic, as both were written: 1.1 differs from 1.0 by exactly 0.1, which it does not in binary."""
    claim = Decimal(expected)
    error = abs(Decimal(repr(value)) - claim)
    return bounded(float(error / abs(claim) if relative else error))


VALUE = ValueTask()
