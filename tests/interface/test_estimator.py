"""Estimators: the answers are those of scikit-learn, trained by itself on the same rows; mistakes are one line each."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import IsolationForest, VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, RidgeClassifier
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import harness
from harness.errors import HateError, InterfaceError, UsageError
from harness.script.cases import CaseSet
from tests.interface.estimators import SCORES, number, pixels, with_values
from tests.workshop import WAIT, Workshop

COUNTS = ("TP", "TN", "FP", "FN", "ER")


MODELS: dict[str, Callable[[], Any]] = {
    "probabilities": GaussianNB,
    "probabilities with ties": lambda: KNeighborsClassifier(4),
    "zeros and ones": lambda: DecisionTreeClassifier(random_state=0),
    "decision values": lambda: RidgeClassifier(),
    "votes that need not agree with decision values": lambda: SVC(gamma=0.01),
    "decision values of pairs": lambda: SVC(decision_function_shape="ovo"),
    "no scores": lambda: VotingClassifier([("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(random_state=0))]),
    "pipeline": lambda: make_pipeline(StandardScaler(), SVC(C=10)),
    "search": lambda: GridSearchCV(Perceptron(random_state=0), {"eta0": [0.1, 1.0]}, cv=3),
}


@pytest.mark.sampled(15)
@pytest.mark.parametrize("kind", MODELS)
def test_predictions_and_accuracy_are_those_of_scikit_learn(
    kind: str, digits: CaseSet, taught: tuple[Any, Any], asked: tuple[list[str], Any, Any], shop: Workshop
) -> None:
    ids, rows, labels = asked
    own = MODELS[kind]().fit(*taught)
    model = MODELS[kind]()
    run = harness.run(digits, harness.estimator(model, load=pixels))
    answers = {record.id: record.actual for record in harness.read(run)}
    assert [answers[name] for name in ids] == own.predict(rows).tolist()
    assert run.counts.TP / len(ids) == own.score(rows, labels)
    assert not [name for name in vars(model) if name.endswith("_")]  # it was not trained itself


def test_the_score_is_the_lead_of_the_best_class(
    digits: CaseSet, taught: tuple[Any, Any], asked: tuple[list[str], Any, Any], shop: Workshop
) -> None:
    ids, rows, _ = asked
    table = np.sort(LogisticRegression(max_iter=5000).fit(*taught).predict_proba(rows), axis=1)
    run = harness.run(digits, harness.estimator(LogisticRegression(max_iter=5000), load=pixels))
    scores = {record.id: record.score for record in harness.read(run)}
    assert [scores[name] for name in ids] == pytest.approx(list(table[:, -1] - table[:, -2]))


def test_two_classes_have_one_decision_value(shop: Workshop) -> None:
    with_words(shop)
    model = make_pipeline(CountVectorizer(), RidgeClassifier())
    run = harness.run("toy", harness.estimator(model, load=str))
    texts, labels = zip(*WORDS, strict=True)
    values = model.fit(texts, labels).decision_function(["good day", "bad night"])
    records = list(harness.read(run))
    assert [record.actual for record in records] == ["praise", "blame"]
    # One class has the value, the other its negative.
    assert [record.score for record in records] == pytest.approx(list(2 * abs(values)))


WORDS = [("a good day", "praise"), ("good good", "praise"), ("a bad day", "blame"), ("so bad", "blame")]


def with_words(shop: Workshop, rows: str = "id,input,expect\n1,good day,praise\n2,bad night,blame\n") -> None:
    shop.write("toy/train.csv", "input,expect\n" + "".join(f"{text},{label}\n" for text, label in WORDS))
    shop.script(rows=rows, sections='[train]\ntable = "train.csv"')


@pytest.mark.slow
def test_a_fitted_estimator_is_used_as_it_is(
    digits: CaseSet, taught: tuple[Any, Any], asked: tuple[list[str], Any, Any], shop: Workshop
) -> None:
    """Also one whose classes are numbers: 3, or 3.0, is the label 3."""
    ids, rows, labels = asked
    for kind in (int, float):
        # Of a part, so that training it again would be noticed.
        fitted = GaussianNB().fit(taught[0][:200], taught[1][:200].astype(kind))
        run = harness.run(digits, harness.estimator(fitted, load=pixels), name=kind.__name__)
        answers = {record.id: record.actual for record in harness.read(run)}
        assert [answers[name] for name in ids] == [str(int(label)) for label in fitted.predict(rows)]
        assert run.counts.TP / len(ids) == fitted.score(rows, labels.astype(kind))
    again = harness.run(digits, harness.estimator(fitted, load=pixels, fit=True), name="again")
    assert round(GaussianNB().fit(*taught).score(rows, labels) * len(ids)) == again.counts.TP
    assert fitted.class_count_.sum() == 200


def test_classes_that_are_no_label_are_refused(digits: CaseSet, taught: tuple[Any, Any], shop: Workshop) -> None:
    """With some labels of the test among them, they are not."""
    fitted = GaussianNB().fit(taught[0], [f"digit {label}" for label in taught[1]])
    with pytest.raises(InterfaceError) as caught:
        harness.run(digits, harness.estimator(fitted, load=pixels))
    assert str(caught.value) == (
        "hdigits has other labels, such as '0', than GaussianNB has classes, such as 'digit 0'; fit it with the labels "
        "of the test, or give estimator(..., fit=True)"
    )
    some = GaussianNB().fit(taught[0], np.where(taught[1] < "5", taught[1], "large"))
    remarks = harness.run(digits, harness.estimator(some, load=pixels)).remarks
    assert any("answers are no label of the test, such as 'large'" in remark for remark in remarks)


@pytest.mark.slow
def test_limits_repeats_jobs_and_batches_change_no_answer(digits: CaseSet, shop: Workshop) -> None:
    """Workers share one model: what is drawn at random in training would differ between them."""
    whole = harness.run(digits, harness.estimator(GaussianNB(), load=pixels))
    answers = [record.actual for record in harness.read(whole)]
    one_by_one = harness.run(digits, harness.estimator(GaussianNB(), load=pixels, batch=1))
    assert [record.actual for record in harness.read(one_by_one)] == answers
    part = harness.run(digits, harness.estimator(GaussianNB(), load=pixels), limit=100, repeat=2)
    assert [record.actual for record in harness.read(part)] == [answer for answer in answers[:100] for _ in range(2)]
    random = DecisionTreeClassifier(max_features=1, splitter="random")
    several = harness.run(digits, harness.estimator(random, load=pixels, batch=8), jobs=4, repeat=2)
    by_case: dict[str, set[Any]] = {}
    for record in harness.read(several):
        by_case.setdefault(record.id, set()).add(record.actual)
    assert all(len(found) == 1 for found in by_case.values())


def test_each_run_of_a_random_estimator_is_trained_anew(digits: CaseSet, shop: Workshop) -> None:
    random = harness.estimator(DecisionTreeClassifier(max_features=1, splitter="random"), load=pixels)
    first, second = (harness.run(digits, random) for _ in range(2))
    assert [record.actual for record in harness.read(first)] != [record.actual for record in harness.read(second)]
    assert random.trained == {}


def test_training_folds(digits: CaseSet, shop: Workshop) -> None:
    interface = harness.estimator(GaussianNB(), load=pixels)
    folds = harness.run_train_folds(digits, interface, train_folds=3, output=Path("folds.jsonl"))
    assert len({run.counts for run in folds.runs}) > 1
    fitted = harness.estimator(GaussianNB().fit([[0.0] * 64, [1.0] * 64], ["0", "1"]), load=pixels)
    with pytest.raises(UsageError, match=r"does not learn.*; give estimator\(\.\.\., fit=True\), or leave"):
        harness.run_train_folds(digits, fitted, train_folds=3)


def test_the_header_names_class_version_and_parameters(digits: CaseSet, shop: Workshop) -> None:
    import sklearn

    interface = harness.estimator(SVC(C=10, gamma=0.01), load=pixels)
    run = harness.run(digits, interface, limit=5)
    header = harness.read(run).header
    assert (header.algorithm.name, header.algorithm.version) == ("SVC", sklearn.__version__)
    assert header.versions["sklearn"] == sklearn.__version__  # type: ignore[index]
    assert {"C": 10, "gamma": 0.01, "kernel": "rbf", "class_weight": None}.items() <= header.params.items()
    assert run.path == Path("transcripts/hdigits/SVC.jsonl")
    assert repr(interface) == f"<estimator SVC {sklearn.__version__}>"
    named = harness.estimator(SVC(), load=pixels, name="mine")
    assert harness.read(harness.run(digits, named, limit=5)).name == "mine"


def test_the_digest_is_of_parameters_rows_and_what_was_learnt(taught: tuple[Any, Any]) -> None:
    def digest(model: Any, load: Any = pixels) -> str:
        return harness.estimator(model, load=load).sha256

    assert digest(SVC()) == digest(SVC())
    assert digest(SVC(C=2)) != digest(SVC())
    assert digest(SVC(), load=str) != digest(SVC())
    assert digest(SVC(kernel=rbf)) == digest(SVC(kernel=rbf))
    rows, labels = taught
    fitted = digest(GaussianNB().fit(rows, labels))
    assert fitted == digest(GaussianNB().fit(rows, labels))
    assert fitted != digest(GaussianNB().fit(rows[:500], labels[:500]))
    # Nothing is known of what cannot be written down.
    assert digest(make_pipeline(StandardScaler(), SVC(kernel=lambda a, b: a @ b.T)).fit(rows, labels)) == ""


def rbf(a: Any, b: Any) -> Any:
    return a @ b.T


def test_a_value_test_is_for_regressors(shop: Workshop) -> None:
    with_values(shop)
    run = harness.run("toy", harness.estimator(LinearRegression(), load=lambda text: [float(text)]))
    assert [record.actual for record in harness.read(run)] == pytest.approx([21.0, 23.0])
    assert (run.counts.TP, run.counts.FN) == (1, 1)


def test_a_score_test_asks_for_the_claimed_class(shop: Workshop) -> None:
    """False claims teach nothing."""
    train = [(0, "ann", True), (1, "ann", True), (8, "bob", True), (9, "bob", True), (9, "ann", False)]
    shop.write("toy/train.csv", "input,expect,positive\n" + "".join(f"{n},{who},{yes}\n" for n, who, yes in train))
    cases = "id,input,expect,positive\n1,0,ann,true\n2,0,bob,false\n3,7,bob,true\n4,7,cid,false\n"
    shop.script(task="score", sections=SCORES, rows=cases)
    run = harness.run("toy", harness.estimator(GaussianNB(), load=number))
    model = GaussianNB().fit([[0], [1], [8], [9]], ["ann", "ann", "bob", "bob"])
    [[ann, bob], [_, bob_of_7]] = model.predict_proba([[0], [7]])
    records = list(harness.read(run))
    assert [record.score for record in records[:3]] == pytest.approx([ann, bob, bob_of_7])
    assert records[3].message == "ValueError: the claim 'cid' is no class of the model"


def test_a_score_test_without_claims_is_for_detectors(shop: Workshop) -> None:
    rows = "".join(f"{n},{'true' if n > 4 else 'false'}\n" for n in range(10))
    shop.write("toy/train.csv", f"input,positive\n{rows}")
    shop.script(task="score", sections=SCORES, rows="id,input,positive\n1,0,false\n2,9,true\n")
    run = harness.run("toy", harness.estimator(LogisticRegression(), load=number))
    model = LogisticRegression().fit([[n] for n in range(10)], [n > 4 for n in range(10)])
    assert [record.score for record in harness.read(run)] == pytest.approx(model.predict_proba([[0], [9]])[:, 1])
    assert (run.counts.TP, run.counts.TN) == (1, 1)
    shop.write("toy/train.csv", "input\n" + "".join(f"{n}\n" for n in range(10)))
    run = harness.run("toy", harness.estimator(IsolationForest(random_state=0), load=number))
    forest = IsolationForest(random_state=0).fit([[n] for n in range(10)])
    assert [record.score for record in harness.read(run)] == pytest.approx(forest.decision_function([[0], [9]]))
    # predict of a mixture is the number of a component, of a regressor that has learnt truths a score.
    mixture, line = GaussianMixture(2, random_state=0), LinearRegression().fit([[0], [9]], [0, 1])
    run = harness.run("toy", harness.estimator(mixture, load=number))
    expected = mixture.fit([[float(n)] for n in range(10)]).score_samples([[0.0], [9.0]])
    assert [record.score for record in harness.read(run)] == pytest.approx(expected)
    run = harness.run("toy", harness.estimator(line, load=number))
    assert [record.score for record in harness.read(run)] == pytest.approx([0, 1])


def test_where_smaller_is_better_the_score_is_a_distance(shop: Workshop) -> None:
    rows = "".join(f"{n},{'true' if n > 4 else 'false'}\n" for n in range(10))
    shop.write("toy/train.csv", f"input,positive\n{rows}")
    cases = "id,input,positive\n1,0,false\n2,9,true\n"
    scores = {}
    for larger in ("true", "false"):
        sections = SCORES.replace("0.5", "0.5" if larger == "true" else "-0.5")
        shop.script(task="score", keys=f"larger_is_better = {larger}", sections=sections, rows=cases)
        run = harness.run("toy", harness.estimator(LogisticRegression(), load=number))
        assert (run.counts.TP, run.counts.TN) == (1, 1)
        scores[larger] = [record.score or 0.0 for record in harness.read(run)]
    assert scores["false"] == [-score for score in scores["true"]]


class NotOfSklearn:
    """Any object with the methods will do."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def fit(self, rows: Any, labels: Any) -> None:
        self.known_ = dict(zip(rows, labels, strict=True))

    def predict(self, rows: Any) -> list[Any]:
        return [self.known_.get(row, "?") for row in rows]


def test_the_methods_are_enough(shop: Workshop) -> None:
    with_words(shop, "id,input,expect\n1,so bad,blame\n2,so good,praise\n")
    model = NotOfSklearn()
    interface = harness.estimator(model, load=str)
    assert [record.actual for record in harness.read(harness.run("toy", interface))] == ["blame", "?"]
    assert not hasattr(model, "known_")
    assert (interface.version, interface.params, interface.name) == ("", {}, "NotOfSklearn")
    assert repr(interface) == "<estimator NotOfSklearn>"
    model.predict = lambda rows: []  # type: ignore[method-assign]
    [message, _] = [record.message for record in harness.read(harness.run("toy", harness.estimator(model, load=str)))]
    assert message == "predict returned 0 answers for 1 case"


def test_scikit_learn_is_not_needed(shop: Workshop) -> None:
    with_words(shop)
    program = """
import sys
sys.modules["sklearn"] = None  # importing it fails
import harness
class Model:
    def fit(self, rows, labels):
        self.known_ = set(labels)
    def predict(self, rows):
        return ["praise" if "good" in row else "blame" for row in rows]
print(harness.run("toy", harness.estimator(Model(), load=str)).counts.TP)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=shop.folder, env=shop.env, capture_output=True, text=True, timeout=WAIT
    )
    assert done.stdout == "2\n", done.stderr


class Unruly(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Predicts as it is told."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def fit(self, rows: Any, labels: Any) -> "Unruly":
        self.classes_ = np.unique(labels)
        return self

    def predict(self, rows: Any) -> Any:
        return np.array([self.answer for _ in rows])


def test_a_threshold_of_the_model_decides_before_that_of_the_test(digits: CaseSet, shop: Workshop) -> None:
    """A label that has not the best score has no lead; a name that decisions have already cannot be swept."""
    with_words(shop)
    model = FixedThresholdClassifier(make_pipeline(CountVectorizer(), LogisticRegression()), threshold=0.999)
    interface = harness.estimator(model, load=str)
    assert "threshold" not in interface.params
    records = list(harness.read(harness.run("toy", interface)))
    assert [record.actual for record in records] == ["blame", "blame"]
    assert records[0].score == 0
    assert isinstance(records[1].score, float)
    assert records[1].score > 0


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "a class": (lambda: harness.estimator(SVC, load=str), "estimator(SVC): a class; give an object, SVC()"),
    "no estimator": (lambda: harness.estimator("SVC", load=str), "str has no fit and no predict; give an estimator"),
    "a transformer": (lambda: harness.estimator(StandardScaler(), load=str), "StandardScaler has no predict"),
    "load": (lambda: harness.estimator(SVC(), load=3), "load=3): give a function that turns an input into a row"),  # type: ignore[arg-type]
    "batch": (lambda: harness.estimator(SVC(), load=str, batch=0), "batch=0): give a whole number from 1 up"),
    "not fitted": (lambda: harness.estimator(SVC(), load=str, fit=False), "SVC is not fitted; fit it first"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_the_call(mistake: str) -> None:
    call, text = MISTAKES[mistake]
    with pytest.raises(InterfaceError) as caught:
        call()
    assert text in str(caught.value)


def test_a_keyword_that_does_not_exist_has_a_suggestion() -> None:
    """Also of functions that take no options of a command."""
    with pytest.raises(TypeError, match="there is no option 'lod'; did you mean 'load'"):
        harness.estimator(SVC(), lod=str)  # type: ignore[call-arg]


def broken(path: str) -> Any:
    raise OSError(f"cannot read\n{Path(path).name}")


def uneven(path: str) -> Any:
    return pixels(path)[: 60 + int(Path(path).stem) % 3]


def gappy(path: str) -> Any:
    return np.where(pixels(path) > 15, np.nan, pixels(path))


TRAINING: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "load raises": (SVC(), broken, {}, "load: training case 0001: OSError: cannot read 0001.pgm (test_estimator.py:"),
    "uneven rows": (SVC(), uneven, {}, "cannot train: ValueError: setting an array element with a sequence"),
    "too many dimensions": (SVC(), lambda path: [[pixels(path)]], {}, "cannot train: ValueError: Found array with dim"),
    "missing numbers": (SVC(), gappy, {}, "cannot train: ValueError: Input X contains NaN"),
    "a wrong value": (SVC(), pixels, {"params": {"C": -1}}, "cannot train: InvalidParameterError: The 'C' parameter"),
    "no parameter": (SVC(), pixels, {"params": {"gama": 1}}, "no parameter 'gama'; did you mean 'gamma'?"),
    "no number": (SVC(), pixels, {"params": {"C": "much"}}, "The 'C' parameter of SVC must be a float in the range"),
    "not finite": (SVC(), pixels, {"params": {"C": np.inf}}, "params={'C': 'inf'}: 'inf' is not a finite number"),
    "an object": (SVC(), pixels, {"params": {"gamma": {"a": 1}}}, "params: gamma: {'a': 1} is no number, text, truth"),
    "a time limit": (SVC(), pixels, {"timeout": 1}, "SVC runs in this process and cannot be stopped"),
    "isolation": (SVC(), pixels, {"isolate": True}, "isolate: SVC is an object of this program"),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("mistake", TRAINING)
def test_mistakes_in_training_are_one_line_and_leave_no_transcript(
    mistake: str, digits: CaseSet, shop: Workshop
) -> None:
    model, load, options, text = TRAINING[mistake]
    with pytest.raises(HateError) as caught:
        harness.run(digits, harness.estimator(model, load=load), **options)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (shop.folder / "transcripts").exists()


def test_nothing_to_learn_from(shop: Workshop) -> None:
    shop.script()
    for fit in (None, True):
        with pytest.raises(InterfaceError, match="toy has no training part for SVC to learn from; give an"):
            harness.run("toy", harness.estimator(SVC(), load=str, fit=fit))
    shop.write("toy/train.csv", "input\nx0\n")
    shop.script(sections='[train]\ntable = "train.csv"')
    with pytest.raises(InterfaceError, match="no training case has a label to learn"):
        harness.run("toy", harness.estimator(SVC(), load=str))


def test_a_value_test_teaches_numbers(shop: Workshop) -> None:
    shop.write("toy/train.csv", "id,input,expect\na,1,2\nb,2,many\n")
    sections = '[train]\ntable = "train.csv"'
    shop.script(task="value", keys="tolerance = {absolute = 1}", sections=sections, rows="id,input,expect\n1,1,2\n")
    with pytest.raises(HateError, match="many"):
        harness.run("toy", harness.estimator(LinearRegression(), load=number))


def test_other_tasks_are_refused() -> None:
    for name, task in (("vase", "mask"), ("faces", "rank"), ("shapes", "boxes")):
        with pytest.raises(InterfaceError) as caught:
            harness.run(name, harness.estimator(SVC(), load=str))
        assert str(caught.value) == (
            f"{name} is a {task} test, which SVC cannot answer: an estimator is for label, score and value tests"
        )


def test_a_case_that_cannot_be_loaded_or_predicted_costs_itself(
    digits: CaseSet, taught: tuple[Any, Any], shop: Workshop
) -> None:
    fitted = GaussianNB().fit(*taught)

    def some(path: str) -> Any:
        number = int(Path(path).stem)
        if number == 2:
            raise OSError("gone")
        return pixels(path)[:63] if number == 3 else gappy(path) if number == 4 else pixels(path)

    run = harness.run(digits, harness.estimator(fitted, load=some), limit=10)
    records = list(harness.read(run))
    assert [record.id for record in records if record.error] == [f"000{n}{claim}" for n in (2, 3, 4) for claim in "ab"]
    messages = [str(record.message) for record in records if record.error][::2]
    assert messages[0].startswith("OSError: gone (test_estimator.py:")
    assert messages[1] == "ValueError: X has 63 features, but GaussianNB is expecting 64 features as input."
    assert messages[2].startswith("ValueError: Input X contains NaN.")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([1, 2], "ValueError: the model gives several labels for a case; an answer is one"),
        (float("nan"), "nan"),
    ],
)
def test_predictions_that_are_no_answer(answer: Any, message: str, shop: Workshop) -> None:
    with_words(shop)
    run = harness.run("toy", harness.estimator(Unruly(answer), load=len))
    records = list(harness.read(run))
    assert {str(record.message or record.actual) for record in records} == {message}
