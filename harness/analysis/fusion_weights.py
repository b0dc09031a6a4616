"""Weights of programs by logistic regression, learnt on cases other than those that are fused."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.analysis.fusion_answers import ProgramAnswers
from harness.errors import UsageError
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.logistic import LogisticModel, fit_logistic


@dataclass(frozen=True, eq=False)
class LearntWeights:
    """Log-odds: of a true claim for each case (n,), or of a right label for each program's label (m, n).

    One model, or one for each fold.
    """

    score: FloatArray
    models: Sequence[LogisticModel]

    def to_json(self) -> dict[str, Any]:
        """For the header: the weights of each model."""
        return {"models": [{"intercept": one.intercept, "weights": one.weights.tolist()} for one in self.models]}

    def notes(self) -> list[str]:
        """What a reader should know about the weights."""
        if not any(model.shrunk for model in self.models):
            return []
        return ["the cases to learn from are separated without an error, or runs are alike: weights were shrunk"]


# The cases to learn from as rows of numbers, and whether the event happened.
Rows = tuple[FloatArray, BoolArray]


def learn_scores(programs: ProgramAnswers, other: ProgramAnswers | None, fold: IntArray | None) -> LearntWeights:
    """The log-odds that a claim is true, from all scores; a program that refuses has its worst score."""
    numbers = programs.with_worst().T
    if other is not None:
        model = _fit(other.with_worst().T, other.positive)
        # A refusal is as bad as the worst score that the program was seen to give.
        worst = np.nanmin(other.score, axis=1)
        filled = np.where(np.isnan(programs.score), worst[:, None], programs.score)
        return LearntWeights(model.log_odds(filled.T), [model])
    return _by_folds(fold, lambda learn: (numbers[learn], programs.positive[learn]), lambda use: numbers[use])


def learn_candidates(programs: ProgramAnswers, other: ProgramAnswers | None, fold: IntArray | None) -> LearntWeights:
    """The log-odds that a label is right, from who gave it and with what lead: (m, n), for each program's label."""
    shape = programs.label.shape
    if other is not None:
        model = _fit(*_known_rows(other, np.ones(other.label.shape[1], dtype=np.bool_)))
        scores = model.log_odds(_candidates(programs).reshape(-1, 2 * shape[0])).reshape(shape)
        return LearntWeights(scores, [model])
    numbers = _candidates(programs)
    found = _by_folds(
        fold,
        lambda learn: _known_rows(programs, learn),
        lambda use: numbers[:, use].reshape(-1, 2 * shape[0]),
        rows=shape[0],
    )
    return LearntWeights(found.score.reshape(shape), found.models)


def _by_folds(
    fold: IntArray | None,
    learn: Callable[[BoolArray], Rows],
    use: Callable[[BoolArray], FloatArray],
    rows: int = 1,
) -> LearntWeights:
    """Each fold is fused by weights that were learnt on the others."""
    if fold is None:
        raise UsageError("--rule logistic needs --learn or --folds")
    score, models = np.full((rows, fold.size), np.nan), []
    for number in range(int(fold.max()) + 1):
        inside = fold == number
        models.append(_fit(*learn(~inside)))
        score[:, inside] = models[-1].log_odds(use(inside)).reshape(rows, -1)
    return LearntWeights(score[0] if rows == 1 else score, models)


def _candidates(programs: ProgramAnswers) -> FloatArray:
    """Numbers (m, n, 2 m) of each program's label: which programs gave it, and the leads of those."""
    said = (programs.label[:, None, :] == programs.label[None, :, :]) & (programs.label >= 0)[:, None, :]
    lead = np.nan_to_num(programs.score)[None, :, :] * said
    return np.concatenate([said, lead], axis=1, dtype=np.float64).transpose(0, 2, 1)


def _known_rows(programs: ProgramAnswers, among: BoolArray) -> Rows:
    """Each label once a case, where it is known whether it is right: the real class, or else a false claim."""
    label = programs.label
    new = np.stack([(label[:k] != label[k]).all(axis=0) for k in range(len(label))]) & (label >= 0)
    refuted = ~programs.positive & (label == programs.claim)
    known = new & among & ((programs.real != -1) | refuted)
    return _candidates(programs)[known], (label == programs.real)[known]


def _fit(numbers: FloatArray, event: BoolArray) -> LogisticModel:
    try:
        return fit_logistic(numbers, event)
    except ValueError as error:
        raise UsageError(f"--rule logistic: {error}") from None
