"""Other choices of gallery and probe images from similarity matrices (`hate permute`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.run_identity import run_names
from harness.errors import DataError, UsageError
from harness.lab.permute.statistics import (
    ImagePairs,
    PermutationCounts,
    percentile_interval,
    permute,
    share_not_better,
)
from harness.matrices.matrix import Labels, Matrix, align_matrices, scores_of
from harness.stats.arrays import BoolArray, IntArray
from harness.stats.rates import Interval

if TYPE_CHECKING:
    from harness.lab.permute.command import PermuteOptions

# Where nobody says up to which rank.
MAX_RANK = 10


def rule_words(options: "PermuteOptions") -> str:
    """In which columns a gallery and a probe image of a person must differ, and in which they must agree."""
    parts = [f"differ in {name}" for name in options.differ] + [f"agree in {name}" for name in options.agree]
    return "gallery and probe image of a person " + (" and ".join(parts) if parts else "are different images")


def exchangeable(matrix: Matrix, options: "PermuteOptions") -> tuple[ImagePairs, list[str]]:
    """All pairs that the options allow, and the people who have none. An image is never its own gallery."""
    sides = [_ImageSide(labels, options) for labels in (matrix.rows, matrix.columns)]
    same, images = matrix.same(), [side.by_person() for side in sides]
    people = sorted(images[0].keys() | images[1].keys())
    pairs: list[tuple[IntArray, IntArray]] = []
    patterns: dict[bytes, int] = {}
    codes, left_out = [], []
    for person in people:
        rows, columns = (side.get(person, np.empty(0, np.intp)) for side in images)
        allowed = _allowed(rows, columns, sides, same)
        if not allowed.any():
            left_out.append(person)
            continue
        column, row = np.nonzero(allowed.T)
        pairs.append((rows[row], columns[column]))
        codes.append(patterns.setdefault(np.array(allowed.shape).tobytes() + allowed.tobytes(), len(patterns)))
    if len(pairs) < 2:
        raise UsageError(
            f"{matrix.name}: {rule_words(options)}: that leaves {len(pairs)} of {len(people)} people, and two are "
            "needed; relax --differ and --agree, or name the person on each image with --subject"
        )
    rows, columns = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    starts = np.concatenate(([0], np.cumsum([len(pair[0]) for pair in pairs]))).astype(np.intp)
    return ImagePairs(rows, columns, starts, np.array(codes, dtype=np.intp)), left_out


class _ImageSide:
    """The rows, or the columns, of the matrix."""

    def __init__(self, labels: Labels, options: "PermuteOptions") -> None:
        self.person = labels.column(options.subject)
        self.differ = [labels.column(name) for name in options.differ]
        self.agree = [labels.column(name) for name in options.agree]

    def by_person(self) -> dict[str, IntArray]:
        """Places by person, sorted by the rule's columns, so that people with the same days have the same pattern."""
        keys = [np.arange(len(self.person)), *self.agree[::-1], *self.differ[::-1], self.person]
        order = np.lexsort(keys)
        names, starts = np.unique(self.person[order], return_index=True)
        return dict(zip(names.tolist(), np.split(order, starts[1:]), strict=True))


def _allowed(rows: IntArray, columns: IntArray, sides: Sequence[_ImageSide], same: IntArray) -> BoolArray:
    """Which pairs the rule allows, (rows, columns)."""
    probes, gallery = sides
    allowed = same[rows][:, None] != columns
    for probe_values, gallery_values in zip(probes.differ, gallery.differ, strict=True):
        allowed &= probe_values[rows][:, None] != gallery_values[columns]
    for probe_values, gallery_values in zip(probes.agree, gallery.agree, strict=True):
        allowed &= probe_values[rows][:, None] == gallery_values[columns]
    return np.asarray(allowed)


@dataclass(frozen=True)
class RateAtRank:
    """The distribution of a recognition rate."""

    rank: int
    mean: float
    sd: float
    interval: Interval


@dataclass(frozen=True)
class DifferenceAtRank:
    """The distribution of the difference a - b, on the same draws; the counts are of experiments."""

    a: str
    b: str
    rank: int
    # The mean.
    difference: float
    interval: Interval
    a_better: int
    ties: int
    b_better: int
    p_not_better: float
    p_b_not_better: float


@dataclass(frozen=True, eq=False)
class PermutedRates:
    """The results of all virtual experiments."""

    names: Sequence[str]
    options: "PermuteOptions"
    permuted: PermutationCounts
    image_pairs: int
    left_out: Sequence[str]
    patterns: int
    rates: Sequence[Sequence[RateAtRank]]
    pairs: Sequence[DifferenceAtRank]


def permuted_rates(matrices: Sequence[Matrix], options: "PermuteOptions") -> PermutedRates:
    """Draw, rank and count; every algorithm has the same draws."""
    matched = align_matrices(matrices)
    choices, left_out = exchangeable(matched[0], options)
    most = min(MAX_RANK, choices.people) if options.ranks is None else options.ranks
    if most > choices.people:
        raise UsageError(f"--ranks {most}: a gallery has only {choices.people} people")
    try:
        permuted = permute(
            [scores_of(matrix) for matrix in matched],
            choices,
            larger_is_better=[matrix.larger_is_better for matrix in matched],
            rng=np.random.default_rng(options.seed),
            experiments=options.experiments,
            ranks=most,
            balanced=options.balanced,
        )
    except ValueError as error:
        raise DataError(f"{', '.join(matrix.name for matrix in matched)}: {error}") from None
    names = run_names(*([matrix.name for matrix in matched],) * 2)
    ranks = range(1, most + 1)
    return PermutedRates(
        names=names,
        options=options,
        permuted=permuted,
        image_pairs=choices.rows.size,
        left_out=left_out,
        patterns=len(set(choices.patterns.tolist())),
        rates=[[_rate_at_rank(permuted, a, rank, options.confidence) for rank in ranks] for a in range(len(matched))],
        pairs=[
            _difference_at_rank(names, permuted, pair, rank, options.confidence)
            for pair in combinations(range(len(matched)), 2)
            for rank in ranks
        ],
    )


def _rate_at_rank(permuted: PermutationCounts, algorithm: int, rank: int, confidence: float) -> RateAtRank:
    rates = permuted.rates(algorithm, rank)
    sd = float(rates.std(ddof=1)) if len(rates) > 1 else 0.0
    return RateAtRank(rank, float(rates.mean()), sd, percentile_interval(rates, confidence=confidence))


def _difference_at_rank(
    names: Sequence[str], permuted: PermutationCounts, pair: tuple[int, int], rank: int, confidence: float
) -> DifferenceAtRank:
    difference = permuted.differences(*pair, rank)
    above, below = int(np.count_nonzero(difference > 0)), int(np.count_nonzero(difference < 0))
    return DifferenceAtRank(
        a=names[pair[0]],
        b=names[pair[1]],
        rank=rank,
        difference=float(difference.mean()),
        interval=percentile_interval(difference, confidence=confidence),
        a_better=above,
        ties=len(difference) - above - below,
        b_better=below,
        p_not_better=share_not_better(difference),
        p_b_not_better=share_not_better(-difference),
    )
