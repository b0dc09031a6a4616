"""Curves of transcripts as a result: the points are data, people see a summary, and everybody the same picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.analysis.curves.curve import Curve, CurveCrossings, curves_json, find_crossings
from harness.analysis.curves.several_runs import make_curves
from harness.analysis.curves.single_run import at_iou, free_response_curves
from harness.api.extension import extendable
from harness.api.result import PictureResult, as_words
from harness.api.transcripts import Transcripts, open_transcripts
from harness.errors import UsageError
from harness.options import CurvePictureOptions, PictureOptions
from harness.options.curves import CurveOptions, FrocOptions, PrOptions
from harness.report.blocks import Block, Table
from harness.report.curve_chart import (
    CurveData,
    corner_chart,
    corner_of,
    curve_chart,
    curve_data,
    curve_table,
    plain_data,
)
from harness.report.curve_view import CurveView
from harness.report.curves import curve_blocks
from harness.report.formats import Format, render_document
from harness.report.gnuplot import chart_script
from harness.report.plots.canvas import Picture, check_picture
from harness.report.plots.chart import plot_chart
from harness.report.plots.scores import plot_scores


@dataclass(frozen=True, repr=False)
class CurveResult(PictureResult):
    """Curves as a view shows them, each with its summaries and bands; of those over a threshold, where two cross."""

    view: CurveView
    curves: Sequence[Curve]
    confidence: float
    remarks: Sequence[str] = ()
    crossings: Sequence[CurveCrossings] | None = None
    pictured = CurvePictureOptions

    def remarks_in(self, style: Format) -> Sequence[str]:
        """Also which curves have fewer points than there are, where points are shown."""
        if style is Format.TABLE:
            return self.remarks
        fewer = [
            f"{curve.name}: {curve.size:,} of {curve.whole:,} points; --points 0 gives all"
            for curve in self.curves
            if curve.size < curve.whole
        ]
        return [*self.remarks, *fewer]

    def payload(self) -> Any:
        return curves_json(self.curves, self.confidence, self.crossings)

    def blocks(self) -> Sequence[Block]:
        return curve_blocks(self.view, self.curves, self.crossings or (), self.confidence)

    def data(self) -> list[CurveData]:
        """The points of each curve."""
        return [curve_data(curve, self.confidence) for curve in self.curves]

    def table(self) -> Table:
        """All points in one table."""
        return curve_table(self.data())

    def plain(self) -> str:
        """A block of points for each curve, for gnuplot; what was added is a comment above them."""
        added = self._added_blocks()
        lines = render_document(added, Format.PLAIN).splitlines() if added else []
        return "".join(f"# {line}".rstrip() + "\n" for line in lines) + plain_data(self.data())

    def make_picture(self, options: CurvePictureOptions) -> Picture:
        """The curves; `axes` is as for the command."""
        if options.zoom is not None and not self.view.corner:
            raise UsageError(f"zoom={options.zoom:g}: only ROC curves have a corner to enlarge")
        chart = curve_chart(self.view, self.curves, self.confidence, self._axes(options))
        room = corner_of(self.curves) if self.view.corner else 0.0
        limited = options.xlim is not None or options.ylim is not None
        part = (
            0.0
            if chart.x.scale == "log" or (limited and not options.zoom)
            else room
            if options.zoom is None
            else options.zoom
        )
        # An inset has room only where all curves leave it.
        corner = corner_chart(chart, part) if part else None
        return plot_chart(chart, options, height=self.view.height, corner=corner, inset=room > 0)

    def plot(
        self, path: str | Path, options: PictureOptions | str | None = None, *, force: bool = False, **settings: Any
    ) -> None:
        """Draw the curves into a file, .svg, .png or .pdf: `axes`, and what `picture` takes."""
        if isinstance(options, str):
            options, settings = None, {"axes": options, **settings}
        super().plot(path, options, force=force, **settings)

    def gnuplot(self, path: str | Path, options: CurvePictureOptions | None = None, **settings: Any) -> str:
        """A gnuplot script with the data in it; the picture goes beside `path`. Settings are as for `picture`."""
        given = options or CurvePictureOptions.of(as_words(settings))
        chart = curve_chart(self.view, self.curves, self.confidence, self._axes(given))
        return chart_script(chart, Path(path), given)

    def scores_picture(self, options: PictureOptions | None = None, **settings: Any) -> Picture:
        """How the scores of positives and negatives are distributed; settings are as for `picture`."""
        return plot_scores(self.curves, options or PictureOptions.of(as_words(settings)))

    def plot_scores(
        self, path: str | Path, options: PictureOptions | None = None, *, force: bool = False, **settings: Any
    ) -> None:
        """The same into a file: .svg, .png or .pdf, which must not be there unless forced."""
        check_picture(Path(path))
        self.scores_picture(options, **settings).save(Path(path), force=force)

    def _axes(self, options: CurvePictureOptions) -> str | None:
        if options.axes is not None and options.axes not in self.view.axes:
            raise UsageError(f"axes={options.axes!r}: not one of {', '.join(self.view.axes)}")
        return options.axes


@extendable
def threshold_curves(view: CurveView, transcripts: Transcripts, *, options: CurveOptions) -> CurveResult:
    """Curves over a threshold."""
    opened = open_transcripts(transcripts, options, told_apart=not (options.swept or options.repeated))
    runs = at_iou(opened.runs(), options.iou) if isinstance(options, PrOptions) else opened.runs()
    curves = make_curves(runs, options, precise=view.has_average_precision)
    for curve in curves:
        if view.needs_fpr and not curve.has_negatives:
            raise UsageError(
                f"hate {view.name}: {curve.name} found {curve.elements}, and places without one cannot be counted, so "
                "there is no false positive rate; use hate pr or hate froc"
            )
    return CurveResult(view, curves, options.confidence, opened.notes, find_crossings(curves))


@extendable
def object_curves(view: CurveView, transcripts: Transcripts, *, options: FrocOptions) -> CurveResult:
    """Curves over the false positives per image."""
    opened = open_transcripts(transcripts, options)
    return CurveResult(view, free_response_curves(opened.runs(), options), options.confidence, opened.notes)
