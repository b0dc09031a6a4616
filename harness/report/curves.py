"""Curves for people, in tables and sentences."""

import math
from collections.abc import Sequence

from harness.analysis.curve import Curve, CurveCrossings, RequestedPoint, summary_method
from harness.report.blocks import Block, Cell, Paragraphs, Table
from harness.report.numbers import interval_cell, interval_text, percent
from harness.report.sampling import target_text

# If more pairs cross, they are a table.
MOST_SENTENCES = 3


def curve_blocks(
    curves: Sequence[Curve], crossed: Sequence[CurveCrossings], kind: str, confidence: float
) -> list[Block]:
    """The summary, operating points and costs if requested, and what a reader must know."""
    blocks: list[Block] = [summary_table(curves, kind, confidence)]
    if any(curve.requested for curve in curves):
        blocks.append(operating_table(curves, confidence))
    if any(curve.cost for curve in curves):
        blocks.append(cost_table(curves))
    if any(curve.means for curve in curves):
        blocks.append(mean_table(curves))
    if len(crossed) > MOST_SENTENCES:
        blocks.append(crossing_table(crossed))
    return [*blocks, Paragraphs(sentences(curves, crossed))]


def summary_table(curves: Sequence[Curve], kind: str, confidence: float) -> Table:
    """A row for each curve."""
    level = percent(confidence)
    if not all(curve.has_negatives for curve in curves):
        found: list[list[Cell]] = [[one.name, one.positives, one.negatives, *_cells(one, ["AP"])] for one in curves]
        return Table(["name", "objects", "false positives", "AP", f"AP {level}"], found)
    names = ["AP", "AUC"] if kind == "pr" else ["AUC", "EER"]
    columns = ["name", "positives", "negatives", *(text for name in names for text in (name, f"{name} {level}"))]
    rows: list[list[Cell]] = [[one.name, one.positives, one.negatives, *_cells(one, names)] for one in curves]
    return Table(columns, rows)


def _cells(curve: Curve, names: Sequence[str]) -> list[Cell]:
    """Each summary and its interval."""
    estimates = {"AP": curve.average_precision, "AUC": curve.auc, "EER": curve.eer}
    return [cell for name in names for cell in (estimates[name].value, interval_cell(estimates[name].interval))]


def operating_table(curves: Sequence[Curve], confidence: float) -> Table:
    """A row for each curve and each requested point."""
    level = f"{percent(confidence)} interval"
    rows: list[list[Cell]] = [
        [curve.name, requested.at.text, number(requested.point.threshold), requested.point.fmr, requested.point.fnmr,
         _point_interval(requested), "" if requested.point.attained else "no threshold reaches it"]
        for curve in curves
        for requested in curve.requested
    ]  # fmt: skip
    columns = ["name", "at", _setting(curves), "fpr", "fnr", level, "remark"]
    return Table(columns if any(row[-1] for row in rows) else columns[:-1], _without_empty(rows))


def _without_empty(rows: list[list[Cell]]) -> list[list[Cell]]:
    return rows if any(row[-1] for row in rows) else [row[:-1] for row in rows]


def cost_table(curves: Sequence[Curve]) -> Table:
    """The cheapest threshold of each curve; normalised by the better of accepting everything and nothing."""
    rows: list[list[Cell]] = [
        [curve.name, cost.cost, cost.normalised, number(cost.point.threshold), cost.point.fmr,
         cost.point.fnmr]
        for curve in curves
        if (cost := curve.cost) is not None
    ]  # fmt: skip
    return Table(["name", "least cost", "normalised", _setting(curves), "fpr", "fnr"], rows)


def mean_table(curves: Sequence[Curve]) -> Table:
    """Mean points of repeated tests with the half axes of their ellipses."""
    rows: list[list[Cell]] = []
    for curve in curves:
        for mean in curve.means:
            axes = (
                None if mean.ellipse is None else f"{mean.ellipse.half_axes[0]:.4f} x {mean.ellipse.half_axes[1]:.4f}"
            )
            angle = None if mean.ellipse is None else f"{math.degrees(mean.ellipse.angle):.0f}°"
            rows.append([curve.name, number(mean.threshold), mean.fpr, mean.tpr, axes or "-", angle or "-"])
    return Table(["name", "threshold", "fpr", "tpr", "half axes", "angle"], rows)


def crossing_table(crossed: Sequence[CurveCrossings]) -> Table:
    """Where curves cross, from left to right; only the first and last place if there are several."""
    rows: list[list[Cell]] = []
    for pair in crossed:
        first, last = pair.places[0], pair.places[-1]
        where = f"{first.fpr:.4f}" if len(pair.places) == 1 else f"{first.fpr:.4f} to {last.fpr:.4f}"
        rows.append([pair.a, pair.b, len(pair.places), where, pair.ahead(first), pair.behind(last)])
    return Table(["curve", "and", "cross", "at fpr", "above before", "above after"], rows)


def sentences(curves: Sequence[Curve], crossed: Sequence[CurveCrossings]) -> list[str]:
    """How the intervals were computed, the notes on each curve, and where two cross."""
    lines = list(dict.fromkeys(_certainty(curve) for curve in curves))
    lines += [f"{curve.name}: {note}." for curve in curves for note in curve.notes]
    few = crossed if len(crossed) <= MOST_SENTENCES else []
    return [*(line for line in lines if line), *(_crossing_sentence(pair) for pair in few)]


def _crossing_sentence(pair: CurveCrossings) -> str:
    """Where two curves cross: a single place, or the first and the last."""
    first, last = pair.places[0], pair.places[-1]
    before, after = pair.ahead(first), pair.behind(last)
    if len(pair.places) == 1:
        return (
            f"{pair.a} and {pair.b} cross at fpr {first.fpr:.4f}, tpr {first.tpr:.4f}: {before} is above at smaller "
            f"false-positive rates, {after} at larger ones."
        )
    between = f"between fpr {first.fpr:.4f} (tpr {first.tpr:.4f}) and fpr {last.fpr:.4f} (tpr {last.tpr:.4f})"
    outside = f"{before} is above before and after" if before == after else f"{before} is above before, {after} after"
    return f"{pair.a} and {pair.b} cross {len(pair.places)} times {between}: {outside}."


# The names of methods in a sentence.
METHODS = {
    "brr": "BRR",
    "wilson": "Wilson",
    "linearised": "its linear form",
    "two-way": "the two-way variance",
    "repetitions": "the spread between tests",
}


def _certainty(curve: Curve) -> str:
    """How each interval was computed and what it is for, one sentence per target."""
    intervals = [
        (f"{what} by {METHODS.get(method, method)}", target_text(curve.summary_target, curve.stratum))
        for what, one, method in (
            ("AP", curve.average_precision, curve.average_precision.method),
            ("AUC", curve.auc, summary_method(curve.auc)),
            ("EER", curve.eer, curve.eer.method),
        )
        if one.interval is not None
    ]
    if curve.precision_band is not None:
        intervals.append(
            ("pointwise bands of the precision at each threshold", target_text(curve.summary_target, curve.stratum))
        )
    elif curve.bands:
        where = "at each false positive rate" if curve.points.fixed else "at each threshold"
        kind = f"pointwise bands {where}, {METHODS.get(curve.bands, curve.bands)}"
        kind = f"bands {where} that hold along the whole curve" if curve.bands == "simultaneous" else kind
        intervals.append((kind, target_text(curve.target, curve.stratum)))
    by_target: dict[str, list[str]] = {}
    for text, target in intervals:
        by_target.setdefault(target, []).append(text)
    return " ".join(f"Intervals for {target}: {', '.join(texts)}." for target, texts in by_target.items())


def number(value: float) -> str:
    """A threshold as people write it."""
    if math.isnan(value):
        return "-"
    return f"{value:g}" if math.isfinite(value) else ("Inf" if value > 0 else "-Inf")


def _setting(curves: Sequence[Curve]) -> str:
    return curves[0].param or "threshold"


def _point_interval(requested: RequestedPoint) -> str:
    if requested.estimate is None or requested.estimate.interval is None:
        return "-"
    return f"{requested.of} {interval_text(requested.estimate.interval)}"
