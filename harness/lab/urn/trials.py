"""Trials from a table of groups and repetitions, and cofactors that explain what a design does not.

After "Is the Urn Well-Mixed?" (2004), section 4.1: rows are groups, columns repetitions (data collections); an
experiment takes the columns in random order, and each trial takes some of them.

A cofactor explains too much variance between trials if the elements of a trial share it and it differs from trial to
trial (the time of day): it adds its variance component times how unevenly its levels are spread over the trials. It
explains too little variance if every trial contains all of it, as a finer partition of the groups (the original image):
the estimate then wrongly counts its component within groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import BoolArray, IntArray
from harness.stats.designs import GroupMoments, intraclass_correlation

__all__ = ["Trials", "added_between_trials", "fresh_trials", "make_trials", "share_within_groups", "shuffle_within"]


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """The elements that take part, their group and trial, numbered from 0.

    `alone` elements were left out: each was the only one of its group in its trial.
    """

    at: IntArray
    group: IntArray
    trial: IntArray
    count: int
    alone: int = 0

    @property
    def groups(self) -> int:
        return int(self.group.max()) + 1

    @property
    def cells(self) -> int:
        """Number of combinations of a group and a trial that occur."""
        return int(np.unique(self.group * self.count + self.trial).size)

    @property
    def nested(self) -> bool:
        """Whether every group is in one trial only: then nothing can be exchanged between trials within a group."""
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
    """Pool `elements` repetitions, in random order, into a trial; repetitions left over are not used.

    `share`: the share of repetitions to use, for experiments that are themselves repeated. `resample`: the number of
    groups per trial, different ones each time. A group with a single element in a trial says nothing about its variance
    and is left out of that trial.
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
        trial_of_group, count = _separate_groups(group, count, resample, rng)
        within &= trial_of_group[group] == trial
    return _complete(np.flatnonzero(within), group, trial, count)


def shuffle_within(group: IntArray, repetition: IntArray, unit: IntArray, *, rng: np.random.Generator) -> IntArray:
    """Repetitions shuffled within every group; elements of a unit (one level of a cofactor) stay together.

    Units must lie within one group and one repetition.
    """
    first, inverse = np.unique(unit, return_index=True, return_inverse=True)[1:]
    owner, label = group[first], repetition[first]
    shuffled = np.empty_like(label)
    shuffled[np.argsort(owner, kind="stable")] = label[np.lexsort((rng.random(owner.size), owner))]
    return np.asarray(shuffled[inverse])


def fresh_trials(group: IntArray, *, rng: np.random.Generator, elements: int, groups: int) -> Trials:
    """Different groups for every trial, with some random elements of each, for data without repetitions."""
    order = np.lexsort((rng.random(group.size), group))
    sizes = np.bincount(group)
    number = np.empty_like(order)
    number[order] = np.arange(group.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    trial_of_group, count = _separate_groups(group, group.size, groups, rng)
    trial = trial_of_group[group]
    return _complete(np.flatnonzero((number < elements) & (trial >= 0)), group, trial, count)


def _separate_groups(group: IntArray, trials: int, size: int, rng: np.random.Generator) -> tuple[IntArray, int]:
    """The trial of each group, -1 for none; no group is in two trials."""
    names = rng.permutation(np.unique(group))
    count = min(trials, names.size // size)
    if count < 2:
        raise ValueError(f"{names.size} groups are too few for two trials of {size} groups each with none in common")
    trial_of_group = np.full(int(group.max()) + 1, -1, dtype=np.intp)
    trial_of_group[names[: count * size]] = np.repeat(np.arange(count), size)
    return trial_of_group, count


def _complete(at: IntArray, group: IntArray, trial: IntArray, count: int) -> Trials:
    cell = group[at] * count + trial[at]
    sizes = np.bincount(cell)
    shared = sizes[cell] > 1
    alone = int(np.count_nonzero(~shared))
    if not shared.any() or np.unique(trial[at[shared]]).size < 2:
        raise ValueError("no group has two elements in a trial: let a trial take more of them")
    at = at[shared]
    numbers = [np.unique(labels[at], return_inverse=True)[1] for labels in (group, trial)]
    return Trials(at, numbers[0], numbers[1], int(numbers[1].max()) + 1, alone)


def added_between_trials(success: BoolArray, trials: Trials, levels: IntArray) -> float:
    """What a cofactor adds to the variance of the trials' rates; 0 if unknown.

    `success` and `levels` are those of the elements in the trials. The levels' effects are assumed to be random.
    """
    group_means = np.bincount(trials.group, weights=success) / np.bincount(trials.group)
    anova = intraclass_correlation(success - group_means[trials.group], levels)
    component = (anova.ms_between - anova.ms_within) / anova.mean_size
    if not component > 0:
        return 0.0
    names = int(levels.max()) + 1
    counts = np.bincount(trials.trial * names + levels, minlength=trials.count * names).reshape(trials.count, names)
    shares = counts / counts.sum(axis=1, keepdims=True)
    return float(component * ((shares - shares.mean(axis=0)) ** 2).sum() / (trials.count - 1))


def share_within_groups(success: BoolArray, trials: Trials, levels: IntArray) -> float:
    """The share of the variance within groups that lies between the levels of a cofactor; 0 if unknown."""
    cell = np.unique(trials.group * (int(levels.max()) + 1) + levels, return_inverse=True)[1].reshape(-1)
    groups, cells, total = int(trials.group.max()) + 1, int(cell.max()) + 1, success.size
    if cells in (groups, total):
        return 0.0
    by_cell = GroupMoments.of(success[:, None].astype(np.float64), cell)
    by_group = GroupMoments.of(success[:, None].astype(np.float64), trials.group)
    within = float(by_cell.within.sum()) / (total - cells)
    between = float(by_group.within.sum() - by_cell.within.sum()) / (cells - groups)
    owner = np.empty(cells, dtype=np.intp)
    owner[cell] = trials.group
    # The common size that represents unequal ones, as in a one-way analysis of variance, over all groups.
    size = (total - float((by_cell.sizes**2 / by_group.sizes[owner]).sum())) / (cells - groups)
    component = (between - within) / size
    return component / (component + within) if component > 0 else 0.0
