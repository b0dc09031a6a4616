"""Predictions as scikit-learn users keep them: y_true and y_pred, and y_score or proba_CLASS where there are scores."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from harness.errors import ForeignError
from harness.tasks.label import LABEL
from harness.tasks.score import SCORE
from harness.transcript.importing.file import as_mark, as_text
from harness.transcript.importing.results import ImportedAnswer, ImportedRun, ImportOptions

CORRECT = "correct"
# Labels whose positive one is known: scikit-learn's own rule for `pos_label=None`.
_BINARY = (({"0", "1"}, "1"), ({"-1", "1"}, "1"), ({"false", "true"}, "true"))
# A table that passed through pandas with a gap in it has 1.0 for 1.
_WHOLE = re.compile(r"(-?\d+)\.0+")


@dataclass(frozen=True)
class Predictions:
    """Results with truth and prediction, before it is known what they claim."""

    imported: ImportedRun
    options: ImportOptions
    # Columns of probabilities by class.
    classes: Mapping[str, str]

    def judged(self) -> ImportedRun:
        """Of two classes of which one is the positive: a detection, with TN and FP; else every label counts alike."""
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
            # In a score test `positive` is the ground truth and `expect` judges nothing: it keeps the true label, so
            # that the digest tells two tables apart that agree only in their ids.
            task=LABEL.name if label is None else SCORE.name,
            params={} if at is None else {"threshold": at},
            verdict=CORRECT,
            graded=False,
        )

    def _check_labels(self, results: list[ImportedAnswer]) -> None:
        """Several classes: a single score belongs to one of them, and cannot say which was chosen."""
        if any(result.score is not None for result in results) and not self.classes:
            source = self.imported.source
            raise ForeignError(f"{source}: whose score is it? --positive-label names the class that it speaks for")

    def _without_probabilities(self, result: ImportedAnswer) -> ImportedAnswer:
        """They were columns of the answer, not of the case."""
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
        given = self.options.positive_label
        labels = {result.expect for result in results}
        if given is not None:
            if given not in labels:
                shown = ", ".join(sorted(labels)[:20])
                raise ForeignError(f"{self.imported.source}: --positive-label {given}: not among the labels {shown}")
            return given
        seen = labels | {result.actual for result in results if result.actual is not None}
        return next((positive for pair, positive in _BINARY if seen <= pair), None)

    def _detection(self, result: ImportedAnswer, label: str) -> ImportedAnswer:
        """Accepted is what was predicted to be of the class, or has the score that --success-at asks for."""
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
        """The score of a label is its lead over the best of the others."""
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
    """A label as one would say it: 1.0 is 1, True is true."""
    text = text.strip()
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text.lower() if text.lower() in ("true", "false") else text
