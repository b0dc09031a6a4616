"""Curves for people, in tables and sentences: over a threshold, over false positives per image, over ranks."""

import math
from collections.abc import Sequence

from harness.analysis.curves.curve import Curve, CurveCrossings, summary_method
from harness.report.blocks import Block, Cell, Limits, Paragraphs, Table
from harness.report.curve_chart import SUMMARIES
from harness.report.curve_view import CurveView
from harness.report.numbers import interval_cell, interval_text, method_words, percent, target_text
from harness.stats.detection_curves import FALSE_POSITIVES

# If more pairs cross, they are a table.
MAX_SENTENCES = 3


def curve_blocks(
    view: CurveView, curves: Sequence[Curve], crossed: Sequence[CurveCrossings], confidence: float
) -> list[Block]:
    """The summary, operating points and costs if requested, and what a reader must know."""
    if "rank" in curves[0].columns:
        lines = rank_band_lines(curves)
        lines += [f"{curve.name}: {_median(curve)}." for curve in curves]
        lines += [f"{curve.name}: {note}." for curve in curves for note in curve.notes]
        return [rank_table(curves, confidence), *([Paragraphs(lines)] if lines else [])]
    if "fppi" in curves[0].columns:
        return [_recall_table(curves, confidence), Paragraphs(_recall_sentences(curves))]
    blocks: list[Block] = [_summary_table(view, curves, confidence)]
    if any(curve.requested for curve in curves):
        blocks.append(operating_table(curves, confidence))
    if any(curve.cost for curve in curves):
        blocks.append(threshold_cost_table(curves))
    if any(curve.means for curve in curves):
        blocks.append(mean_table(curves))
    if len(crossed) > MAX_SENTENCES:
        blocks.append(crossing_table(crossed))
    return [*blocks, Paragraphs(curve_sentences(curves, crossed))]


# Over a threshold


def _summary_table(view: CurveView, curves: Sequence[Curve], confidence: float) -> Table:
    level, sizes, names = percent(confidence), ["positives", "negatives"], view.summaries
    if not all(curve.has_negatives for curve in curves):
        sizes, names = ["objects", "false positives"], ["average_precision"]
    columns = ["name", *sizes, *(text for name in names for text in (SUMMARIES[name], f"{SUMMARIES[name]} {level}"))]
    rows: list[list[Cell]] = []
    for curve in curves:
        estimates = [curve.summaries[name] for name in names]
        cells = [cell for summary in estimates for cell in (summary.value, interval_cell(summary.interval))]
        rows.append([curve.name, *curve.sizes.values(), *cells])
    return Table(columns, rows)


def operating_table(curves: Sequence[Curve], confidence: float) -> Table:
    """A row for each curve and each requested point."""
    level = f"{percent(confidence)} interval"
    rows: list[list[Cell]] = [
        [
            curve.name,
            requested.at.text,
            threshold_text(requested.point.threshold),
            requested.point.fpr,
            requested.point.fnr,
            "-"
            if requested.estimate is None or requested.estimate.interval is None
            else f"{requested.of} {interval_text(requested.estimate.interval)}",
            "" if requested.point.attained else "no threshold reaches it",
        ]
        for curve in curves
        for requested in curve.requested
    ]
    columns = ["name", "at", _setting(curves), "fpr", "fnr", level, "remark"]
    if any(row[-1] for row in rows):
        return Table(columns, rows)
    return Table(columns[:-1], [row[:-1] for row in rows])


def threshold_cost_table(curves: Sequence[Curve]) -> Table:
    """The cheapest threshold of each curve; normalised by the better of accepting everything and nothing."""
    rows: list[list[Cell]] = [
        [curve.name, cost.cost, cost.normalised, threshold_text(cost.point.threshold), cost.point.fpr, cost.point.fnr]
        for curve in curves
        if (cost := curve.cost) is not None
    ]
    return Table(["name", "least cost", "normalised", _setting(curves), "fpr", "fnr"], rows)


def mean_table(curves: Sequence[Curve]) -> Table:
    """Mean points of repeated tests with the half axes of their ellipses."""
    rows: list[list[Cell]] = []
    for curve in curves:
        for mean in curve.means:
            axes, angle = "-", "-"
            if (ellipse := mean.ellipse) is not None:
                axes, angle = (
                    " x ".join(f"{axis:.4f}" for axis in ellipse.half_axes),
                    f"{math.degrees(ellipse.angle):.0f}°",
                )
            rows.append([curve.name, threshold_text(mean.threshold), mean.fpr, mean.tpr, axes, angle])
    return Table(["name", "threshold", "fpr", "tpr", "half axes", "angle"], rows)


def crossing_table(crossed: Sequence[CurveCrossings]) -> Table:
    """Where curves cross, from left to right; only the first and last place if there are several."""
    rows: list[list[Cell]] = []
    for pair in crossed:
        first, last = pair.crossings[0], pair.crossings[-1]
        where = f"{first.fpr:.4f}" if len(pair.crossings) == 1 else f"{first.fpr:.4f} to {last.fpr:.4f}"
        rows.append([pair.a, pair.b, len(pair.crossings), where, pair.ahead(first), pair.behind(last)])
    return Table(["curve", "and", "cross", "at fpr", "above before", "above after"], rows)


def curve_sentences(curves: Sequence[Curve], crossed: Sequence[CurveCrossings]) -> list[str]:
    """How the intervals were computed, the notes on each curve, and where two cross."""
    lines = list(dict.fromkeys(_certainty(curve) for curve in curves))
    lines += [f"{curve.name}: {note}." for curve in curves for note in curve.notes]
    few = crossed if len(crossed) <= MAX_SENTENCES else []
    return [*(line for line in lines if line), *(_crossing_sentence(pair) for pair in few)]


def _crossing_sentence(pair: CurveCrossings) -> str:
    """Where two curves cross: a single place, or the first and the last."""
    first, last = pair.crossings[0], pair.crossings[-1]
    before, after = pair.ahead(first), pair.behind(last)
    if len(pair.crossings) == 1:
        return (
            f"{pair.a} and {pair.b} cross at fpr {first.fpr:.4f}, tpr {first.tpr:.4f}: {before} is above at smaller "
            f"false-positive rates, {after} at larger ones."
        )
    between = f"between fpr {first.fpr:.4f} (tpr {first.tpr:.4f}) and fpr {last.fpr:.4f} (tpr {last.tpr:.4f})"
    outside = f"{before} is above before and after" if before == after else f"{before} is above before, {after} after"
    return f"{pair.a} and {pair.b} cross {len(pair.crossings)} times {between}: {outside}."


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
        for what, summary, method in (
            ("AP", curve.average_precision, curve.average_precision.method),
            ("AUC", curve.auc, summary_method(curve.auc)),
            ("EER", curve.eer, curve.eer.method),
        )
        if summary.interval is not None
    ]
    if curve.precision_band is not None:
        intervals.append(
            ("pointwise bands of the precision at each threshold", target_text(curve.summary_target, curve.stratum))
        )
    elif curve.bands:
        where = "at each false positive rate" if curve.fixed else "at each threshold"
        kind = f"pointwise bands {where}, {METHODS.get(curve.bands, curve.bands)}"
        kind = f"bands {where} that hold along the whole curve" if curve.bands == "simultaneous" else kind
        intervals.append((kind, target_text(curve.target, curve.stratum)))
    by_target: dict[str, list[str]] = {}
    for text, target in intervals:
        by_target.setdefault(target, []).append(text)
    return " ".join(f"Intervals for {target}: {', '.join(texts)}." for target, texts in by_target.items())


def threshold_text(value: float) -> str:
    """A threshold as people write it."""
    if math.isnan(value):
        return "-"
    return f"{value:g}" if math.isfinite(value) else ("Inf" if value > 0 else "-Inf")


def _setting(curves: Sequence[Curve]) -> str:
    return curves[0].param or "threshold"


# Over false positives per image

# The numbers of false positives per image in the table; the JSON has all.
_SHOWN = (0, 3, 6)


def _recall_table(curves: Sequence[Curve], confidence: float) -> Table:
    levels = [f"at {_fraction(float(FALSE_POSITIVES[index]))}" for index in _SHOWN]
    rows: list[list[Cell]] = []
    for curve in curves:
        score, recalls = curve.summaries["mean_recall"], [] if curve.recalls is None else curve.recalls.tolist()
        cells = [score.value, interval_cell(score.interval), *(recalls[index] for index in _SHOWN)]
        rows.append([curve.name, *curve.sizes.values(), *cells])
    return Table(["name", "images", "objects", "mean recall", percent(confidence), *levels], rows)


def _fraction(value: float) -> str:
    return f"{value:g}" if value >= 1 else f"1/{1 / value:g}"


def _recall_sentences(curves: Sequence[Curve]) -> list[str]:
    usual = ", ".join(_fraction(float(level)) for level in FALSE_POSITIVES)
    lines = [f"Mean recall: at {usual} false positives per image. The last columns: the recall at three of these."]
    for curve in curves:
        target, score = target_text(curve.target, curve.stratum), curve.summaries["mean_recall"]
        method = METHODS.get(score.method, score.method)
        text = f"Intervals for {target}: mean recall by {method}" if target else f"Mean recall by {method}"
        if curve.bands:
            text += f", pointwise bands of the recall at each threshold, {METHODS.get(curve.bands, curve.bands)}"
        lines.append(f"{text}.")
    lines += [f"{curve.name}: {note}." for curve in curves for note in curve.notes]
    return list(dict.fromkeys(lines))


# Over ranks

MATCH_RANKS = (1, 5, 10, 20)


def rank_band_lines(curves: Sequence[Curve]) -> list[str]:
    """How the bands were computed and what they are for, without repetition."""
    bands = [(method_words(c.bands), target_text(c.target, c.stratum)) for c in curves if c.bands]
    return [f"Pointwise bands by {method}, for {target}." for method, target in dict.fromkeys(bands)]


def rank_table(curves: Sequence[Curve], confidence: float) -> Table:
    longest = max(curve.size for curve in curves)
    ranks = [rank for rank in MATCH_RANKS[1:] if rank <= longest]
    columns = ["name", "probes", "gallery", "rank 1", percent(confidence)]
    rows: list[list[Cell]] = []
    for curve in curves:
        first, low, high = curve.rank_one
        row: list[Cell] = [curve.name, curve.sizes["probes"], curve.sizes["gallery"], first]
        row.append(Limits(low, high) if curve.bands else Limits(None, None))
        rates = curve.columns["rate"]
        rows.append([*row, *(float(rates[min(rank, rates.size) - 1]) for rank in ranks)])
    return Table([*columns, *(f"rank {rank}" for rank in ranks)], rows)


def _median(curve: Curve) -> str:
    median, at, gallery = curve.summaries["median_rank"], curve.censored_at, curve.sizes["gallery"]
    words = "median rank" if at is None else f"median rank, censored at {at},"
    if not math.isfinite(median.value):
        return f"half of the probes were not found: no {words.removesuffix(',')}"
    limits = f" ({interval_text(median.interval, '.3g')}, {median.method})" if median.interval else ""
    return f"{words} {median.value:g}{limits}, relative rank {median.value / gallery:.3g} of {gallery:,} people"
