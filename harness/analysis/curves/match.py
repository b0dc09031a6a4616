"""Cumulative match curves: the share of probes found at each rank or better."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.analysis.curves.as_json import numbers
from harness.analysis.curves.median import Median, find_median, median_json
from harness.analysis.curves.ranked import FloatArray, Ranked
from harness.analysis.curves.wishes import Bands
from harness.errors import DataError, UsageError
from harness.stats.cmc import Cmc, bootstrap_cmc, cmc, replicated_cmc
from harness.stats.replication.plan import Method, Plan


@dataclass(frozen=True)
class MatchWishes:
    """All options of a cumulative match curve."""

    bands: Bands = Bands.AUTO
    confidence: float = 0.95
    seed: int = 0
    limit: int | None = None
    # The rank from which on one miss is as bad as another, for the median.
    censor: int | None = None


@dataclass(frozen=True)
class MatchCurve:
    """A cumulative match curve and what is to be known of it."""

    name: str
    curve: Cmc
    gallery: int
    people: int
    median: Median
    bands: str
    target: str
    notes: list[str] = field(default_factory=list)

    @property
    def rank_one(self) -> tuple[float, float, float]:
        """The rate at rank 1 with its limits."""
        bands = self.curve.bands
        return float(bands.rate[0]), float(bands.low[0]), float(bands.high[0])

    @property
    def relative(self) -> FloatArray:
        """Ranks over the size of the gallery: comparable between galleries."""
        return np.asarray(self.curve.ranks / self.gallery)


def match_curve(ranked: Ranked, wishes: MatchWishes) -> MatchCurve:
    """Cumulate the ranks of the probes."""
    try:
        curve, median = _curve(ranked, wishes), find_median(ranked, wishes.censor, _plan(wishes))
    except ValueError as error:
        raise DataError(f"{ranked.name}: {error}") from None
    method = "" if wishes.bands is Bands.NONE else curve.bands.method
    target = ranked.target if method != "wilson" else "new probes"
    return MatchCurve(ranked.name, curve, ranked.gallery, ranked.people, median, method, target, ranked.notes)


def _plan(wishes: MatchWishes) -> Plan:
    method = Method.BOOTSTRAP if wishes.bands is Bands.BOOTSTRAP else Method.AUTO
    return Plan(method=method, confidence=wishes.confidence, seed=wishes.seed)


def _curve(ranked: Ranked, wishes: MatchWishes) -> Cmc:
    limit, kind, known = wishes.limit or ranked.gallery, wishes.bands, ranked.sampling.known
    if kind is Bands.TWO_WAY:
        raise UsageError("--bands two-way: for curves over a threshold; a rank has one probe: wilson, brr or bootstrap")
    if kind is Bands.BOOTSTRAP and not known:
        rng = np.random.default_rng(wishes.seed)
        return bootstrap_cmc(ranked.rank, rng=rng, limit=limit, confidence=wishes.confidence)
    if kind in (Bands.BRR, Bands.BOOTSTRAP) or (known and kind is Bands.AUTO):
        return replicated_cmc(ranked.rank, ranked.sampling.sample, limit=limit, plan=_plan(wishes))
    weights = None if ranked.sampling.weights == "cases" else ranked.sampling.sample.weights
    return cmc(ranked.rank, limit=limit, weights=weights, confidence=wishes.confidence)


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
        "relative_ranks": found.relative.tolist(),
        **median_json(found.median, found.gallery),
        "bands": found.bands or None,
        "target": found.target if found.bands else None,
        "notes": found.notes,
    }
