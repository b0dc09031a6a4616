"""Ranks of the probes of a matrix, a block of rows at a time; an image is not compared with itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from harness.analysis.matrices.labels import IntArray, Labels
from harness.errors import DataError
from harness.stats.ranks import Ranks, rank_matrix

Scores = npt.NDArray[np.floating[Any]]
_JOINED = ("rank", "enrolled", "best_right", "best_wrong")


class Blocks(Protocol):
    """A matrix whose rows can be had some at a time."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def larger_is_better(self) -> bool:
        """Similarities, not distances."""

    @property
    def rows(self) -> Labels:
        """The probes."""

    @property
    def columns(self) -> Labels:
        """The gallery."""

    @property
    def worst(self) -> float:
        """A score that no other is worse than."""

    def blocks(self) -> Iterator[tuple[slice, Scores]]:
        """All rows, some at a time."""


@dataclass(frozen=True, eq=False)
class Who:
    """Who the probes and the gallery images are: texts, or numbers.

    `same` is for each probe the place of the gallery image that it is itself; -1 where there is none.
    """

    probes: npt.NDArray[Any]
    gallery: npt.NDArray[Any]
    same: IntArray

    def coded(self) -> "Who":
        """The same with people as numbers, which are quicker to compare: -1 for probes of nobody else there.

        A person whose only image in the gallery is the probe itself is nobody else.
        """
        names, gallery, images = np.unique(self.gallery, return_inverse=True, return_counts=True)
        at = np.minimum(np.searchsorted(names, self.probes), names.size - 1)
        known = names[at] == self.probes
        alone = (images[at] == 1) & (self.same >= 0) & (gallery[self.same] == at)
        return Who(np.where(known & ~alone, at, -1), gallery, self.same)

    def at(self, rows: slice) -> "Who":
        """Some of the probes."""
        return Who(self.probes[rows], self.gallery, self.same[rows])


def rank_probes(matrix: Blocks, who: Who) -> Ranks:
    """Rank every probe."""
    coded = who.coded()
    parts = [_rank(matrix, at, part, coded.at(at)) for at, part in matrix.blocks()]
    joined = [np.concatenate([getattr(part, name) for part in parts]) for name in _JOINED]
    return Ranks(joined[0], joined[1], joined[2], joined[3], parts[0].gallery)


def first_candidates(matrix: Blocks, who: Who, barred: npt.NDArray[Any]) -> IntArray:
    """The column of the best image for each probe; `barred` is a person who must not be it, where there is one."""
    best = np.argmax if matrix.larger_is_better else np.argmin
    found = []
    for at, part in matrix.blocks():
        part = _without_twins(part, who.same[at], matrix.worst)
        columns = best(part, axis=1)
        for row in np.flatnonzero(who.gallery[columns] == barred[at]):
            others = np.flatnonzero(who.gallery != barred[at][row])
            columns[row] = others[best(part[row, others])]
        found.append(columns)
    return np.concatenate(found)


def _rank(matrix: Blocks, at: slice, part: Scores, who: Who) -> Ranks:
    own = _without_twins(part, who.same, matrix.worst)
    try:
        return rank_matrix(own, who.probes, who.gallery, larger_is_better=matrix.larger_is_better)
    except ValueError as error:
        raise DataError(f"{matrix.name}: {_lacking(matrix, at, part) or error}") from None


def _without_twins(part: Scores, same: IntArray, worst: float) -> Scores:
    """The block with the worst score where a probe would meet itself."""
    twins = np.flatnonzero(same >= 0)
    if not twins.size:
        return part
    own = np.array(part, dtype=np.result_type(part.dtype, np.float16))
    own[twins, same[twins]] = worst
    return own


def _lacking(matrix: Blocks, at: slice, part: Scores) -> str:
    """Name the pair that has no score, if one has none."""
    lacking = np.argwhere(np.isnan(part))
    if not lacking.size:
        return ""
    probe, image = matrix.rows.ids[at.start + lacking[0][0]], matrix.columns.ids[lacking[0][1]]
    return f"the score of '{probe}' and '{image}' is not a number; give the worst score instead"
