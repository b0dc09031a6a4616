"""Free-response curves from Python: objects found in images over false positives per image."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.analysis.curve_request import BandMethod, CurveRequest
from harness.analysis.froc import FrocCurve, at_iou, froc_json, make_froc_curves
from harness.api.curves import PointsResult
from harness.api.transcripts import Transcripts, open_transcripts
from harness.options import PictureOptions
from harness.options.curves import FrocOptions
from harness.report.blocks import Block
from harness.report.curve_data import CurveData
from harness.report.froc import froc_blocks, froc_data, froc_script
from harness.report.gnuplot import ScriptPage
from harness.report.plots.canvas import Picture
from harness.report.plots.froc import plot_froc


@dataclass(frozen=True, repr=False)
class FrocResult(PointsResult):
    """Free-response curves, each with its score and bands."""

    curves: Sequence[FrocCurve]
    confidence: float
    remarks: Sequence[str] = ()

    def sizes(self) -> list[tuple[str, int, int]]:
        """The name of each curve, how many points are shown, and how many there are."""
        return [(curve.name, curve.points.recall.size, curve.whole) for curve in self.curves]

    def payload(self) -> Any:
        """As documented for the command."""
        return froc_json(self.curves, self.confidence)

    def blocks(self) -> Sequence[Block]:
        """A summary."""
        return froc_blocks(self.curves, self.confidence)

    def data(self) -> list[CurveData]:
        """The points of each curve."""
        return [froc_data(curve, self.confidence) for curve in self.curves]

    def drawn(self, look: PictureOptions) -> Picture:
        """The curves."""
        return plot_froc(self.curves, look)

    def script(self, path: Path, look: PictureOptions) -> str:
        """The gnuplot script."""
        return froc_script(self.curves, self.confidence, ScriptPage(path, look))


def froc(transcripts: Transcripts, options: FrocOptions | None = None, **settings: Any) -> FrocResult:
    """Free-response curves of one or several transcripts of tests of task boxes.

    Options are those of the command, with underscores: `harness.froc(["blobs", "relief"], psu="scene")`.
    """
    options = FrocOptions.given(options, settings)
    request = CurveRequest(
        bands=BandMethod(options.bands),
        confidence=options.confidence,
        seed=options.seed,
        points=options.points,
        design=options,
        partial=options.partial,
    )
    opened = open_transcripts(transcripts, options)
    return FrocResult(make_froc_curves(at_iou(opened.runs(), options.iou), request), options.confidence, opened.notes)
