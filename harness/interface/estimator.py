"""A model of scikit-learn, or one with the same methods, as an interface: `harness.estimator`."""

import ast
import copy
import hashlib
import importlib
import inspect
import math
import pickle
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import InterfaceError
from harness.interface.contract import Setup
from harness.interface.python import (
    Caller,
    PythonInterface,
    PythonSession,
    code_of,
    explain,
    read_training,
    source_path,
    source_text,
)
from harness.interface.python_source import ImportedFiles
from harness.model import Question, join_names
from harness.params import Param, ParamType, Value
from harness.tasks import TASKS
from harness.tasks.label import LABEL
from harness.tasks.score import SCORE
from harness.tasks.value import VALUE

# Cases that `predict` gets at once. Many more are hardly quicker, and rows may be large.
BATCH = 256
NONE = "None"


@dataclass(frozen=True, kw_only=True)
class EstimatorInterface(PythonInterface):
    """A model and how to load its rows. Workers share one trained model, for another might have learnt otherwise."""

    to_learn = "give estimator(..., fit=True)"

    load: Callable[[Any], Any] = field(repr=False)
    # What was trained for a run, by its scratch folder.
    trained: dict[Path, Any] = field(default_factory=dict, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def open(self, setup: Setup) -> PythonSession:
        """The model, trained where it learns."""
        if setup.task not in _USES:
            raise InterfaceError(
                f"{setup.test} is a {setup.task} test, which {self.name} cannot answer: an estimator is for "
                f"{join_names(list(_USES))} tests"
            )
        use, call = _USES[setup.task], Caller(self.path, prints_freely=True)
        with self.lock:
            if setup.work not in self.trained:
                self.trained[setup.work] = self._train(setup, use, call)
            model = self.trained[setup.work]
        answering = _Answering(
            model, self.load, use, setup.larger_is_better, lambda: self.trained.pop(setup.work, None)
        )
        return PythonSession(answering, setup.params, call, self.batch)

    def _train(self, setup: Setup, use: "_TaskUse", call: Caller) -> Any:
        model = call("copy the estimator", self.make)
        own = _params_of(model)
        changed = {
            name: _as_before(setup.params[name], own[name])
            for name, param in self.params.items()
            if setup.params[name] != param.default
        }
        if not self.learns:
            if changed:
                name = next(iter(changed))
                raise InterfaceError(
                    f"--param {name}={setup.params[name]}: {self.name} is fitted already and used as it is; "
                    "estimator(..., fit=True) trains it with another value"
                )
            return model
        cases = list(read_training(setup.train))
        if not cases:
            raise InterfaceError(
                f"{setup.test} has no training part for {self.name} to learn from; give an estimator that is fitted"
            )
        taught, targets = use.targets(cases)
        rows = [self._row(case) for case in taught]
        if changed:
            call("set parameters", lambda: model.set_params(**changed))
        call("train", lambda: model.fit(rows) if targets is None else model.fit(rows, targets))
        return model

    def _row(self, case: Question) -> Any:
        try:
            return self.load(case.input)
        except Exception as error:
            raise InterfaceError(f"load: training case {case.id}: {explain(error, self.path)}") from None


def estimator(
    model: Any,
    *,
    load: Callable[[Any], Any],
    fit: bool | None = None,
    name: str | None = None,
    batch: int = BATCH,
) -> EstimatorInterface:
    """An estimator of scikit-learn, or any object with its methods, as the interface of `run`, `sweep` and `tune`.

    >>> harness.run("hdigits", harness.estimator(SVC(), load=lambda path: np.fromfile(path, np.uint8)[-64:]))

    It answers label tests (a classifier), score tests (a classifier gives its score of the claimed class, an outlier
    detector its decision value; the negative of it where a test wants distances) and value tests (a regressor).
    Pipelines and searches such as GridSearchCV are estimators too. It runs in this process, as functions of your
    program do.

    Numbers, texts, truth values and None among its parameters (`get_params`, also those of the steps of a pipeline,
    such as `svc__C`) are parameters of the algorithm: `sweep(..., params={"svc__C": [0.1, 1, 10]})` trains a model for
    each value.

    Args:
        model: Has `fit` and `predict`; for scores also `predict_proba` or `decision_function`. It is never changed: a
            clone of it is trained.
        load: Turns the input of a case, a path or text, into what the model takes as one row: a vector of features, or
            text for a pipeline that begins with a vectoriser.
        fit: Whether it is trained on the training part of the test; by default, if it is not fitted yet.
        name: What the algorithm is to be called, by default as the class of the model.
        batch: How many cases `predict` gets at once.
    """
    what = _checked(model, load, batch)
    fitted = _is_fitted(model)
    if fit is False and not fitted:
        raise InterfaceError(f"estimator(..., fit=False): {what} is not fitted; fit it first, or leave out fit")
    learns = not fitted if fit is None else fit
    package = type(model).__module__.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", "")
    path = source_path(code_of(load))
    libraries = {library for library in (package, "sklearn") if hasattr(sys.modules.get(library), "__version__")}
    return EstimatorInterface(
        name=name or what,
        version=version if isinstance(version, str) else "",
        sha256=_digest(model, load, with_state=not learns),
        params=_declared(model),
        learns=learns,
        imports=ImportedFiles(path, (), tuple(sorted(libraries))),
        path=path,
        batch=batch,
        make=(lambda: _clone(model)) if learns else (lambda: model),
        in_memory=True,
        load=load,
    )


class _Answering:
    """A trained model, which answers many cases at once."""

    def __init__(
        self,
        model: Any,
        load: Callable[[Any], Any],
        use: "_TaskUse",
        larger_is_better: bool,
        forget: Callable[[], Any],
    ) -> None:
        self._model, self._load, self._use, self._larger_is_better = model, load, use, larger_is_better
        self.close = forget

    def answer_batch(self, cases: Sequence[Question], params: Mapping[str, Value]) -> list[Any]:
        answers = self._use.answers(self._model, [self._load(case.input) for case in cases], cases)
        # What a model gives is a similarity.
        return [-answer for answer in answers] if self._use.is_score and not self._larger_is_better else answers


@dataclass(frozen=True)
class _TaskUse:
    """What an estimator learns for a task, and what it answers."""

    # The cases to learn from, and what is true of each; None where nothing is said of any.
    targets: Callable[[Sequence[Question]], tuple[Sequence[Question], list[Any] | None]]
    answers: Callable[[Any, list[Any], Sequence[Question]], list[Any]]
    is_score: bool = False


def _label_targets(cases: Sequence[Question]) -> tuple[Sequence[Question], list[Any]]:
    named = [case for case in cases if case.expect]
    if not named:
        raise InterfaceError("no training case has a label to learn")
    return named, [case.expect for case in named]


def _label_answers(model: Any, rows: list[Any], cases: Sequence[Question]) -> list[Any]:
    labels = [_label(label) for label in _listed(model.predict(rows))]
    table = _class_scores(model, rows)
    if table is None:
        return labels
    return [_label_answer(label, scores) for label, scores in zip(labels, table, strict=True)]


def _label_answer(label: str, scores: Mapping[str, float]) -> Any:
    """All scores, the predicted label first, which decides a tie.

    Some models predict another label than the one with the best score (votes of SVC, thresholds): it has no lead.
    """
    if label in scores and not any(score > scores[label] for score in scores.values()):
        return {label: scores[label], **scores}
    return label, 0.0


def _score_targets(cases: Sequence[Question]) -> tuple[Sequence[Question], list[Any] | None]:
    """True claims teach the classes; without claims, whether a case is positive; an outlier detector needs neither."""
    claims = [case for case in cases if case.expect and case.columns.get("positive", True)]
    if claims:
        return claims, [case.expect for case in claims]
    positive = [_POSITIVE if case.columns.get("positive", True) else _NEGATIVE for case in cases]
    return cases, positive if len(set(positive)) > 1 else None


_POSITIVE, _NEGATIVE = "true", "false"


def _score_answers(model: Any, rows: list[Any], cases: Sequence[Question]) -> list[Any]:
    if not hasattr(model, "classes_"):
        decide = getattr(model, "decision_function", model.predict)
        return [_number(value) for value in _listed(decide(rows))]
    table = _class_scores(model, rows)
    if table is None:
        raise ValueError("the model gives no score for each class: it has no predict_proba or decision_function")
    return [_claim_score(scores, case.expect) for scores, case in zip(table, cases, strict=True)]


def _claim_score(scores: Mapping[str, float], claim: str) -> float:
    if claim:
        if claim not in scores:
            raise ValueError(f"the claim '{claim}' is no class of the model")
        return scores[claim]
    if len(scores) != 2:
        raise ValueError(f"the case claims nothing, and the model has {len(scores)} classes; it takes two")
    # The second of two classes is the positive one, as scikit-learn has it.
    return list(scores.values())[1]


def _value_targets(cases: Sequence[Question]) -> tuple[Sequence[Question], list[Any]]:
    named, texts = _label_targets(cases)
    numbers = []
    for case, text in zip(named, texts, strict=True):
        try:
            numbers.append(float(text))
        except ValueError:
            raise InterfaceError(f"training case {case.id}: '{text:.50}' is not a number") from None
    return named, numbers


def _value_answers(model: Any, rows: list[Any], cases: Sequence[Question]) -> list[Any]:
    return [_number(value) for value in _listed(model.predict(rows))]


_USES = {
    LABEL.name: _TaskUse(_label_targets, _label_answers),
    SCORE.name: _TaskUse(_score_targets, _score_answers, is_score=True),
    VALUE.name: _TaskUse(_value_targets, _value_answers),
}


def _class_scores(model: Any, rows: list[Any]) -> list[dict[str, float]] | None:
    """For each row the score of each class, in the order of the model; None where it does not give one for each."""
    classes = [_label(label) for label in _listed(getattr(model, "classes_", []))]
    for method in ("predict_proba", "decision_function"):
        # Not there if this model cannot do it, such as an SVC without probability=True.
        if not hasattr(model, method):
            continue
        scores = _listed(getattr(model, method)(rows))
        if len(classes) == 2 and not any(isinstance(row, list) for row in scores):
            # One number for two classes: positive is the second.
            scores = [[-value, value] for value in scores]
        if all(isinstance(row, list) and len(row) == len(classes) for row in scores):
            return [dict(zip(classes, row, strict=True)) for row in scores]
    return None


def _listed(array: Any) -> list[Any]:
    """An array as lists of plain values."""
    return list(array.tolist() if hasattr(array, "tolist") else array)


def _label(label: Any) -> str:
    """The class 3 of a model, also where it is 3.0 or numpy's, is the label 3 of a test."""
    label = _plain(label)
    if isinstance(label, (list, tuple)):
        raise ValueError("the model gives several labels for a case; an answer is one")
    return str(int(label) if isinstance(label, float) and label.is_integer() else label)


def _number(value: Any) -> float:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, list):
        raise ValueError(f"the model gives {len(value)} numbers for a case; an answer is one")
    return float(value)


def _checked(model: Any, load: Any, batch: int) -> str:
    """The name of the model's class; an InterfaceError if this cannot be an estimator."""
    if inspect.isclass(model):
        raise InterfaceError(f"estimator({model.__name__}): a class; give an object, {model.__name__}()")
    what = type(model).__name__
    missing = [method for method in ("fit", "predict") if not callable(getattr(model, method, None))]
    if missing:
        raise InterfaceError(f"estimator(...): {what} has no {' and no '.join(missing)}; give an estimator")
    if not callable(load):
        raise InterfaceError(f"estimator(..., load={load!r:.50}): give a function that turns an input into a row")
    if not isinstance(batch, int) or batch < 1:
        raise InterfaceError(f"estimator(..., batch={batch!r:.50}): give a whole number from 1 up")
    return what


def _sklearn(module: str) -> Any:
    """A module of scikit-learn if the caller uses it; the harness does not need it."""
    return importlib.import_module(f"sklearn.{module}") if sys.modules.get("sklearn") else None


def _is_fitted(model: Any) -> bool:
    validation = _sklearn("utils.validation")
    if validation is not None:
        try:
            validation.check_is_fitted(model)
        except (TypeError, AttributeError):  # not one of its own
            pass
        except _sklearn("exceptions").NotFittedError:
            return False
        else:
            return True
    if callable(says := getattr(model, "__sklearn_is_fitted__", None)):
        return bool(says())
    return any(name.endswith("_") and not name.startswith("__") for name in vars(model))


def _clone(model: Any) -> Any:
    base = _sklearn("base")
    if base is not None and hasattr(model, "get_params"):
        return base.clone(model)
    return copy.deepcopy(model)


def _params_of(model: Any) -> dict[str, Any]:
    params = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    return {name: _plain(value) for name, value in params.items()}


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _declared(model: Any) -> dict[str, Param]:
    """What can be set: numbers, texts, truth values and None, except names that decide on answers."""
    taken = {name for task in TASKS.values() for name in task.decisions}
    declared = {}
    for name, value in _params_of(model).items():
        if name in taken or not name.isidentifier():
            continue
        if value is None:
            declared[name] = Param(name, ParamType.STRING, NONE)
        elif isinstance(value, (bool, str)):
            declared[name] = Param(name, ParamType.of(value), value)
        elif isinstance(value, (int, float)) and math.isfinite(value):
            # Also for a whole number, which may stand for any: SVC(C=1).
            declared[name] = Param(name, ParamType.FLOAT, value)
    return declared


def _as_before(value: Value, own: object) -> Any:
    """A value as a model takes it where it has `own`: a whole number, None, or a number instead of text (gamma)."""
    if isinstance(value, float) and isinstance(own, int) and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        return value
    try:
        meant = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
    return meant if meant is None or isinstance(meant, (bool, int, float)) else value


def _digest(model: Any, load: Callable[[Any], Any], *, with_state: bool) -> str:
    """Of the class, the parameters, and how rows are loaded; of a fitted model also of what it has learnt."""
    params = [f"{name}={own!r}" for name, own in sorted(_params_of(model).items())]
    # An address in memory is another one in each process.
    described = re.sub(" at 0x[0-9a-f]+", "", "\0".join([f"{type(model)}", *params]))
    digest = hashlib.sha256("\0".join([described, source_text(type(model)), source_text(code_of(load))]).encode())
    if with_state:
        try:
            digest.update(pickle.dumps(model))
        except Exception:  # of any of its parts
            return ""
    return digest.hexdigest()
