"""Curves as data with remarks, and as a gnuplot script."""

from collections.abc import Sequence
from pathlib import Path

from harness.analysis.curves.as_json import summary_method
from harness.analysis.curves.curve import Curve
from harness.analysis.curves.match import MatchCurve
from harness.report.curve_data import Data
from harness.report.extent import largest_rate, reached, smallest_rate
from harness.report.gnuplot import Part, Sketch, cmc_sketch, det_sketch, pr_sketch, roc_sketch, script
from harness.report.numbers import span
from harness.report.text import shortened
from harness.stats.estimate import Estimate

POINTS = ("threshold", "tpr", "fpr", "fnr", "precision", "low", "high")
# Of the tpr at that fpr, where there are such bands.
AT_FPR = ("low_at_fpr", "high_at_fpr")


def curve_data(curve: Curve, confidence: float = 0.95) -> Data:
    """The points of a curve; those of a sweep have the parameter's value in place of the threshold."""
    names = POINTS + (AT_FPR if curve.points.fixed else ())
    columns: dict[str, Sequence[float | str]] = {name: getattr(curve.points, name).tolist() for name in names}
    if curve.param is not None and curve.values is not None:
        del columns["threshold"]
        columns = {curve.param: curve.values, **columns}
    level = f"{confidence * 100:g} %"
    remarks = [
        f"{curve.positives} positives, {curve.negatives} negatives",
        f"AUC {_with(curve, curve.auc, level)}; EER {_with(curve, curve.eer, level)}",
        *(
            [f"low and high: of the tpr at that threshold, {level}, {curve.bands}, for {curve.target}"]
            * bool(curve.bands)
        ),
        *([f"low_at_fpr and high_at_fpr: of the tpr at that fpr, {level}"] * curve.points.fixed),
        *curve.notes,
    ]
    return Data(curve.name, columns, remarks)


def _with(curve: Curve, one: Estimate, level: str) -> str:
    if one.interval is None:
        return f"{one.value:.6f}"
    limits = span(one.interval.low, one.interval.high)
    return f"{one.value:.6f} ({level}: {limits}, {summary_method(one)}, for {curve.summary_target})"


def _band_columns(curves: Sequence[Curve]) -> tuple[int, int] | None:
    """The columns of the data that a band is drawn from."""
    if not any(curve.bands for curve in curves):
        return None
    return (8, 9) if all(curve.points.fixed for curve in curves) else (6, 7)


def curve_script(kind: str, curves: Sequence[Curve], axes: str, path: Path) -> str:
    """A gnuplot script of curves over a threshold."""
    bands, floor = _band_columns(curves), smallest_rate(curves)
    sketch: Sketch = {
        "roc": lambda: roc_sketch(axes, floor, bands=bands),
        "det": lambda: det_sketch(axes, floor, largest_rate(curves), bands=bands),
        "pr": pr_sketch,
    }[kind]()
    parts = [Part(f"{shortened(curve.name)}, {_title(kind, curve)}", *_ends(curve)) for curve in curves]
    return script(sketch, [curve_data(curve) for curve in curves], parts, path)


def _ends(curve: Curve) -> tuple[int, int]:
    first, stop = reached(curve)
    return first, stop - 1


def _title(kind: str, curve: Curve) -> str:
    if kind == "pr":
        return f"AP {curve.average_precision:.3f}"
    name, sure = ("AUC", curve.auc) if kind == "roc" else ("EER", curve.eer)
    limits = f" [{sure.interval.low:.3f}, {sure.interval.high:.3f}]" if sure.interval is not None else ""
    return f"{name} {sure.value:.3f}{limits}"


def match_data(curve: MatchCurve) -> Data:
    """Ranks and rates."""
    bands = curve.curve.bands
    none = [float("nan")] * bands.rate.size
    columns: dict[str, Sequence[float | str]] = {
        "rank": [float(rank) for rank in curve.curve.ranks.tolist()],
        "rate": bands.rate.tolist(),
        "low": bands.low.tolist() if curve.bands else none,
        "high": bands.high.tolist() if curve.bands else none,
    }
    remarks = [f"{curve.curve.probes} probes, gallery of {curve.gallery}"]
    if curve.bands:
        remarks.append(f"low and high: {bands.confidence * 100:g} %, {curve.bands}, for {curve.target}")
    return Data(curve.name, columns, [*remarks, *curve.notes])


def match_script(curves: Sequence[MatchCurve], path: Path) -> str:
    """A gnuplot script of cumulative match curves."""
    parts = [
        Part(f"{shortened(curve.name)}, rank 1: {curve.rank_one[0]:.3f}", 0, curve.curve.ranks.size - 1)
        for curve in curves
    ]
    return script(cmc_sketch(bands=any(c.bands for c in curves)), [match_data(c) for c in curves], parts, path)
