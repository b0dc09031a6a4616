"""Cases of a few kinds: what they add to the units, kind by kind instead of case by case.

A measure of outcomes sees only the outcome of a case and the group that it is in, so that a million cases are of a
dozen kinds. Whatever depends on sums over cases is then computed from the weight of each kind.
"""

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray
from harness.stats.replication.sample import Sample

# The kind of each case, in few bytes, which sorts fast.
Kinds = npt.NDArray[np.uint16]
# With fewer units and kinds than this, the weight of each kind in each unit is added up at once.
_CELLS_PER_CASE = 4


def kind_weights(kinds: Kinds, weights: FloatArray, number: int) -> FloatArray:
    """The weight of all cases of each kind."""
    return np.bincount(kinds, weights=weights, minlength=number).astype(np.float64)


def kind_unit_sums(sample: Sample, kinds: Kinds, columns: FloatArray) -> FloatArray:
    """Weighted sums over the cases of each unit (units, c), for columns (kinds, c)."""
    if not (sample.stratified or sample.clustered):
        # Every case is a unit, in the order of the cases.
        return np.asarray(columns[kinds] * sample.weights[:, None])
    units, weights = sample.unit_of_case, sample.weights
    adds = np.asarray(columns.any(axis=1))
    if not adds.all():
        # Cases of other groups add nothing.
        cases = np.flatnonzero(adds[kinds])
        units, weights, columns = units[cases], weights[cases], columns[adds]
        kinds = (np.cumsum(adds, dtype=np.uint16) - np.uint16(1))[kinds[cases]]
    number = len(columns)
    if sample.units * number <= _CELLS_PER_CASE * len(kinds):
        by_kind = np.bincount(units * number + kinds, weights=weights, minlength=sample.units * number)
        return np.asarray(by_kind.reshape(sample.units, number) @ columns)
    order = np.argsort(kinds, kind="stable")
    units, weights = units[order], weights[order]
    ends = np.cumsum(np.bincount(kinds, minlength=number)).tolist()
    # Each column is in one piece of memory, since they are written and summed one at a time.
    sums = np.zeros((sample.units, columns.shape[1]), order="F")
    for place, column in enumerate(columns.T):
        used = [(slice(ends[kind - 1] if kind else 0, ends[kind]), column[kind]) for kind in np.flatnonzero(column)]
        if used:
            members = np.concatenate([units[part] for part, _ in used])
            values = np.concatenate([weights[part] * value for part, value in used])
            sums[:, place] = np.bincount(members, weights=values, minlength=sample.units)
    return sums
