"""Parameters of estimators: scikit-learn gets what was given, and answers as it does by itself."""

import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import harness
from harness.errors import HateError, InterfaceError, UsageError
from harness.script.cases import CaseSet
from tests.interface.estimators import pixels
from tests.workshop import Workshop


@pytest.mark.slow
def test_sweeps_set_parameters_and_train_again(
    digits: CaseSet, taught: tuple[Any, Any], asked: tuple[list[str], Any, Any], shop: Workshop
) -> None:
    """Whole numbers where it had one, numbers in the place of text, None; also those of a step of a pipeline."""
    _, rows, labels = asked

    def hits(model: Any) -> int:
        return int((model.fit(*taught).predict(rows) == labels).sum())

    model = make_pipeline(StandardScaler(), SVC(C=1))
    interface = harness.estimator(model, load=pixels)
    swept = harness.sweep(digits, interface, params={"svc__C": [0.1, 10], "svc__gamma": ["scale", 0.001]})
    expected = [
        hits(make_pipeline(StandardScaler(), SVC(C=c, gamma=gamma))) for c in (0.1, 10) for gamma in ("scale", 0.001)
    ]
    assert [row.counts.TP for row in swept.rows] == expected
    tree = harness.estimator(DecisionTreeClassifier(random_state=0), load=pixels)
    swept = harness.sweep(digits, tree, params={"max_depth": [None, 3], "min_samples_leaf": [1, 9]})
    assert [row.counts.TP for row in swept.rows] == [
        hits(DecisionTreeClassifier(random_state=0, max_depth=depth, min_samples_leaf=leaf))
        for depth in (None, 3)
        for leaf in (1, 9)
    ]
    run = harness.run(digits, interface, params={"standardscaler__with_mean": False, "svc__C": 10})
    assert hits(make_pipeline(StandardScaler(with_mean=False), SVC(C=10))) == run.counts.TP
    assert model.get_params()["svc__C"] == 1
    shallow = harness.estimator(DecisionTreeClassifier(random_state=0, max_depth=2), load=pixels)
    assert harness.tune(digits, shallow, params={"max_depth": [2, 12]}, folds=2).params == {"max_depth": 12}


@pytest.mark.slow
def test_whole_numbers_fractions_and_none_stay_what_they_are(
    digits: CaseSet, taught: tuple[Any, Any], asked: tuple[list[str], Any, Any], shop: Workshop
) -> None:
    """max_features = 1 is one feature and 1.0 is all of them; also where the default is of the other type."""
    _, rows, labels = asked

    def hits(**params: Any) -> int:
        model = DecisionTreeClassifier(random_state=0, **params).fit(*taught)
        return int((model.predict(rows) == labels).sum())

    tree = harness.estimator(DecisionTreeClassifier(random_state=0, max_features=0.5), load=pixels)
    given = [1, 0.5, 1.0, 10, "sqrt", None]
    swept = harness.sweep(digits, tree, params={"max_features": given}, output=Path("out"))
    assert [row.counts.TP for row in swept.rows] == [hits(max_features=value) for value in given]
    for values in (
        [row.params["max_features"] for row in swept.rows],
        swept.to_frame()["max_features"].tolist(),
        [row["params"]["max_features"] for row in json.loads(swept.render("json"))["rows"]],
        [harness.read(path).header.params["max_features"] for path in swept.paths],
    ):
        assert list(map(repr, values)) == list(map(repr, given))
    assert [str(path).rpartition("=")[2] for path in swept.paths][:4] == [
        "1.jsonl",
        "0.5.jsonl",
        "1.0.jsonl",
        "10.jsonl",
    ]
    assert [line.split()[0] for line in str(swept).splitlines()[1:7]] == list(map(str, given))
    assert [line.split(",")[0] for line in swept.render("csv").splitlines()[1:]] == list(map(str, given))
    for leaf in (0.01, 1):
        other = harness.estimator(DecisionTreeClassifier(random_state=0, min_samples_leaf=leaf), load=pixels)
        swept = harness.sweep(digits, other, params={"min_samples_leaf": "1,.01,10:20:10"})
        assert [row.counts.TP for row in swept.rows] == [hits(min_samples_leaf=value) for value in (1, 0.01, 10, 20)]
        assert list(map(repr, (row.params["min_samples_leaf"] for row in swept.rows))) == ["1", "0.01", "10", "20"]


@pytest.mark.slow
def test_the_best_parameters_fit_scikit_learn(digits: CaseSet, shop: Workshop) -> None:
    """Ranges too, of a parameter whose default is None."""
    for depths in ([2, 12, None], "2:12:10"):
        tree = harness.estimator(DecisionTreeClassifier(random_state=0, max_features=8), load=pixels)
        tuned = harness.tune(digits, tree, params={"max_depth": depths, "max_features": [8, 1, 1.0]}, folds=2)
        assert DecisionTreeClassifier(**tuned.params).max_depth in (12, None)
        assert {type(value) for value in tuned.to_frame()["max_depth"]} <= {int, type(None)}
        assert tuned.to_dict()["winner"]["params"]["max_depth"] == tuned.params["max_depth"]
        # The default beside the grid of the first, none of whose settings is run twice.
        assert len(tuned.tuning.settings) == (9 if isinstance(depths, list) else 7)
    run = harness.run(digits, harness.estimator(DecisionTreeClassifier(max_depth=3), load=pixels), params=tuned.params)
    assert run.params["max_depth"] == tuned.params["max_depth"]
    with pytest.raises(UsageError, match=r"'max_depth': '2:12'}: a range is FROM:TO:STEP or FROM:TO:xFACTOR"):
        harness.sweep(digits, tree, params={"max_depth": "2:12"})
    shallow = harness.estimator(DecisionTreeClassifier(max_depth=3), load=pixels)
    assert harness.run(digits, shallow, params={"max_depth": None}, limit=5).params["max_depth"] is None
    assert "max_depth=None" in str(harness.list_transcripts())
    harness.make_report("DecisionTreeClassifier").write("report.md")
    assert "--param max_depth=None" in Path("report.md").read_text()


def test_a_run_is_not_resumed_with_a_number_of_another_type(digits: CaseSet, shop: Workshop) -> None:
    tree = harness.estimator(DecisionTreeClassifier(random_state=0), load=pixels)
    harness.run(digits, tree, params={"min_samples_leaf": 1}, output=Path("run.jsonl"))
    with pytest.raises(HateError, match=r"params \(min_samples_leaf: 1 there, 1\.0 now\)"):
        harness.run(digits, tree, params={"min_samples_leaf": 1.0}, output=Path("run.jsonl"), resume=True)
    again = harness.run(digits, tree, output=Path("run.jsonl"), resume=True)
    assert again.remarks[0] == "nothing was left to run"


def test_a_fitted_model_has_the_parameters_that_it_was_fitted_with(
    digits: CaseSet, taught: tuple[Any, Any], shop: Workshop
) -> None:
    fitted = harness.estimator(SVC(C=2).fit(*taught), load=pixels)
    assert harness.run(digits, fitted, params={"C": 2}, limit=5).counts.ER == 0
    with pytest.raises(InterfaceError, match=r"'C': '3'}: SVC is fitted already and used .*; estimator\(\.\.\., fit"):
        harness.run(digits, fitted, params={"C": 3})
