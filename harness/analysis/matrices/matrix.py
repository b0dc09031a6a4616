"""A matrix of similarities or distances with labels: any choice of gallery and probes out of it, ranked in blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.conditions import Condition
from harness.analysis.matrices.labels import IntArray, Labels, TextArray
from harness.errors import DataError, UsageError
from harness.stats.ranks import Ranks, rank_matrix

SUBJECT = "subject"
# Scores worked on at a time, unless a row has more: 4 MiB of single precision, which a processor's cache holds.
BLOCK = 1 << 20
Scores = npt.NDArray[np.floating[Any]]


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
        return _places(self.rows.ids, self.columns.ids)

    def ranks(self, identity: str = SUBJECT, *, exclude_same: bool = True) -> Ranks:
        """Rank every probe. The column `identity` says who is who; an image is not compared with itself."""
        probes, gallery = self.rows.column(identity), self.columns.column(identity)
        same = self.same() if exclude_same else np.full(len(probes), -1)
        parts = [self._rank(at, part, (probes[at], gallery, same[at])) for at, part in self.blocks()]
        joined = [np.concatenate([getattr(part, name) for part in parts]) for name in _JOINED]
        return Ranks(joined[0], joined[1], joined[2], joined[3], parts[0].gallery)

    def _rank(self, at: slice, part: Scores, who: tuple[TextArray, TextArray, IntArray]) -> Ranks:
        probes, gallery, same = who
        twins = np.flatnonzero(same >= 0)
        if twins.size:
            part = np.array(part, dtype=np.result_type(part.dtype, np.float16))
            part[twins, same[twins]] = self.worst
        try:
            ranks = rank_matrix(part, probes, gallery, larger_is_better=self.larger_is_better)
        except ValueError as error:
            raise DataError(f"{self.name}: {self._lacking(at, part) or error}") from None
        return ranks if not twins.size else _without(ranks, _alone(probes, gallery, same))

    def _lacking(self, at: slice, part: Scores) -> str:
        """Name the pair that has no score, if one has none."""
        lacking = np.argwhere(np.isnan(part))
        if not lacking.size:
            return ""
        probe, image = self.rows.ids[at.start + lacking[0][0]], self.columns.ids[lacking[0][1]]
        return f"the score of '{probe}' and '{image}' is not a number; give the worst score instead"


_JOINED = ("rank", "enrolled", "best_right", "best_wrong")


def _places(wanted: TextArray, known: TextArray) -> IntArray:
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known, wanted, sorter=order), known.size - 1)
    found = order[at]
    return np.asarray(np.where(known[found] == wanted, found, -1), dtype=np.intp)


def _alone(probes: TextArray, gallery: TextArray, same: IntArray) -> npt.NDArray[np.bool_]:
    """Probes whose person has no other image in the gallery than the probe itself."""
    names, counts = np.unique(gallery, return_counts=True)
    at = np.minimum(np.searchsorted(names, probes), names.size - 1)
    images = np.where(names[at] == probes, counts[at], 0)
    return np.asarray((images == 1) & (same >= 0) & (gallery[same] == probes))


def _without(ranks: Ranks, alone: npt.NDArray[np.bool_]) -> Ranks:
    rank, right = np.where(alone, np.nan, ranks.rank), np.where(alone, np.nan, ranks.best_right)
    return Ranks(rank, ranks.enrolled & ~alone, right, ranks.best_wrong, ranks.gallery)
