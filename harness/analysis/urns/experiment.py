"""The method of the urn: propose a partition and a design, repeat the experiment, see which designs survive."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.urns.elements import Elements, IntArray
from harness.analysis.urns.next_cofactor import Suggestion, group_next, shuffle_next
from harness.errors import UsageError
from harness.stats.mixing import MOST_THRESHOLDS, Mixing, mixing
from harness.stats.trials import Trials, fresh_trials, make_trials, shuffle_within

# What the paper takes, where a group has one element in a repetition.
ELEMENTS = 4
# Trials that other groups are drawn for, unless it is said how many groups a trial has.
FRESH_TRIALS = 10
FRESH = -1


@dataclass(frozen=True)
class UrnWishes:
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
class Row:
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
class Urn:
    """What came out; the numbers are of the first run."""

    wishes: UrnWishes
    rule: str
    groups: int
    trials: int
    # In how many trials each group is, summed over the groups.
    cells: int
    per_trial: int
    elements: int
    alone: int
    left_out: int
    rows: Sequence[Row]
    next: Suggestion | None = None


def draw_from_urn(elements: Elements, wishes: UrnWishes) -> Urn:
    """All runs; where there are several, each takes a random half of the repetitions, as the paper's runs do."""
    if len(elements.thresholds) > MOST_THRESHOLDS:
        raise UsageError(f"--threshold: {len(elements.thresholds)} values; {MOST_THRESHOLDS} at most")
    table = _Table.of(elements, wishes)
    runs = [_run(elements, wishes, table, number) for number in range(wishes.runs)]
    return _wrapped(elements, wishes, table, runs[0][0], [row for _, rows in runs for row in rows])


def _run(elements: Elements, wishes: UrnWishes, table: "_Table", number: int) -> tuple[Trials, list[Row]]:
    rng = np.random.default_rng([wishes.seed, number])
    trials = table.trials(rng, 1.0 if wishes.runs == 1 else 0.5)
    found = mixing(elements.success, trials, rng=rng, permutations=wishes.permutations)
    return trials, [
        Row(number + 1, threshold, one, one.compatible(wishes.alpha))
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
    def of(cls, found: Elements, wishes: UrnWishes) -> "_Table":
        group = found.column(wishes.group, "--group")
        repetition = None if wishes.trial is None else found.column(wishes.trial, "--trial")
        if repetition is None and wishes.resample is None:
            raise UsageError("--trial COLUMN: say what is repeated (or --resample groups, to draw other groups)")
        if repetition is None and wishes.shuffle:
            raise UsageError("--shuffle: needs --trial COLUMN; without it elements are dealt at random already")
        unit = None
        if repetition is not None and wishes.shuffle:
            cofactors = [found.column(name, "--shuffle") for name in wishes.shuffle]
            unit = _crossed([group, repetition, *cofactors])
        taken = wishes.elements or _default_elements(group, repetition)
        resample = wishes.resample
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


def _wrapped(elements: Elements, wishes: UrnWishes, table: _Table, trials: Trials, rows: Sequence[Row]) -> Urn:
    return Urn(
        wishes=wishes,
        rule=elements.rule,
        groups=trials.groups,
        trials=trials.count,
        cells=trials.cells,
        per_trial=round(trials.at.size / trials.count),
        elements=table.elements,
        alone=trials.alone,
        left_out=elements.left_out,
        rows=rows,
        next=_next(elements, wishes, trials, rows[: len(elements.thresholds)]),
    )


def _next(elements: Elements, wishes: UrnWishes, trials: Trials, rows: Sequence[Row]) -> Suggestion | None:
    """For the threshold at which the proposed design fails most clearly, if it does."""
    failed = [number for number, row in enumerate(rows) if row.rejects(wishes.proposed)]
    if not failed:
        return None
    worst = min(failed, key=lambda number: rows[number].mixing.p_values[wishes.proposed])
    found = rows[worst].mixing
    excess = found.sample_variance - found.predicted[wishes.proposed]
    success = elements.success[trials.at, worst]
    known = {name: codes[trials.at] for name, codes in elements.columns.items() if name != wishes.group}
    if excess > 0:
        return shuffle_next(success, trials, known, excess)
    for name in (wishes.trial, *wishes.shuffle):
        known.pop(name or "", None)
    return group_next(success, trials, known, found.predicted["st"] - found.sample_variance)
