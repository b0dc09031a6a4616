"""Trials from a table of groups and repetitions, and the cofactors that explain what a design does not.

After "Is the Urn Well-Mixed?" (2004), section 4.1: rows are groups, columns repetitions (data collections); an
experiment takes the columns in random order, a trial some of them.

A cofactor explains too much variance between trials if the elements of a trial share it and it differs from trial to
trial (the time of day): its variance component, times how unevenly the trials hold its levels, is what it adds. It
explains too little variance if every trial holds it in the same way, as a finer partition (the original image): its
component within groups is what the estimate counts in vain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.clustering import intraclass_correlation
from harness.stats.designs import GroupMoments

__all__ = ["Trials", "added_between_trials", "fresh_trials", "make_trials", "share_within_groups", "shuffle_within"]


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Which elements take part, and their group and trial, numbered from 0; `alone` were left out with their cells."""

    at: IntArray
    group: IntArray
    trial: IntArray
    count: int
    alone: int = 0

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.group.max()) + 1

    @property
    def cells(self) -> int:
        """In how many trials each group is, summed over the groups."""
        return int(np.unique(self.group * self.count + self.trial).size)

    @property
    def nested(self) -> bool:
        """Whether every group is in one trial only: then nothing can be exchanged between trials within groups."""
        return self.cells == self.groups


def make_trials(
    group: IntArray,
    repetition: IntArray,
    *,
    rng: np.random.Generator,
    elements: int = 1,
    share: float = 1.0,
    resample: int | None = None,
) -> Trials:
    """Pool `elements` repetitions, taken in random order, into a trial; what is left over is not used.

    `share`: of the repetitions, for experiments that are themselves repeated. `resample`: so many groups for each
    trial, others every time. A group with a single element in a trial says nothing about its variance and is left out
    of that trial.
    """
    values = rng.permutation(np.unique(repetition))
    values = values[: max(1, round(share * values.size))]
    count = values.size // elements
    if count < 2:
        raise ValueError(f"{values.size} repetitions are too few for two trials of {elements}")
    trial_of = np.full(int(repetition.max()) + 1, -1, dtype=np.intp)
    trial_of[values[: count * elements]] = np.repeat(np.arange(count), elements)
    trial = trial_of[repetition]
    within = trial >= 0
    if resample is not None:
        drawn, count = _other_groups(group, count, resample, rng)
        within &= drawn[group] == trial
    return _complete(np.flatnonzero(within), group, trial, count)


def shuffle_within(group: IntArray, repetition: IntArray, unit: IntArray, *, rng: np.random.Generator) -> IntArray:
    """Repetitions dealt anew within every group; elements of a unit (one level of a cofactor) stay together.

    Units must lie within one group and one repetition.
    """
    first, inverse = np.unique(unit, return_index=True, return_inverse=True)[1:]
    owner, label = group[first], repetition[first]
    shuffled = np.empty_like(label)
    shuffled[np.argsort(owner, kind="stable")] = label[np.lexsort((rng.random(owner.size), owner))]
    return np.asarray(shuffled[inverse])


def fresh_trials(group: IntArray, *, rng: np.random.Generator, elements: int, groups: int) -> Trials:
    """Other groups for every trial, and of each of them some elements at random, where nothing else is repeated."""
    order = np.lexsort((rng.random(group.size), group))
    sizes = np.bincount(group)
    number = np.empty_like(order)
    number[order] = np.arange(group.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    drawn, count = _other_groups(group, group.size, groups, rng)
    trial = drawn[group]
    return _complete(np.flatnonzero((number < elements) & (trial >= 0)), group, trial, count)


def _other_groups(group: IntArray, trials: int, size: int, rng: np.random.Generator) -> tuple[IntArray, int]:
    """The trial of each group, -1 for none: no group is in two."""
    names = rng.permutation(np.unique(group))
    count = min(trials, names.size // size)
    if count < 2:
        raise ValueError(f"{names.size} groups are too few for two trials of {size} groups each, none of them in both")
    drawn = np.full(int(group.max()) + 1, -1, dtype=np.intp)
    drawn[names[: count * size]] = np.repeat(np.arange(count), size)
    return drawn, count


def _complete(at: IntArray, group: IntArray, trial: IntArray, count: int) -> Trials:
    cell = group[at] * count + trial[at]
    sizes = np.bincount(cell)
    kept = sizes[cell] > 1
    alone = int(np.count_nonzero(~kept))
    if not kept.any() or np.unique(trial[at[kept]]).size < 2:
        raise ValueError("no group has two elements in a trial: let a trial take more of them")
    at = at[kept]
    numbers = [np.unique(labels[at], return_inverse=True)[1] for labels in (group, trial)]
    return Trials(at, numbers[0], numbers[1], int(numbers[1].max()) + 1, alone)


def added_between_trials(success: BoolArray, trials: Trials, levels: IntArray) -> float:
    """What a cofactor adds to the variance of the trials' rates; 0 where it cannot be told.

    `success` and `levels` are of the elements in the trials. The levels' effects are taken for random ones.
    """
    residual = success - _mean_by(success, trials.group)
    found = intraclass_correlation(residual, levels)
    component = (found.ms_between - found.ms_within) / found.mean_size
    if not component > 0:
        return 0.0
    names = int(levels.max()) + 1
    counts = np.bincount(trials.trial * names + levels, minlength=trials.count * names).reshape(trials.count, names)
    shares = counts / counts.sum(axis=1, keepdims=True)
    return float(component * ((shares - shares.mean(axis=0)) ** 2).sum() / (trials.count - 1))


def share_within_groups(success: BoolArray, trials: Trials, levels: IntArray) -> float:
    """The share of the variance within groups that lies between the levels of a cofactor; 0 where it cannot be told."""
    cell = np.unique(trials.group * (int(levels.max()) + 1) + levels, return_inverse=True)[1].reshape(-1)
    groups, cells, total = int(trials.group.max()) + 1, int(cell.max()) + 1, success.size
    if cells in (groups, total):
        return 0.0
    fine = GroupMoments.of(success[:, None].astype(np.float64), cell)
    coarse = GroupMoments.of(success[:, None].astype(np.float64), trials.group)
    within = float(fine.within.sum()) / (total - cells)
    between = float(coarse.within.sum() - fine.within.sum()) / (cells - groups)
    owner = np.empty(cells, dtype=np.intp)
    owner[cell] = trials.group
    # The size that stands for unequal ones, as in a one-way analysis of variance, over all groups.
    size = (total - float((fine.sizes**2 / coarse.sizes[owner]).sum())) / (cells - groups)
    component = (between - within) / size
    return component / (component + within) if component > 0 else 0.0


def _mean_by(values: BoolArray, codes: IntArray) -> FloatArray:
    sizes = np.bincount(codes)
    return np.asarray((np.bincount(codes, weights=values) / sizes)[codes])
