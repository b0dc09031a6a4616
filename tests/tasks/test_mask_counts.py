"""Every pixel is counted as a loop over all pixels counts it: ignored, weighted, of several classes, with scores."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import distance_transform_edt
from sklearn.metrics import jaccard_score

from harness.files.images import write_image
from harness.model import Case, Outcome, Question, Reply
from harness.tasks.mask import MASK
from harness.tasks.mask_scoring import MAX_LEVELS, near_outline, score_levels
from harness.tasks.task import AnswerError
from tests.simulation import examples
from tests.tasks.masks import COUNTS, Plane, answered, confusion, count, iou, judge, outcome, rules

quickly = examples(40)
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "ignored": {"ignore": 128},
    "boundary": {"boundary": {"width": 1.5, "weight": 0.25}},
    "both": {"ignore": 128, "boundary": {"width": 2, "weight": 0}},
    "classes": {"ignore": 128, "labels": {"0": "wall", "1": "vase", "255": "table"}},
    "class outlines": {"labels": {"1": "vase", "128": "cup", "255": "table"}, "boundary": {"width": 1, "weight": 0.5}},
}
sides = st.tuples(st.integers(1, 7), st.integers(1, 7))


def images(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Plane, Plane]:
    values = np.array([0, 0, 0, 1, 128, 255], dtype=np.uint8)
    return rng.choice(values, shape), rng.choice(values, shape)


@pytest.mark.parametrize("name", SETTINGS)
@given(seed=st.integers(0, 2**32 - 1), shape=sides)
@quickly
def test_counts_equal_brute_force(
    name: str, seed: int, shape: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = SETTINGS[name]
    truth, marked = images(np.random.default_rng(seed), shape)
    if settings.get("ignore") == 128 and "labels" in settings:
        marked[marked == 128] = 0
    path = tmp_path_factory.getbasetemp() / f"{name}.npy"
    write_image(path, truth)
    got = answered(path, marked.tolist(), settings)
    expected = count(truth, marked, settings)
    assert got.pixels is not None
    assert {key: got.pixels[key] for key in COUNTS} == pytest.approx(expected, abs=1e-12)
    assert got.score == pytest.approx(iou(expected), abs=1e-12)
    case = Case("1", "in", str(path))
    trial = judge(settings).trial(case, Reply(Question(0, "1", "in"), marked.tolist()))
    assert trial.outcome is outcome(expected)
    assert trial.positive is (expected["TP"] + expected["FN"] > 0)
    if "boundary" not in settings:
        assert all(type(got.pixels[key]) is int for key in COUNTS)


@given(seed=st.integers(0, 2**32 - 1), shape=sides, kind=st.sampled_from(["uint8", "uint16", "float64"]))
@quickly
def test_weight_images(seed: int, shape: tuple[int, int], kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = np.random.default_rng(seed)
    truth, marked = images(rng, shape)
    full = {"uint8": 255, "uint16": 65535, "float64": 1}[kind]
    weights = rng.uniform(0, 1, shape) if kind == "float64" else rng.integers(0, full + 1, shape).astype(kind)
    base = tmp_path_factory.getbasetemp()
    write_image(base / "truth.png", truth)
    write_image(base / "weights.npy", weights)
    settings = {"ignore": 128, "weights": "w", "boundary": {"width": 1, "weight": 0.5}}
    got = answered(base / "truth.png", marked.tolist(), settings, w=str(base / "weights.npy"))
    expected = count(truth, marked, settings, weights.astype(np.float64) / full)
    assert got.pixels is not None
    assert {key: got.pixels[key] for key in COUNTS} == pytest.approx(expected, abs=1e-12)


@given(seed=st.integers(0, 2**32 - 1), shape=sides, threshold=st.integers(0, 256), weighted=st.booleans())
@quickly
def test_score_maps(
    seed: int, shape: tuple[int, int], threshold: int, weighted: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Eight bits are exact at every threshold."""
    rng = np.random.default_rng(seed)
    truth, scores = images(rng, shape)[0], rng.integers(0, 256, shape).astype(np.uint8)
    path = tmp_path_factory.getbasetemp() / "scored.npy"
    write_image(path, truth)
    settings: dict[str, Any] = {"ignore": 1} | ({"boundary": {"width": 1, "weight": 0.5}} if weighted else {})
    got = answered(path, {"scores": scores.tolist()}, settings, threshold=threshold)
    assert got.pixels is not None
    expected = count(truth, scores >= threshold, settings)
    assert {key: got.pixels[key] for key in COUNTS} == pytest.approx(expected, abs=1e-12)
    assert got.score == pytest.approx(iou(expected), abs=1e-12)
    assert sum(got.pixels["positive"]) == pytest.approx(expected["TP"] + expected["FN"], abs=1e-12)


@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(1e-6, 1e6), shift=st.floats(-1e3, 1e3))
@quickly
def test_scores_are_rounded_down_to_few_levels(seed: int, scale: float, shift: float) -> None:
    scores = np.random.default_rng(seed).normal(shift, scale, (50, 60))
    codes, levels = score_levels(scores)
    rounded = np.array(levels)[codes]
    step = float(np.diff(levels).max())
    assert len(levels) <= MAX_LEVELS
    assert (np.diff(levels) > 0).all()
    assert ((rounded <= scores) & (scores < rounded + step)).all()
    # The levels are no coarser than they must be: with half the step there would be too many.
    assert (scores.max() - scores.min()) / (step / 2) > MAX_LEVELS - 2
    # A power of two, so that the levels of images are multiples of one another.
    assert math.frexp(step)[0] == 0.5


@pytest.mark.parametrize("values", [np.arange(256) / 255, np.linspace(-3, 7, 1024), 10.0 ** np.arange(-300, 300, 1.0)])
def test_few_scores_are_exact(values: Plane) -> None:
    scores = np.random.default_rng(1).choice(values, (80, 90))
    codes, levels = score_levels(scores)
    assert np.array_equal(np.array(levels)[codes], scores)


def test_sixteen_bits_within_a_thousand_levels_are_exact() -> None:
    scores = np.random.default_rng(1).integers(40_000, 41_024, (80, 90)).astype(np.uint16)
    codes, levels = score_levels(scores)
    assert np.array_equal(np.array(levels)[codes], scores)
    rounded = score_levels(np.random.default_rng(1).integers(0, 65536, (80, 90)).astype(np.uint16))
    assert np.diff(rounded[1]).tolist() == [64] * (len(rounded[1]) - 1)


@given(seed=st.integers(0, 2**32 - 1), shape=sides, width=st.floats(0.5, 9))
@quickly
def test_the_outline_equals_the_distance_transform(seed: int, shape: tuple[int, int], width: float) -> None:
    """scipy's exact Euclidean distance from each pixel to the nearest one of the other class."""
    marked = np.random.default_rng(seed).random(shape) < 0.3
    near = near_outline(marked.astype(np.uint8), None, width)
    if marked.all() or not marked.any():
        assert not near.any()
    else:
        distance = np.maximum(distance_transform_edt(marked), distance_transform_edt(~marked))
        assert np.array_equal(near, distance <= width)


@given(seed=st.integers(0, 2**32 - 1), shape=sides)
@quickly
def test_classes_are_confused_as_counted(
    seed: int, shape: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = np.random.default_rng(seed)
    truth, answer = (rng.choice(np.array([0, 3, 7, 200], dtype=np.uint8), shape) for _ in range(2))
    path = tmp_path_factory.getbasetemp() / "classes.npy"
    write_image(path, truth)
    settings = {"ignore": 200, "labels": {"3": "vase", "7": "table"}}
    answer[(answer == 200) & (truth != 200)] = 3
    got = answered(path, answer.tolist(), settings)
    assert got.pixels is not None
    assert {(of, to): n for of, to, n in got.pixels["confusion"]} == confusion(truth, answer, 200)


def test_the_iou_of_one_image_is_that_of_scikit_learn(tmp_path: Path) -> None:
    truth, marked = images(np.random.default_rng(8), (30, 40))
    write_image(tmp_path / "t.png", truth)
    got = answered(tmp_path / "t.png", marked.tolist())
    assert got.score == pytest.approx(jaccard_score(truth.ravel() != 0, marked.ravel() != 0), abs=1e-15)


EMPTY = np.zeros((3, 4), dtype=np.uint8)
SPOT = np.pad(np.ones((1, 1), dtype=np.uint8), ((1, 1), (1, 2)))


@pytest.mark.parametrize(
    ("truth", "raw", "expected", "score"),
    [
        (EMPTY, EMPTY.tolist(), Outcome.TN, 1.0),
        (EMPTY, SPOT.tolist(), Outcome.FP, 0.0),
        (EMPTY, None, Outcome.TN, None),
        (SPOT, {"label": None}, Outcome.FN, None),
        (SPOT, {"scores": None}, Outcome.FN, None),
        (SPOT, "", Outcome.FN, None),
        (SPOT, SPOT.tolist(), Outcome.TP, 1.0),
        (SPOT, EMPTY.tolist(), Outcome.FN, 0.0),
        (SPOT, None, Outcome.FN, None),
    ],
)
@pytest.mark.parametrize("says", [True, False])
def test_the_truth_says_whether_there_is_an_object(
    truth: Plane, raw: Any, expected: Outcome, score: float | None, says: bool, tmp_path: Path
) -> None:
    write_image(tmp_path / "t.png", truth)
    case = Case("1", "in", str(tmp_path / "t.png"), positive=says)
    # Even if every overlap is enough, a refusal accepts nothing.
    for least in (0.5, 0.0) if score is None else (0.5,):
        trial = judge(iou=least).trial(case, Reply(Question(0, "1", "in"), raw))
        assert trial.outcome is expected
        assert trial.positive is (truth is SPOT)
        assert (trial.score or None) == (score or None)
    pixels: Any = trial.pixels
    assert sum(pixels[name] for name in COUNTS) == truth.size


def test_an_error_is_a_failure_at_every_pixel(tmp_path: Path) -> None:
    write_image(tmp_path / "t.png", SPOT * 3)
    settings = {"labels": {"3": "vase"}}
    trial = judge(settings).trial(Case("1", "in", str(tmp_path / "t.png")), Reply(Question(0, "1", "in"), "no.png"))
    assert trial.outcome is Outcome.FN
    assert trial.pixels == {"TP": 0, "TN": 0, "FP": 11, "FN": 1, "confusion": [[0, None, 11], [3, None, 1]]}


def test_a_score_map_in_a_test_with_labels_is_refused(tmp_path: Path) -> None:
    write_image(tmp_path / "t.png", SPOT)
    with pytest.raises(AnswerError, match="a score map has one class"):
        MASK.answer({"scores": SPOT.tolist()}, Case("1", "", str(tmp_path / "t.png")), rules({"labels": {"1": "a"}}))
