"""Is the urn well mixed: which sampling design explains how a rate varies (`hate urn`)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.analysis.urn_elements import UrnElements
from harness.errors import UsageError
from harness.stats.arrays import BoolArray, IntArray
from harness.stats.trials import (
    Trials,
    added_between_trials,
    fresh_trials,
    make_trials,
    share_within_groups,
    shuffle_within,
)
from harness.stats.urn import DESIGNS, MOST_THRESHOLDS, Mixing, mixing

# Less than that is not worth a try.
LEAST = 0.1
# Of columns that explain nearly as much as the best, the one with the fewest levels says more.
NEARLY = 0.9


@dataclass(frozen=True)
class CofactorSuggestion:
    """What to do with which column, and the share of the excess variance that it explains."""

    action: str
    column: str
    share: float


def shuffle_next(
    success: BoolArray, trials: Trials, columns: Mapping[str, IntArray], excess: float
) -> CofactorSuggestion | None:
    """Too much variance between trials: a cofactor that trials share, to be randomised within groups."""
    added = {name: added_between_trials(success, trials, codes) / excess for name, codes in columns.items()}
    return _best("shuffle", added, columns)


def group_next(
    success: BoolArray, trials: Trials, columns: Mapping[str, IntArray], lack: float
) -> CofactorSuggestion | None:
    """Too little variance between trials: a finer partition, of which every trial has all parts."""
    if not lack > 0:
        return None
    shares = {name: share_within_groups(success, trials, codes) for name, codes in columns.items()}
    return _best("group", shares, columns)


def _best(action: str, shares: Mapping[str, float], columns: Mapping[str, IntArray]) -> CofactorSuggestion | None:
    most = max(shares.values(), default=0.0)
    if most < LEAST:
        return None
    close = [name for name, share in shares.items() if share >= NEARLY * most]
    chosen = min(close, key=lambda name: len(set(columns[name].tolist())))
    return CofactorSuggestion(action, chosen, min(shares[chosen], 1.0))


# What the paper takes, where a group has one element in a repetition.
ELEMENTS = 4
# Trials that other groups are drawn for, unless it is said how many groups a trial has.
FRESH_TRIALS = 10
FRESH = -1


@dataclass(frozen=True)
class UrnRequest:
    """All options. `resample`: how many groups a trial draws, others every time; None for the same groups."""

    group: str
    trial: str | None = None
    elements: int | None = None
    shuffle: Sequence[str] = ()
    resample: int | None = None
    design: str | None = None
    runs: int = 1
    permutations: int = 999
    alpha: float = 0.05
    seed: int = 0

    @property
    def proposed(self) -> str:
        """The design that is meant to hold."""
        return self.design or ("st" if self.resample is None else "cl")


@dataclass(frozen=True)
class UrnRow:
    """One threshold of one run."""

    run: int
    threshold: float | None
    mixing: Mixing
    compatible: Sequence[str]

    def rejects(self, design: str) -> bool:
        """Whether the design was tested and does not fit; one that could not be tested (no p) is neither."""
        p = self.mixing.p_values[design]
        return p == p and design not in self.compatible


@dataclass(frozen=True)
class UrnExperiment:
    """What came out; the numbers are of the first run."""

    request: UrnRequest
    rule: str
    groups: int
    trials: int
    # In how many trials each group is, summed over the groups.
    cells: int
    per_trial: int
    elements: int
    alone: int
    left_out: int
    rows: Sequence[UrnRow]
    next: CofactorSuggestion | None = None


def draw_from_urn(elements: UrnElements, request: UrnRequest) -> UrnExperiment:
    """All runs; where there are several, each takes a random half of the repetitions, as the paper's runs do."""
    if len(elements.thresholds) > MOST_THRESHOLDS:
        raise UsageError(f"--threshold: {len(elements.thresholds)} values; {MOST_THRESHOLDS} at most")
    table = _Table.of(elements, request)
    runs = [_run(elements, request, table, number) for number in range(request.runs)]
    return _wrapped(elements, request, table, runs[0][0], [row for _, rows in runs for row in rows])


def _run(elements: UrnElements, request: UrnRequest, table: "_Table", number: int) -> tuple[Trials, list[UrnRow]]:
    rng = np.random.default_rng([request.seed, number])
    trials = table.trials(rng, 1.0 if request.runs == 1 else 0.5)
    found = mixing(elements.success, trials, rng=rng, permutations=request.permutations)
    return trials, [
        UrnRow(number + 1, threshold, one, one.compatible(request.alpha))
        for threshold, one in zip(elements.thresholds, found, strict=True)
    ]


@dataclass(frozen=True)
class _Table:
    """Groups and repetitions as numbers."""

    group: IntArray
    repetition: IntArray | None
    unit: IntArray | None
    elements: int
    resample: int | None

    @classmethod
    def of(cls, found: UrnElements, request: UrnRequest) -> "_Table":
        group = found.column(request.group, "--group")
        repetition = None if request.trial is None else found.column(request.trial, "--trial")
        if repetition is None and request.resample is None:
            raise UsageError("--trial COLUMN: say what is repeated (or --resample groups, to draw other groups)")
        if repetition is None and request.shuffle:
            raise UsageError("--shuffle: needs --trial COLUMN; without it elements are dealt at random already")
        unit = None
        if repetition is not None and request.shuffle:
            cofactors = [found.column(name, "--shuffle") for name in request.shuffle]
            unit = _crossed([group, repetition, *cofactors])
        taken = request.elements or _default_elements(group, repetition)
        resample = request.resample
        if resample == FRESH:
            resample = max(2, (int(group.max()) + 1) // FRESH_TRIALS)
        return cls(group, repetition, unit, taken, resample)

    def trials(self, rng: np.random.Generator, share: float) -> Trials:
        try:
            if self.repetition is None:
                return fresh_trials(self.group, rng=rng, elements=self.elements, groups=self.resample or 2)
            repetition = self.repetition
            if self.unit is not None:
                repetition = shuffle_within(self.group, repetition, self.unit, rng=rng)
            return make_trials(
                self.group, repetition, rng=rng, elements=self.elements, share=share, resample=self.resample
            )
        except ValueError as error:
            drawn = "" if self.resample is None else f", --groups {self.resample}"
            raise UsageError(f"--elements {self.elements}{drawn}: {error}") from None


def _default_elements(group: IntArray, repetition: IntArray | None) -> int:
    if repetition is None:
        return ELEMENTS
    cells = np.unique(_crossed([group, repetition]), return_counts=True)[1]
    return 1 if np.median(cells) >= 2 else ELEMENTS


def _crossed(columns: Sequence[IntArray]) -> IntArray:
    """One number for every combination."""
    code = columns[0]
    for column in columns[1:]:
        code = np.unique(code * (int(column.max()) + 1) + column, return_inverse=True)[1].reshape(-1)
    return code


def _wrapped(
    elements: UrnElements, request: UrnRequest, table: _Table, trials: Trials, rows: Sequence[UrnRow]
) -> UrnExperiment:
    return UrnExperiment(
        request=request,
        rule=elements.rule,
        groups=trials.groups,
        trials=trials.count,
        cells=trials.cells,
        per_trial=round(trials.at.size / trials.count),
        elements=table.elements,
        alone=trials.alone,
        left_out=elements.left_out,
        rows=rows,
        next=_next(elements, request, trials, rows[: len(elements.thresholds)]),
    )


def _next(
    elements: UrnElements, request: UrnRequest, trials: Trials, rows: Sequence[UrnRow]
) -> CofactorSuggestion | None:
    """For the threshold at which the proposed design fails most clearly, if it does."""
    failed = [number for number, row in enumerate(rows) if row.rejects(request.proposed)]
    if not failed:
        return None
    worst = min(failed, key=lambda number: rows[number].mixing.p_values[request.proposed])
    found = rows[worst].mixing
    excess = found.sample_variance - found.predicted[request.proposed]
    success = elements.success[trials.at, worst]
    known = {name: codes[trials.at] for name, codes in elements.columns.items() if name != request.group}
    if excess > 0:
        return shuffle_next(success, trials, known, excess)
    for name in (request.trial, *request.shuffle):
        known.pop(name or "", None)
    return group_next(success, trials, known, found.predicted["st"] - found.sample_variance)


def urn_json(found: UrnExperiment) -> dict[str, Any]:
    """All of it."""
    request = found.request
    return {
        "rows": [_row(row) for row in found.rows],
        "group": request.group,
        "trial": request.trial,
        "shuffle": list(request.shuffle),
        "resample": "groups" if request.resample is not None else None,
        "design": request.proposed,
        "groups": found.groups,
        "trials": found.trials,
        "elements": found.elements,
        "runs": request.runs,
        "permutations": request.permutations,
        "alpha": request.alpha,
        "seed": request.seed,
        "next": None if found.next is None else {**_named(found.next.action, found.next.column, found.next.share)},
    }


def _named(action: str, column: str, share: float) -> dict[str, Any]:
    return {"action": action, "column": column, "share": share}


def _row(row: UrnRow) -> dict[str, Any]:
    one = row.mixing
    return {
        "threshold": row.threshold,
        "run": row.run,
        "rate": one.rate,
        "sample_variance": one.sample_variance,
        **{design: _known(one.predicted[design]) for design in DESIGNS},
        "ratios": {design: _known(one.ratio(design)) for design in DESIGNS},
        "p_values": {design: _known(one.p_values[design]) for design in DESIGNS},
        "compatible": list(row.compatible),
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
