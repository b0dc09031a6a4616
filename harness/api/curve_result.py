"""Curves of transcripts as a result: the points are data, people see a summary, and everybody the same picture."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from harness.analysis.curves.curve import Curve, CurveCrossings, curves_json, find_crossings
from harness.analysis.curves.several_runs import make_curves
from harness.analysis.curves.single_run import at_iou, free_response_curves
from harness.api.extension import extendable
from harness.api.keywords import draws
from harness.api.result import PictureResult, plotted
from harness.api.transcripts import Transcripts, open_transcripts
from harness.errors import UsageError
from harness.options import CurvePictureOptions, PictureKeywords, PictureOptions
from harness.options.curves import CurveOptions, FrocOptions, PrOptions
from harness.report.blocks import Block, Table
from harness.report.chart import Chart
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
from harness.report.plots.canvas import Picture
from harness.report.plots.chart import plot_chart
from harness.report.plots.scores import plot_scores

if TYPE_CHECKING:
    from harness.report.plots.canvas import Axes


@dataclass(frozen=True, repr=False)
class CurveResult(PictureResult):
    """Curves as a view shows them, each with its summaries and bands; of those over a threshold, where two cross."""

    view: CurveView
    curves: Sequence[Curve]
    confidence: float
    remarks: Sequence[str] = ()
    crossings: Sequence[CurveCrossings] | None = None

    def remarks_in(self, style: Format) -> Sequence[str]:
        """Also which curves have fewer points than there are, where points are shown."""
        if style is Format.TABLE:
            return self.remarks
        fewer = [
            f"{curve.name}: {curve.size:,} of {curve.whole:,} points; --points 0 gives all"
            for curve in self.curves
            if curve.size < curve.whole
        ]
        return [*self.remarks, *self.said(fewer)]

    def payload(self) -> Any:
        return curves_json(self.curves, self.confidence, self.crossings)

    def blocks(self) -> Sequence[Block]:
        return curve_blocks(self.view, self.curves, self.crossings or (), self.confidence)

    def data(self) -> list[CurveData]:
        """The points of each curve."""
        curves = [curve_data(curve, self.confidence) for curve in self.curves]
        return [replace(curve, remarks=self.said(curve.remarks)) for curve in curves]

    def table(self) -> Table:
        """All points in one table."""
        return curve_table(self.data())

    def plain(self) -> str:
        """A block of points for each curve, for gnuplot; what was added is a comment above them."""
        added = self.shown(self._added_blocks())
        lines = render_document(added, Format.PLAIN).splitlines() if added else []
        return "".join(f"# {line}".rstrip() + "\n" for line in lines) + plain_data(self.data())

    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> Picture:
        """The curves; the scale of the axes and an enlarged corner are asked for by CurvePictureOptions."""
        options = CurvePictureOptions.taken_from(options)
        if options.zoom is not None and not self.view.corner:
            raise UsageError(f"zoom={options.zoom:g}: only ROC curves have a corner to enlarge")
        chart = self._chart(options)
        if options.zoom and chart.x.scale == "log":
            raise UsageError(
                f"zoom={options.zoom:g}: a logarithmic axis shows the corner anyway; leave out zoom or axes"
            )
        room = corner_of(self.curves) if self.view.corner else 0.0
        limited = options.xlim is not None or options.ylim is not None
        # An inset has room only where all curves leave it; to given axes others may be added, which it would lack.
        unasked = 0.0 if limited or ax is not None else room
        part = 0.0 if chart.x.scale == "log" else unasked if options.zoom is None else options.zoom
        corner = corner_chart(chart, part) if part else None
        return plot_chart(chart, options, ax, height=self.view.height, corner=corner, inset=room > 0)

    def make_script(self, path: Path, options: PictureOptions) -> str:
        """The script that `gnuplot` returns, with options of a picture as commands have them."""
        return chart_script(self._chart(CurvePictureOptions.taken_from(options)), path, options)

    def make_scores_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> Picture:
        """The picture that `plot_scores` draws, with options as commands have them."""
        return plot_scores(self.curves, options, ax)

    @draws
    def plot(
        self,
        path: str | Path | None = None,
        *,
        ax: "Axes | None" = None,
        force: bool = False,
        axes: str | None = None,
        zoom: float | None = None,
        **look: Unpack[PictureKeywords],
    ) -> "Axes":
        """Draw the curves and return the axes, which may be changed further; of several panels, the first.

        >>> curves.plot("roc.pdf", width=3.3)
        >>> curves.plot(ax=axes[0])

        A file has the same bytes every time. With neither `path` nor `ax` the figure is one of pyplot's, as if made by
        plt.subplots(): a notebook shows it once, when the cell is done; elsewhere plt.show() does. Into `ax` it is
        drawn in your own style, with the legend inside; a file then has the whole figure.

        Args:
            path: The file to write, .svg, .png or .pdf, which must not be there.
            ax: Axes of your own figure to draw into; a picture that has several panels refuses them.
            force: Overwrite a file that is there.
            axes: The scale of both axes, such as "linear" or "log"; which there are depends on the kind of curve.
            zoom: Of ROC curves, draw the corner up to this false-positive rate larger; 0 for never.
        """
        options = CurvePictureOptions.of({"axes": axes, "zoom": zoom, **look})
        return plotted(self.make_picture, options, path, ax, force=force)

    @draws
    def picture(
        self, *, axes: str | None = None, zoom: float | None = None, **look: Unpack[PictureKeywords]
    ) -> Picture:
        """The picture, not written anywhere: `.svg(prefix=, alt=)` is text for a page, `.save(path)` writes it.

        `axes` and `zoom` are as for `plot`.
        """
        return self.make_picture(CurvePictureOptions.of({"axes": axes, "zoom": zoom, **look}))

    @draws
    def gnuplot(self, path: str | Path, *, axes: str | None = None, **look: Unpack[PictureKeywords]) -> str:
        """A gnuplot script with the data in it; the picture goes beside `path`. `axes` is as for `plot`."""
        options = CurvePictureOptions.taken_from(PictureOptions.of(look))
        return self.make_script(Path(path), replace(options, axes=axes))

    @draws
    def plot_scores(
        self,
        path: str | Path | None = None,
        *,
        ax: "Axes | None" = None,
        force: bool = False,
        **look: Unpack[PictureKeywords],
    ) -> "Axes":
        """Draw how the scores of positives and negatives are distributed, a panel for each curve.

        What is returned, `path`, `ax` and `force` are as for `plot`; `ax` takes the scores of one curve.
        """
        return plotted(self.make_scores_picture, PictureOptions.of(look), path, ax, force=force)

    @draws
    def scores_picture(self, **look: Unpack[PictureKeywords]) -> Picture:
        """The same, not written anywhere, as `picture` is."""
        return self.make_scores_picture(PictureOptions.of(look))

    def _chart(self, options: CurvePictureOptions) -> Chart:
        if options.axes is not None and options.axes not in self.view.axes:
            raise UsageError(f"axes={options.axes!r}: not one of {', '.join(self.view.axes)}")
        return curve_chart(self.view, self.curves, self.confidence, options.axes)


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
