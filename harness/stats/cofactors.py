"""Which cofactor explains what a design does not: too much variance between trials, or too little.

Too much: something that the elements of a trial share and that differs from trial to trial (the time of day). Its
variance component, times how unevenly the trials hold its levels, is what it adds. Too little: something that every
trial holds in the same way, a finer partition (the original image); its component within groups is what the estimate
counts in vain.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from harness.stats.clustering import intraclass_correlation
from harness.stats.designs import Groups
from harness.stats.trials import BoolArray, IntArray, Trials

FloatArray = npt.NDArray[np.float64]

__all__ = ["added_between_trials", "share_within_groups"]


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
    fine = Groups.of(success[:, None].astype(np.float64), cell)
    coarse = Groups.of(success[:, None].astype(np.float64), trials.group)
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
