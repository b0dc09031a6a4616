"""Whether the urn is well mixed: which sampling design explains how a rate varies (`hate urn`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from harness.analysis.align import Run
from harness.analysis.decisions import limits_of, read_answers
from harness.errors import TranscriptError, UsageError
from harness.lab.urn.statistics import MAX_THRESHOLDS, Mixing, mixing
from harness.lab.urn.trials import (
    Trials,
    added_between_trials,
    fresh_trials,
    make_trials,
    share_within_groups,
    shuffle_within,
)
from harness.matrices.matrix import Matrix
from harness.params import nearest
from harness.stats.arrays import BoolArray, IntArray
from harness.transcript.columns import Coded

if TYPE_CHECKING:
    from harness.lab.urn.command import UrnOptions

# Columns that every source has: the source itself, and the repetition of `--repeat`.
SOURCE, REPEAT = "source", "repeat"


@dataclass(frozen=True, eq=False)
class UrnElements:
    """`success` is (elements, thresholds); a threshold is None for outcomes as recorded."""

    success: BoolArray
    thresholds: Sequence[float | None]
    columns: Mapping[str, IntArray]
    rule: str
    left_out: int = 0

    def column(self, name: str, option: str) -> IntArray:
        """A column as numbers from 0."""
        if name not in self.columns:
            raise UsageError(f"{option} {name}: no such column; {nearest(name, self.columns)}")
        return self.columns[name]


def from_runs(runs: Sequence[Run], paths: Sequence[Path], thresholds: Sequence[float]) -> UrnElements:
    """The records of transcripts, at values of their decision parameter, or with their recorded outcomes."""
    incomplete = [run.source for run in runs if not run.columns.complete]
    if incomplete:
        raise TranscriptError(f"{incomplete[0]}: incomplete; finish it with --resume first")
    if thresholds:
        success = np.concatenate([_decided(path, thresholds) for path in paths])
        rule = f"decided again at each {limits_of(runs[0].columns.header).param}"
    else:
        success = np.concatenate([run.columns.success for run in runs])[:, None]
        rule = "outcome TP or TN, as recorded"
    return UrnElements(success, list(thresholds) or [None], _columns_of_runs(runs), rule)


def _decided(path: Path, thresholds: Sequence[float]) -> BoolArray:
    answers = read_answers(path)
    limit = np.array(answers.limit)[:, None]
    accepted = limit >= np.array(thresholds) if answers.falling else limit <= np.array(thresholds)
    return np.asarray(accepted == np.array(answers.positive, dtype=np.bool_)[:, None])


def _columns_of_runs(runs: Sequence[Run]) -> dict[str, IntArray]:
    names = dict.fromkeys(name for run in runs for name in run.columns.columns)
    attributes = {"expect": "expect", "truth": "real_class", "stratum": "stratum", "psu": "psu"}
    columns = {name: _joined([run.columns.columns.get(name) for run in runs], runs) for name in names}
    for name, attribute in attributes.items():
        coded: list[Coded] = [getattr(run.columns, attribute) for run in runs]
        if name not in columns and any((part.codes >= 0).any() for part in coded):
            columns[name] = _joined(coded, runs)
    sizes = [len(run.columns.ids) for run in runs]
    columns.setdefault("id", _numbered(np.array([name for run in runs for name in run.columns.ids])))
    columns.setdefault(SOURCE, np.repeat(np.arange(len(runs)), sizes))
    columns.setdefault(REPEAT, _numbered(np.concatenate([run.columns.repeat for run in runs])))
    return columns


def _joined(parts: Sequence[Coded | None], runs: Sequence[Run]) -> IntArray:
    """A column over several transcripts, by its texts; a missing value is a level of its own."""
    level_of: dict[str, int] = {"": 0}
    joined = []
    for part, run in zip(parts, runs, strict=True):
        if part is None:
            joined.append(np.zeros(len(run.columns.ids), np.intp))
            continue
        table = np.array([*(level_of.setdefault(label, len(level_of)) for label in part.labels), 0], dtype=np.intp)
        joined.append(table[part.codes])
    return _numbered(np.concatenate(joined))


def from_matrices(
    matrices: Sequence[Matrix], thresholds: Sequence[float], *, on: str = "rank", identity: str
) -> UrnElements:
    """The probes of matrices; success is a rank up to the threshold, or a score of the right person that passes it."""
    ranks = [matrix.ranks(identity) for matrix in matrices]
    values = np.concatenate([probes.rank if on == "rank" else probes.best_right for probes in ranks])
    known = ~np.isnan(values)
    larger = {matrix.larger_is_better for matrix in matrices} == {True}
    limits = np.array(thresholds or [1.0])
    above = on == "score" and larger
    success = values[known, None] >= limits if above else values[known, None] <= limits
    labels = [matrix.rows for matrix in matrices]
    names = [name for name in labels[0].columns if all(name in rows.columns for rows in labels)]
    columns = {name: _numbered(np.concatenate([rows.column(name) for rows in labels])[known]) for name in names}
    columns.setdefault(SOURCE, np.repeat(np.arange(len(labels)), [len(rows) for rows in labels])[known])
    rule = f"{on} {'at least' if above else 'at most'} the threshold"
    return UrnElements(success, limits.tolist(), columns, rule, int(np.count_nonzero(~known)))


def _numbered(values: npt.NDArray[np.generic]) -> IntArray:
    codes = np.unique(values, return_inverse=True)[1]
    return np.asarray(codes.reshape(-1), dtype=np.intp)


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
# With fresh groups in each trial, the number of trials, unless the groups per trial are given.
FRESH_TRIALS = 10


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

    options: "UrnOptions"
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


def draw_from_urn(elements: UrnElements, options: "UrnOptions") -> UrnExperiment:
    """All runs; if there are several, each takes a random half of the repetitions, as in the paper."""
    if len(elements.thresholds) > MAX_THRESHOLDS:
        raise UsageError(f"--threshold: {len(elements.thresholds)} values; {MAX_THRESHOLDS} at most")
    dealer, dealt, rows = _Dealer(elements, options), list[Trials](), list[UrnRow]()
    for number in range(options.runs):
        rng = np.random.default_rng([options.seed, number])
        dealt.append(dealer.trials(rng, 1.0 if options.runs == 1 else 0.5))
        mixings = mixing(elements.success, dealt[-1], rng=rng, permutations=options.permutations)
        rows += [
            UrnRow(number + 1, threshold, mixed, mixed.compatible(options.alpha))
            for threshold, mixed in zip(elements.thresholds, mixings, strict=True)
        ]
    first = dealt[0]
    return UrnExperiment(
        options=options,
        rule=elements.rule,
        groups=first.groups,
        trials=first.count,
        cells=first.cells,
        per_trial=round(first.at.size / first.count),
        elements=dealer.elements,
        alone=first.alone,
        left_out=elements.left_out,
        rows=rows,
        next=_next(elements, options, first, rows[: len(elements.thresholds)]),
    )


class _Dealer:
    """Deals elements to trials, by their groups and repetitions."""

    def __init__(self, elements: UrnElements, options: "UrnOptions") -> None:
        self._group = elements.column(options.group, "--group")
        self._repetition = None if options.trial is None else elements.column(options.trial, "--trial")
        if self._repetition is None and options.resample is None:
            raise UsageError("--trial COLUMN: say what is repeated (or --resample groups, to draw other groups)")
        if self._repetition is None and options.shuffle:
            raise UsageError("--shuffle: needs --trial COLUMN; without it elements are dealt at random already")
        self._unit = None
        if self._repetition is not None and options.shuffle:
            cofactors = [elements.column(name, "--shuffle") for name in options.shuffle]
            self._unit = _crossed([self._group, self._repetition, *cofactors])
        self.elements = options.elements or _default_elements(self._group, self._repetition)
        self._resample = None
        if options.resample is not None:
            self._resample = options.groups or max(2, (int(self._group.max()) + 1) // FRESH_TRIALS)

    def trials(self, rng: np.random.Generator, share: float) -> Trials:
        """Trials from a share of the repetitions."""
        repetition, resample = self._repetition, self._resample
        try:
            if repetition is None:
                return fresh_trials(self._group, rng=rng, elements=self.elements, groups=resample or 2)
            if self._unit is not None:
                repetition = shuffle_within(self._group, repetition, self._unit, rng=rng)
            return make_trials(self._group, repetition, rng=rng, elements=self.elements, share=share, resample=resample)
        except ValueError as error:
            groups = "" if resample is None else f", --groups {resample}"
            raise UsageError(f"--elements {self.elements}{groups}: {error}") from None


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


def _next(
    elements: UrnElements, options: "UrnOptions", trials: Trials, rows: Sequence[UrnRow]
) -> CofactorSuggestion | None:
    """A suggestion for the threshold at which the proposed design fails most clearly, if it does."""
    failed = [number for number, row in enumerate(rows) if row.rejects(options.proposed)]
    if not failed:
        return None
    worst = min(failed, key=lambda number: rows[number].mixing.p_values[options.proposed])
    mixed = rows[worst].mixing
    excess = mixed.sample_variance - mixed.predicted[options.proposed]
    success = elements.success[trials.at, worst]
    known = {name: codes[trials.at] for name, codes in elements.columns.items() if name != options.group}
    if excess > 0:
        return shuffle_next(success, trials, known, excess)
    for name in (options.trial, *options.shuffle):
        known.pop(name or "", None)
    return group_next(success, trials, known, mixed.predicted["st"] - mixed.sample_variance)
