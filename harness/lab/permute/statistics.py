"""How far the recognition rate moves with other gallery and probe images of the same people: section 7 of the paper.

In every experiment each person has one gallery and one probe image, drawn from the exchangeable ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.lab.rank_bits import Scores, rank_bits
from harness.stats.arrays import FloatArray, IntArray
from harness.stats.rates import Interval

# Ranks computed at a time, few enough to fit in a processor's cache.
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class ImagePairs:
    """Pairs (row of a probe, column of a gallery image) that a person may be tested with, person by person.

    `starts` holds the index of each person's first pair, and the number of all pairs at its end. People with the same
    `pattern` have matching pairs in the same order (such as first image in the gallery, third as the probe), so that a
    draw can be balanced.
    """

    rows: IntArray
    columns: IntArray
    starts: IntArray
    patterns: IntArray

    @property
    def people(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> IntArray:
        """Number of pairs of each person."""
        return np.diff(self.starts)


@dataclass(frozen=True, slots=True, eq=False)
class PermutationCounts:
    """`identified[e, a, r]`: number of people whom algorithm a found at rank r + 1 or better in experiment e."""

    identified: npt.NDArray[np.int32]
    people: int

    @property
    def experiments(self) -> int:
        return len(self.identified)

    def rates(self, algorithm: int, rank: int) -> FloatArray:
        """The recognition rate in every experiment."""
        return np.asarray(self.identified[:, algorithm, rank - 1] / self.people)

    def differences(self, a: int, b: int, rank: int) -> FloatArray:
        """The rate of a minus that of b, on the same images, in every experiment."""
        return np.asarray((self.identified[:, a, rank - 1] - self.identified[:, b, rank - 1]) / self.people)


def permute(
    matrices: Sequence[Scores],
    choices: ImagePairs,
    *,
    larger_is_better: Sequence[bool],
    rng: np.random.Generator,
    experiments: int = 10_000,
    ranks: int = 10,
    balanced: bool = True,
) -> PermutationCounts:
    """Draw experiments and count the people whom each algorithm finds at ranks 1, 2, ...

    All algorithms get the same draws. These depend on the choices and the generator alone: adding an algorithm does not
    change them.
    """
    if experiments < 1 or ranks < 1:
        raise ValueError(f"{experiments} experiments, {ranks} ranks: expected one or more of each")
    if choices.people < 1 or (choices.sizes < 1).any():
        raise ValueError("a person has no pair of images to choose from: leave such people out")
    bits = rank_bits(matrices, choices.rows, choices.columns, larger_is_better=larger_is_better)
    identified = np.empty((experiments, len(matrices), ranks), dtype=np.int32)
    step = max(1, _BLOCK // (choices.people * len(matrices)))
    done = 0
    for pairs in draw_pairs(choices, experiments, rng=rng, balanced=balanced, step=step):
        rank = bits.ranks(pairs, choices.columns[pairs])
        identified[done : done + len(pairs)] = _cumulative_counts(rank, ranks)
        done += len(pairs)
    return PermutationCounts(identified, choices.people)


def draw_pairs(
    choices: ImagePairs, experiments: int, *, rng: np.random.Generator, balanced: bool = True, step: int = 1000
) -> Iterator[IntArray]:
    """Pairs (experiments, people), `step` experiments at a time; `step` does not change what is drawn.

    Unbalanced: every person's pair is drawn independently. Balanced: people are put in random order and dealt the pairs
    of their pattern in turn, so that all pairs are used equally often. The first pair dealt is drawn too: otherwise the
    first pairs would be favoured if the number of people is not a multiple of the number of pairs.
    """
    groups = [np.flatnonzero(choices.patterns == pattern) for pattern in np.unique(choices.patterns)]
    for start in range(0, experiments, step):
        size = min(step, experiments - start)
        # One call per block, row by row: the stream of numbers is the same for any step.
        u = rng.random((size, choices.people + len(groups)))
        yield choices.starts[:-1] + (
            _balanced(u, choices, groups) if balanced else (u[:, : choices.people] * choices.sizes).astype(np.intp)
        )


def share_not_better(differences: FloatArray) -> float:
    """(b + 1) / (N + 1), with b the number of differences not above 0: never 0, as for any Monte Carlo test.

    The share b / N may be 0, which no number of experiments can show.
    """
    return float((np.count_nonzero(differences <= 0) + 1) / (len(differences) + 1))


def percentile_interval(values: FloatArray, *, confidence: float = 0.95) -> Interval:
    """Leave out the share (1 - confidence) / 2 at each end: section 7.4 of the paper."""
    ordered = np.sort(values)
    outside = int(np.floor((1 - confidence) / 2 * len(ordered) + 1e-9))
    return Interval(float(ordered[outside]), float(ordered[len(ordered) - 1 - outside]))


def _balanced(u: FloatArray, choices: ImagePairs, groups: Sequence[IntArray]) -> IntArray:
    sampled = np.empty((len(u), choices.people), dtype=np.intp)
    for number, members in enumerate(groups):
        size = int(choices.sizes[members[0]])
        first = (u[:, choices.people + number] * size).astype(np.intp)
        dealt = (np.arange(members.size) + first[:, None]) % size
        order = members[np.argsort(u[:, members], axis=1)]
        np.put_along_axis(sampled, order, dealt, axis=1)
    return sampled


def _cumulative_counts(rank: npt.NDArray[np.uint32], ranks: int) -> npt.NDArray[np.int32]:
    """Counts (experiments, algorithms, ranks) from ranks (experiments, people, algorithms)."""
    experiments, _, algorithms = rank.shape
    cell = np.arange(experiments)[:, None, None] * algorithms + np.arange(algorithms)
    at = np.minimum(rank, ranks + 1) - 1 + cell * (ranks + 1)
    counts = np.bincount(at.ravel(), minlength=experiments * algorithms * (ranks + 1))
    return np.asarray(np.cumsum(counts.reshape(experiments, algorithms, -1), axis=2)[..., :ranks], dtype=np.int32)
