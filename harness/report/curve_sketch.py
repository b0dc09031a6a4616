"""Curves as data with remarks, and as a gnuplot script."""

from collections.abc import Sequence
from pathlib import Path

from harness.analysis.curves.curve import Curve, Sure
from harness.analysis.curves.match import MatchCurve
from harness.report.curve_data import Data
from harness.report.curves import span
from harness.report.extent import largest_rate, reached, smallest_rate
from harness.report.gnuplot import Part, Sketch, cmc_sketch, det_sketch, pr_sketch, roc_sketch, script
from harness.report.text import shortened

POINTS = ("threshold", "tpr", "fpr", "fnr", "precision", "low", "high")


def curve_data(curve: Curve, confidence: float = 0.95) -> Data:
    """The points of a curve; those of a sweep have the parameter's value in place of the threshold."""
    columns: dict[str, Sequence[float | str]] = {name: getattr(curve.points, name).tolist() for name in POINTS}
    if curve.param is not None and curve.values is not None:
        del columns["threshold"]
        columns = {curve.param: curve.values, **columns}
    level = f"{confidence * 100:g} %"
    remarks = [
        f"{curve.positives} positives, {curve.negatives} negatives",
        f"AUC {_with(curve.auc, level)}; EER {_with(curve.eer, level)}",
        *([f"low and high: of the tpr, {level}, {curve.bands}, for {curve.target}"] if curve.bands else []),
        *curve.notes,
    ]
    return Data(curve.name, columns, remarks)


def _with(sure: Sure, level: str) -> str:
    if sure.interval is None:
        return f"{sure.value:.6f}"
    return f"{sure.value:.6f} ({level}: {span(sure.interval)}, {sure.method}, for {sure.target})"


def curve_script(kind: str, curves: Sequence[Curve], axes: str, path: Path) -> str:
    """A gnuplot script of curves over a threshold."""
    bands, floor = any(curve.bands for curve in curves), smallest_rate(curves)
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
