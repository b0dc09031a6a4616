"""Points and areas against scikit-learn, on random scores with ties and on the bundled transcripts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.metrics import average_precision_score, det_curve, precision_recall_curve, roc_auc_score, roc_curve

from harness.bundled import bundled
from harness.stats.arrays import FloatArray
from tests.analysis.curves.transcripts import random_scores, scores, write_transcript
from tests.workshop import Workshop

EXACT = 1e-12


def curve(shop: Workshop, command: str, *words: str | Path) -> dict[str, Any]:
    done = shop.call(command, *words, "--format", "json")
    assert done.status == 0, done.err
    found: dict[str, Any] = done.json["curves"][0]
    return found


def column(found: dict[str, Any], name: str) -> FloatArray:
    return np.array([np.nan if value is None else value for value in found["points"][name]])


def check_against_sklearn(found: dict[str, Any], values: FloatArray, positive: npt.NDArray[np.bool_]) -> None:
    fpr, tpr, _ = roc_curve(positive, values, drop_intermediate=False)
    np.testing.assert_allclose(column(found, "fpr"), fpr, atol=EXACT)
    np.testing.assert_allclose(column(found, "tpr"), tpr, atol=EXACT)
    np.testing.assert_allclose(column(found, "fnr"), 1 - tpr, atol=EXACT)
    assert found["auc"] == pytest.approx(roc_auc_score(positive, values), abs=EXACT)
    assert found["average_precision"] == pytest.approx(average_precision_score(positive, values), abs=EXACT)
    precision, _, _ = precision_recall_curve(positive, values)
    np.testing.assert_allclose(column(found, "precision")[1:], precision[:-1][::-1], atol=EXACT)
    # det_curve leaves out points at both ends; all of its points must be present.
    ours = set(zip(np.round(column(found, "fpr"), 10), np.round(column(found, "fnr"), 10), strict=True))
    det_fpr, det_fnr, _ = det_curve(positive, values)
    assert set(zip(np.round(det_fpr, 10), np.round(det_fnr, 10), strict=True)) <= ours


@pytest.mark.parametrize("command", ["roc", "det", "pr"])
@pytest.mark.parametrize("seed", range(3))
def test_random_scores_with_ties(shop: Workshop, command: str, seed: int) -> None:
    values, positive = random_scores(seed)
    path = write_transcript(shop.folder / "t.jsonl", scores(values, positive))
    found = curve(shop, command, path)
    check_against_sklearn(found, values, positive)
    assert (found["positives"], found["negatives"]) == (positive.sum(), (~positive).sum())
    assert found["points"]["threshold"][0] is None
    assert found["points"]["threshold"][1:] == sorted(set(values.tolist()), reverse=True)


def test_distances_are_better_when_small(shop: Workshop) -> None:
    values, positive = random_scores(5)
    path = write_transcript(shop.folder / "t.jsonl", scores(-values, positive), larger_is_better=False)
    found = curve(shop, "roc", path)
    check_against_sklearn(found, values, positive)
    assert found["points"]["threshold"][1:] == sorted(set((-values + 0.0).tolist()))


@pytest.mark.parametrize("algorithm", ["wisard", "warlock", "witch"])
def test_real_transcripts(shop: Workshop, algorithm: str) -> None:
    """In a label test a score counts when the label is the claimed one; else it is below all others."""
    path = bundled("transcripts") / "hdigits" / f"{algorithm}.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:-1]]
    values = np.array([r["score"] if r["actual"] == r["expect"] else -1.0 for r in records])
    positive = np.array([r["positive"] for r in records])
    found = curve(shop, "roc", algorithm)
    check_against_sklearn(found, values, positive)
    assert found["closed"] is True
    assert found["points"]["threshold"][-1] is None


def intersection(fpr: FloatArray, fnr: FloatArray) -> float:
    """Where the polyline meets the diagonal, solved segment by segment."""
    for (x0, y0), (x1, y1) in zip(zip(fpr, fnr, strict=True), zip(fpr[1:], fnr[1:], strict=True), strict=False):
        if (y0 - x0) >= 0 >= (y1 - x1):
            share = np.linalg.solve(np.array([[x1 - x0, -1.0], [y1 - y0, -1.0]]), np.array([-x0, -y0]))
            return float(share[1])
    raise AssertionError("the curve never meets the diagonal")


@pytest.mark.parametrize("seed", range(4))
def test_equal_error_rate_by_another_interpolation(shop: Workshop, seed: int) -> None:
    values, positive = random_scores(seed, 120)
    found = curve(shop, "det", write_transcript(shop.folder / "t.jsonl", scores(values, positive)))
    assert found["eer"] == pytest.approx(intersection(column(found, "fpr"), column(found, "fnr")), abs=EXACT)


def test_point_lists_have_one_length_and_nulls_for_infinity(shop: Workshop) -> None:
    values, positive = random_scores(1, 50)
    done = shop.call("roc", write_transcript(shop.folder / "t.jsonl", scores(values, positive)), "--format", "json")
    assert "NaN" not in done.out
    assert "Infinity" not in done.out
    points = done.json["curves"][0]["points"]
    names = ["threshold", "tpr", "fpr", "fnr", "precision", "low", "high", "low_at_fpr", "high_at_fpr"]
    assert list(points) == names
    assert len({len(one) for one in points.values()}) == 1


def test_long_curves_are_thinned_unless_all_points_are_requested(shop: Workshop) -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(6000) < 0.5
    path = write_transcript(shop.folder / "t.jsonl", scores(rng.normal(size=6000) + positive, positive))
    done = shop.call("roc", path, "--format", "json")
    some = done.json["curves"][0]
    assert some["whole"] == 6001
    assert len(some["points"]["tpr"]) <= 1000
    assert "--points 0" in done.err
    everything = curve(shop, "roc", path, "--points", "0")
    assert len(everything["points"]["tpr"]) == 6001
    assert everything["auc"] == some["auc"]
    assert len(curve(shop, "roc", path, "--points", "10")["points"]["tpr"]) <= 10
