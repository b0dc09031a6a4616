"""The scores of a transcript as curves take them: one for every case, infinite where no threshold changes anything."""

import numpy as np
import numpy.typing as npt
from msgspec import UNSET

from harness.errors import TranscriptError
from harness.model import ErrorRule
from harness.transcript.columns import OUTCOMES, Columns
from harness.transcript.format import TestInfo

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
# Tasks whose decision is a threshold on the score.
TASKS = ("label", "score", "value")


def larger_is_better(test: TestInfo) -> bool:
    """Whether a case is accepted from a score upwards; an error of a value, and a distance, from a score downwards."""
    return test.task != "value" and test.larger_is_better is not False


def curve_scores(columns: Columns, name: str) -> FloatArray:
    """A score for each record; a TranscriptError where an accepted answer has none, since it passes every threshold.

    In a label test the score counts when the label is the claimed one, or the case negative without a claim. A refusal
    and another label are accepted by no threshold. An error is a failure at every threshold, and where the test says
    so a refusal.
    """
    test = columns.header.test
    if test.task not in TASKS:
        raise TranscriptError(f"{name}: a {test.task} test is not decided by a threshold on a score")
    never = -np.inf if larger_is_better(test) else np.inf
    failed, missing = columns.error.codes >= 0, np.isnan(columns.score)
    _check_scores(columns, name, missing & ~failed)
    scores = np.where(missing, never, columns.score)
    if test.task == "label":
        scores = np.where(_claimed(columns), scores, never)
    if test.errors is not UNSET and test.errors == ErrorRule.REFUSE:
        return np.where(failed, never, scores)
    return np.where(failed, np.where(columns.positive, never, -never), scores)


def _check_scores(columns: Columns, name: str, missing: BoolArray) -> None:
    accepted = columns.positive == columns.success
    bare = np.flatnonzero(missing & accepted)
    if bare.size:
        raise TranscriptError(
            f"{name}: {bare.size:,} accepted answers have no score (case '{columns.ids[bare[0]]}' is the first), so no "
            "threshold refuses them; the program must answer with scores"
        )
    if np.isnan(columns.score).all():
        raise TranscriptError(f"{name}: no answer has a score; the program must answer with scores")


def _claimed(columns: Columns) -> BoolArray:
    """Whether the answer is what the case claims; a negative case without a claim accepts any label."""
    expect, actual = columns.expect, columns.actual
    place = {label: code for code, label in enumerate(expect.labels)}
    # The last entry is for answers that are missing, which code -1 picks.
    same = np.array([place.get(label, -2) for label in actual.labels] + [-2], dtype=np.int64)[actual.codes]
    empty = np.array([not label for label in expect.labels] + [True])[expect.codes]
    return np.asarray(np.where(empty, ~columns.positive & (actual.codes >= 0), same == expect.codes))


def decided(accepted: BoolArray, positive: BoolArray) -> npt.NDArray[np.int8]:
    """The outcomes, as places among OUTCOMES."""
    names = [outcome.value for outcome in OUTCOMES]
    of_positive = np.where(accepted, names.index("TP"), names.index("FN"))
    of_negative = np.where(accepted, names.index("FP"), names.index("TN"))
    return np.where(positive, of_positive, of_negative).astype(np.int8)
