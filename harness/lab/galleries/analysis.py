"""Whether the choice of the gallery matters: the experiment with each set of images as the gallery, and a test."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.curves.cmc import match_curve, ranks_of_matrix
from harness.analysis.curves.curve import Curve
from harness.errors import DataError, UsageError
from harness.lab.galleries.statistics import gallery_effect, mixed
from harness.matrices.matrix import SUBJECT, Labels, Matrix, scores_of
from harness.stats.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from harness.lab.galleries.command import GalleriesOptions


@dataclass(frozen=True, eq=False)
class GallerySets:
    """Where the image of each person in each set is among the rows, and among the columns, of the matrix."""

    column: str
    names: Sequence[str]
    people: Sequence[str]
    left_out: Sequence[str]
    rows: IntArray
    columns: IntArray

    def mix(self) -> "GallerySets":
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


def sets_of(matrix: Matrix, column: str) -> GallerySets:
    """The sets by a column; people without an image in each set are left out."""
    rows, columns = (_image_indices(labels, column, matrix.name) for labels in (matrix.rows, matrix.columns))
    names = list(dict.fromkeys(label for _, label in columns))
    everybody = list(dict.fromkeys(person for person, _ in [*columns, *rows]))
    people = [
        person for person in everybody if all((person, name) in rows and (person, name) in columns for name in names)
    ]
    if len(names) < 2 or len(people) < 2:
        counts = f"there are {len(names)} and {len(people)}"
        raise UsageError(
            f"--by {column}: two or more values are needed, and two or more people with an image of each; {counts}"
        )
    left_out = sorted(set(everybody) - set(people))
    tables = [
        np.array([[side[person, name] for name in names] for person in people], np.intp) for side in (rows, columns)
    ]
    return GallerySets(column, names, people, left_out, tables[0], tables[1])


def _image_indices(labels: Labels, column: str, name: str) -> dict[tuple[str, str], int]:
    pairs = zip(labels.column(SUBJECT).tolist(), labels.column(column).tolist(), strict=True)
    indices: dict[tuple[str, str], int] = {}
    for index, pair in enumerate(pairs):
        if pair in indices:
            who, what = pair
            remedy = "a gallery has one image per person; choose with --gallery and --probe"
            raise DataError(f"{name}: '{who}' has two images with {column}={what}; {remedy}")
        indices[pair] = index
    return indices


RANKS = 10


@dataclass(frozen=True)
class GalleryPair:
    """Two galleries, how far apart their rates are at a rank, and how often chance puts any two as far apart."""

    a: str
    b: str
    rank: int
    difference: float
    p_adjusted: float


@dataclass(frozen=True, eq=False)
class GalleryTest:
    """A partition into galleries, the rates of each at each rank, and how far apart they are (`range`) at each rank."""

    mixed: bool
    galleries: Sequence[str]
    ranks: list[int]
    rates: FloatArray
    range: FloatArray
    p_values: FloatArray
    # At rank 1.
    pairs: list[GalleryPair]


@dataclass(frozen=True, eq=False)
class GalleryComparison:
    """The tests of one algorithm: galleries as labelled, and mixed if requested."""

    name: str
    column: str
    people: int
    left_out: Sequence[str]
    permutations: int
    seed: int
    tests: Sequence[GalleryTest]


def compare_galleries(matrix: Matrix, options: "GalleriesOptions") -> tuple[GalleryComparison, list[Curve]]:
    """Use all images with one label as the gallery, the others as probes; people are strata without a design.

    The tests, and a curve for each gallery.
    """
    partitions = [sets_of(matrix, options.by)]
    if options.mix:
        partitions.append(partitions[0].mix())
    tests = [
        _test(matrix, sets, options.permutations, options.seed, mixed=number > 0)
        for number, sets in enumerate(partitions)
    ]
    design = replace(options, stratum=(SUBJECT,)) if options.stratum is None and options.psu is None else options
    last = partitions[-1]
    experiments = [last.experiment(matrix, number) for number in range(len(last.names))]
    curves = [match_curve(ranks_of_matrix(experiment, design), options) for experiment in experiments]
    people, left_out = len(partitions[0].people), partitions[0].left_out
    comparison = GalleryComparison(matrix.name, options.by, people, left_out, options.permutations, options.seed, tests)
    return comparison, curves


def _test(matrix: Matrix, sets: GallerySets, permutations: int, seed: int, *, mixed: bool) -> GalleryTest:
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
    names, rates = sets.names, effect.rates
    return GalleryTest(
        mixed=mixed,
        galleries=names,
        ranks=list(range(1, rates.shape[1] + 1)),
        rates=rates,
        range=effect.ranges,
        p_values=effect.p_values,
        pairs=[
            GalleryPair(names[a], names[b], 1, float(rates[a, 0] - rates[b, 0]), float(effect.p_pairs[a, b, 0]))
            for a, b in combinations(range(len(names)), 2)
        ],
    )
