"""Cumulative match curves: the share of probes found at each rank or better, and the median rank."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from msgspec import UNSET

from harness.analysis.align import Run, align
from harness.analysis.curves.curve import Curve
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import DataError, TranscriptError, UsageError
from harness.matrices.matrix import SUBJECT, Identities, Labels, Matrix, rank_probes
from harness.model import crossed
from harness.options import DesignOptions
from harness.options.curves import BandMethod, RankCurveOptions
from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.estimate import Estimate
from harness.stats.gallery_ranks import censored, median_rank
from harness.stats.identification import (
    Cmc,
    bootstrap_cmc,
    bootstrap_median_rank,
    cmc,
    median_rank_statistic,
    replicated_cmc,
)
from harness.stats.rates import Interval
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Method, Replication
from harness.stats.replication.sample import make_sample


@dataclass(frozen=True, eq=False)
class ProbeRanks:
    """One rank per probe: nan if the right person is not in the gallery, infinity if they were not found."""

    name: str
    rank: FloatArray
    gallery: int
    people: int
    sampling: Sampling
    target: str
    notes: list[str] = field(default_factory=list)


def ranks_of_run(run: Run, name: str, design: DesignOptions, *, partial: bool = False) -> ProbeRanks:
    """The recorded ranks of a transcript; a probe without an answer was not found."""
    columns, test = run.columns, run.columns.header.test
    if not test.find_task(run.source).uses_gallery:
        raise TranscriptError(f"{run.source}: {test.name} is a {test.task} test; ranks are for rank tests")
    aligned = align([run], partial=partial)
    sampling = take_sample(aligned, design)
    positive, known = columns.positive, ~np.isnan(columns.rank)
    rank = np.where(positive, np.where(known, columns.rank, np.inf), np.nan)
    if not positive.any():
        raise TranscriptError(f"{run.source}: no probe shows a person in the gallery, so there are no ranks")
    silent = positive & (columns.actual.codes < 0)
    people = aligned.recorded("truth")
    return ProbeRanks(
        name=name,
        rank=rank,
        gallery=int(columns.rank[known].max(initial=1)) if test.gallery is UNSET else test.gallery.identities,
        people=0 if people is None else np.unique(people.codes[positive]).size,
        sampling=sampling,
        target=sampling.target if sampling.known else "new independent probes",
        notes=_notes(~positive, silent, positive & ~known & ~silent),
    )


def _notes(*groups: BoolArray) -> list[str]:
    """How people not enrolled, probes without an answer and probes without a rank are counted."""
    notes = []
    strangers, silent, lost = (int(np.count_nonzero(group)) for group in groups)
    if strangers:
        notes.append(f"probes of people not enrolled have no rank and are left out: {strangers:,}")
    if silent:
        notes.append(f"{silent:,} probes have no answer (failures to acquire): they count as not found at any rank")
    if lost:
        notes.append(f"{lost:,} probes have no rank because the right person has no score: they count as not found")
    return notes


def ranks_of_matrix(matrix: Matrix, design: DesignOptions, *, diagonal: bool = False) -> ProbeRanks:
    """The ranks of all probes of a matrix. `diagonal`: probe i and gallery image i are the same image.

    Without a design, people are the PSUs if a person has several probes.
    """
    if diagonal:
        rows, columns = matrix.shape
        if rows != columns:
            raise DataError(f"{matrix.name}: {rows} rows and {columns} columns; only a square matrix has a diagonal")
        identities = Identities(matrix.rows.column(SUBJECT), matrix.columns.column(SUBJECT), np.arange(rows))
        ranks = rank_probes(matrix, identities)
    else:
        ranks = matrix.ranks()
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
    return ProbeRanks(matrix.name, ranks.rank, ranks.gallery, people, sampling, target, notes)


def _sampling(matrix: Matrix, design: DesignOptions, several: bool) -> tuple[Sampling, str]:
    if design.weights not in (None, "cases"):
        raise UsageError("--weights is for transcripts; every probe of a matrix weighs the same")
    strata, stratum = _grouped(matrix.rows, design.stratum)
    units, psu = _grouped(matrix.rows, design.psu)
    target = ""
    if several and design.stratum is None and design.psu is None:
        units, psu, target = matrix.rows.column(SUBJECT), SUBJECT, "new people"
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


def match_curve(ranked: ProbeRanks, options: RankCurveOptions) -> Curve:
    """Cumulate the ranks of the probes."""
    method = Method.BOOTSTRAP if options.bands is BandMethod.BOOTSTRAP else Method.AUTO
    replication = Replication(method=method, confidence=options.confidence, seed=options.seed)
    try:
        curve, median = _cumulate(ranked, options, replication), _median(ranked, options.censor, replication)
    except ValueError as error:
        raise DataError(f"{ranked.name}: {error}") from None
    bands = "" if options.bands is BandMethod.NONE else curve.bands.method
    none = np.full(curve.ranks.size, np.nan)
    return Curve(
        name=ranked.name,
        sizes={"probes": curve.probes, "gallery": ranked.gallery, "people": ranked.people},
        columns={
            "rank": curve.ranks.astype(np.float64),
            "rate": curve.bands.rate,
            "low": curve.bands.low if bands else none,
            "high": curve.bands.high if bands else none,
        },
        summaries={"median_rank": median},
        censored_at=options.censor,
        bands=bands,
        target="new probes" if bands == "wilson" else ranked.target,
        stratum=ranked.sampling.stratum,
        whole=curve.ranks.size,
        notes=ranked.notes,
        has_negatives=False,
    )


def _cumulate(ranked: ProbeRanks, options: RankCurveOptions, replication: Replication) -> Cmc:
    limit, kind, known = options.ranks or ranked.gallery, options.bands, ranked.sampling.known
    if kind is BandMethod.BOOTSTRAP and not known:
        rng = np.random.default_rng(options.seed)
        return bootstrap_cmc(ranked.rank, rng=rng, limit=limit, confidence=options.confidence)
    if kind in (BandMethod.BRR, BandMethod.BOOTSTRAP) or (known and kind is BandMethod.AUTO):
        return replicated_cmc(ranked.rank, ranked.sampling.sample, limit=limit, replication=replication)
    weights = None if ranked.sampling.weights == "cases" else ranked.sampling.sample.weights
    return cmc(ranked.rank, limit=limit, weights=weights, confidence=options.confidence)


def _median(ranked: ProbeRanks, limit: int | None, replication: Replication) -> Estimate:
    """The median rank, infinite if half of the probes were not found; ranks from `limit` on are equally bad.

    By replication if the design is known, else by the bootstrap; no interval if half was not found.
    """
    sampling, last = ranked.sampling, limit or ranked.gallery + 1
    weights = None if sampling.weights == "cases" else sampling.sample.weights
    value = median_rank(ranked.rank, limit=limit, weights=weights)
    if not np.isfinite(value):
        return Estimate(value, math.nan, math.nan, None)
    # A replicate may find fewer than half when the sample finds just half: ranks must be finite.
    cut = censored(ranked.rank, last)
    if not sampling.known:
        rng = np.random.default_rng(replication.seed)
        return replace(bootstrap_median_rank(cut, rng=rng, confidence=replication.confidence), value=value)
    estimate = make_estimate(sampling.sample, median_rank_statistic(cut), replication)
    interval = estimate.interval if estimate.se != 0 else None
    if interval is not None:
        interval = Interval(interval.low, min(interval.high, float(last)))
    return replace(estimate, value=value, interval=interval)
