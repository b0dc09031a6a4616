"""Error ellipses: the uncertainty of a point such as (fpr, tpr), from repeated tests or from one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray
from harness.stats.curves.scores import ScoredCases, require_both
from harness.stats.curves.summaries import with_weights_of
from harness.stats.replication.linearised import linearised_covariance
from harness.stats.replication.sample import Sample, unit_sums

__all__ = ["Ellipse", "ellipse", "ellipse_at", "ellipse_of_repeats"]


@dataclass(frozen=True, slots=True, eq=False)
class Ellipse:
    """Region around a point: half axes (long, short) and the angle of the long one to the x axis."""

    centre: FloatArray
    covariance: FloatArray
    half_axes: tuple[float, float]
    angle: float
    scale: float
    confidence: float
    method: Literal["hotelling", "chi-square"]

    def path(self, points: int = 100) -> FloatArray:
        """A closed line along the ellipse, (points, 2)."""
        phase = np.linspace(0, 2 * np.pi, points)
        on_axes = np.stack([self.half_axes[0] * np.cos(phase), self.half_axes[1] * np.sin(phase)], axis=1)
        c, s = np.cos(self.angle), np.sin(self.angle)
        return np.asarray(self.centre + on_axes @ np.array([[c, s], [-s, c]]))


def ellipse_of_repeats(
    points: npt.ArrayLike, *, confidence: float = 0.95, of: Literal["mean", "next"] = "mean"
) -> Ellipse:
    """Ellipse from r repetitions of a test, (r, 2): for their true mean, or for the next repetition.

    Hotelling's T squared: 2 (r - 1) / (r - 2) times an F quantile with 2 and r - 2 degrees of freedom.
    """
    p = np.asarray(points, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] != 2 or p.shape[0] < 3:
        raise ValueError(f"points have shape {p.shape}: expected (repetitions, 2) with three or more repetitions")
    if not np.isfinite(p).all():
        raise ValueError(f"point {int((~np.isfinite(p)).any(axis=1).argmax())} is not finite: leave it out")
    spread = np.cov(p, rowvar=False)
    share = 1 / p.shape[0] if of == "mean" else 1 + 1 / p.shape[0]
    return ellipse(p.mean(axis=0), spread * share, df=p.shape[0] - 1, confidence=confidence)


def ellipse_at(cases: ScoredCases, sample: Sample, threshold: float, *, confidence: float = 0.95) -> Ellipse:
    """Ellipse of (fpr, tpr) at a threshold, from one test: the covariance over the sample's units, linearised.

    A subject whose scores are all high raises both rates, which tilts the ellipse.
    """
    weighted = with_weights_of(cases, sample)
    require_both(weighted)
    accepted = weighted.better >= (threshold if cases.larger_is_better else -threshold)
    point, influences = np.empty(2), np.empty((sample.units, 2))
    for i, of in enumerate((~cases.positive, cases.positive)):
        entered, whole = unit_sums(sample, accepted & of), unit_sums(sample, of)
        point[i] = entered.sum() / whole.sum()
        influences[:, i] = (entered - point[i] * whole) / whole.sum()
    df = float(sample.units - sample.strata)
    return ellipse(point, linearised_covariance(sample, influences), df=df, confidence=confidence)


def ellipse(
    centre: npt.ArrayLike, covariance: npt.ArrayLike, *, df: float | None = None, confidence: float = 0.95
) -> Ellipse:
    """Ellipse of a point estimate with a covariance matrix, such as one from replication.

    `df`: degrees of freedom of the covariance (Hotelling); None if the covariance is known (chi-square).
    """
    point, matrix = np.asarray(centre, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if point.shape != (2,) or matrix.shape != (2, 2):
        raise ValueError(f"centre {point.shape} and covariance {matrix.shape}: expected (2,) and (2, 2)")
    scale = _scale(confidence, df)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    short, long = np.sqrt(np.maximum(values, 0.0) * scale)
    angle = float(np.arctan2(vectors[1, 1], vectors[0, 1]) % np.pi)
    method: Literal["hotelling", "chi-square"] = "chi-square" if df is None else "hotelling"
    return Ellipse(point, matrix, (float(long), float(short)), angle, scale, confidence, method)


def _scale(confidence: float, df: float | None) -> float:
    """Squared radius in standard units; with two dimensions both quantiles have a closed form."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence!r}: expected a number between 0 and 1")
    if df is None:
        return float(-2 * np.log1p(-confidence))
    if df <= 1:
        raise ValueError(f"{df!r} degrees of freedom: an ellipse needs more than one")
    # P(F(2, m) > x) = (1 + 2 x / m)^(-m / 2), with m = df - 1; T squared = 2 df / m times F.
    m = df - 1
    return float(df * np.expm1(-2 / m * np.log1p(-confidence)))
