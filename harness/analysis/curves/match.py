"""Cumulative match curves from similarity matrices: the share of probes found at each rank or better."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.analysis.curves.as_json import numbers
from harness.analysis.curves.matrix import Matrix
from harness.analysis.curves.wishes import Bands
from harness.errors import DataError, UsageError
from harness.stats.cmc import Cmc, bootstrap_cmc, cmc, replicated_cmc
from harness.stats.ranks import Ranks, median_rank, rank_matrix
from harness.stats.replication.plan import Plan
from harness.stats.replication.sample import make_sample


@dataclass(frozen=True)
class MatchWishes:
    """All options of a cumulative match curve."""

    bands: Bands = Bands.AUTO
    confidence: float = 0.95
    seed: int = 0
    larger_is_better: bool = True
    exclude_diagonal: bool = False
    limit: int | None = None


@dataclass(frozen=True)
class MatchCurve:
    """A cumulative match curve and what is to be known of it."""

    name: str
    curve: Cmc
    gallery: int
    people: int
    median: float
    bands: str
    target: str
    notes: list[str] = field(default_factory=list)

    @property
    def rank_one(self) -> tuple[float, float, float]:
        """The rate at rank 1 with its limits."""
        bands = self.curve.bands
        return float(bands.rate[0]), float(bands.low[0]), float(bands.high[0])


def match_curve(matrix: Matrix, wishes: MatchWishes) -> MatchCurve:
    """Rank every probe, and cumulate."""
    try:
        ranks = rank_matrix(
            matrix.scores,
            np.array(matrix.probes),
            np.array(matrix.gallery),
            larger_is_better=wishes.larger_is_better,
            exclude_diagonal=wishes.exclude_diagonal,
        )
        if not ranks.enrolled.any():
            raise ValueError("no probe's label is in the gallery; --identity says who a label is")
        curve = _curve(matrix, ranks, wishes)
        median = median_rank(ranks.rank)
    except ValueError as error:
        raise DataError(f"{matrix.name}: {error}") from None
    several = len(set(matrix.probes)) < len(matrix.probes)
    method = "" if wishes.bands is Bands.NONE else curve.bands.method
    target = "new people" if several and method != "wilson" else "new probes"
    notes = _notes(matrix, ranks, several)
    return MatchCurve(matrix.name, curve, ranks.gallery, len(set(matrix.probes)), median, method, target, notes)


def _curve(matrix: Matrix, ranks: Ranks, wishes: MatchWishes) -> Cmc:
    """Probes of one person are not independent: then people are what was drawn."""
    several = len(set(matrix.probes)) < len(matrix.probes)
    limit = wishes.limit or ranks.gallery
    kind = wishes.bands
    if kind is Bands.TWO_WAY:
        raise UsageError("--bands two-way: for curves over a threshold; a rank has one probe: wilson, brr or bootstrap")
    if kind is Bands.BOOTSTRAP and not several:
        rng = np.random.default_rng(wishes.seed)
        return bootstrap_cmc(ranks.rank, rng=rng, limit=limit, confidence=wishes.confidence)
    if kind in (Bands.BRR, Bands.BOOTSTRAP) or (several and kind is Bands.AUTO):
        method = "bootstrap" if kind is Bands.BOOTSTRAP else "auto"
        sample = make_sample(len(matrix.probes), units=np.array(matrix.probes) if several else None)
        plan = Plan(method=method, confidence=wishes.confidence, seed=wishes.seed)
        return replicated_cmc(ranks.rank, sample, limit=limit, plan=plan)
    return cmc(ranks.rank, limit=limit, confidence=wishes.confidence)


def _notes(matrix: Matrix, ranks: Ranks, several: bool) -> list[str]:
    notes = []
    missing = int(np.count_nonzero(~ranks.enrolled))
    if missing:
        notes.append(f"{missing:,} probes are of nobody in the gallery: they have no rank and are left out")
    if several:
        notes.append(f"{len(matrix.probes):,} probes of {len(set(matrix.probes)):,} people")
    return notes


def as_json(curves: Sequence[MatchCurve], confidence: float) -> dict[str, Any]:
    """Under the names that the documentation promises."""
    return {"curves": [_json(curve) for curve in curves], "confidence": confidence}


def _json(found: MatchCurve) -> dict[str, Any]:
    bands = found.curve.bands
    none = np.full(bands.rate.size, np.nan)
    low, high = (bands.low, bands.high) if found.bands else (none, none)
    return {
        "name": found.name,
        "probes": found.curve.probes,
        "ranks": found.curve.ranks.tolist(),
        "rates": bands.rate.tolist(),
        "low": numbers(low),
        "high": numbers(high),
        "gallery": found.gallery,
        "people": found.people,
        "median_rank": found.median if np.isfinite(found.median) else None,
        "bands": found.bands or None,
        "target": found.target if found.bands else None,
        "notes": found.notes,
    }
