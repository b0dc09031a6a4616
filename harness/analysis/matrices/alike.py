"""Several matrices of the same images: what is asked of one can be asked of all, on the same images."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.analysis.matrices.labels import IntArray, TextArray
from harness.analysis.matrices.matrix import Matrix
from harness.analysis.matrices.ranking import Scores
from harness.errors import DataError


def alike(matrices: Sequence[Matrix]) -> list[Matrix]:
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
