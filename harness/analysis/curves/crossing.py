"""Where the curves of two algorithms cross: on one side the one is better, on the other the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.analysis.curves.curve import Curve
from harness.stats.curves.crossing import Crossing, crossings


@dataclass(frozen=True)
class Crossed:
    """Two curves, by name, and all points where they cross, from left to right."""

    a: str
    b: str
    places: list[Crossing]

    def ahead(self, place: Crossing) -> str:
        """The one that is above at smaller false-positive rates."""
        return self.a if place.above_before == "a" else self.b

    def behind(self, place: Crossing) -> str:
        """The one that is above at larger ones."""
        return self.b if place.above_before == "a" else self.a


# Beyond so many curves nobody reads about pairs of them.
MOST_CURVES = 12


def crossed_pairs(curves: Sequence[Curve]) -> list[Crossed]:
    """All pairs that cross."""
    if len(curves) > MOST_CURVES:
        return []
    found = [Crossed(a.name, b.name, crossings(a.counts, b.counts)) for a, b in combinations(curves, 2)]
    return [pair for pair in found if pair.places]


def sentence(pair: Crossed) -> str:
    """In words: a single place, or the first and the last."""
    first, last = pair.places[0], pair.places[-1]
    before, after = pair.ahead(first), pair.behind(last)
    if len(pair.places) == 1:
        return (
            f"{pair.a} and {pair.b} cross at fpr {first.fpr:.4f}, tpr {first.tpr:.4f}: {before} is above at smaller "
            f"false-positive rates, {after} at larger ones."
        )
    between = f"between fpr {first.fpr:.4f} (tpr {first.tpr:.4f}) and fpr {last.fpr:.4f} (tpr {last.tpr:.4f})"
    outside = f"{before} is above before and after" if before == after else f"{before} is above before, {after} after"
    return f"{pair.a} and {pair.b} cross {len(pair.places)} times {between}: {outside}."
