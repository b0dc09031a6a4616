"""Whether the urn is well mixed: which sampling design explains how a rate varies (`hate urn`)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from harness.analysis.sampling import finite
from harness.analysis.urn_elements import UrnElements
from harness.errors import UsageError
from harness.stats.arrays import BoolArray, IntArray
from harness.stats.urn import DESIGNS, MOST_THRESHOLDS, Mixing, mixing
from harness.stats.urn_trials import (
    Trials,
    added_between_trials,
    fresh_trials,
    make_trials,
    share_within_groups,
    shuffle_within,
)

# A column that explains less is not suggested.
LEAST = 0.1
# Among columns that explain at least this share of the best, the one with the fewest levels is suggested.
NEARLY = 0.9


@dataclass(frozen=True)
class CofactorSuggestion:
    """An action on a column, and the share of the excess variance that it explains."""

    action: str
    column: str
    share: float


def shuffle_next(
    success: BoolArray, trials: Trials, columns: Mapping[str, IntArray], excess: float
) -> CofactorSuggestion | None:
    """Too much variance between trials: a cofactor that trials share, to randomise within groups."""
    added = {name: added_between_trials(success, trials, codes) / excess for name, codes in columns.items()}
    return _best("shuffle", added, columns)


def group_next(
    success: BoolArray, trials: Trials, columns: Mapping[str, IntArray], lack: float
) -> CofactorSuggestion | None:
    """Too little variance between trials: a finer partition that every trial has all parts of."""
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


# The paper's number, for a group with one element in a repetition.
ELEMENTS = 4
# With fresh groups in each trial, the number of trials, unless the request sets the groups per trial.
FRESH_TRIALS = 10
FRESH = -1


@dataclass(frozen=True)
class UrnRequest:
    """All options. `resample`: how many new groups each trial draws; None for the same groups."""

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
        """The design that is tested."""
        return self.design or ("st" if self.resample is None else "cl")


@dataclass(frozen=True)
class UrnRow:
    """One threshold of one run."""

    run: int
    threshold: float | None
    mixing: Mixing
    compatible: Sequence[str]

    def rejects(self, design: str) -> bool:
        """Whether the design was tested and does not fit; without a p-value it was not tested."""
        p = self.mixing.p_values[design]
        return p == p and design not in self.compatible


@dataclass(frozen=True)
class UrnExperiment:
    """The results; the numbers are those of the first run."""

    request: UrnRequest
    rule: str
    groups: int
    trials: int
    # The number of trials that each group is in, summed over the groups.
    cells: int
    per_trial: int
    elements: int
    alone: int
    left_out: int
    rows: Sequence[UrnRow]
    next: CofactorSuggestion | None = None


def draw_from_urn(elements: UrnElements, request: UrnRequest) -> UrnExperiment:
    """All runs; if there are several, each takes a random half of the repetitions, as in the paper."""
    if len(elements.thresholds) > MOST_THRESHOLDS:
        raise UsageError(f"--threshold: {len(elements.thresholds)} values; {MOST_THRESHOLDS} at most")
    table = _Table.of(elements, request)
    runs = [_run(elements, request, table, number) for number in range(request.runs)]
    return _experiment(elements, request, table, runs[0][0], [row for _, rows in runs for row in rows])


def _run(elements: UrnElements, request: UrnRequest, table: "_Table", number: int) -> tuple[Trials, list[UrnRow]]:
    rng = np.random.default_rng([request.seed, number])
    trials = table.trials(rng, 1.0 if request.runs == 1 else 0.5)
    mixings = mixing(elements.success, trials, rng=rng, permutations=request.permutations)
    return trials, [
        UrnRow(number + 1, threshold, one, one.compatible(request.alpha))
        for threshold, one in zip(elements.thresholds, mixings, strict=True)
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
    def of(cls, elements: UrnElements, request: UrnRequest) -> "_Table":
        group = elements.column(request.group, "--group")
        repetition = None if request.trial is None else elements.column(request.trial, "--trial")
        if repetition is None and request.resample is None:
            raise UsageError("--trial COLUMN: say what is repeated (or --resample groups, to draw other groups)")
        if repetition is None and request.shuffle:
            raise UsageError("--shuffle: needs --trial COLUMN; without it elements are dealt at random already")
        unit = None
        if repetition is not None and request.shuffle:
            cofactors = [elements.column(name, "--shuffle") for name in request.shuffle]
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


def _experiment(
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
    """A suggestion for the threshold at which the proposed design fails most clearly, if it does."""
    failed = [number for number, row in enumerate(rows) if row.rejects(request.proposed)]
    if not failed:
        return None
    worst = min(failed, key=lambda number: rows[number].mixing.p_values[request.proposed])
    mixed = rows[worst].mixing
    excess = mixed.sample_variance - mixed.predicted[request.proposed]
    success = elements.success[trials.at, worst]
    known = {name: codes[trials.at] for name, codes in elements.columns.items() if name != request.group}
    if excess > 0:
        return shuffle_next(success, trials, known, excess)
    for name in (request.trial, *request.shuffle):
        known.pop(name or "", None)
    return group_next(success, trials, known, mixed.predicted["st"] - mixed.sample_variance)


def urn_json(experiment: UrnExperiment) -> dict[str, Any]:
    """All results."""
    request = experiment.request
    return {
        "rows": [_row(row) for row in experiment.rows],
        "group": request.group,
        "trial": request.trial,
        "shuffle": list(request.shuffle),
        "resample": "groups" if request.resample is not None else None,
        "design": request.proposed,
        "groups": experiment.groups,
        "trials": experiment.trials,
        "elements": experiment.elements,
        "runs": request.runs,
        "permutations": request.permutations,
        "alpha": request.alpha,
        "seed": request.seed,
        "next": None if experiment.next is None else asdict(experiment.next),
    }


def _row(row: UrnRow) -> dict[str, Any]:
    one = row.mixing
    return {
        "threshold": row.threshold,
        "run": row.run,
        "rate": one.rate,
        "sample_variance": one.sample_variance,
        **{design: finite(one.predicted[design]) for design in DESIGNS},
        "ratios": {design: finite(one.ratio(design)) for design in DESIGNS},
        "p_values": {design: finite(one.p_values[design]) for design in DESIGNS},
        "compatible": list(row.compatible),
    }
