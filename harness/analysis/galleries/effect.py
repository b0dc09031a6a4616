"""The experiment with each gallery, and a test whether they differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from harness.analysis.comparing.sampling import DesignOptions
from harness.analysis.curves.match import MatchCurve, MatchWishes, match_curve
from harness.analysis.curves.ranked import ranks_of_matrix
from harness.analysis.galleries.sets import Sets, sets_of
from harness.analysis.matrices.alike import scores_of
from harness.analysis.matrices.matrix import SUBJECT, Matrix
from harness.errors import DataError
from harness.stats.gallery_effect import GalleryEffect, gallery_effect

RANKS = 10


@dataclass(frozen=True, eq=False)
class Tested:
    """A partition into galleries, and how far they differ."""

    sets: Sets
    effect: GalleryEffect
    mixed: bool


@dataclass(frozen=True, eq=False)
class Galleries:
    """The curves of one algorithm, a gallery each, and the tests: as labelled, and mixed if that was asked for."""

    name: str
    curves: Sequence[MatchCurve]
    tested: Sequence[Tested]
    permutations: int
    seed: int


def galleries(
    matrix: Matrix, column: str, wishes: MatchWishes, design: DesignOptions, *, mix: bool = False, permutations: int
) -> Galleries:
    """Everybody's images of one label as the gallery, the others as probes; people are strata unless told otherwise."""
    partitions = [sets_of(matrix, column)]
    if mix:
        partitions.append(partitions[0].mix())
    tested = [
        _tested(matrix, sets, permutations, wishes.seed, mixed=number > 0) for number, sets in enumerate(partitions)
    ]
    if design.stratum is None and design.psu is None:
        design = DesignOptions([SUBJECT], None, design.weights, design.lone)
    last = partitions[-1]
    experiments = [last.experiment(matrix, number) for number in range(len(last.names))]
    curves = [match_curve(ranks_of_matrix(one, design), wishes) for one in experiments]
    return Galleries(matrix.name, curves, tested, permutations, wishes.seed)


def _tested(matrix: Matrix, sets: Sets, permutations: int, seed: int, *, mixed: bool) -> Tested:
    try:
        effect = gallery_effect(
            scores_of(matrix),
            sets.rows,
            sets.columns,
            rng=np.random.default_rng(seed),
            larger_is_better=matrix.larger_is_better,
            ranks=min(RANKS, len(sets.people)),
            permutations=permutations,
        )
    except ValueError as error:
        raise DataError(f"{matrix.name}: {error}") from None
    return Tested(sets, effect, mixed)


def as_json(found: Galleries) -> dict[str, Any]:
    """The tests, beside the curves."""
    return {
        "name": found.name,
        "column": found.tested[0].sets.column,
        "people": len(found.tested[0].sets.people),
        "left_out": list(found.tested[0].sets.left_out),
        "permutations": found.permutations,
        "seed": found.seed,
        "tests": [_json(one) for one in found.tested],
    }


def _json(one: Tested) -> dict[str, Any]:
    effect, names = one.effect, one.sets.names
    return {
        "mixed": one.mixed,
        "galleries": list(names),
        "ranks": list(range(1, effect.rates.shape[1] + 1)),
        "rates": effect.rates.tolist(),
        "range": effect.ranges.tolist(),
        "p_values": effect.p_values.tolist(),
        "pairs": [
            {"a": names[a], "b": names[b], "rank": 1, "difference": float(effect.rates[a, 0] - effect.rates[b, 0]),
             "p_adjusted": float(effect.p_pairs[a, b, 0])}
            for a, b in combinations(range(len(names)), 2)
        ],
    }  # fmt: skip
