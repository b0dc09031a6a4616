"""Whether the best of several candidates beats a standard, when it was chosen for being the best on the same units."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
FLIPS = 2000
# Flips and candidates are multiplied in pieces of about this many numbers.
_PIECE = 1 << 22


@dataclass(frozen=True, slots=True)
class BestOf:
    """`p_value`: how often the best of these candidates would lead as clearly if none were better than the standard."""

    best: int
    t: float
    p_value: float
    candidates: int
    flips: int


def best_of(leads: npt.ArrayLike, *, rng: np.random.Generator, flips: int = FLIPS, best: int | None = None) -> BestOf:
    """A one-sided randomisation test over candidates (units, m): what each unit adds to each one's lead.

    If a candidate is no better than the standard, the sign of a unit's lead is a coin toss; it is tossed for all
    candidates at once, which keeps their dependence. The largest t of the candidates (sum over root of the sum of
    squares, which no toss changes) is compared with the largest of every toss: Westfall and Young (1993), single step.
    `best` names the candidate to be judged, where that is not the one with the largest t.
    """
    d = _checked(leads)
    scale = np.sqrt((d**2).sum(axis=0))
    scaled = np.divide(d, scale, out=np.zeros_like(d), where=scale > 0)
    t = scaled.sum(axis=0)
    chosen = int(t.argmax()) if best is None else best
    beaten = 0
    step = max(1, _PIECE // max(d.shape))
    for start in range(0, flips, step):
        signs = rng.choice(np.array([-1.0, 1.0]), size=(min(step, flips - start), len(d)))
        # The hair is rounding: a toss that gives the very same t must count.
        beaten += int(((signs @ scaled).max(axis=1) >= t[chosen] - 1e-9).sum())
    return BestOf(chosen, float(t[chosen]), (beaten + 1) / (flips + 1), d.shape[1], flips)


def _checked(leads: npt.ArrayLike) -> FloatArray:
    d = np.asarray(leads, dtype=np.float64)
    if d.ndim != 2 or not d.size:
        raise ValueError(f"leads have shape {d.shape}: expected units x candidates, one of each at least")
    if not np.isfinite(d).all():
        raise ValueError("leads must be finite numbers")
    return d
