"""Error ellipses: quantiles against scipy.stats, geometry, coverage by simulation."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from harness.stats.curves.bands import replicated_bands
from harness.stats.curves.ellipses import Ellipse, ellipse, ellipse_at, ellipse_of_repeats
from harness.stats.curves.scores import make_scored_cases
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import make_sample


def contains(found: Ellipse, point: npt.ArrayLike) -> bool:
    """Whether a point lies within; an axis of length 0 leaves no room in its direction."""
    c, s = np.cos(found.angle), np.sin(found.angle)
    offsets = np.array([[c, s], [-s, c]]) @ (np.asarray(point, dtype=np.float64) - found.centre)
    flat = np.array(found.half_axes) <= 1e-12
    if (np.abs(offsets[flat]) > 1e-12).any():
        return False
    return bool(((offsets[~flat] / np.array(found.half_axes)[~flat]) ** 2).sum() <= 1)


@pytest.mark.parametrize("r", [3, 5, 20, 400])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_scale_is_hotellings(r: int, confidence: float) -> None:
    points = np.random.default_rng(r).normal(size=(r, 2))
    want = 2 * (r - 1) / (r - 2) * stats.f.ppf(confidence, 2, r - 2)
    assert ellipse_of_repeats(points, confidence=confidence).scale == pytest.approx(want, rel=1e-9)


def test_a_known_covariance_uses_chi_square() -> None:
    result = ellipse([0.1, 0.9], [[0.04, 0], [0, 0.01]])
    assert result.scale == pytest.approx(stats.chi2.ppf(0.95, 2))
    assert result.half_axes == pytest.approx((0.2 * np.sqrt(result.scale), 0.1 * np.sqrt(result.scale)))
    assert result.angle == pytest.approx(0)
    assert result.method == "chi-square"


def test_path_has_the_same_distance_everywhere() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(15, 2)) @ np.array([[2, 1], [0, 0.5]])
    result = ellipse_of_repeats(points)
    away = result.path(50) - points.mean(axis=0)
    inverse = np.linalg.inv(np.cov(points, rowvar=False) / 15)
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", away, inverse, away), result.scale, rtol=1e-9)
    assert contains(result, result.centre + 0.999 * away[7])
    assert not contains(result, result.centre + 1.001 * away[7])


def test_the_mean_of_few_repeats_is_covered() -> None:
    # 1,500 draws of 6 repeats: coverage of 95 % has a standard error of 0.56 %.
    rng = np.random.default_rng(1)
    mix = np.array([[1, 0.5], [0, 0.3]])
    inside = sum(contains(ellipse_of_repeats(rng.normal(size=(6, 2)) @ mix), [0, 0]) for _ in range(1500))
    assert 0.93 * 1500 < inside < 0.97 * 1500


def test_the_next_repeat_is_covered() -> None:
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(1500):
        points = rng.normal(size=(7, 2))
        inside += contains(ellipse_of_repeats(points[:6], of="next"), points[6])
    assert 0.93 * 1500 < inside < 0.97 * 1500


def test_points_on_a_line_give_a_flat_ellipse() -> None:
    result = ellipse_of_repeats([[0.0, 0.5], [0.1, 0.5], [0.2, 0.5]])
    assert result.half_axes[1] == pytest.approx(0, abs=1e-9)
    assert contains(result, [0.11, 0.5])
    assert not contains(result, [0.1, 0.6])


@pytest.mark.parametrize("larger", [True, False])
def test_ellipse_of_one_test_has_the_errors_of_the_bands(larger: bool) -> None:
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(30), 6)
    positive = np.arange(180) % 2 == 0
    scores = np.round(rng.normal(size=30)[unit] + rng.normal(size=180) + positive, 1)
    sample = make_sample(180, strata=unit // 3, units=unit)
    cases = make_scored_cases(scores if larger else -scores, positive, larger_is_better=larger)
    bands = replicated_bands(cases, sample, replication=Replication("linearised"))
    j = int(np.argmin(np.abs(bands.tpr.rate - 0.7)))
    result = ellipse_at(cases, sample, float(bands.threshold[j]))
    np.testing.assert_allclose(result.centre, [bands.fpr.rate[j], bands.tpr.rate[j]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.diag(result.covariance), [bands.fpr.se[j] ** 2, bands.tpr.se[j] ** 2], rtol=1e-9)
    # A subject's level raises both rates.
    assert result.covariance[0, 1] > 0
    assert result.method == "hotelling"


def test_ellipse_of_independent_cases_is_upright() -> None:
    rng = np.random.default_rng(4)
    positive = np.arange(100) < 40
    sample = make_sample(100, strata=positive)
    result = ellipse_at(make_scored_cases(rng.normal(size=100) + positive, positive), sample, 0.5)
    want = [p * (1 - p) / (n - 1) for p, n in zip(result.centre, (60, 40), strict=True)]
    np.testing.assert_allclose(result.covariance, np.diag(want), rtol=1e-9, atol=1e-15)


def test_wrong_input_is_named() -> None:
    with pytest.raises(ValueError, match="three or more"):
        ellipse_of_repeats([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="point 1 is not finite"):
        ellipse_of_repeats([[0.0, 1.0], [float("nan"), 0.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="confidence"):
        ellipse([0, 0], np.eye(2), confidence=95)
    with pytest.raises(ValueError, match="degrees of freedom"):
        ellipse([0, 0], np.eye(2), df=1)
    with pytest.raises(ValueError, match="expected"):
        ellipse([0, 0, 0], np.eye(2))
