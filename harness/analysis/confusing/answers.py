"""What was there and what was said, case by case."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from harness.analysis.comparing.align import Aligned, Run
from harness.analysis.comparing.sampling import DesignOptions
from harness.errors import TranscriptError
from harness.params import Value
from harness.transcript.columns import Columns

IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
TextArray = npt.NDArray[np.object_]
NOTHING = "(none)"


@dataclass(frozen=True)
class Choice:
    """Which records count, and how an answer is taken."""

    threshold: float | None = None
    positives: bool = False
    intersect: bool = False
    partial: bool = False
    confidence: float = 0.95
    design: DesignOptions = field(default_factory=DesignOptions)


@dataclass(frozen=True, eq=False)
class Truths:
    """The class of each case, whether it is known (and counts), and whether the right answer is to refuse."""

    label: TextArray
    known: BoolArray
    refuse: BoolArray


def find_truths(aligned: Aligned, choice: Choice) -> Truths:
    """A case that claims nothing and shows nothing known has a class of its own."""
    column, expect = aligned.column("truth"), aligned.column("expect")
    if column is None or expect is None:
        raise TranscriptError(f"{aligned.names[0]}: no truth and no claims; a confusion matrix needs them")
    truth = np.array([*column.labels, ""], dtype=object)[column.codes]
    claimless = np.asarray(np.array([*expect.labels, ""], dtype=object)[expect.codes] == "", dtype=np.bool_)
    truth = np.where((truth == "") & claimless, NOTHING, truth)
    known = np.asarray(truth != "", dtype=np.bool_)
    return Truths(truth, known & aligned.positive if choice.positives else known, claimless & ~aligned.positive)


@dataclass(frozen=True, eq=False)
class Answers:
    """What one program said of each case: "" for a refusal, an error, or a label below the threshold."""

    label: TextArray
    error: BoolArray
    below: BoolArray


def find_answers(run: Run, order: IntArray, choice: Choice) -> Answers:
    """The answers of one run, in the order of the aligned cases."""
    columns = run.columns
    error = columns.error.codes[order] >= 0
    label = np.array([*columns.actual.labels, ""], dtype=object)[columns.actual.codes[order]]
    threshold = _threshold(columns, choice)
    # Not a number, where an answer has no score, is below no threshold.
    below = np.asarray((columns.score[order] < threshold) & ~error & (label != ""), dtype=np.bool_)
    return Answers(np.where(error | below, "", label), error, below)


def _threshold(columns: Columns, choice: Choice) -> float:
    if choice.threshold is not None:
        return choice.threshold
    declared: Value | None = columns.header.params.get("threshold")
    return float(declared) if isinstance(declared, (int, float)) else -np.inf


def all_labels(columns: Sequence[TextArray]) -> list[str]:
    """All classes and answers: numbers as numbers, and nothing last."""
    found = {str(label) for column in columns for label in np.unique(column.astype(str)).tolist()} - {"", NOTHING}
    ordered = sorted(found, key=_natural)
    return [*ordered, NOTHING] if any((column == NOTHING).any() for column in columns) else ordered


def _natural(label: str) -> tuple[int, float, str]:
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label
