"""What a setting is tuned for: any measure of the outcomes, or of the whole curve of the scores."""

from dataclasses import dataclass

import numpy as np

from harness.analysis.deciding import Answers
from harness.errors import TranscriptError, UsageError
from harness.measures import Measure, Reads, find_measure, goals
from harness.model import Counts
from harness.stats.curves.cases import Cases, make_cases
from harness.stats.curves.counts import counts_of
from harness.stats.curves.summaries import SUMMARIES


@dataclass(frozen=True)
class Goal:
    """A measure that a setting is to be best by."""

    measure: Measure

    @property
    def name(self) -> str:
        """As it is written on a command line."""
        return self.measure.name

    @property
    def maximised(self) -> bool:
        """Whether more is better."""
        return self.measure.larger_is_better

    @property
    def of_curve(self) -> bool:
        """Whether it looks at all thresholds at once, so that a threshold cannot be tuned by it."""
        return self.measure.reads is Reads.SCORE

    def better(self, value: float, other: float) -> bool:
        """Whether one value is better than another."""
        return self.measure.better(value, other)

    def of_counts(self, counts: Counts) -> float:
        """From the counts at one threshold; the worst there is where they have no such value."""
        formula = self.measure.of_totals
        if formula is None:
            raise UsageError(f"--goal {self.name}: not of the counts at a threshold")
        totals = np.array([counts.TP, counts.FN, counts.FP, counts.TN], dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(formula(totals))
        return value if np.isfinite(value) else self.measure.bounds[0 if self.maximised else 1]

    def of_scores(self, answers: Answers) -> float:
        """From all thresholds."""
        counts = counts_of(curve_cases(answers))
        return SUMMARIES[self.name].of_rates(counts.tpr, counts.fpr)


def parse_goal(text: str) -> Goal:
    """A measure by name: rate, f1, auc, eer, or cost:fp=10,fn=1."""
    measure = find_measure(text, option="--goal")
    if measure.reads not in (Reads.OUTCOME, Reads.SCORE):
        raise UsageError(f"--goal {text}: not a goal; say {', '.join(goals())}, or cost:fp=10,fn=1")
    return Goal(measure)


def curve_cases(answers: Answers) -> Cases:
    """The answers as a curve takes them; a TranscriptError where no curve can be made of them."""
    if answers.unscored:
        text = f"{answers.unscored:,} answers without a score: auc and eer need one; let the interface answer "
        raise TranscriptError(f"{text}(label, score), or tune for rate, f1 or cost")
    if all(answers.positive) or not any(answers.positive):
        raise TranscriptError("auc and eer need positive and negative cases; tune for rate, f1 or cost")
    return make_cases(
        np.asarray(answers.limit), np.asarray(answers.positive, np.bool_), larger_is_better=answers.falling
    )
