"""The registry of measures, which every command reads. A new measure is one entry in one of the files.

The files are `outcomes`, `curves` (and ranks), `values`, `pixels` and `boxes`, by what a measure reads. Other
packages add plug-ins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from harness.errors import UsageError
from harness.measures import boxes, curves, outcomes, pixels, values
from harness.measures.boxes import box_measure
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
    "measures_for_help",
    "ratio_of_values",
]

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (*outcomes.MEASURES, *curves.MEASURES, *values.MEASURES, *pixels.MEASURES, *boxes.MEASURES)
}
_RANK = re.compile(r"rank([1-9]\d{0,8})", re.ASCII)
_COST = re.compile(r"cost(?::(.*))?")


def find_measure(
    name: str,
    values: Sequence[str] = (),
    option: str = "--statistic",
    *,
    meanings: Mapping[str, str] | None = None,
) -> Measure:
    """The measure with this name; `values` are the names of additional numbers in the records.

    `meanings`: what some names mean for the runs' task, `measure_names` of a task.
    """
    kind, colon, rest = name.partition(":")
    if meanings is not None and kind in meanings:
        return replace(find_measure(meanings[kind] + colon + rest, values, option), name=name)
    if name in MEASURES:
        return MEASURES[name]
    if (of_class := box_measure(name)) is not None:
        return of_class
    if match := _RANK.fullmatch(name):
        return rank(int(match[1]))
    if match := _COST.fullmatch(name):
        return cost(**_costs(name, match[1] or "", option))
    value = name.removeprefix(VALUES)
    if value in values:
        return replace(mean_of_value(value), name=name)
    if (plugin := PLUGINS.find(name)) is not None:
        return plugin
    value_names = [one if one not in MEASURES else f"{VALUES}{one}" for one in values]
    known = [*MEASURES, "rank1", "rank5", "cost:fp=10,fn=1", *value_names, *PLUGINS.names()]
    raise UsageError(f"{option} {name}: no such measure; {nearest(name, known)}")


def _is_built_in(name: str) -> bool:
    known = name in MEASURES or name.startswith(VALUES) or box_measure(name) is not None
    return known or bool(_RANK.fullmatch(name) or _COST.fullmatch(name))


def _mistakes(measure: Measure) -> Iterator[str]:
    """What makes a plug-in's measure unusable."""
    if not isinstance(measure.words, str) or not measure.words:
        yield "words is missing: the measure's name in a sentence"
    if not callable(measure.statistic):
        yield "statistic is not a function"
    if not isinstance(measure.reads, Reads):
        yield "reads is not one of harness.measures.Reads"
    if not (isinstance(measure.bounds, tuple) and len(measure.bounds) == 2):
        yield "bounds is not a pair of numbers"


PLUGINS = PluginGroup("hate.measures", Measure, _mistakes, _is_built_in)


def goals() -> list[str]:
    """Measures that settings can be tuned for: the others need more of a record than a sweep keeps."""
    return [name for name, measure in MEASURES.items() if measure.reads in (Reads.OUTCOME, Reads.SCORE)]


def measures_for_help() -> str:
    """All measures, separated by commas, for help texts."""
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
        raise UsageError(f"{option} {name}: write cost:fp=10,fn=1, with numbers of 0 or more")
    return costs
