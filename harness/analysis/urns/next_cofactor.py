"""The cofactor to try next: the column that explains most of what the proposed design does not."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.analysis.urns.elements import BoolArray, IntArray
from harness.stats.cofactors import added_between_trials, share_within_groups
from harness.stats.trials import Trials

# Less than that is not worth a try.
LEAST = 0.1
# Of columns that explain nearly as much as the best, the one with the fewest levels says more.
NEARLY = 0.9


@dataclass(frozen=True)
class Suggestion:
    """What to do with which column, and the share of the excess variance that it explains."""

    action: str
    column: str
    share: float


def shuffle_next(
    success: BoolArray, trials: Trials, columns: Mapping[str, IntArray], excess: float
) -> Suggestion | None:
    """Too much variance between trials: a cofactor that trials share, to be randomised within groups."""
    added = {name: added_between_trials(success, trials, codes) / excess for name, codes in columns.items()}
    return _best("shuffle", added, columns)


def group_next(success: BoolArray, trials: Trials, columns: Mapping[str, IntArray], lack: float) -> Suggestion | None:
    """Too little variance between trials: a finer partition, of which every trial has all parts."""
    if not lack > 0:
        return None
    shares = {name: share_within_groups(success, trials, codes) for name, codes in columns.items()}
    return _best("group", shares, columns)


def _best(action: str, shares: Mapping[str, float], columns: Mapping[str, IntArray]) -> Suggestion | None:
    most = max(shares.values(), default=0.0)
    if most < LEAST:
        return None
    close = [name for name, share in shares.items() if share >= NEARLY * most]
    chosen = min(close, key=lambda name: len(set(columns[name].tolist())))
    return Suggestion(action, chosen, min(shares[chosen], 1.0))
