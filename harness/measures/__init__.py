"""The registry of measures: every command that names one reads it. A new measure is one entry in one of the files.

By what they look at: `outcomes`, `curves`, `ranks` and `means`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from harness.errors import UsageError
from harness.measures import curves, means, outcomes
from harness.measures.means import VALUES, value
from harness.measures.measure import Measure, Reads, Runs
from harness.measures.outcomes import cost
from harness.measures.ranks import rank
from harness.params import nearest

__all__ = ["MEASURES", "Measure", "Reads", "Runs", "cost", "find_measure", "goals", "spelled"]

MEASURES: dict[str, Measure] = {
    measure.name: measure for measure in (*outcomes.MEASURES, *curves.MEASURES, *means.MEASURES)
}
_RANK = re.compile(r"rank([1-9]\d{0,8})", re.ASCII)
_COST = re.compile(r"cost(?::(.*))?")


def find_measure(name: str, values: Sequence[str] = (), option: str = "--statistic") -> Measure:
    """The measure of that name; `values` are the further numbers that the records at hand have."""
    if name in MEASURES:
        return MEASURES[name]
    if found := _RANK.fullmatch(name):
        return rank(int(found[1]))
    if found := _COST.fullmatch(name):
        return cost(**_costs(name, found[1] or "", option))
    own = name.removeprefix(VALUES)
    if own in values:
        return replace(value(own), name=name)
    further = [one if one not in MEASURES else f"{VALUES}{one}" for one in values]
    known = [*MEASURES, "rank1", "rank5", "cost:fp=10,fn=1", *further]
    raise UsageError(f"{option} {name}: no such measure; {nearest(name, known)}")


def goals() -> list[str]:
    """Measures that a setting can be tuned for: the rest needs more of a record than a sweep keeps."""
    return [name for name, measure in MEASURES.items() if measure.reads in (Reads.OUTCOME, Reads.SCORE)]


def spelled() -> str:
    """All measures in a row, for help texts."""
    return f"{', '.join(MEASURES)}, rank1, rank5 ..., cost:fp=10,fn=1, or a value of the records by name"


def _costs(name: str, text: str, option: str) -> dict[str, float]:
    costs = {"fp": 1.0, "fn": 1.0}
    for part in filter(None, text.split(",")):
        key, _, number = part.partition("=")
        try:
            costs[key.strip()] = float(number)
        except ValueError:
            raise UsageError(f"{option} {name}: '{number}' is not a number; write cost:fp=10,fn=1") from None
    if set(costs) != {"fp", "fn"} or not all(0 <= one < 1e12 for one in costs.values()) or not any(costs.values()):
        raise UsageError(f"{option} {name}: write cost:fp=10,fn=1, with numbers from 0 up")
    return costs
