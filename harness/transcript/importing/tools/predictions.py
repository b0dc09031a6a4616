"""Predictions as scikit-learn users save them: y_true and y_pred, and y_score or proba_CLASS if there are scores."""

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from harness.errors import ForeignError
from harness.tasks.label import LABEL
from harness.tasks.score import SCORE
from harness.transcript.importing.contract import CORRECT, ImportedAnswer, ImportedRun, ImportOptions
from harness.transcript.importing.file import as_mark
from harness.transcript.importing.metrics import Survey

# Pairs of labels, and which is positive: scikit-learn's rule for `pos_label=None`.
_BINARY = (({"0", "1"}, "1"), ({"-1", "1"}, "1"), ({"false", "true"}, "true"))
# pandas turns 1 into 1.0 in a column with a missing value.
_WHOLE = re.compile(r"(-?\d+)\.0+")


@dataclass(frozen=True)
class Predictions:
    """Results with truth and prediction, before it is known whether it is a detection."""

    imported: ImportedRun
    options: ImportOptions
    # Columns of probabilities by class.
    classes: Mapping[str, str]

    def judged(self) -> ImportedRun:
        """A detection, with TN and FP, if one of two classes is the positive one; otherwise a label test."""
        facts = _LabelFacts(self.options.positive_label)
        survey = Survey.of(self.imported.results, facts.add)
        label = self._positive_label(facts)
        if label is None and facts.scored and not self.classes:
            # With several classes, a single score is ambiguous: it belongs to one of them.
            raise ForeignError(f"{self.imported.source}: which class is the score for? name it with --positive-label")
        used = set(self.classes.values())
        at = self.options.success_at
        if label is None or not (facts.scored or self._has_probability(label)):
            at = None
        return dataclasses.replace(
            self.imported,
            results=_Judged(self, label) if self.classes or label is not None else self.imported.results,
            survey=dataclasses.replace(survey, columns={name: None for name in survey.columns if name not in used}),
            # In a score test `positive` is the ground truth, and `expect` is not judged: it keeps the true label, so
            # that two tables which agree only in their ids have different digests.
            task=LABEL.name if label is None else SCORE.name,
            params={} if at is None else {"threshold": at},
            verdict=CORRECT,
            graded=False,
            notes=[*self.imported.notes, *(facts.contradiction(label) if label is not None and at is None else ())],
        )

    def _has_probability(self, label: str) -> bool:
        results = self.imported.results if self._column(label) is not None else ()
        return any(self._probability(result, label) is not None for result in results)

    def judge(self, result: ImportedAnswer, label: str | None) -> ImportedAnswer:
        """An answer as a detection of this class; None for a label test."""
        result = self._label(result) if label is None else self._detection(result, label)
        if not self.classes:
            return result
        # Without the probabilities, which are columns of the answer, not of the case.
        used = set(self.classes.values())
        return replace(result, columns={name: value for name, value in result.columns.items() if name not in used})

    def _positive_label(self, facts: "_LabelFacts") -> str | None:
        label = self.options.positive_label
        if label is not None:
            if not facts.has_wanted:
                shown = ", ".join(sorted(facts.true)[:20])
                raise ForeignError(f"{self.imported.source}: --positive-label {label}: not among the labels {shown}")
            return label
        seen = facts.true | facts.predicted
        return next((positive for pair, positive in _BINARY if seen <= pair), None)

    def _detection(self, result: ImportedAnswer, label: str) -> ImportedAnswer:
        """Accepted if it was predicted to be of the class, or if its score reaches --success-at."""
        positive = result.expect == label
        score = self._probability(result, label) if result.score is None else result.score
        at = self.options.success_at
        accepted = result.actual == label if at is None or score is None else score >= at
        return replace(
            result,
            marks={CORRECT: float(accepted == positive)},
            positive=positive,
            truth="" if positive else result.expect,
            score=score,
        )

    def _label(self, result: ImportedAnswer) -> ImportedAnswer:
        """The score of a label is its lead over the best of the other labels."""
        known = {name: self._probability(result, name) for name in map(label_text, self.classes)}
        chosen = known.pop(result.actual, None)
        others = [value for value in known.values() if value is not None]
        return replace(result, score=None if chosen is None or not others else chosen - max(others))

    def _column(self, label: str) -> str | None:
        return next((column for name, column in self.classes.items() if label_text(name) == label), None)

    def _probability(self, result: ImportedAnswer, label: str) -> float | None:
        column = self._column(label)
        return None if column is None else as_mark(result.columns.get(column), f"{result.location}: {column}")


@dataclass(frozen=True)
class _Judged:
    """Predictions that are judged while they are gone through."""

    predictions: Predictions
    label: str | None

    def __iter__(self) -> Iterator[ImportedAnswer]:
        judge, label = self.predictions.judge, self.label
        return (judge(result, label) for result in self.predictions.imported.results)


# Enough labels to know that there are more than two, and to name some.
_MAX_LABELS_KNOWN = 100


class _LabelFacts:
    """Which labels occur; of very many, only some."""

    def __init__(self, wanted: str | None) -> None:
        self._wanted = wanted
        self.has_wanted = False
        self.scored = False
        self.true: set[str] = set()
        self.predicted: set[str] = set()
        # The lowest and the highest score of answers with this label.
        self._scores: dict[str, tuple[float, float]] = {}

    def add(self, block: Sequence[ImportedAnswer]) -> None:
        true = {result.expect for result in block}
        self.has_wanted = self.has_wanted or self._wanted in true
        self.scored = self.scored or any(result.score is not None for result in block)
        if len(self.true) < _MAX_LABELS_KNOWN:
            self.true |= true
        if len(self.predicted) < _MAX_LABELS_KNOWN:
            self.predicted |= {result.actual for result in block if result.actual is not None}
        for result in block:
            if result.score is not None and result.actual in self.predicted:
                low, high = self._scores.get(result.actual, (result.score, result.score))
                self._scores[result.actual] = min(low, result.score), max(high, result.score)

    def contradiction(self, label: str) -> list[str]:
        """A note if scores cannot be those of a class, since a prediction of another one has a higher score."""
        lowest, _ = self._scores.get(label, (math.inf, 0.0))
        other, (_, highest) = max(
            ((name, ends) for name, ends in self._scores.items() if name != label),
            key=lambda item: item[1][1],
            default=(label, (0.0, -math.inf)),
        )
        if lowest >= highest:
            return []
        return [
            f"an answer '{other}' has the score {highest:g}, and an answer '{label}' only {lowest:g}: if scores are "
            f"how sure an answer is, and not how much speaks for '{label}', curves and areas of them are wrong"
        ]


def label_text(text: str) -> str:
    """A label in plain form: 1.0 is 1, True is true."""
    text = text.strip()
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text.lower() if text.lower() in ("true", "false") else text
