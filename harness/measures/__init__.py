"""The registry of measures: every command that names one reads it. A new measure is one entry in one of the files.

By what they look at: `outcomes`, `curves` (and ranks) and `values`. Those of other packages come as plug-ins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.errors import UsageError
from harness.measures import curves, outcomes, values
from harness.measures.curves import rank
from harness.measures.measure import Measure, Reads, Runs
from harness.measures.outcomes import cost
from harness.measures.values import VALUES, mean_of_value, ratio_of_values
from harness.params import nearest
from harness.plugins import PluginGroup

__all__ = [
    "MEASURES",
    "PLUGINS",
    "Measure",
    "Reads",
    "Runs",
    "cost",
    "find_measure",
    "goals",
    "mean_of_value",
    "ratio_of_values",
    "spelled",
]

MEASURES: dict[str, Measure] = {
    measure.name: measure for measure in (*outcomes.MEASURES, *curves.MEASURES, *values.MEASURES)
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
        return replace(mean_of_value(own), name=name)
    if (other := PLUGINS.find(name)) is not None:
        return other
    further = [one if one not in MEASURES else f"{VALUES}{one}" for one in values]
    known = [*MEASURES, "rank1", "rank5", "cost:fp=10,fn=1", *further, *PLUGINS.names()]
    raise UsageError(f"{option} {name}: no such measure; {nearest(name, known)}")


def _is_built_in(name: str) -> bool:
    return name in MEASURES or name.startswith(VALUES) or bool(_RANK.fullmatch(name) or _COST.fullmatch(name))


def _mistakes(measure: Measure) -> Iterator[str]:
    """What keeps a measure of a plug-in from being used."""
    if not isinstance(measure.words, str) or not measure.words:
        yield "words is missing: what the measure is called in a sentence"
    if not callable(measure.statistic):
        yield "statistic is not a function"
    if not isinstance(measure.reads, Reads):
        yield "reads is not one of harness.measures.Reads"
    if not (isinstance(measure.bounds, tuple) and len(measure.bounds) == 2):
        yield "bounds is not a pair of numbers"


PLUGINS = PluginGroup("hate.measures", Measure, _mistakes, _is_built_in)


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
