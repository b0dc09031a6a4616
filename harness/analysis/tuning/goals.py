"""What a setting is tuned for: a number from its counts, or from the whole curve of its scores."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from harness.analysis.deciding import Answers
from harness.errors import TranscriptError, UsageError
from harness.model import Counts
from harness.stats.curves.auc import auc
from harness.stats.curves.cases import Cases, make_cases
from harness.stats.curves.counts import counts_of
from harness.stats.curves.equal_error import equal_error


class Kind(StrEnum):
    """The goals by name."""

    RATE = "rate"
    F1 = "f1"
    COST = "cost"
    AUC = "auc"
    EER = "eer"


@dataclass(frozen=True)
class Goal:
    """A goal; `fp` and `fn` are what a false positive and a false negative cost."""

    kind: Kind
    fp: float = 1.0
    fn: float = 1.0

    @property
    def name(self) -> str:
        """As it is written on a command line."""
        return f"cost:fp={self.fp:g},fn={self.fn:g}" if self.kind is Kind.COST else self.kind.value

    @property
    def maximised(self) -> bool:
        """Whether more is better."""
        return self.kind not in (Kind.COST, Kind.EER)

    @property
    def of_curve(self) -> bool:
        """Whether it looks at all thresholds at once, so that a threshold cannot be tuned by it."""
        return self.kind in (Kind.AUC, Kind.EER)

    def better(self, value: float, other: float) -> bool:
        """Whether one value is better than another."""
        return value > other if self.maximised else value < other

    def of_counts(self, counts: Counts) -> float:
        """From the counts at one threshold."""
        if self.kind is Kind.F1:
            wrong = counts.FP + counts.FN
            return 2 * counts.TP / (2 * counts.TP + wrong) if counts.TP + wrong else 0.0
        if self.kind is Kind.COST:
            return (self.fp * counts.FP + self.fn * counts.FN) / counts.tests if counts.tests else 0.0
        return counts.rate

    def of_scores(self, answers: Answers) -> float:
        """From all thresholds."""
        counts = counts_of(curve_cases(answers))
        return auc(counts) if self.kind is Kind.AUC else equal_error(counts).rate


def parse_goal(text: str) -> Goal:
    """rate, f1, auc, eer, or cost:fp=10,fn=1."""
    name, _, rest = text.partition(":")
    if name not in list(Kind) or (rest and name != Kind.COST):
        raise UsageError(f"--goal {text}: not a goal; say rate, f1, auc, eer, or cost:fp=10,fn=1")
    costs = {"fp": 1.0, "fn": 1.0}
    for part in filter(None, rest.split(",")):
        key, _, number = part.partition("=")
        try:
            costs[key.strip()] = float(number)
        except ValueError:
            raise UsageError(f"--goal {text}: '{number}' is not a number; write cost:fp=10,fn=1") from None
    if set(costs) != {"fp", "fn"} or not all(0 <= cost < 1e12 for cost in costs.values()) or not any(costs.values()):
        raise UsageError(f"--goal {text}: write cost:fp=10,fn=1, with numbers from 0 up")
    return Goal(Kind(name), **costs)


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
