"""The registry of measures, which every command reads. A new measure is one entry in one of the files.

The files are `outcomes`, `curves` (with costs and ranks), `values`, `pixels` and `boxes`, by what a measure reads.
Rooms and other packages add theirs by entry points.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from harness.errors import UsageError
from harness.measures import boxes, curves, outcomes, pixels, values
from harness.measures.boxes import box_measure
from harness.measures.curves import fnr_at_fpr, minimum_cost, rank
from harness.measures.measure import Measure, Reads, Runs
from harness.measures.outcomes import cost, detection_cost, majority, passed
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
_RANK = re.compile(r"rank([1-9]\d{0,8})", re.ASCII)
_COST = re.compile(r"cost(?::(.*))?")
_DETECTION_COST = re.compile(r"(min_)?dcf(?::(.*))?")
_AT_LIMIT = re.compile(r"fnm?r@fp?m?r=(.*)")
_OF_K = re.compile(r"(pass|majority|maj)@([1-9]\d{0,3})", re.ASCII)
# Names with parameters, as they are shown to users.
EXAMPLES = (
    "rank1",
    "rank5",
    "cost:fp=10,fn=1",
    "dcf:miss=1,fa=1,prior=0.01",
    "min_dcf",
    "fnr@fpr=0.001",
    "pass@5",
    "majority@5",
)


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
    if (of_class := box_measure(name)) is not None:
        return of_class
    if (parametrised := _parametrised(name, option)) is not None:
        return parametrised
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


def _parametrised(name: str, option: str) -> Measure | None:
    """A measure whose name has parameters, such as rank5; None if it is not one of them."""
    if match := _RANK.fullmatch(name):
        return rank(int(match[1]))
    if match := _COST.fullmatch(name):
        example = "cost:fp=10,fn=1"
        costs = _parameters(name, match[1] or "", option, {"fp": 1.0, "fn": 1.0}, example)
        if not all(0 <= number < 1e12 for number in costs.values()) or not any(costs.values()):
            raise UsageError(f"{option} {name}: write {example}, with numbers of 0 or more")
        return cost(**costs)
    if match := _DETECTION_COST.fullmatch(name):
        example = "dcf:miss=1,fa=1,prior=0.01"
        parameters = _parameters(name, match[2] or "", option, {"miss": 1.0, "fa": 1.0, "prior": 0.5}, example)
        if not (0 < parameters["miss"] < 1e12 and 0 < parameters["fa"] < 1e12 and 0 < parameters["prior"] < 1):
            raise UsageError(f"{option} {name}: write {example}, with costs above 0 and a prior between 0 and 1")
        return (minimum_cost if match[1] else detection_cost)(name, **parameters)
    if match := _OF_K.fullmatch(name):
        return (passed if match[1] == "pass" else majority)(int(match[2]))
    if match := _AT_LIMIT.fullmatch(name):
        return fnr_at_fpr(name, _rate_limit(name, match[1], option))
    return None


def _is_built_in(name: str) -> bool:
    patterns = (_RANK, _COST, _DETECTION_COST, _AT_LIMIT, _OF_K)
    known = name in known_measures() or name.startswith(VALUES) or box_measure(name) is not None
    return known or any(pattern.fullmatch(name) for pattern in patterns)


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


def _parameters(name: str, text: str, option: str, defaults: dict[str, float], example: str) -> dict[str, float]:
    """Numbers by name, as in fp=10,fn=1, over their defaults."""
    numbers = dict(defaults)
    for part in filter(None, text.split(",")):
        key, _, number = part.partition("=")
        try:
            numbers[key.strip()] = float(number)
        except ValueError:
            raise UsageError(f"{option} {name}: '{number}' is not a number; write {example}") from None
    if set(numbers) != set(defaults):
        raise UsageError(f"{option} {name}: write {example}, with numbers of 0 or more")
    return numbers


def _rate_limit(name: str, text: str, option: str) -> float:
    try:
        limit = float(text)
    except ValueError:
        limit = -1.0
    if not 0 <= limit <= 1:
        raise UsageError(f"{option} {name}: '{text}' is not a rate; write fnr@fpr=0.001")
    return limit
