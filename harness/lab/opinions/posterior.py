"""Bayesian second opinions: how probable it is that one algorithm is better, or that the two are practically equal.

On the same cases, with a Dirichlet prior of 1/2 each for "only A right", "only B right" and "no difference": the share
of discordant cases psi and the share w of A's wins among them are independent beta variables, and the difference is
psi (2 w - 1). A design effect divides the counts, as it divides the information. For repeated cross-validation, whose
folds share most of their training data, the correlated t distribution of Nadeau and Bengio (2003), as in Benavoli and
others (2017).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["PracticalDifference", "discordant_posterior", "fold_posterior"]

_NODES = 2000


@dataclass(frozen=True, slots=True)
class PracticalDifference:
    """Probabilities that A is better by more than `rope`, that the two are within it, and that B is better by more."""

    rope: float
    a_better: float
    equivalent: float
    b_better: float


def discordant_posterior(
    n_sf: float, n_fs: float, n: float, *, rope: float, design_effect: float = 1.0
) -> PracticalDifference:
    """From the cases that only A, or only B, got right, out of n."""
    from scipy.special import betainc, betaincinv

    if not (rope >= 0 and n_sf >= 0 and n_fs >= 0 and n >= n_sf + n_fs and n > 0 and design_effect > 0):
        raise ValueError(
            f"{n_sf:g} and {n_fs:g} of {n:g} cases, region {rope:g}: expected counts and a region from 0 up"
        )
    a, b, rest = (0.5 + count / design_effect for count in (n_sf, n_fs, n - n_sf - n_fs))
    # The share of discordant cases at evenly spaced probabilities: a midpoint rule over its distribution.
    psi = betaincinv(a + b, rest, (np.arange(_NODES) + 0.5) / _NODES)
    edge = np.minimum(rope / np.maximum(psi, 1e-300), 1.0)
    lower, upper = betainc(a, b, (1 - edge) / 2), betainc(a, b, (1 + edge) / 2)
    return PracticalDifference(rope, float(np.mean(1 - upper)), float(np.mean(upper - lower)), float(np.mean(lower)))


def fold_posterior(differences: npt.ArrayLike, *, test_share: float, rope: float) -> PracticalDifference:
    """From the differences of repeated folds, each of which tests on this share of the data."""
    from scipy.special import stdtr

    d = np.asarray(differences, dtype=np.float64)
    if d.size < 2 or not 0 < test_share < 1:
        raise ValueError(f"{d.size} differences, test share {test_share!r}: expected two or more, and a share")
    # Nadeau and Bengio: the variance of the mean with the correlation that shared training data cause.
    scale = math.sqrt((1 / d.size + test_share / (1 - test_share)) * float(d.var(ddof=1)))
    mean = float(d.mean())
    if scale == 0:
        return PracticalDifference(rope, float(mean > rope), float(abs(mean) <= rope), float(mean < -rope))
    below, above = (float(stdtr(d.size - 1, (edge - mean) / scale)) for edge in (-rope, rope))
    return PracticalDifference(rope, 1 - above, above - below, below)
