"""What a comparison has beside the pairs, under the names that the documentation promises."""

import math
from typing import Any

from harness.analysis.comparing.by_group import ByGroup, Gap, Group, Value
from harness.analysis.comparing.comparison import Comparison
from harness.analysis.comparing.cost import Cost, CostRatio
from harness.analysis.comparing.further import Further
from harness.analysis.comparing.items import Items
from harness.analysis.comparing.margins import Margin
from harness.stats.rates import Interval


def of_run(further: Further, number: int) -> dict[str, Any]:
    """What belongs to one transcript."""
    found: dict[str, Any] = {}
    if further.operated is not None:
        threshold = further.operated.thresholds[number]
        found["threshold"] = threshold if math.isfinite(threshold) else None
        found |= {"fpr": further.operated.fpr[number], "fnr": further.operated.fnr[number]}
    for name, costs in (("seconds", further.seconds), ("memory", further.memory)):
        if costs is not None:
            found[name] = _cost(costs.runs[number])
    return found


def of_pair(further: Further, number: int) -> dict[str, Any]:
    """What belongs to one pair."""
    found: dict[str, Any] = {}
    if further.margins is not None:
        found["equivalence"] = _margin(further.margins[number])
    for name, costs in (("seconds", further.seconds), ("memory", further.memory)):
        if costs is not None:
            found[name] = _ratio(costs.pairs[number])
    return found


def of_all(found: Comparison, further: Further) -> dict[str, Any]:
    """What belongs to all."""
    parts: dict[str, Any] = {"statistic": found.statistic}
    if further.operated is not None:
        parts["at"] = str(further.operated.point)
    if further.by is not None:
        parts["by"] = _by(found, further.by)
    if further.items is not None:
        parts["items"] = _items(further.items)
    return parts


def interval_list(interval: Interval | None) -> list[float | None] | None:
    """Two numbers, or nothing."""
    if interval is None:
        return None
    return [limit if math.isfinite(limit) else None for limit in (interval.low, interval.high)]


def _cost(cost: Cost | None) -> dict[str, Any] | None:
    if cost is None:
        return None
    return {
        "cases": cost.cases,
        "mean": cost.mean,
        "se": cost.se,
        "df": cost.df,
        "interval": interval_list(cost.interval),
    }


def _ratio(found: CostRatio | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"ratio": found.ratio, "interval": interval_list(found.interval), "p_value": found.p_value}


def _margin(one: Margin | None) -> dict[str, Any] | None:
    if one is None:
        return None
    alpha = one.found.alpha
    return {
        "margin": one.found.margin,
        "alpha": alpha,
        "interval": interval_list(one.found.interval),
        "p_not_inferior": one.found.p_not_inferior,
        "p_not_superior": one.found.p_not_superior,
        "p_equivalent": one.found.p_equivalent,
        "p_not_inferior_adjusted": one.p_not_inferior,
        "p_not_superior_adjusted": one.p_not_superior,
        "p_equivalent_adjusted": one.p_equivalent,
        "not_inferior": one.p_not_inferior <= alpha,
        "not_superior": one.p_not_superior <= alpha,
        "equivalent": one.p_equivalent <= alpha,
    }


def _by(found: Comparison, by: ByGroup) -> dict[str, Any]:
    names = found.aligned.names
    return {
        "column": by.column,
        "groups": [_group(found, group) for group in by.groups],
        "interactions": [
            {
                "a": names[pair.a],
                "b": names[pair.b],
                "groups": None if one is None else one.groups,
                "p_value": None if one is None else one.p_value,
                "p_adjusted": None if one is None else one.p_adjusted,
            }
            for pair, one in zip(found.pairs, by.interactions, strict=True)
        ],
    }


def _group(found: Comparison, group: Group) -> dict[str, Any]:
    names = found.aligned.names
    return {
        "group": group.label,
        "tests": group.cases,
        "transcripts": [{"name": name, **_value(value)} for name, value in zip(names, group.runs, strict=True)],
        "pairs": [
            {"a": names[pair.a], "b": names[pair.b], **_gap(gap)}
            for pair, gap in zip(found.pairs, group.pairs, strict=True)
        ],
    }


def _value(value: Value | None) -> dict[str, Any]:
    if value is None:
        return {"value": None, "interval": None}
    return {"value": value.estimate, "interval": interval_list(value.interval)}


def _gap(gap: Gap | None) -> dict[str, Any]:
    if gap is None:
        return {"difference": None, "interval": None, "p_value": None, "p_adjusted": None}
    return {
        "difference": gap.estimate,
        "interval": interval_list(gap.interval),
        "p_value": gap.p_value,
        "p_adjusted": gap.p_adjusted,
    }


def _items(items: Items) -> dict[str, Any]:
    return {
        "all_solve": items.all_solve,
        "none_solves": items.none_solves,
        "some_solve": len(items.items),
        "draws": items.draws,
        "seed": items.seed,
        "ranks": [
            {"name": one.name, "rank": one.rank, "interval": [one.low, one.high], "first": one.first}
            for one in items.standings
        ],
        "cases": [
            {"id": item.id, "solved": item.solved, "discrimination": item.discrimination} for item in items.items
        ],
    }
