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


# Beyond so many curves nobody reads about pairs of them.
MOST_CURVES = 12


def crossed_pairs(curves: Sequence[Curve]) -> list[Crossed]:
    """All pairs that cross."""
    if len(curves) > MOST_CURVES:
        return []
    found = [Crossed(a.name, b.name, crossings(a.counts, b.counts)) for a, b in combinations(curves, 2)]
    return [pair for pair in found if pair.places]


def sentence(pair: Crossed) -> str:
    """In words: each place where they are few, else the first and the last."""
    first, last = pair.places[0], pair.places[-1]
    other = {pair.a: pair.b, pair.b: pair.a}
    if len(pair.places) == 1:
        ahead = pair.ahead(first)
        return (
            f"{pair.a} and {pair.b} cross at fpr {first.fpr:.4f}, tpr {first.tpr:.4f}: {ahead} is above at smaller "
            f"false-positive rates, {other[ahead]} at larger ones."
        )
    before, after = pair.ahead(first), other[pair.ahead(last)]
    return (
        f"{pair.a} and {pair.b} cross {len(pair.places)} times: {before} is above up to fpr {first.fpr:.4f} (tpr "
        f"{first.tpr:.4f}), {after} from fpr {last.fpr:.4f} (tpr {last.tpr:.4f}); neither is better everywhere."
    )
