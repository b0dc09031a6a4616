"""Which columns of a table say what: those that were named, else those with a usual name."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from harness.transcript.importing.results import Fields

# The first that a table has is taken. Compared in lower case, blanks and dashes as underscores.
_IDS = ("id", "case_id", "sample_id", "instance_id", "doc_id", "idx", "index", "unnamed:_0", "")
_TRUE = ("y_true", "true_label", "ground_truth", "expect", "expected", "true", "truth", "gold", "target", "label")
_PREDICTED = ("y_pred", "predicted_label", "pred_label", "predicted", "prediction", "pred")
_SCORES = ("y_score", "y_prob", "y_proba", "score", "probability", "decision_function")
_SUCCESSES = ("success", "correct", "is_correct", "passed", "resolved")
# In tutorials the truth ("actual and predicted"), elsewhere the answer ("expected and actual").
_EITHER = "actual"
PROBABILITIES = ("proba_", "prob_")


def guessed(named: Fields, header: Iterable[str]) -> Fields:
    """The named columns, and for the rest the usual ones; nothing is guessed beside columns that decide."""
    names = {_plain(name): name for name in reversed(list(header))}
    fields = replace(named, id=named.id or _first(_IDS, names))
    if any((named.expect, named.actual, named.score, named.success)):
        return fields
    expect, actual = _first(_TRUE, names), _first(_PREDICTED, names)
    if expect is not None and actual is None:
        actual = names.get(_EITHER)
    elif actual is not None and expect is None:
        expect = names.get(_EITHER)
    score = _first(_SCORES, names)
    if expect is not None and (actual is not None or score is not None):
        return replace(fields, expect=expect, actual=actual, score=score)
    return replace(fields, expect=expect, success=_first(_SUCCESSES, names))


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _first(wanted: Iterable[str], names: Mapping[str, str]) -> str | None:
    return next((names[name] for name in wanted if name in names), None)


def probabilities(header: Iterable[str]) -> dict[str, str]:
    """Columns with a probability a class, by class."""
    return {
        name[len(prefix) :]: name
        for name in header
        for prefix in PROBABILITIES
        if name.lower().startswith(prefix) and name[len(prefix) :]
    }
