"""How far a drawing of curves reaches: what gnuplot's and matplotlib's pictures agree on."""

from collections.abc import Sequence

from harness.analysis.curves.curve import Curve


def smallest_rate(curves: Sequence[Curve]) -> float:
    """Half of the smallest rate that is not 0: where an axis begins that has no 0."""
    smallest = min(1 / (2 * max(curve.positives, curve.negatives)) for curve in curves)
    return max(smallest, 1e-6)


def largest_rate(curves: Sequence[Curve]) -> float:
    """Where normal-deviate axes end: past the equal error rates, with room for a legend."""
    return min(0.999, max(0.6, *(2 * curve.eer.value for curve in curves)))


def reached(curve: Curve) -> tuple[int, int]:
    """Where the part of a curve begins and stops that thresholds reach; settings of a sweep all are."""
    size = int(curve.points.tpr.size)
    if curve.param is not None:
        return 0, size
    return int(curve.counts.opened), size - int(curve.counts.closed)
