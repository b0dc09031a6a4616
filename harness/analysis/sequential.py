"""Runs looked at while they grow, or stopped early: intervals of the whole test's rates that hold at every moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.run_identity import identity_json
from harness.analysis.sampling import take_sample
from harness.errors import TranscriptError
from harness.model import plural
from harness.options import DesignOptions
from harness.stats.arrays import FloatArray, IntArray
from harness.stats.rates import Interval
from harness.stats.sequential import SequenceLimits, UnitSequence
from harness.transcript.columns import read_columns
from harness.transcript.format import TestInfo, unit_key


@dataclass(frozen=True)
class UnitList:
    """The list that units were drawn from, in random order: how many, of how many cases, the largest of how many."""

    units: int
    cases: int
    largest: int
    seed: int = 0


@dataclass(frozen=True)
class SequentialRate:
    """The rate of a run after so many units, with the interval that holds by now."""

    name: str
    units: int
    rate: float
    interval: Interval
    stop_when: str | None


@dataclass(frozen=True)
class SequentialPair:
    """The difference of two runs, A minus B; `decided_after` is after how many units it was known not to be 0."""

    a: str
    b: str
    units: int
    difference: float
    interval: Interval
    decided_after: int | None


@dataclass(frozen=True, eq=False)
class SequentialComparison:
    """Runs on the same units in the same random order."""

    test: TestInfo
    unit: str
    whole: UnitList
    rates: list[SequentialRate]
    pairs: list[SequentialPair]
    confidence: float
    aligned: AlignedRuns


def compare_sequentially(
    runs: Sequence[Run], design: DesignOptions, *, confidence: float = 0.95, partial: bool = False
) -> SequentialComparison:
    """The rates and differences of one or several runs, on the units that all of them have, in random order.

    With several pairs every interval is at a higher confidence (Bonferroni), so that all hold together.
    """
    aligned = align(runs, intersect=True, partial=partial, stopped=True)
    sampling = take_sample(aligned, design)
    if sampling.is_weighted:
        raise TranscriptError(f"{runs[0].source}: --sequential is for plain rates; its design has weights")
    sample = sampling.sample
    labels, sizes = _units(aligned, sample.unit_of_case, sample.units)
    whole = _whole_list(runs, aligned, sizes)
    order = np.array(sorted(range(len(labels)), key=lambda unit: unit_key(whole.seed, labels[unit])), dtype=np.intp)
    successes: list[FloatArray] = [
        np.bincount(sample.unit_of_case, weights=of, minlength=sample.units)[order] / aligned.answers
        for of in aligned.success
    ]
    sizes = sizes[order]
    pairs = list(combinations(range(len(runs)), 2))
    joint = 1 - (1 - confidence) / max(len(pairs), 1)
    return SequentialComparison(
        test=aligned.headers[0].test,
        unit=plural(sampling.psu or "case"),
        whole=whole,
        rates=[
            _rate(name, of_run, sizes, whole, confidence, run.columns.header.part.get("stop_when"))
            for name, of_run, run in zip(aligned.names, successes, runs, strict=True)
        ],
        pairs=[_pair(aligned.names, successes, a, b, sizes, whole, joint) for a, b in pairs],
        confidence=confidence,
        aligned=aligned,
    )


def stopped_run(path: Path) -> SequentialComparison:
    """The rate of a run that could stop before its end."""
    return compare_sequentially([Run(read_columns(path), str(path), path.stem)], DesignOptions())


def _units(aligned: AlignedRuns, unit_of_case: IntArray, units: int) -> tuple[list[str], IntArray]:
    """The label of every unit, its PSU or its case, and how many cases it has."""
    psu = aligned.recorded("psu")
    labels = [""] * units
    for case, unit in enumerate(unit_of_case.tolist()):
        code = -1 if psu is None else int(psu.codes[case])
        labels[unit] = aligned.ids[case] if psu is None or code < 0 else psu.labels[code]
    return labels, np.bincount(unit_of_case, minlength=units) // aligned.answers


def _whole_list(runs: Sequence[Run], aligned: AlignedRuns, sizes: IntArray) -> UnitList:
    """As a run that stopped recorded it; else the runs are complete, and their units are the list."""
    recorded = [part for run in runs if "stop_when" in (part := run.columns.header.part)]
    if not recorded:
        return UnitList(len(sizes), int(sizes.sum()), int(sizes.max()))
    first = recorded[0]
    for run, part in zip(runs, recorded, strict=False):
        if part.get("seed") != first.get("seed"):
            raise TranscriptError(
                f"{run.source}: another random order (seed {part.get('seed')}, not {first.get('seed')}); run it again "
                f"with --order-seed {first.get('seed')}"
            )
    try:
        return UnitList(*(int(first[name]) for name in ("units", "cases", "largest", "seed")))
    except (KeyError, TypeError, ValueError):
        raise TranscriptError(f"{runs[0].source}: its header does not say which units it was drawn from") from None


def _rate(
    name: str, successes: FloatArray, sizes: IntArray, whole: UnitList, confidence: float, rule: object
) -> SequentialRate:
    limits = SequenceLimits.of(UnitSequence(whole.units, whole.cases, whole.largest, confidence=confidence), successes)
    seen = len(sizes)
    return SequentialRate(
        name, seen, float(successes.sum() / sizes.sum()), limits.at(seen), None if rule is None else str(rule)
    )


def _pair(
    names: Sequence[str],
    successes: Sequence[FloatArray],
    a: int,
    b: int,
    sizes: IntArray,
    whole: UnitList,
    confidence: float,
) -> SequentialPair:
    gap = successes[a] - successes[b]
    sequence = UnitSequence(whole.units, whole.cases, whole.largest, confidence=confidence, paired=True)
    limits = SequenceLimits.of(sequence, gap)
    decided = np.flatnonzero((limits.low > 0) | (limits.high < 0))
    first = int(decided[0]) + 1 if decided.size else None
    seen = len(sizes)
    return SequentialPair(names[a], names[b], seen, float(gap.sum() / sizes.sum()), limits.at(seen), first)


def sequential_json(comparison: SequentialComparison) -> dict[str, Any]:
    """Everything but the sequences themselves."""
    whole = comparison.whole
    return {
        "test": identity_json(comparison.test),
        "sequential": {"units": whole.units, "cases": whole.cases, "seed": whole.seed},
        "confidence": comparison.confidence,
        "transcripts": comparison.rates,
        "pairs": comparison.pairs,
    }
