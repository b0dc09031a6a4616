"""Ranks of probes, from a transcript of a rank test or out of a matrix, and how the probes were sampled."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from msgspec import UNSET

from harness.analysis.comparing.align import Run, align
from harness.analysis.comparing.sampling import DesignOptions, Sampling, take_sample
from harness.analysis.matrices.labels import BoolArray, Labels
from harness.analysis.matrices.matrix import SUBJECT, Matrix
from harness.analysis.matrices.ranking import Who, rank_probes
from harness.errors import DataError, TranscriptError, UsageError
from harness.model import crossed
from harness.stats.ranks import Ranks
from harness.stats.replication.sample import make_sample

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranked:
    """One rank a probe: nan where nobody in the gallery is right, infinity where the right one was not found."""

    name: str
    rank: FloatArray
    gallery: int
    people: int
    sampling: Sampling
    target: str
    notes: list[str] = field(default_factory=list)


def ranks_of_run(run: Run, name: str, design: DesignOptions, *, partial: bool = False) -> Ranked:
    """The recorded ranks of a transcript; a probe without an answer was not found."""
    columns, test = run.columns, run.columns.header.test
    if test.task != "rank":
        raise TranscriptError(f"{run.source}: {test.name} is a {test.task} test; ranks are for rank tests")
    aligned = align([run], partial=partial)
    sampling = take_sample(aligned, design)
    positive, known = columns.positive, ~np.isnan(columns.rank)
    rank = np.where(positive, np.where(known, columns.rank, np.inf), np.nan)
    if not positive.any():
        raise TranscriptError(f"{run.source}: no probe is of somebody in the gallery: there are no ranks")
    silent = positive & (columns.actual.codes < 0)
    people = aligned.column("truth")
    return Ranked(
        name=name,
        rank=rank,
        gallery=int(columns.rank[known].max(initial=1)) if test.gallery is UNSET else test.gallery.identities,
        people=0 if people is None else np.unique(people.codes[positive]).size,
        sampling=sampling,
        target=sampling.target if sampling.known else "new independent probes",
        notes=_notes(~positive, silent, positive & ~known & ~silent),
    )


def _notes(*groups: BoolArray) -> list[str]:
    """What became of strangers, of probes without an answer, and of those without a rank."""
    notes = []
    strangers, silent, lost = (int(np.count_nonzero(group)) for group in groups)
    if strangers:
        notes.append(f"{strangers:,} probes are of nobody in the gallery: they have no rank and are left out")
    if silent:
        notes.append(f"{silent:,} probes have no answer (failures to acquire): they count as not found at any rank")
    if lost:
        notes.append(f"{lost:,} probes have no rank, the right one having no score: they count as not found")
    return notes


def ranks_of_matrix(matrix: Matrix, design: DesignOptions, *, diagonal: bool = False) -> Ranked:
    """The ranks of all probes of a matrix. `diagonal`: probe i and gallery image i are the same image.

    Without a design, people are what was drawn where a person has several probes.
    """
    ranks = matrix.ranks() if not diagonal else _off_diagonal(matrix)
    if not ranks.enrolled.any():
        raise DataError(f"{matrix.name}: no probe's label is in the gallery; --identity says who a label is")
    who = matrix.rows.column(SUBJECT)
    people = np.unique(who).size
    several = people < who.size
    none = np.zeros(who.size, np.bool_)
    notes = _notes(~ranks.enrolled, none, none)
    if several:
        notes.append(f"{who.size:,} probes of {people:,} people")
    sampling, target = _sampling(matrix, design, several)
    return Ranked(matrix.name, ranks.rank, ranks.gallery, people, sampling, target, notes)


def _off_diagonal(matrix: Matrix) -> Ranks:
    rows, columns = matrix.shape
    if rows != columns:
        raise DataError(f"{matrix.name}: {rows} rows and {columns} columns; only a square matrix has a diagonal")
    who = Who(matrix.rows.column(SUBJECT), matrix.columns.column(SUBJECT), np.arange(rows))
    return rank_probes(matrix, who)


def _sampling(matrix: Matrix, design: DesignOptions, several: bool) -> tuple[Sampling, str]:
    if design.weights not in (None, "cases"):
        raise UsageError("--weights: for transcripts; every probe of a matrix weighs the same")
    strata, stratum = _grouped(matrix.rows, design.stratum)
    units, psu = _grouped(matrix.rows, design.psu)
    if several and design.stratum is None and design.psu is None:
        units, psu = matrix.rows.column(SUBJECT), SUBJECT
        target = "new people"
    else:
        target = ""
    try:
        sample = make_sample(len(matrix.rows), strata=strata, units=units, lone=design.lone)
    except ValueError as error:
        raise DataError(f"{matrix.name}: {error}") from None
    sampling = Sampling(sample, stratum, psu, "cases")
    return sampling, target or (sampling.target if sampling.known else "new probes")


def _grouped(labels: Labels, names: Sequence[str] | None) -> tuple[npt.NDArray[np.str_] | None, str | None]:
    if names is None or list(names) == ["none"]:
        return None, None
    columns = [labels.column(name) for name in names]
    joined = [crossed(values) for values in zip(*(column.tolist() for column in columns), strict=True)]
    return np.array(joined, dtype=np.str_), " x ".join(names)
