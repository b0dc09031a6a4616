"""Predictions as scikit-learn users save them: y_true and y_pred, and y_score or proba_CLASS if there are scores."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from harness.errors import ForeignError
from harness.tasks.label import LABEL
from harness.tasks.score import SCORE
from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions
from harness.transcript.importing.file import as_mark, as_text

CORRECT = "correct"
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
        results = [self._plain(result) for result in self.imported.results]
        label = self._positive_label(results)
        if label is None:
            self._check_labels(results)
            judged = [self._label(result) for result in results]
        else:
            judged = [self._detection(result, label) for result in results]
        at = (
            None if label is None or not any(result.score is not None for result in judged) else self.options.success_at
        )
        return dataclasses.replace(
            self.imported,
            results=[self._without_probabilities(result) for result in judged],
            # In a score test `positive` is the ground truth, and `expect` is not judged: it keeps the true label, so
            # that two tables which agree only in their ids have different digests.
            task=LABEL.name if label is None else SCORE.name,
            params={} if at is None else {"threshold": at},
            verdict=CORRECT,
            graded=False,
        )

    def _check_labels(self, results: list[ImportedAnswer]) -> None:
        """With several classes, a single score is ambiguous: it belongs to one of them."""
        if any(result.score is not None for result in results) and not self.classes:
            source = self.imported.source
            raise ForeignError(f"{source}: which class is the score for? name it with --positive-label")

    def _without_probabilities(self, result: ImportedAnswer) -> ImportedAnswer:
        """The result without the probabilities, which are columns of the answer, not of the case."""
        if not self.classes:
            return result
        used = set(self.classes.values())
        return replace(result, columns={name: value for name, value in result.columns.items() if name not in used})

    def _plain(self, result: ImportedAnswer) -> ImportedAnswer:
        expect = label_text(result.expect)
        if not expect:
            raise ForeignError(f"{result.place}: no true label; every row needs one")
        actual = None if result.actual is None else label_text(as_text(result.actual))
        marks = {CORRECT: float(actual == expect)}
        return replace(result, expect=expect, actual=actual, marks=marks)

    def _positive_label(self, results: list[ImportedAnswer]) -> str | None:
        label = self.options.positive_label
        labels = {result.expect for result in results}
        if label is not None:
            if label not in labels:
                shown = ", ".join(sorted(labels)[:20])
                raise ForeignError(f"{self.imported.source}: --positive-label {label}: not among the labels {shown}")
            return label
        seen = labels | {result.actual for result in results if result.actual is not None}
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
        own = known.pop(result.actual, None)
        others = [value for value in known.values() if value is not None]
        return replace(result, score=None if own is None or not others else own - max(others))

    def _column(self, label: str) -> str | None:
        return next((column for name, column in self.classes.items() if label_text(name) == label), None)

    def _probability(self, result: ImportedAnswer, label: str) -> float | None:
        column = self._column(label)
        return None if column is None else as_mark(result.columns.get(column), f"{result.place}: {column}")


def label_text(text: str) -> str:
    """A label in plain form: 1.0 is 1, True is true."""
    text = text.strip()
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text.lower() if text.lower() in ("true", "false") else text
