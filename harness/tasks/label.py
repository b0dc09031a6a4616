"""Task `label`: classification with refusal.

The score is the lead of the best label over the second. An answer without a score passes every threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import cast

from msgspec import UNSET

from harness.model import REFUSAL, Answer, Case, Trial
from harness.params import Param, ParamType, Value
from harness.tasks.answers import bounded, fields, label, number, shown
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


def best_and_lead(scores: Mapping[object, object]) -> Answer:
    """The best label and its lead; a single label leads by its score, ties go to the first."""
    if not scores:
        return REFUSAL
    ranked = sorted(((number(s, f"score of {shown(k)}"), k) for k, s in scores.items()), key=lambda pair: -pair[0])
    best, name = ranked[0]
    return _answer(name, bounded(best - ranked[1][0]) if len(ranked) > 1 else best)


def _answer(name: object, score: float | None = None) -> Answer:
    text = label(name)
    return Answer(text, score) if text else REFUSAL


KEYS = frozenset({"label", "scores"})


class LabelTask(Task):
    """A claim is accepted if the label is the claimed one and passes the threshold."""

    name = "label"
    summary = "say what it is, or refuse"
    keys = KEYS
    answers_classes = True
    measures = ("auc", "eer")
    example = ExampleScript(
        sections="""\
[params.threshold]
type = "float"
default = 0.0
decision = true
help = "how far the best label must lead the second"
""",
        tables={
            "cases.csv": """\
id,input,expect,positive
0001,an input,yes,true
0002,another input,yes,false
"""
        },
    )
    decisions = {
        "threshold": Param("threshold", ParamType.FLOAT, 0.0, True, "how far the best label must lead the second")
    }

    def answer(self, raw: object, case: Case, rules: TaskRules) -> Answer:
        """A label, (label, score), {"label", "score"}, {"scores": {...}}, a mapping of labels to scores, or None."""
        if raw is None:
            return REFUSAL
        if isinstance(raw, (str, int, float)):
            return _answer(raw)
        if (known := fields(raw, KEYS)) is not None:
            return self._from_fields(known)
        if isinstance(raw, Mapping):
            return best_and_lead(raw)
        if isinstance(raw, Sequence) and len(raw) == 2:
            return self._from_fields({"label": raw[0], "score": raw[1]})
        raise AnswerError(f"{shown(raw)} is not a label, a (label, score) pair or a mapping of labels to scores")

    def _from_fields(self, known: Mapping[str, object]) -> Answer:
        if "scores" in known:
            if not isinstance(known["scores"], Mapping):
                raise AnswerError(f"scores {shown(known['scores'])} is not a mapping of labels to scores")
            return best_and_lead(cast("Mapping[object, object]", known["scores"]))
        if known["label"] is None:
            return REFUSAL
        score = known.get("score")
        return _answer(known["label"], None if score is None else number(score, "score"))

    def recorded_answer(self, trial: Trial, case: Case, rules: TaskRules) -> Answer:
        """The best label and its lead; the other labels' scores are not recorded."""
        if trial.actual is UNSET or trial.actual is None:
            return REFUSAL
        return _answer(trial.actual, None if trial.score is UNSET else trial.score)

    def acceptance(self, rules: TaskRules, params: Mapping[str, Value]) -> Accepts:
        """The claimed label, at the threshold or above; a negative case without a claim accepts any label."""
        threshold = float(params["threshold"])

        def accepts(case: Case, answer: Answer) -> bool:
            if answer.actual is None or (answer.score is not None and answer.score < threshold):
                return False
            return bool(answer.actual == case.expect or (not case.expect and not case.positive))

        return accepts

    def limits(self, rules: TaskRules, params: Mapping[str, Value]) -> DecisionLimits:
        """The score if the label is the claimed one; without a score, every threshold is passed."""

        def of(trial: RecordedAnswer, positive: bool) -> float:
            actual, expect, score = trial.actual, trial.expect, trial.score
            if actual is UNSET or actual is None or not (actual == expect or (not expect and not positive)):
                return -inf
            return inf if score is UNSET or score is None else score

        return DecisionLimits("threshold", True, of)

    def curve(self, columns: RecordColumns, rules: TaskRules, params: Mapping[str, Value]) -> CurveRule:
        """A score counts if the label is the claimed one, or if the case is negative and claims nothing."""
        import numpy as np

        has_answer = answered(columns)
        if (columns.actual.codes < 0).all():  # imported scores, without labels
            return CurveRule(True, counts=has_answer, needed=has_answer)
        code = {label: number for number, label in enumerate(columns.expect.labels) if label}
        # The last entry is for records without an answer, whose code is -1.
        table = np.array([*(code.get(label, -2) for label in columns.actual.labels), -2], dtype=np.int64)
        no_claim = np.array([*(not label for label in columns.expect.labels), True])[columns.expect.codes]
        is_claimed = table[columns.actual.codes] == columns.expect.codes
        counts = np.asarray(has_answer & (is_claimed | (no_claim & ~columns.positive)))
        return CurveRule(True, counts=counts, needed=has_answer)


LABEL = LabelTask()
