"""Statistics beyond the rate of success: of one run and of two, as functions of the weights of the cases."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.comparing.align import Aligned, BoolArray, FloatArray, IntArray
from harness.analysis.curves.scores import curve_scores
from harness.errors import TranscriptError, UsageError
from harness.stats.confusion import MEASURES, Measure
from harness.stats.curves.cases import Cases, make_cases
from harness.stats.curves.influence import influence
from harness.stats.curves.replicated import AREA, EQUAL_ERROR, curve_statistic
from harness.stats.replication.sample import Sample
from harness.stats.replication.smooth import Smooth, gap
from harness.stats.replication.statistic import Bounds, Difference, OfTotals, OfWeights, Statistic, rate
from harness.transcript.columns import OUTCOMES, Columns

# Curves by name: the summary, what it is in words, and whether more of it is better.
CURVES = {
    "auc": (AREA, "area under the ROC curve", True),
    "eer": (EQUAL_ERROR, "equal error rate", False),
}
STATISTICS = (*MEASURES, *CURVES)
RANKS = re.compile(r"rank([1-9]\d{0,8})", re.ASCII)
# Outcomes in the order of a measure's totals.
_ORDER = ("TP", "FN", "FP", "TN")


@dataclass(frozen=True)
class Linear:
    """A statistic, and what each case adds to it to first order, its weight left out."""

    estimate: float
    deviations: FloatArray


class Form(ABC):
    """A statistic that every run has; `inside` restricts it to some of the cases.

    `smooth`: it changes little when one case goes, so that the delete-one jackknife holds.
    """

    name: str
    words: str
    larger_is_better: bool
    bounds: Bounds
    smooth = True
    # Whether it has a linear form; functions of totals always have.
    linearises = True
    # Answers without which it has no value, in words.
    needs = ""

    @abstractmethod
    def single(self, run: int, inside: BoolArray | None = None) -> Statistic:
        """Of one run."""

    @abstractmethod
    def paired(self, a: int, b: int, inside: BoolArray | None = None) -> Statistic:
        """Of a run less that of another."""

    def linear(self, run: int, sample: Sample, inside: BoolArray | None = None) -> Linear | None:
        """The linear form of a statistic that is no function of totals."""
        return None


def difference_of(one: OfWeights, other: OfWeights) -> OfWeights:
    """Of two functions of the weights."""
    width = one.bounds[1] - one.bounds[0]
    return OfWeights(lambda weights: one.function(weights) - other.function(weights), bounds=(-width, width))


def form_of(name: str, aligned: Aligned) -> Form:
    """The statistic of that name; a UsageError where these transcripts cannot have it."""
    if found := RANKS.fullmatch(name):
        return rank_form(int(found[1]), aligned)
    return CurveForm(name, aligned) if name in CURVES else outcome_form(name, aligned)


def check_classes(what: str, classes: Sequence[str], positive: BoolArray) -> None:
    """A UsageError where the test lacks cases of a class that is needed."""
    there = {"positive": positive.any(), "negative": not positive.all()}
    for kind in classes:
        if not there[kind]:
            raise UsageError(f"{what} needs {kind} cases; this test has none")


class ShareForm(Form):
    """The share of hits among the cases that count, from (runs, cases) each."""

    bounds = (0.0, 1.0)

    def __init__(self, name: str, words: str, hits: BoolArray, counts: BoolArray, *, larger_is_better: bool) -> None:
        self.name, self.words, self.larger_is_better = name, words, larger_is_better
        self._hits, self._counts = hits, counts

    def single(self, run: int, inside: BoolArray | None = None) -> OfTotals:
        """A ratio."""
        within = self._within(run, inside)
        return rate(self._hits[run]) if within.all() else rate(self._hits[run] & within, within=within)

    def paired(self, a: int, b: int, inside: BoolArray | None = None) -> OfTotals:
        """Shares of one class differ case by case, so that even without variance something can be said."""
        one, other, within = self._hits[a], self._hits[b], self._within(a, inside)
        columns = np.stack([one & ~other & within, other & ~one & within, within], axis=1).astype(np.float64)
        return Difference(columns, bounds=(-1.0, 1.0), fragile=not within.all())

    def _within(self, run: int, inside: BoolArray | None) -> BoolArray:
        counts: BoolArray = self._counts[run]
        return counts if inside is None else counts & inside


class FormulaForm(Form):
    """A measure of the outcomes: a formula of the totals TP, FN, FP and TN."""

    def __init__(self, name: str, measure: Measure, codes: IntArray) -> None:
        self.name, self.words, self.bounds = name, measure.words, measure.bounds
        self.larger_is_better, self.needs = measure.larger_is_better, measure.needs
        self._formula, self._codes = measure.of, codes

    def single(self, run: int, inside: BoolArray | None = None) -> OfTotals:
        """Of the four totals."""
        return Smooth(self._columns(run, inside), bounds=self.bounds, fragile=True, formula=self._formula)

    def paired(self, a: int, b: int, inside: BoolArray | None = None) -> OfTotals:
        """Of eight totals."""
        width = self.bounds[1] - self.bounds[0]
        columns = np.hstack([self._columns(a, inside), self._columns(b, inside)])
        return Smooth(columns, bounds=(-width, width), fragile=True, formula=gap(self._formula, len(_ORDER)))

    def _columns(self, run: int, inside: BoolArray | None) -> FloatArray:
        columns: FloatArray = np.eye(len(_ORDER))[self._codes[run]]
        return columns if inside is None else columns * inside[:, None]


def outcome_form(name: str, aligned: Aligned) -> Form:
    """A measure of the outcomes by name."""
    measure = MEASURES[name]
    check_classes(f"--statistic {name}", measure.classes, aligned.positive)
    places = np.array([_ORDER.index(outcome.value) for outcome in OUTCOMES])
    codes = places[aligned.outcome]
    if measure.share is None:
        return FormulaForm(name, measure, codes)
    hits, counts = (np.isin(range(len(_ORDER)), part)[codes] for part in measure.share)
    return ShareForm(name, measure.words, hits, counts, larger_is_better=measure.larger_is_better)


def rank_form(most: int, aligned: Aligned) -> Form:
    """The share of probes of people in the gallery that are found among the first so many."""
    what = f"--statistic rank{most}"
    ranks = np.stack([run.rank[order] for run, order in zip(aligned.runs, aligned.orders, strict=True)])
    for name, own in zip(aligned.names, ranks, strict=True):
        if np.isnan(own).all():
            raise UsageError(f"{what}: {name} has no ranks; they are recorded in rank tests")
    check_classes(what, ("positive",), aligned.positive)
    # A probe without a rank was not found: refused, in error, or not on a list that ended before.
    counts = np.broadcast_to(aligned.positive, ranks.shape)
    return ShareForm(f"rank{most}", f"rate at rank {most}", ranks <= most, counts, larger_is_better=True)


class CurveForm(Form):
    """A summary of the curve over all thresholds."""

    bounds = (0.0, 1.0)

    def __init__(self, name: str, aligned: Aligned) -> None:
        self._summary, self.words, self.larger_is_better = CURVES[name]
        check_classes(f"--statistic {name}", ("positive", "negative"), aligned.positive)
        self.name, self.smooth = name, self._summary.smooth
        self._cases = cases_of(aligned)

    def single(self, run: int, inside: BoolArray | None = None) -> OfWeights:
        """The curve anew for every set of weights, from one sort."""
        whole = curve_statistic(self._summary, self._cases[run])
        if inside is None:
            return whole
        return OfWeights(lambda weights: whole.function(weights * inside), bounds=self.bounds)

    def paired(self, a: int, b: int, inside: BoolArray | None = None) -> OfWeights:
        """Both curves anew."""
        return difference_of(self.single(a, inside), self.single(b, inside))

    def linear(self, run: int, sample: Sample, inside: BoolArray | None = None) -> Linear:
        """DeLong's placements, or the error rates at the equal-error threshold."""
        cases = self._cases[run]
        weights = sample.weights if inside is None else sample.weights * inside
        found = influence(self._summary.name, Cases(cases.better, cases.positive, weights, cases.larger_is_better))
        totals = np.where(cases.positive, weights @ cases.positive, weights @ ~cases.positive)
        counted = found.deviations if inside is None else found.deviations * inside
        return Linear(found.estimate, counted / totals)


def cases_of(aligned: Aligned) -> list[Cases]:
    """The scores of every run, ready for curves; a TranscriptError where answers have none."""
    found = []
    for name, run, order in zip(aligned.names, aligned.runs, aligned.orders, strict=True):
        _check_scores(name, run)
        scored = curve_scores(run, name)
        found.append(make_cases(scored.scores[order], aligned.positive, larger_is_better=scored.larger_is_better))
    return found


def _check_scores(name: str, run: Columns) -> None:
    """Results of other tools may say that a case was accepted, and neither why nor by how much."""
    bare = np.flatnonzero(np.isnan(run.score) & (run.error.codes < 0) & (run.positive == run.success))
    if bare.size:
        first = run.ids[int(bare[0])]
        raise TranscriptError(
            f"{name}: {bare.size:,} accepted cases have no score ('{first}' is the first), so that no threshold can be "
            "set; let the program answer with scores"
        )
