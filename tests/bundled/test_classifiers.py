"""The three bundled classifiers, called as Python classes."""

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.bundled.bundle import (
    CLASSIFIERS,
    EXAMPLES,
    INTERFACES,
    Bundle,
    VisibleCase,
    best,
    load,
    outcome,
    pixels,
    tally,
)

each_classifier = pytest.mark.parametrize("name", CLASSIFIERS)


@dataclass(frozen=True)
class TrainedClassifier:
    module: ModuleType
    classifier: Any
    answers: dict[str, dict[str, float]]  # by case id


def _train(name: str, cases: list[VisibleCase], **params: float) -> tuple[ModuleType, Any]:
    module = load(INTERFACES / name)
    classifier = module.Interface()
    classifier.train(cases, module.PARAMS | params)
    return module, classifier


@pytest.fixture(scope="module")
def trained(hdigits: Bundle) -> dict[str, TrainedClassifier]:
    found = {}
    for name in CLASSIFIERS:
        module, classifier = _train(name, hdigits.train)
        answers = {case.id: classifier.answer(case, module.PARAMS) for case in hdigits.visible_cases()}
        found[name] = TrainedClassifier(module, classifier, answers)
    return found


def _labels(answers: dict[str, dict[str, float]]) -> dict[str, str | None]:
    return {case: best(scores)[0] for case, scores in answers.items()}


@each_classifier
def test_it_has_a_name_and_fits_on_a_screen(name: str) -> None:
    module = load(INTERFACES / name)
    assert (name, "1.0") == (module.NAME, module.VERSION)
    assert isinstance(module.PARAMS, dict)
    assert len((INTERFACES / name / "interface.py").read_text(encoding="utf-8").splitlines()) <= 60


@pytest.mark.sampled(3)
@each_classifier
def test_all_four_outcomes_occur(name: str, trained: dict[str, TrainedClassifier], hdigits: Bundle) -> None:
    assert min(tally(hdigits.cases, _labels(trained[name].answers)).values()) > 0


# Chance is 10 %. Five folds of the training images gave 0.90 for wisard, 0.95 for warlock, 0.91 for witch.
@pytest.mark.parametrize(
    ("name", "low", "high"), [("wisard", 0.85, 0.95), ("warlock", 0.94, 0.99), ("witch", 0.85, 0.95)]
)
def test_it_is_as_good_as_its_method(
    name: str, low: float, high: float, trained: dict[str, TrainedClassifier], hdigits: Bundle
) -> None:
    counts = tally(hdigits.cases, _labels(trained[name].answers))
    assert low < counts["TP"] / 717 < high


@each_classifier
def test_scores_are_whole_numbers_for_ten_labels_in_order(name: str, trained: dict[str, TrainedClassifier]) -> None:
    for scores in trained[name].answers.values():
        assert list(scores) == list("0123456789")
        assert {type(score) for score in scores.values()} == {int}


@each_classifier
def test_training_again_gives_the_same_answers(
    name: str, trained: dict[str, TrainedClassifier], hdigits: Bundle
) -> None:
    module, classifier = _train(name, hdigits.train)
    for case in hdigits.visible_cases()[::7]:
        assert classifier.answer(case, module.PARAMS) == trained[name].answers[case.id]


@each_classifier
def test_the_order_of_training_does_not_matter(
    name: str, trained: dict[str, TrainedClassifier], hdigits: Bundle
) -> None:
    module, classifier = _train(name, hdigits.train[::-1])
    for case in hdigits.visible_cases()[::7]:
        assert classifier.answer(case, module.PARAMS) == trained[name].answers[case.id]


def test_wisard_recognises_every_training_image(trained: dict[str, TrainedClassifier], hdigits: Bundle) -> None:
    wisard = trained["wisard"]
    for case in hdigits.train[::10]:
        scores = wisard.classifier.answer(VisibleCase(case.id, case.input), wisard.module.PARAMS)
        assert scores[case.expect] == wisard.module.PARAMS["tuples"]


def test_wisard_against_a_network_of_sets(trained: dict[str, TrainedClassifier], hdigits: Bundle) -> None:
    """Appendix A again, with a set of patterns in place of each RAM."""
    params = load(INTERFACES / "wisard").PARAMS
    tuples = trained["wisard"].classifier.tuples.tolist()

    def patterns(path: str) -> list[tuple[bool, ...]]:
        ink = pixels(Path(path).read_bytes())
        return [tuple(bool(ink[p] >= params["level"]) for p in chosen) for chosen in tuples]

    seen: dict[str, list[set[tuple[bool, ...]]]] = {d: [set() for _ in tuples] for d in "0123456789"}
    for case in hdigits.train:
        for known, pattern in zip(seen[case.expect], patterns(case.input), strict=True):
            known.add(pattern)
    for case in hdigits.visible_cases()[::50]:
        here = patterns(case.input)
        counted = {d: sum(p in known for p, known in zip(here, rams, strict=True)) for d, rams in seen.items()}
        assert counted == trained["wisard"].answers[case.id]


def test_wisard_draws_other_tuples_with_another_seed(hdigits: Bundle) -> None:
    (_, one), (_, two) = (_train("wisard", hdigits.train[:10], seed=seed) for seed in (0, 1))
    assert one.tuples.shape == two.tuples.shape == (128, 10)
    assert (one.tuples != two.tuples).any()
    assert all(len(set(chosen)) == 10 for chosen in one.tuples.tolist())


def test_warlock_is_at_distance_0_from_training_images(trained: dict[str, TrainedClassifier], hdigits: Bundle) -> None:
    for case in hdigits.train[::50]:
        assert trained["warlock"].classifier.answer(VisibleCase(case.id, case.input), {})[case.expect] == 0


def test_warlock_against_a_loop_over_all_training_images(
    trained: dict[str, TrainedClassifier], hdigits: Bundle
) -> None:
    known = [(case.expect, Path(case.input).read_bytes()[-64:]) for case in hdigits.train]
    for case in hdigits.visible_cases()[::100]:
        image = Path(case.input).read_bytes()[-64:]
        nearest = min((sum((p - q) ** 2 for p, q in zip(image, other, strict=True)), label) for label, other in known)
        scores = trained["warlock"].answers[case.id]
        assert (-max(scores.values()), best(scores)[0]) == nearest


def test_witch_minimises_its_least_squares(trained: dict[str, TrainedClassifier], hdigits: Bundle) -> None:
    """At a minimum, the gradient of squared error plus penalty is zero."""
    module, weights = trained["witch"].module, trained["witch"].classifier.weights
    images = np.array([np.append(pixels(Path(case.input).read_bytes()), 16) for case in hdigits.train])
    targets = np.array([[module.RIGHT * (case.expect == digit) for digit in "0123456789"] for case in hdigits.train])
    gradient = images.T @ (images @ weights - targets) + module.PARAMS["ridge"] * weights
    assert abs(gradient).max() < 1e-6 * abs(images.T @ targets).max()


@each_classifier
def test_a_higher_threshold_refuses_more_blank_images(
    name: str, trained: dict[str, TrainedClassifier], blank: Bundle
) -> None:
    reader = trained[name]
    leads = [best(reader.classifier.answer(case, reader.module.PARAMS))[1] for case in blank.visible_cases()]
    usual = sorted(best(scores)[1] for scores in reader.answers.values())[len(reader.answers) // 2]
    assert min(leads) >= 0  # at threshold 0 nothing is refused
    refused = sum(lead < usual for lead in leads) / len(leads)
    assert refused > 0.75  # at the median lead of real digits, most blank images are


def test_the_five_line_function_recognises_a_zero(hdigits: Bundle) -> None:
    module = load(EXAMPLES / "python_function")
    labels = {case.id: module.answer(case, {}) for case in hdigits.visible_cases()}
    assert set(labels.values()) == {"0", None}
    zeros = [row for row in hdigits.cases if row["truth"] == row["expect"] == "0"]
    assert sum(outcome(row, labels[row["id"]]) == "TP" for row in zeros) > len(zeros) / 2
    assert tally(hdigits.cases, labels)["FP"] < 20
