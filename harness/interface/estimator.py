"""A model of scikit-learn, or one with the same methods, as an interface: `harness.estimator`."""

import copy
import hashlib
import importlib
import inspect
import math
import pickle
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from harness.interface.wire import NotPlainError
from harness.model import Case, Question, join_names
from harness.params import FreeParam, Param, ParamType, Value, is_number
from harness.tasks import TASKS
from harness.tasks.label import LABEL
from harness.tasks.score import SCORE
from harness.tasks.value import VALUE

if TYPE_CHECKING:
    from harness.tasks.rank import Gallery

# Cases that `predict` gets at once. Many more are hardly quicker, and rows may be large.
BATCH = 256
# Training rows on which decision values are compared with predictions.
SAMPLE = 256
# How far the cases of a test are read for labels that a model knows.
MAX_CASES = 10_000


@dataclass(frozen=True, kw_only=True, repr=False)
class EstimatorInterface(PythonInterface):
    """A model and how to load its rows. Workers share one trained model, for another might have learnt otherwise."""

    to_learn = "give estimator(..., fit=True)"

    model: Any
    load: Callable[[Any], Any]
    # Claims or labels of the test that the model does not know, where that makes its answers worthless.
    unknown: Sequence[str] = ()
    # What was trained for a run, by its scratch folder.
    trained: "dict[Path, _Trained]" = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __repr__(self) -> str:
        return f"<estimator {' '.join(filter(None, (self.name, self.version)))}>"

    def answering(self, cases: Iterable[Case], gallery: "Gallery | None") -> "EstimatorInterface":
        """The same model, with what it does not know of these cases; the first of many cases will do."""
        classes = set() if self.learns else set(_classes_of(self.model))
        if not classes and _kind(self.model) == "classifier":
            return self
        seen = set[str]()
        for number, case in enumerate(cases):
            seen |= {case.expect, case.truth} - {""} if classes else {case.expect} - {""}
            if number > MAX_CASES or (classes & seen if classes else len(seen) > 1):
                break
        worthless = number <= MAX_CASES and not classes & seen if classes else len(seen) > 1
        return replace(self, unknown=tuple(sorted(seen)) if worthless else ())

    def open(self, setup: Setup) -> PythonSession:
        """The model, trained where it learns."""
        self._check(setup)
        use, call = _USES[setup.task], Caller(self.path, prints_freely=True)
        with self.lock:
            if setup.work not in self.trained:
                trained = self._train(setup, use, call)
                self._check_learnt(setup, use, trained)
                self.trained[setup.work] = trained
            trained = self.trained[setup.work]
        forget = partial(self.trained.pop, setup.work, None)
        answering = _Answering(trained, self.load, use, setup.larger_is_better, forget)
        return PythonSession(answering, setup.params, call, self.batch)

    def _train(self, setup: Setup, use: "_TaskUse", call: Caller) -> "_Trained":
        model = call("copy the estimator", self.make)
        changed = {
            name: setup.params[name]
            for name, param in self.params.items()
            if not param.same(setup.params[name], param.default)
        }
        if not self.learns:
            if changed:
                name = next(iter(changed))
                raise InterfaceError(
                    f"--param {name}={setup.params[name]}: {self.name} is fitted already and used as it is; "
                    "estimator(..., fit=True) trains it with another value"
                )
            return _trained(model)
        cases = list(read_training(setup.train))
        if not cases:
            raise InterfaceError(
                f"{setup.test} has no training part for {self.name} to learn from; give an estimator that is fitted"
            )
        taught, targets = use.targets(cases)
        rows = []
        for case in taught:
            try:
                rows.append(self.load(case.input))
            except Exception as error:
                raise InterfaceError(f"load: training case {case.id}: {explain(error, self.path)}") from None
        if changed:
            call("set parameters", lambda: model.set_params(**changed))
        call("train", lambda: model.fit(rows) if targets is None else model.fit(rows, targets))
        trained: _Trained = call("compare decision values with predictions", lambda: _trained(model, rows))
        return trained

    def _check(self, setup: Setup) -> None:
        """Raise an InterfaceError if what this kind of model gives is no answer to the test."""
        if setup.task not in _USES:
            raise InterfaceError(
                f"{setup.test} is a {setup.task} test, which {self.name} cannot answer: an estimator is for "
                f"{join_names(list(_USES))} tests"
            )
        use, kind = _USES[setup.task], _kind(self.model)
        # What a regressor learnt elsewhere may be a score; here, there are classes to learn.
        if kind is None or kind in use.kinds or (use.is_score and kind == "regressor" and not self.learns):
            return
        a_kind = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind.replace('_', ' ')}"
        raise InterfaceError(
            f"{setup.test} is a {setup.task} test, which {self.name} cannot answer: it is {a_kind}; give {use.wanted}"
        )

    def _check_learnt(self, setup: Setup, use: "_TaskUse", trained: "_Trained") -> None:
        """Raise an InterfaceError if what the model learnt, or did not, is no answer to the test."""
        if use.is_score and trained.classes and not trained.methods:
            raise InterfaceError(f"{setup.test} is a score test, which {self.name} cannot answer: {_NO_CLASS_SCORES}")
        shown = f"'{self.unknown[0]:.50}'" if self.unknown else ""
        if shown and trained.classes and not self.learns and setup.task != VALUE.name:
            raise InterfaceError(
                f"{setup.test} has other labels, such as {shown}, than {self.name} has classes, such as "
                f"'{trained.classes[0]:.50}'; fit it with the labels of the test, or give estimator(..., fit=True)"
            )
        if shown and use.is_score and not trained.classes:
            raise InterfaceError(
                f"{setup.test} has several claims, such as {shown} and '{self.unknown[1]:.50}', of which {self.name} "
                "knows none: it has no classes; give a classifier"
            )


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

    It answers label tests (a classifier), score tests (a classifier gives its score of the claimed class or, where
    cases claim nothing, of the second of its two classes, which scikit-learn takes as the positive one; an outlier
    detector its decision value; the negative of it where a test wants distances) and value tests (a regressor).
    Pipelines and searches such as GridSearchCV are estimators too. It runs in this process, as functions of your
    program do.

    Numbers, texts, truth values and None among its parameters (`get_params`, also those of the steps of a pipeline,
    such as `svc__C`) are parameters of the algorithm: `sweep(..., params={"svc__C": [0.1, 1, 10]})` trains a model for
    each value. 1 is a whole number and 1.0 is not, in a text too.

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
        model=model,
        load=load,
    )


@dataclass(frozen=True)
class _Trained:
    """A model that can answer, its classes as labels of a test, and what gives a score for each of them."""

    model: Any
    classes: Sequence[str]
    methods: Sequence[str]

    def call(self, method: str, rows: list[Any]) -> list[Any]:
        """What a method of the model gives for each row."""
        values = _listed(getattr(self.model, method)(rows))
        if len(values) != len(rows):
            cases = "1 case" if len(rows) == 1 else f"{len(rows):,} cases"
            raise NotPlainError(f"{method} returned {len(values):,} answers for {cases}")
        return values

    def labels(self, rows: list[Any]) -> list[str]:
        return [_label(label) for label in self.call("predict", rows)]

    def class_scores(self, rows: list[Any]) -> list[dict[str, float]] | None:
        """For each row the score of each class, in the order of the model; None where it does not give one for each."""
        for method in self.methods:
            scores = self.call(method, rows)
            if len(self.classes) == 2 and not any(isinstance(row, list) for row in scores):
                # One number for two classes: positive is the second.
                scores = [[-value, value] for value in scores]
            if all(isinstance(row, list) and len(row) == len(self.classes) for row in scores):
                return [dict(zip(self.classes, row, strict=True)) for row in scores]
        return None


def _trained(model: Any, rows: Sequence[Any] = ()) -> _Trained:
    """A model that can answer, and rows that it was trained on, if they are known."""
    classes = _classes_of(model)
    # Not there if this model cannot do it, such as an SVC without probability=True.
    methods = [method for method in ("predict_proba", "decision_function") if hasattr(model, method)]
    if "decision_function" in methods and len(classes) > 2 and _is_of_pairs(model, classes, rows):
        methods.remove("decision_function")
    return _Trained(model, classes, methods)


def _is_of_pairs(model: Any, classes: Sequence[str], rows: Sequence[Any]) -> bool:
    """Whether decision values are not those of classes, but of pairs of them: three classes have three of either.

    The parameter of SVC says so; of any other model, that on most rows the best class is not the one it predicts.
    """
    # What a search has chosen may have other parameters than what it was given.
    params = _params_of(getattr(model, "best_estimator_", model))
    if any(name.rpartition("__")[2] == "decision_function_shape" and own == "ovo" for name, own in params.items()):
        return True
    sample = list(rows[:: -(-len(rows) // SAMPLE) or 1])
    trained = _Trained(model, classes, ["decision_function"])
    scores = trained.class_scores(sample) if sample else None
    if scores is None:
        return False
    agreed = [table[label] == max(table.values()) for table, label in zip(scores, trained.labels(sample), strict=True)]
    return sum(agreed) < len(agreed) / 2


@dataclass(frozen=True)
class _Answering:
    """A trained model, which answers many cases at once."""

    trained: _Trained
    load: Callable[[Any], Any]
    use: "_TaskUse"
    larger_is_better: bool
    close: Callable[[], Any]

    def answer_batch(self, cases: Sequence[Question], params: Mapping[str, Value]) -> list[Any]:
        answers = self.use.answers(self.trained, [self.load(case.input) for case in cases], cases)
        # What a model gives is a similarity.
        return [-answer for answer in answers] if self.use.is_score and not self.larger_is_better else answers


@dataclass(frozen=True)
class _TaskUse:
    """What an estimator learns for a task, and what it answers."""

    # The cases to learn from, and what is true of each; None where nothing is said of any.
    targets: Callable[[Sequence[Question]], tuple[Sequence[Question], list[Any] | None]]
    answers: Callable[[_Trained, list[Any], Sequence[Question]], list[Any]]
    # The kinds of models of scikit-learn that can answer, and in words what to give.
    kinds: frozenset[str]
    wanted: str
    is_score: bool = False


def _label_targets(cases: Sequence[Question]) -> tuple[Sequence[Question], list[Any]]:
    named = [case for case in cases if case.expect]
    if not named:
        raise InterfaceError("no training case has a label to learn")
    return named, [case.expect for case in named]


def _label_answers(trained: _Trained, rows: list[Any], cases: Sequence[Question]) -> list[Any]:
    labels = trained.labels(rows)
    table = trained.class_scores(rows)
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
    positive = ["true" if case.columns.get("positive", True) else "false" for case in cases]
    return cases, positive if len(set(positive)) > 1 else None


_NO_CLASS_SCORES = (
    "the model gives no score for each class: it has no predict_proba, and no decision_function of classes rather than "
    "of pairs of them, as SVC has with decision_function_shape='ovr'"
)


def _score_answers(trained: _Trained, rows: list[Any], cases: Sequence[Question]) -> list[Any]:
    if not trained.classes:
        # predict of an outlier detector is 1 or -1, of a mixture the number of a component.
        methods = ("decision_function", "score_samples", "predict")
        method = next(method for method in methods if hasattr(trained.model, method))
        return [_number(value, method) for value in trained.call(method, rows)]
    table = trained.class_scores(rows)
    if table is None:
        raise ValueError(_NO_CLASS_SCORES)
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


def _value_answers(trained: _Trained, rows: list[Any], cases: Sequence[Question]) -> list[Any]:
    return [_number(value, "predict") for value in trained.call("predict", rows)]


_USES = {
    LABEL.name: _TaskUse(_label_targets, _label_answers, frozenset({"classifier"}), "a classifier"),
    SCORE.name: _TaskUse(
        _score_targets,
        _score_answers,
        frozenset({"classifier", "outlier_detector", "density_estimator"}),
        "a classifier, whose answer is its score of the claimed class, or an outlier detector",
        is_score=True,
    ),
    # Classes that are numbers are values too.
    VALUE.name: _TaskUse(_value_targets, _value_answers, frozenset({"regressor", "classifier"}), "a regressor"),
}


def _kind(model: Any) -> str | None:
    """What a model says that it is, as scikit-learn has it: classifier, regressor, clusterer; None if it does not."""
    tags = getattr(model, "__sklearn_tags__", None)
    try:
        kind = tags().estimator_type if callable(tags) else getattr(model, "_estimator_type", None)
    except Exception:  # tags of its own that are not as scikit-learn has them
        return None
    return kind if isinstance(kind, str) else None


def _classes_of(model: Any) -> list[str]:
    """The classes of a model as labels; none if it has none, is not fitted, or has several lists of them."""
    classes = _listed(getattr(model, "classes_", []))
    return [] if any(getattr(label, "ndim", 0) for label in classes) else list(map(_label, classes))


def _listed(array: Any) -> list[Any]:
    """An array or a table as lists of plain values."""
    array = array.to_numpy() if hasattr(array, "to_numpy") else array
    return list(array.tolist() if hasattr(array, "tolist") else array)


def _label(label: Any) -> str:
    """The class 3 of a model, also where it is 3.0 or numpy's, is the label 3 of a test."""
    label = _single(label)
    if isinstance(label, (list, tuple)):
        raise ValueError("the model gives several labels for a case; an answer is one")
    return str(int(label) if isinstance(label, float) and label.is_integer() else label)


def _number(value: Any, method: str) -> float:
    value = _single(value)
    if isinstance(value, list):
        raise ValueError(f"the model gives {len(value)} numbers for a case; an answer is one")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{method} gives {value!r:.50}, which is no number") from None


def _single(value: Any) -> Any:
    """Some models give a column where others give a row."""
    value = _plain(value)
    return value[0] if isinstance(value, list) and len(value) == 1 else value


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
    return base.clone(model) if base is not None and hasattr(model, "get_params") else copy.deepcopy(model)


def _params_of(model: Any) -> dict[str, Any]:
    params = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    return {name: _plain(value) for name, value in params.items()}


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _declared(model: Any) -> dict[str, Param]:
    """What can be set: numbers, texts, truth values and None, except names that decide on answers."""
    taken = {name for task in TASKS.values() for name in task.decisions}
    declared: dict[str, Param] = {}
    for name, value in _params_of(model).items():
        if name in taken or not name.isidentifier():
            continue
        if value is None or isinstance(value, (bool, str)) or (is_number(value) and math.isfinite(value)):
            declared[name] = FreeParam(name, ParamType.of(value), value)
    return declared


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
