"""Task `score`: verification and detection. The program scores the claim; the threshold decides."""

from collections.abc import Iterator, Mapping
from math import inf

from msgspec import UNSET

from harness.model import REFUSAL, Answer, Case
from harness.params import Param, ParamType, Value
from harness.tasks.answers import fields, number
from harness.tasks.task import Accepts, DecisionLimits, ExampleScript, RecordedAnswer, Task, TaskRules

KEYS = frozenset({"score"})


class ScoreTask(Task):
    """A claim is accepted if its score is at least the threshold (for a distance: at most)."""

    name = "score"
    summary = "score a claim: is it true?"
    keys = KEYS
    shows_claim = True
    needs_expect = False
    script_keys = frozenset({"larger_is_better"})
    measures = ("auc", "eer")
    example = ExampleScript(
        test="larger_is_better = true    # a similarity; false for a distance\n",
        sections="""\
[params.threshold]
type = "float"
default = 0.5
decision = true
help = "the score at which a claim is accepted"
""",
        tables={
            "cases.csv": """\
id,input,expect,positive
0001,an input,a claim about it,true
0002,another input,a claim about it,false
"""
        },
    )
    decisions = {"threshold": Param("threshold", ParamType.FLOAT, 0.0, True, "the score at which a claim is accepted")}

    def answer(self, raw: object, case: Case, rules: TaskRules) -> Answer:
        """A number, {"score": number}, or None."""
        known = fields(raw, KEYS)
        value = known["score"] if known is not None else raw
        if value is None or value == "":
            return REFUSAL
        score = number(value, "score")
        return Answer(score, score)

    def acceptance(self, rules: TaskRules, params: Mapping[str, Value]) -> Accepts:
        """At least the threshold, or at most if smaller is better."""
        threshold = float(params["threshold"])
        if rules.larger_is_better:
            return lambda case, answer: answer.score is not None and answer.score >= threshold
        return lambda case, answer: answer.score is not None and answer.score <= threshold

    def limits(self, rules: TaskRules, params: Mapping[str, Value]) -> DecisionLimits:
        """The score itself; an answer without one is a refusal."""
        refused = -inf if rules.larger_is_better else inf

        def of(trial: RecordedAnswer, positive: bool) -> float:
            score = trial.score
            return refused if score is UNSET or score is None else score

        return DecisionLimits("threshold", rules.larger_is_better, of)

    def script_mistakes(self, params: Mapping[str, Param], *, has_gallery: bool) -> Iterator[tuple[str, str]]:
        """Every test has its own scale of scores, so no threshold can be assumed."""
        if "threshold" not in params:
            yield "params.threshold", "missing; a score test must say which score is high enough"


SCORE = ScoreTask()
