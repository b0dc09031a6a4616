"""Task `words`: write down what was said. A sentence is right when few enough of its words are wrong."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from harness.model import REFUSAL, Answer, Case
from harness.params import Param, ParamType, Value
from harness.tasks import (
    Accepts,
    AnswerError,
    DecisionLimits,
    ExampleScript,
    RecordedAnswer,
    Task,
    TaskRules,
)


class WordsTask(Task):
    """The score is the word error rate of the sentence: wrong, missing and additional words over the words expected."""

    name = "words"
    summary = "write down what was said"
    checks_cases = True
    claims_classes = False
    # A script may have a table [words] with this key.
    setting_keys = frozenset({"ignore_case"})
    measures = ("wer",)
    decisions: Mapping[str, Param] = {
        "wer": Param("wer", ParamType.FLOAT, 0.0, True, "the largest word error rate of a sentence that is right")
    }
    example = ExampleScript(
        sections="[words]\nignore_case = true\n",
        tables={"cases.csv": "id,input,expect\n0001,0001.wav,the cat sat\n0002,0002.wav,good morning\n"},
    )

    def answer(self, raw: object, case: Case, rules: TaskRules) -> Answer:
        """A text, {"text": ...}, or None, which counts as if every word were missing."""
        text = raw.get("text") if isinstance(raw, Mapping) else raw
        if text is not None and not isinstance(text, str):
            raise AnswerError(f"{raw!r} is not a text")
        said, expected = _words(text or "", rules), _words(case.expect, rules)
        if not expected:  # nothing was said; whatever was heard is wrong
            return Answer(text) if said else REFUSAL
        errors = word_errors(expected, said)
        values = {"errors": float(errors), "words": float(len(expected))}
        return Answer(text, None if text is None else errors / len(expected), values=values)

    def acceptance(self, rules: TaskRules, params: Mapping[str, Value]) -> Accepts:
        """A word error rate of at most `wer`."""
        most = float(params["wer"])

        def accepts(case: Case, answer: Answer) -> bool:
            return answer.actual is not None and (answer.score is None or answer.score <= most)

        return accepts

    def limits(self, rules: TaskRules, params: Mapping[str, Value]) -> DecisionLimits:
        """The recorded rate, from which on `wer` accepts the answer."""

        def of(record: RecordedAnswer, positive: bool) -> float:
            if not isinstance(record.actual, str):
                return inf
            return float(record.score) if isinstance(record.score, (int, float)) else -inf

        return DecisionLimits("wer", False, of)

    def case_mistake(self, case: Case, rules: TaskRules) -> str | None:
        """A sentence has words."""
        return None if case.expect.split() else "expect has no words"

    def setting_mistakes(self, settings: Mapping[str, Any]) -> Any:
        """What is wrong with the table [words]."""
        if not isinstance(settings.get("ignore_case", False), bool):
            yield "ignore_case", f"should be true or false, not {settings['ignore_case']!r}"


def _words(text: str, rules: TaskRules) -> list[str]:
    return (text.lower() if rules.settings.get("ignore_case") else text).split()


def word_errors(expected: Sequence[str], said: Sequence[str]) -> int:
    """The fewest substitutions, insertions and deletions that turn one into the other (Levenshtein's distance)."""
    row = list(range(len(said) + 1))
    for place, word in enumerate(expected, 1):
        diagonal, row[0] = row[0], place
        for column, other in enumerate(said, 1):
            diagonal, row[column] = row[column], min(diagonal + (word != other), row[column] + 1, row[column - 1] + 1)
    return row[-1]


WORDS = WordsTask()
