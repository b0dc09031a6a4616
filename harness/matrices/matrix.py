"""A matrix of similarities or distances with labels: choose a gallery and probes, and rank them in blocks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from harness.errors import DataError, ScriptError, UsageError
from harness.files.conditions import Condition
from harness.files.tables import rows
from harness.model import plain_text
from harness.params import nearest
from harness.stats.arrays import BoolArray, IntArray
from harness.stats.gallery_ranks import Ranks, rank_matrix

TextArray = npt.NDArray[np.str_]


@dataclass(frozen=True)
class Labels:
    """Labels in the order of the rows (or columns) that they describe; `id` is one of the columns."""

    columns: Mapping[str, Sequence[Any]]

    def __len__(self) -> int:
        return len(self.columns["id"])

    @property
    def ids(self) -> TextArray:
        return self.column("id")

    def column(self, name: str) -> TextArray:
        return np.array([plain_text(value) for value in self._known(name)], dtype=np.str_)

    def where(self, conditions: Sequence[Condition]) -> BoolArray:
        """Which of them meet all conditions."""
        chosen = np.ones(len(self), np.bool_)
        for condition in conditions:
            chosen &= np.fromiter(map(condition.holds, self._known(condition.name)), np.bool_, len(self))
        return chosen

    def take(self, at: IntArray) -> "Labels":
        """Some of them, in the given order."""
        return Labels({name: [values[index] for index in at] for name, values in self.columns.items()})

    def _known(self, name: str) -> Sequence[Any]:
        if name not in self.columns:
            raise UsageError(f"no column '{name}' among the labels; {nearest(name, self.columns)}")
        return self.columns[name]


def index_of_ids(ids: TextArray, known: TextArray) -> IntArray:
    """The index of each id among the known ones; -1 if it is not there."""
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known, ids, sorter=order), known.size - 1)
    index = order[at]
    return np.asarray(np.where(known[index] == ids, index, -1), dtype=np.intp)


def read_labels(path: Path) -> Labels:
    """Read a table (CSV, TSV, JSON lines or Parquet) with a column `id`: a row for each row or column of a matrix."""
    columns: dict[str, list[Any]] = {}
    lines: dict[str, int] = {}
    try:
        for number, (line, row) in enumerate(rows(path)):
            image = plain_text(row.get("id"))
            if not image:
                raise DataError(f"{path}:{line}: no id; give each row a unique one in column id")
            if image in lines:
                raise DataError(f"{path}:{line}: id '{image}' is also in line {lines[image]}; ids must be unique")
            lines[image] = line
            for name, value in row.items():
                columns.setdefault(name, [None] * number).append(value)
            for name in columns.keys() - row.keys():
                columns[name].append(None)
    except ScriptError as error:
        raise DataError(f"{path.parent / str(error)}") from None
    if not columns:
        raise DataError(f"{path}: no rows; expected one for each row or column of the matrix")
    return Labels(columns)


Scores = npt.NDArray[np.floating[Any]]
_RANK_FIELDS = ("rank", "enrolled", "best_right", "best_wrong")


class Blocks(Protocol):
    """A matrix whose rows can be read in blocks."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def larger_is_better(self) -> bool:
        """Whether scores are similarities, not distances."""

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
        """All rows, in blocks."""


@dataclass(frozen=True, eq=False)
class Identities:
    """The identities of the probes and the gallery images, as text or numbers.

    `same`: for each probe, the index of the gallery image that is the same image; -1 if there is none.
    """

    probes: npt.NDArray[Any]
    gallery: npt.NDArray[Any]
    same: IntArray

    def coded(self) -> "Identities":
        """The same with numbers, which are faster to compare: -1 for probes of people not in the gallery.

        The probe's own image does not count as a gallery image of the person.
        """
        names, gallery, images = np.unique(self.gallery, return_inverse=True, return_counts=True)
        at = np.minimum(np.searchsorted(names, self.probes), names.size - 1)
        known = names[at] == self.probes
        only_itself = (images[at] == 1) & (self.same >= 0) & (gallery[self.same] == at)
        return Identities(np.where(known & ~only_itself, at, -1), gallery, self.same)

    def at(self, rows: slice) -> "Identities":
        """Some of the probes."""
        return Identities(self.probes[rows], self.gallery, self.same[rows])


def rank_probes(matrix: Blocks, identities: Identities) -> Ranks:
    coded = identities.coded()
    parts = []
    for at, block in matrix.blocks():
        members, larger = coded.at(at), matrix.larger_is_better
        scores = _without_self(block, members.same, matrix.worst)
        try:
            parts.append(rank_matrix(scores, members.probes, members.gallery, larger_is_better=larger))
        except ValueError as error:
            raise DataError(f"{matrix.name}: {_missing_score(matrix, at, block) or error}") from None
    joined = [np.concatenate([getattr(part, name) for part in parts]) for name in _RANK_FIELDS]
    return Ranks(joined[0], joined[1], joined[2], joined[3], parts[0].gallery)


def first_candidates(matrix: Blocks, identities: Identities, excluded: npt.NDArray[Any]) -> IntArray:
    """The column of the best image for each probe, of anybody but the `excluded` person (-1 for nobody)."""
    best = np.argmax if matrix.larger_is_better else np.argmin
    candidates = []
    for at, part in matrix.blocks():
        part = _without_self(part, identities.same[at], matrix.worst)
        columns = best(part, axis=1)
        for row in np.flatnonzero(identities.gallery[columns] == excluded[at]):
            others = np.flatnonzero(identities.gallery != excluded[at][row])
            columns[row] = others[best(part[row, others])]
        candidates.append(columns)
    return np.concatenate(candidates)


def _without_self(part: Scores, same: IntArray, worst: float) -> Scores:
    """The block with the worst score for a probe compared with itself."""
    rows = np.flatnonzero(same >= 0)
    if not rows.size:
        return part
    scores = np.array(part, dtype=np.result_type(part.dtype, np.float16))
    scores[rows, same[rows]] = worst
    return scores


def _missing_score(matrix: Blocks, at: slice, part: Scores) -> str:
    """A message that names the first pair without a score; empty if there is none."""
    missing = np.argwhere(np.isnan(part))
    if not missing.size:
        return ""
    probe, image = matrix.rows.ids[at.start + missing[0][0]], matrix.columns.ids[missing[0][1]]
    return f"the score of '{probe}' and '{image}' is not a number; give the worst score instead"


SUBJECT = "subject"
# Scores processed at a time, unless a row has more.
BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Matrix:
    """Rows are probes, columns gallery images. `stored` may be a mapped file; a selection of it is read in blocks."""

    name: str
    stored: Scores
    rows: Labels
    columns: Labels
    larger_is_better: bool = True
    # The rows and columns of `stored` that the labels describe; None for all.
    row_index: IntArray | None = None
    column_index: IntArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Probes and gallery images."""
        return len(self.rows), len(self.columns)

    @property
    def scores(self) -> Scores:
        """All selected scores, in memory unless the whole matrix is selected."""
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
        size = max(1, BLOCK // max(1, len(self.columns)))
        for start in range(0, len(self.rows), size):
            at = slice(start, min(start + size, len(self.rows)))
            yield at, self.block(at.start, at.stop)

    def select(self, rows: Sequence[Condition] = (), columns: Sequence[Condition] = ()) -> "Matrix":
        """The probes and gallery images that meet these conditions; nothing is read yet."""
        probes, gallery = np.flatnonzero(self.rows.where(rows)), np.flatnonzero(self.columns.where(columns))
        for selected, conditions, what in ((probes, rows, "probe"), (gallery, columns, "gallery image")):
            if not selected.size:
                words = " and ".join(f"{c.name}{c.relation}{c.value}" for c in conditions)
                raise UsageError(f"{self.name}: no {what} has {words}")
        return self.take(probes if rows else None, gallery if columns else None)

    def take(self, rows: IntArray | None = None, columns: IntArray | None = None) -> "Matrix":
        """Some rows and columns by index, in the given order; None for all."""
        selection = self
        if rows is not None:
            index = rows if self.row_index is None else self.row_index[rows]
            selection = replace(selection, rows=self.rows.take(rows), row_index=index)
        if columns is not None:
            index = columns if self.column_index is None else self.column_index[columns]
            selection = replace(selection, columns=self.columns.take(columns), column_index=index)
        return selection

    def same(self) -> IntArray:
        """For each probe, the index of the gallery image with the same id; -1 if there is none."""
        return index_of_ids(self.rows.ids, self.columns.ids)

    def ranks(self, identity: str = SUBJECT, *, exclude_same: bool = True) -> Ranks:
        """Rank every probe. The column `identity` names the person; an image is not compared with itself."""
        probes, gallery = self.rows.column(identity), self.columns.column(identity)
        same = self.same() if exclude_same else np.full(len(probes), -1)
        return rank_probes(self, Identities(probes, gallery, same))


def align_matrices(matrices: Sequence[Matrix]) -> list[Matrix]:
    """The matrices with rows and columns in the order of the first; raises a DataError if images differ."""
    first, aligned = matrices[0], [matrices[0]]
    for matrix in matrices[1:]:
        rows = _matching_index(matrix.rows.ids, first.rows.ids, f"{matrix.name}: its rows", first.name)
        columns = _matching_index(matrix.columns.ids, first.columns.ids, f"{matrix.name}: its columns", first.name)
        aligned.append(replace(matrix.take(rows, columns), rows=first.rows, columns=first.columns))
    return aligned


def scores_of(matrix: Matrix) -> Scores:
    """All scores; an image compared with itself, which is never used, gets the worst score if it has none."""
    scores, same = matrix.scores, matrix.same()
    rows = np.flatnonzero(same >= 0)
    missing = rows[np.isnan(scores[rows, same[rows]])]
    if missing.size:
        scores = np.array(scores)
        scores[missing, same[missing]] = matrix.worst
    return scores


def _matching_index(ids: TextArray, reference: TextArray, what: str, name: str) -> IntArray | None:
    if np.array_equal(ids, reference):
        return None
    index = {image: number for number, image in enumerate(ids.tolist())}
    missing = [image for image in reference.tolist() if image not in index]
    if missing or len(ids) != len(reference):
        mismatch = f"have no '{missing[0]}', which {name} has" if missing else f"are more than those of {name}"
        raise DataError(f"{what} {mismatch}; algorithms are compared on the same images")
    return np.array([index[image] for image in reference.tolist()], dtype=np.intp)
