"""A comparison under the names that the documentation promises."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from harness.analysis.as_json import finite, interval_json, replication_json
from harness.analysis.comparing.by_group import ByGroup, Group
from harness.analysis.comparing.comparison import Comparison, Pair
from harness.analysis.comparing.further import Costs, Further
from harness.analysis.comparing.items import Items
from harness.analysis.comparing.margins import Margin
from harness.analysis.comparing.unpaired import Contrast, Side, UnpairedComparison
from harness.stats.cochran import WaldTest
from harness.stats.estimate import Estimate


def as_json(found: Comparison, further: Further | None = None) -> dict[str, Any]:
    """Everything, as JSON has it."""
    further = further or Further()
    test = found.aligned.headers[0].test
    names, pairs = found.aligned.names, [(pair.a, pair.b) for pair in found.pairs]
    return {
        "test": {"name": test.name, "version": test.version, "digest": test.digest},
        "statistic": found.statistic,
        **({} if further.operated is None else {"at": str(further.operated.point)}),
        **({} if further.by is None else {"by": by_json(further.by, names, pairs)}),
        **({} if further.items is None else {"items": _items(further.items)}),
        "transcripts": [_transcript(found, number) | _of_run(found, further, number) for number in range(len(names))],
        "better": found.better,
        "cochran_q": {
            "statistic": found.cochran.statistic,
            "df": found.cochran.df,
            "p_value": found.cochran.p_value,
        },
        "wald": _wald(found.wald),
        "groups": found.groups,
        "pairs": [_pair(found, pair) | _of_pair(further, number) for number, pair in enumerate(found.pairs)],
        "combined": {"oracle": found.oracle, "majority": found.majority},
        "confidence": found.plan.confidence,
        "multiplicity": str(found.multiplicity),
        "left_out": found.aligned.left_out,
    }


def _wald(test: WaldTest | None) -> dict[str, Any] | None:
    """The joint test; no degrees of freedom below 0 where there are more runs than units."""
    if test is None:
        return None
    values = msgspec.to_builtins(test) | {"df_error": max(test.df_error, 0.0)}
    return {key: finite(value) if isinstance(value, float) else value for key, value in values.items()}


def _transcript(found: Comparison, number: int) -> dict[str, Any]:
    run, counts = found.runs[number], found.aligned.counts[number]
    return {
        "name": run.name,
        "tests": counts.tests,
        **msgspec.structs.asdict(counts),
        "rate": run.rate,
        "interval": interval_json(run.interval),
        "value": run.value,
        "letters": found.letters[number],
        "replication": replication_json(run.replication, found.sampling),
    }


def _of_run(found: Comparison, further: Further, number: int) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if (operated := further.operated) is not None:
        parts["threshold"] = finite(operated.thresholds[number])
        parts |= {"fpr": operated.fpr[number], "fnr": operated.fnr[number]}
    for name, costs in _costs(further):
        values = getattr(found.aligned, name)[number]
        parts[name] = cost_json(costs.runs[number], int(np.count_nonzero(~np.isnan(values))))
    return parts


def _costs(further: Further) -> list[tuple[str, Costs]]:
    both = (("seconds", further.seconds), ("memory", further.memory))
    return [(name, costs) for name, costs in both if costs is not None]


def cost_json(one: Estimate | None, cases: int) -> dict[str, Any] | None:
    """The mean of what answers cost."""
    if one is None:
        return None
    interval = interval_json(one.interval) if one.se > 0 else None
    return {"cases": cases, "mean": one.value, "se": one.se, "df": finite(one.df), "interval": interval}


def _pair(found: Comparison, pair: Pair) -> dict[str, Any]:
    names = found.aligned.names
    tests = [
        "n_ff", "n_sf", "n_fs", "n_ss", "z", "p_chi2", "p_exact", "p_mid", "p_one_sided", "p_adjusted",
        "z_design", "p_design", "confidence_differ", "confidence_better",
    ]  # fmt: skip
    return {
        "a": names[pair.a],
        "b": names[pair.b],
        **{name: getattr(pair, name) for name in tests},
        "better": None if pair.better is None else names[pair.better],
        "difference": pair.difference,
        "interval": interval_json(pair.interval),
        "replication": replication_json(pair.replication, found.sampling),
    }


def _of_pair(further: Further, number: int) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if further.margins is not None:
        parts["equivalence"] = _margin(further.margins[number])
    for name, costs in _costs(further):
        one = costs.pairs[number]
        parts[name] = None if one is None else {
            "ratio": one.value, "interval": interval_json(one.interval), "p_value": one.p_value
        }  # fmt: skip
    return parts


def _margin(one: Margin | None) -> dict[str, Any] | None:
    if one is None:
        return None
    found, alpha = one.found, one.found.alpha
    return {
        "margin": found.margin,
        "alpha": alpha,
        "interval": interval_json(found.interval),
        "p_not_inferior": found.p_not_inferior,
        "p_not_superior": found.p_not_superior,
        "p_equivalent": found.p_equivalent,
        "p_not_inferior_adjusted": one.p_not_inferior,
        "p_not_superior_adjusted": one.p_not_superior,
        "p_equivalent_adjusted": one.p_equivalent,
        "not_inferior": one.p_not_inferior <= alpha,
        "not_superior": one.p_not_superior <= alpha,
        "equivalent": one.p_equivalent <= alpha,
    }


def by_json(by: ByGroup, names: Sequence[str], pairs: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Groups of cases, and what changes between them."""
    return {
        "column": by.column,
        "groups": [_group(group, names, pairs) for group in by.groups],
        "gaps": [gap_json(by, names, run) for run in range(len(names))],
        "interactions": [
            {
                "a": names[a],
                "b": names[b],
                "groups": None if one is None else one.groups,
                "p_value": None if one is None else one.p_value,
                "p_adjusted": None if one is None else one.p_adjusted,
            }
            for (a, b), one in zip(pairs, by.interactions, strict=True)
        ],
    }


def gap_json(by: ByGroup, names: Sequence[str], run: int) -> dict[str, Any]:
    """The best and the worst group of one run."""
    gap = by.gaps[run]
    if gap is None:
        return {"name": names[run], **dict.fromkeys(("best", "worst", "estimate", "se", "interval", "p_value"))}
    return {
        "name": names[run],
        "best": gap.best,
        "worst": gap.worst,
        "estimate": gap.estimate.value,
        "se": gap.estimate.se,
        "interval": interval_json(gap.estimate.interval),
        "p_value": finite(gap.p_value),
    }


def _group(group: Group, names: Sequence[str], pairs: Sequence[tuple[int, int]]) -> dict[str, Any]:
    return {
        "group": group.label,
        "label": group.label,
        "tests": group.cases,
        "cases": group.cases,
        "transcripts": [{"name": name, **_value(one)} for name, one in zip(names, group.runs, strict=True)],
        "runs": [{"name": name, **_run(one)} for name, one in zip(names, group.runs, strict=True)],
        "pairs": [
            {"a": names[a], "b": names[b], **_difference(one)} for (a, b), one in zip(pairs, group.pairs, strict=True)
        ],
    }


def _value(one: Estimate | None) -> dict[str, Any]:
    if one is None:
        return {"value": None, "interval": None}
    return {"value": one.value, "interval": interval_json(one.interval)}


def _run(one: Estimate | None) -> dict[str, Any]:
    if one is None:
        return {"estimate": None, "se": None, "interval": None}
    return {"estimate": one.value, "se": one.se, "interval": interval_json(one.interval)}


def _difference(one: Estimate | None) -> dict[str, Any]:
    if one is None:
        return {"difference": None, "interval": None, "p_value": None, "p_adjusted": None}
    return {
        "difference": one.value,
        "interval": interval_json(one.interval),
        "p_value": finite(one.p_value),
        "p_adjusted": finite(one.p_adjusted),
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


def unpaired_json(found: UnpairedComparison) -> dict[str, Any]:
    """Under the names of a paired comparison, as far as they make sense."""
    test = found.sides[0].aligned.headers[0].test
    names, pairs = [side.name for side in found.sides], [(one.a, one.b) for one in found.contrasts]
    return {
        "test": {"name": test.name, "version": test.version, "digest": None},
        "unpaired": True,
        "statistic": found.measure.name,
        **({} if found.point is None else {"at": str(found.point)}),
        **({} if found.by is None else {"by": by_json(found.by, names, pairs)}),
        "transcripts": [_side(found, side) for side in found.sides],
        "pairs": [_contrast(found, number) for number in range(len(found.contrasts))],
        "confidence": found.plan.confidence,
        "multiplicity": str(found.multiplicity),
        "notes": found.notes,
    }


def _side(found: UnpairedComparison, side: Side) -> dict[str, Any]:
    counts = side.aligned.counts[0]
    threshold = {} if side.threshold is None else {"threshold": finite(side.threshold)}
    return {
        "name": side.name,
        "digest": side.aligned.headers[0].test.digest,
        "tests": counts.tests,
        **msgspec.structs.asdict(counts),
        "rate": side.rate,
        "interval": interval_json(side.interval),
        "value": None if side.estimate is None else side.estimate.value,
        **threshold,
        "replication": None if found.plain else replication_json(side.estimate, side.sampling),
    }


def _contrast(found: UnpairedComparison, number: int) -> dict[str, Any]:
    one: Contrast = found.contrasts[number]
    a, b, test = found.sides[one.a], found.sides[one.b], one.independent
    ahead = found.ahead(one)
    margin = {} if found.margins is None else {"equivalence": _margin(found.margins[number])}
    return {
        "a": a.name,
        "b": b.name,
        "difference": test.difference,
        "interval": interval_json(test.interval),
        "z": test.z,
        "p_value": test.p_z,
        "p_exact": test.p_fisher,
        "p_adjusted": one.p_adjusted,
        "better": None if ahead == 0 else a.name if ahead > 0 else b.name,
        **margin,
        "replication": None if found.plain else replication_json(one.estimate, a.sampling),
    }
