"""A matrix of similarities or distances with labels: any gallery and any probes out of it, ranked in blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from harness.errors import DataError, UsageError
from harness.files.conditions import Condition
from harness.matrices.labels import Labels, TextArray, places
from harness.stats.arrays import IntArray
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
class Identities:
    """Who the probes and the gallery images are: texts, or numbers.

    `same` is for each probe the place of the gallery image that it is itself; -1 where there is none.
    """

    probes: npt.NDArray[Any]
    gallery: npt.NDArray[Any]
    same: IntArray

    def coded(self) -> "Identities":
        """The same with people as numbers, which are quicker to compare: -1 for probes of people not in the gallery.

        The probe itself does not count as a person's image in the gallery.
        """
        names, gallery, images = np.unique(self.gallery, return_inverse=True, return_counts=True)
        at = np.minimum(np.searchsorted(names, self.probes), names.size - 1)
        known = names[at] == self.probes
        alone = (images[at] == 1) & (self.same >= 0) & (gallery[self.same] == at)
        return Identities(np.where(known & ~alone, at, -1), gallery, self.same)

    def at(self, rows: slice) -> "Identities":
        """Some of the probes."""
        return Identities(self.probes[rows], self.gallery, self.same[rows])


def rank_probes(matrix: Blocks, who: Identities) -> Ranks:
    """Rank every probe."""
    coded = who.coded()
    parts = [_rank(matrix, at, part, coded.at(at)) for at, part in matrix.blocks()]
    joined = [np.concatenate([getattr(part, name) for part in parts]) for name in _JOINED]
    return Ranks(joined[0], joined[1], joined[2], joined[3], parts[0].gallery)


def first_candidates(matrix: Blocks, who: Identities, barred: npt.NDArray[Any]) -> IntArray:
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


def _rank(matrix: Blocks, at: slice, part: Scores, who: Identities) -> Ranks:
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


SUBJECT = "subject"
# Scores worked on at a time, unless a row has more.
BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Matrix:
    """Rows are probes, columns gallery images. `stored` may lie in a file; what is chosen of it is read in blocks."""

    name: str
    stored: Scores
    rows: Labels
    columns: Labels
    larger_is_better: bool = True
    # Which rows and columns of `stored` the labels speak of; None for all.
    row_index: IntArray | None = None
    column_index: IntArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Probes and gallery images."""
        return len(self.rows), len(self.columns)

    @property
    def scores(self) -> Scores:
        """All that was chosen, in memory unless it is the whole."""
        return self.block(0, len(self.rows))

    @property
    def worst(self) -> float:
        """A score that no other is worse than."""
        return -np.inf if self.larger_is_better else np.inf

    def block(self, start: int, stop: int) -> Scores:
        """The scores of some rows, in the order of the labels."""
        part = self.stored[start:stop] if self.row_index is None else self.stored[self.row_index[start:stop]]
        return part if self.column_index is None else part[:, self.column_index]

    def blocks(self) -> Iterator[tuple[slice, Scores]]:
        """All rows, some at a time."""
        size = max(1, BLOCK // max(1, len(self.columns)))
        for start in range(0, len(self.rows), size):
            at = slice(start, min(start + size, len(self.rows)))
            yield at, self.block(at.start, at.stop)

    def select(self, rows: Sequence[Condition] = (), columns: Sequence[Condition] = ()) -> "Matrix":
        """The probes and gallery images that meet these conditions; nothing is read yet."""
        probes, gallery = np.flatnonzero(self.rows.where(rows)), np.flatnonzero(self.columns.where(columns))
        for found, conditions, what in ((probes, rows, "probe"), (gallery, columns, "gallery image")):
            if not found.size:
                words = " and ".join(f"{c.name}{c.relation}{c.wanted}" for c in conditions)
                raise UsageError(f"{self.name}: no {what} has {words}")
        return self.take(probes if rows else None, gallery if columns else None)

    def take(self, rows: IntArray | None = None, columns: IntArray | None = None) -> "Matrix":
        """Some rows and columns by their places, in the order given; None for all."""
        chosen = self
        if rows is not None:
            index = rows if self.row_index is None else self.row_index[rows]
            chosen = replace(chosen, rows=self.rows.take(rows), row_index=index)
        if columns is not None:
            index = columns if self.column_index is None else self.column_index[columns]
            chosen = replace(chosen, columns=self.columns.take(columns), column_index=index)
        return chosen

    def same(self) -> IntArray:
        """For each probe the place of the gallery image that is the same image, by its id; -1 where there is none."""
        return places(self.rows.ids, self.columns.ids)

    def ranks(self, identity: str = SUBJECT, *, exclude_same: bool = True) -> Ranks:
        """Rank every probe. The column `identity` says who is who; an image is not compared with itself."""
        probes, gallery = self.rows.column(identity), self.columns.column(identity)
        same = self.same() if exclude_same else np.full(len(probes), -1)
        return rank_probes(self, Identities(probes, gallery, same))


def align_matrices(matrices: Sequence[Matrix]) -> list[Matrix]:
    """The matrices with rows and columns in the order of the first; an error where one has other images."""
    first = matrices[0]
    return [first, *(_in_order(matrix, first) for matrix in matrices[1:])]


def scores_of(matrix: Matrix) -> Scores:
    """All scores, in memory unless it is the whole; an image against itself, which is never used, may have none."""
    scores, same = matrix.scores, matrix.same()
    twins = np.flatnonzero(same >= 0)
    lacking = twins[np.isnan(scores[twins, same[twins]])]
    if lacking.size:
        scores = np.array(scores)
        scores[lacking, same[lacking]] = matrix.worst
    return scores


def _in_order(matrix: Matrix, first: Matrix) -> Matrix:
    rows = _places(matrix.rows.ids, first.rows.ids, f"{matrix.name}: its rows", first.name)
    columns = _places(matrix.columns.ids, first.columns.ids, f"{matrix.name}: its columns", first.name)
    moved = matrix.take(rows, columns)
    return replace(moved, rows=first.rows, columns=first.columns)


def _places(ids: TextArray, wanted: TextArray, what: str, name: str) -> IntArray | None:
    if np.array_equal(ids, wanted):
        return None
    place = {one: number for number, one in enumerate(ids.tolist())}
    missing = [one for one in wanted.tolist() if one not in place]
    if missing or len(ids) != len(wanted):
        lacking = f"have no '{missing[0]}', which {name} has" if missing else f"are more than those of {name}"
        raise DataError(f"{what} {lacking}; algorithms are compared on the same images")
    return np.array([place[one] for one in wanted.tolist()], dtype=np.intp)
