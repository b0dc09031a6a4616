"""A matrix of similarities or distances with labels: any choice of gallery and probes out of it, ranked in blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.conditions import Condition
from harness.analysis.matrices.labels import IntArray, Labels, places
from harness.analysis.matrices.ranking import Scores, Who, rank_probes
from harness.errors import UsageError
from harness.stats.ranks import Ranks

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
        return rank_probes(self, Who(probes, gallery, same))
