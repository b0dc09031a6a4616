"""Images by person and label: each label is a set that can be the gallery, with one image of everybody."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.matrices.labels import IntArray, Labels
from harness.analysis.matrices.matrix import SUBJECT, Matrix
from harness.errors import DataError, UsageError
from harness.stats.gallery_effect import mixed


@dataclass(frozen=True, eq=False)
class Sets:
    """Where the image of each person in each set is among the rows, and among the columns, of the matrix."""

    column: str
    names: Sequence[str]
    people: Sequence[str]
    left_out: Sequence[str]
    rows: IntArray
    columns: IntArray

    def mix(self) -> "Sets":
        """Sets with equal shares of all of these."""
        names = [f"mixed {number}" for number in range(1, len(self.names) + 1)]
        return replace(self, names=names, rows=mixed(self.rows), columns=mixed(self.columns))

    def experiment(self, matrix: Matrix, number: int) -> Matrix:
        """The matrix with one set as the gallery, all others as probes."""
        probes = np.delete(self.rows, number, axis=1).reshape(-1)
        name = f"{matrix.name}, {self.column}={self.names[number]}"
        if self.names[number].startswith("mixed "):
            name = f"{matrix.name}, {self.names[number]}"
        return replace(matrix.take(probes, self.columns[:, number]), name=name)


def sets_of(matrix: Matrix, column: str) -> Sets:
    """The sets by a column; people who lack an image of one are left out."""
    rows, columns = (_places(labels, column, matrix.name) for labels in (matrix.rows, matrix.columns))
    names = list(dict.fromkeys(label for _, label in columns))
    everybody = list(dict.fromkeys(person for person, _ in [*columns, *rows]))
    people = [one for one in everybody if all((one, name) in rows and (one, name) in columns for name in names)]
    if len(names) < 2 or len(people) < 2:
        found = f"{len(names)} galleries, {len(people)} people with an image in each"
        raise UsageError(f"--galleries {column}: {found}; two or more of each are needed")
    left_out = sorted(set(everybody) - set(people))
    tables = [np.array([[found[one, name] for name in names] for one in people], np.intp) for found in (rows, columns)]
    return Sets(column, names, people, left_out, tables[0], tables[1])


def _places(labels: Labels, column: str, name: str) -> dict[tuple[str, str], int]:
    pairs = zip(labels.column(SUBJECT).tolist(), labels.column(column).tolist(), strict=True)
    places: dict[tuple[str, str], int] = {}
    for place, pair in enumerate(pairs):
        if pair in places:
            who, what = pair
            remedy = "a gallery has one of everybody; choose with --gallery and --probe"
            raise DataError(f"{name}: '{who}' has two images with {column}={what}; {remedy}")
        places[pair] = place
    return places
