"""Task `score`: verification and detection. The program scores the claim; the threshold decides."""

from collections.abc import Mapping
from math import inf

from msgspec import UNSET

from harness.model import REFUSAL, Answer, Case
from harness.params import Param, ParamType, Value
from harness.tasks.answers import fields, number
from harness.tasks.task import Accepts, Limits, Recorded, Rules

KEYS = frozenset({"score"})


class ScoreTask:
    """A claim is accepted when its score is at least the threshold (a distance: at most)."""

    name = "score"
    shows_claim = True
    needs_expect = False
    checks_cases = False
    decisions: Mapping[str, Param] = {
        "threshold": Param("threshold", ParamType.FLOAT, 0.0, True, "the score from which a claim is accepted")
    }
    optional: frozenset[str] = frozenset()

    def answer(self, raw: object, case: Case, rules: Rules) -> Answer:
        """A number, {"score": number}, or None."""
        known = fields(raw, KEYS)
        value = known["score"] if known is not None else raw
        if value is None or value == "":
            return REFUSAL
        score = number(value, "score")
        return Answer(score, score)

    def acceptance(self, rules: Rules, params: Mapping[str, Value]) -> Accepts:
        """At least the threshold, or at most where smaller is better."""
        threshold = float(params["threshold"])
        if rules.larger_is_better:
            return lambda case, answer: answer.score is not None and answer.score >= threshold
        return lambda case, answer: answer.score is not None and answer.score <= threshold

    def limits(self, rules: Rules, params: Mapping[str, Value]) -> Limits:
        """The score itself; an answer without one is a refusal."""
        refused = -inf if rules.larger_is_better else inf

        def of(trial: Recorded, positive: bool) -> float:
            score = trial.score
            return refused if score is UNSET or score is None else score

        return Limits("threshold", rules.larger_is_better, of)

    def mistake(self, case: Case, rules: Rules) -> str | None:
        """A case of a score test can be any: its ground truth is `positive`."""
        return None


SCORE = ScoreTask()
