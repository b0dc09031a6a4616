"""The registry of measures, which every command reads. A new measure is one entry in one of the files.

The files are `outcomes`, `curves` (with costs and ranks), `values`, `pixels` and `boxes`, by what a measure reads.
Rooms and other packages add theirs by entry points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from harness.errors import UsageError
from harness.measures import boxes, curves, outcomes, pixels, values
from harness.measures.measure import Measure, MeasureFamily, Reads, Runs
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
    "is_goal",
    "known_measures",
    "mean_of_value",
    "measures_for_help",
    "ratio_of_values",
    "value_measure",
]

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        *outcomes.MEASURES,
        *curves.MEASURES,
        *values.MEASURES,
        *pixels.MEASURES,
        *boxes.MEASURES,
    )
}
FAMILIES: Sequence[MeasureFamily] = (*outcomes.FAMILIES, *curves.FAMILIES, *boxes.FAMILIES)
EXAMPLES = tuple(example for family in FAMILIES for example in family.examples)


def find_measure(
    name: str,
    values: Sequence[str] = (),
    option: str = "--statistic",
    *,
    meanings: Mapping[str, str] | None = None,
    direction: Callable[[str], bool | None] = lambda _value: None,
) -> Measure:
    """The measure with this name; `values` are the names of additional numbers in the records.

    `meanings`: what some names mean for the runs' task, `measure_names` of a task. `direction`: whether more of an
    additional number is better; None if nobody has said.
    """
    kind, colon, rest = name.partition(":")
    if meanings is not None and kind in meanings:
        return replace(find_measure(meanings[kind] + colon + rest, values, option, direction=direction), name=name)
    if (built_in := known_measures().get(name)) is not None:
        return built_in
    for family in FAMILIES:
        if (match := family.pattern.fullmatch(name)) is not None:
            return family.make(match, f"{option} {name}")
    value = name.removeprefix(VALUES)
    larger = direction(value) if value in values else None
    # If no record says which way is better, a plug-in that measures this value may know.
    if larger is None and (plugin := PLUGINS.find(name)) is not None:
        return plugin
    if value in values:
        return replace(mean_of_value(value, larger_is_better=larger), name=name)
    known = [*MEASURES, *EXAMPLES, *(value_measure(each, meanings or {}) for each in values), *PLUGINS.names()]
    raise UsageError(f"{option} {name}: no such measure; {nearest(name, known)}")


def value_measure(value: str, meanings: Mapping[str, str]) -> str:
    """The measure that is the mean of an additional number: its name, or values.NAME if the name means another one."""
    is_taken = value.partition(":")[0] in meanings or _is_built_in(value)
    return f"{VALUES}{value}" if is_taken else value


def _is_built_in(name: str) -> bool:
    known = name in known_measures() or name.startswith(VALUES)
    return known or any(family.pattern.fullmatch(name) for family in FAMILIES)


def _mistakes(measure: Measure) -> Iterator[str]:
    """What makes a plug-in's measure unusable."""
    if not isinstance(measure.words, str) or not measure.words:
        yield "words is missing: the measure's name in a sentence"
    if not callable(measure.statistic):
        yield "statistic is not a function"
    if not isinstance(measure.reads, Reads):
        yield "reads is not one of harness.measures.Reads"
    if not measure.directed:
        yield "larger_is_better is neither true nor false"
    if not (isinstance(measure.bounds, tuple) and len(measure.bounds) == 2):
        yield "bounds is not a pair of numbers"


PLUGINS = PluginGroup("hate.measures", Measure, _mistakes, _is_built_in)


def known_measures() -> dict[str, Measure]:
    """The measures of this package by name, with those of its rooms; other packages are not looked for."""
    return MEASURES | PLUGINS.here()


def goals() -> list[str]:
    """Measures that settings can be tuned for."""
    return [name for name, measure in known_measures().items() if is_goal(measure)]


def is_goal(measure: Measure) -> bool:
    """Whether settings can be tuned for this measure: more of it must be better, or less."""
    return measure.tunable and measure.larger_is_better is not None and measure.ideal is None


def measures_for_help() -> str:
    """All measures, separated by commas, for help texts."""
    return f"{', '.join(known_measures())}, {', '.join(EXAMPLES)}, or a value of the records by name"
