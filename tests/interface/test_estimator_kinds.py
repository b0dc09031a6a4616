"""Models that cannot answer a test are refused; scores are those of classes, as scikit-learn has them."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UNSET
from pandas import DataFrame
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import harness
from harness.errors import InterfaceError
from tests.interface.estimators import number, with_classes, with_values
from tests.workshop import Workshop


class Pairs(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Decision values of pairs, which no parameter tells."""

    def fit(self, rows: Any, labels: Any) -> "Pairs":
        self.model_ = SVC(decision_function_shape="ovo").fit(rows, labels)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, rows: Any) -> Any:
        return self.model_.predict(rows)

    def decision_function(self, rows: Any) -> Any:
        return self.model_.decision_function(rows)


OF_PAIRS: dict[str, Callable[[], Any]] = {
    "SVC": lambda: SVC(decision_function_shape="ovo"),
    "pipeline": lambda: make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")),
    "search": lambda: GridSearchCV(SVC(), {"decision_function_shape": ["ovo"]}, cv=2),
    "any": Pairs,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", OF_PAIRS)
def test_decision_values_of_pairs_are_no_scores_of_classes(kind: str, shop: Workshop) -> None:
    """Of three classes, there are as many pairs; whoever would take one for the other had an AUC below 0.5."""
    rows, labels = with_classes(shop)
    run = harness.run("toy", harness.estimator(OF_PAIRS[kind](), load=number))
    records = list(harness.read(run))
    own = OF_PAIRS[kind]().fit(rows, labels)
    asked = [number(case.input) for case in harness.load_test("toy")]
    assert [record.actual for record in records] == own.predict(asked).tolist()
    assert all(record.score is UNSET for record in records)
    with_classes(shop, "score")
    for model in (OF_PAIRS[kind](), own):
        if kind == "any" and model is own:
            continue  # nothing tells it without training rows
        with pytest.raises(InterfaceError, match=r"toy is a score test, .* no score for each class: .*shape='ovr'"):
            harness.run("toy", harness.estimator(model, load=number))


def test_decision_values_of_classes_are_scores(shop: Workshop) -> None:
    rows, labels = with_classes(shop, "score")
    for model in (SVC(), RidgeClassifier(), make_pipeline(StandardScaler(), SVC(C=10))):
        run = harness.run("toy", harness.estimator(model, load=number))
        own = model.fit(rows, labels)
        expected = [
            own.decision_function([number(case.input)])[0][int(case.expect[1])] for case in harness.load_test("toy")
        ]
        assert [record.score for record in harness.read(run)] == pytest.approx(expected)


class Columns(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Answers in the shapes that other libraries give: a column of labels, a table of scores."""

    def fit(self, rows: Any, labels: Any) -> "Columns":
        self.model_ = GaussianNB().fit(rows, labels)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, rows: Any) -> Any:
        return self.model_.predict(rows).reshape(-1, 1)

    def predict_proba(self, rows: Any) -> Any:
        return DataFrame(self.model_.predict_proba(rows), columns=self.classes_)


def test_columns_and_tables_are_answers_too(shop: Workshop) -> None:
    with_classes(shop)
    own = harness.run("toy", harness.estimator(GaussianNB(), load=number))
    run = harness.run("toy", harness.estimator(Columns(), load=number))
    for record, expected in zip(harness.read(run), harness.read(own), strict=True):
        assert (record.actual, record.score) == (expected.actual, expected.score)


def test_several_labels_for_a_case_are_no_answer(shop: Workshop) -> None:
    with_classes(shop)
    several = KNeighborsClassifier(1).fit([[0], [9]], [["a", "x"], ["b", "y"]])
    records = list(harness.read(harness.run("toy", harness.estimator(several, load=number))))
    assert {record.message for record in records} == {
        "ValueError: the model gives several labels for a case; an answer is one"
    }


UNFIT: dict[str, tuple[str, Callable[[], Any], str]] = {
    "clusters": ("label", lambda: KMeans(3), "KMeans cannot answer: it is a clusterer; give a classifier"),
    "clusters in a pipeline": ("label", lambda: make_pipeline(StandardScaler(), KMeans(3)), "it is a clusterer"),
    "numbers": ("label", LinearRegression, "LinearRegression cannot answer: it is a regressor; give a classifier"),
    "a search": ("label", lambda: GridSearchCV(Ridge(), {}), "GridSearchCV cannot answer: it is a regressor"),
    "outliers": ("label", IsolationForest, "IsolationForest cannot answer: it is an outlier detector; give a classif"),
    "components": ("label", lambda: GaussianMixture(3), "it is a density estimator; give a classifier"),
    "other numbers": ("score", Ridge, "it is a regressor; give a classifier, whose answer is its score of the claimed"),
    "other clusters": ("score", lambda: KMeans(3), "it is a clusterer; give a classifier, whose answer is its score"),
    "one number for all claims": (
        "score",
        IsolationForest,
        "several claims, such as 'c0' and 'c1', of which IsolationForest knows none: it has no classes; give a classif",
    ),
    "a fitted one": ("score", lambda: Ridge().fit([[0], [1]], [0, 1]), "of which Ridge knows none: it has no classes"),
    "other classes": ("score", lambda: GaussianNB().fit([[0], [1]], [0, 1]), "other labels, such as 'c0', than Gau"),
    "outliers of values": ("value", IsolationForest, "it is an outlier detector; give a regressor"),
    "clusters of values": ("value", lambda: KMeans(2), "it is a clusterer; give a regressor"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", UNFIT)
def test_models_that_cannot_answer_are_refused(kind: str, shop: Workshop) -> None:
    task, make, text = UNFIT[kind]
    with_classes(shop, task if task != "value" else "label")
    if task == "value":
        with_values(shop)
    with pytest.raises(InterfaceError) as caught:
        harness.run("toy", harness.estimator(make(), load=number))
    assert text in str(caught.value)
    assert not (shop.folder / "transcripts").exists()
