"""Curves over a threshold from Python: `roc`, `det` and `pr`."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.analysis.curve import Curve, CurveCrossings, curves_json, find_crossings
from harness.analysis.curve_request import BandMethod, CurveRequest, parse_at, parse_cost, parse_subjects
from harness.analysis.curves import make_curves
from harness.analysis.froc import at_iou
from harness.api.result import PictureResult, as_words
from harness.api.transcripts import Transcripts, open_transcripts
from harness.errors import UsageError
from harness.options import CurvePictureOptions, PictureOptions
from harness.options.curves import CurveOptions, PrOptions
from harness.report.blocks import Block, Table
from harness.report.curve_data import CurveData, curve_data, curve_table, plain_data
from harness.report.curves import curve_blocks
from harness.report.formats import Format
from harness.report.gnuplot import ScriptPage, curve_script
from harness.report.plots.canvas import Picture, check_picture
from harness.report.plots.curves import plot_det, plot_pr, plot_roc
from harness.report.plots.scores import plot_scores

# Which axes a kind of curve may have; the first is the default.
AXES = {"roc": ("linear", "log"), "det": ("normal", "log", "linear"), "pr": ("linear",)}
_PLOTS: dict[str, Callable[..., Picture]] = {"roc": plot_roc, "det": plot_det, "pr": plot_pr}


@dataclass(frozen=True, repr=False)
class PointsResult(PictureResult):
    """Curves whose points are data: text and spreadsheets have the points, people see a summary."""

    def data(self) -> list[CurveData]:
        """The points of each curve."""
        raise NotImplementedError

    @abstractmethod
    def script(self, path: Path, look: Any) -> str:
        """The gnuplot script; `look` are options as `pictured` has them."""

    def gnuplot(self, path: str | Path, look: PictureOptions | None = None, **settings: Any) -> str:
        """A gnuplot script with the data in it; the picture goes beside `path`. Settings are as for `picture`."""
        return self.script(Path(path), self.look(look, settings))

    def sizes(self) -> list[tuple[str, int, int]]:
        """The name of each curve, how many points are shown, and how many there are."""
        return []

    def remarks_in(self, style: Format) -> Sequence[str]:
        """Also which curves have fewer points than there are, where points are shown."""
        if style is Format.TABLE:
            return self.remarks
        fewer = [
            f"{name}: {size:,} of {whole:,} points; --points 0 gives all"
            for name, size, whole in self.sizes()
            if size < whole
        ]
        return [*self.remarks, *fewer]

    def table(self) -> Table:
        """All points in one table."""
        return curve_table(self.data())

    def plain(self) -> str:
        """A block of points for each curve, for gnuplot."""
        return plain_data(self.data())


@dataclass(frozen=True, repr=False)
class CurveResult(PointsResult):
    """Curves over a threshold: each with its areas, bands, operating points; and where two of them cross."""

    kind: str
    curves: Sequence[Curve]
    crossings: Sequence[CurveCrossings]
    confidence: float
    remarks: Sequence[str] = ()
    pictured = CurvePictureOptions

    def sizes(self) -> list[tuple[str, int, int]]:
        """The name of each curve, how many points are shown, and how many there are."""
        return [(curve.name, curve.points.tpr.size, curve.whole) for curve in self.curves]

    def payload(self) -> Any:
        """As documented for the command."""
        return curves_json(self.curves, self.crossings, self.confidence)

    def blocks(self) -> Sequence[Block]:
        """A summary."""
        return curve_blocks(self.curves, self.crossings, self.kind, self.confidence)

    def data(self) -> list[CurveData]:
        """The points of each curve."""
        return [curve_data(curve, self.confidence) for curve in self.curves]

    def drawn(self, look: CurvePictureOptions) -> Picture:
        """The curves; `axes` is as for the command."""
        if look.zoom is not None and self.kind != "roc":
            raise UsageError(f"zoom={look.zoom:g}: only ROC curves have a corner to enlarge")
        more = {"zoom": look.zoom} if self.kind == "roc" else {}
        return _PLOTS[self.kind](self.curves, look, axes=self._axes(look.axes), **more)

    def scores_picture(self, look: PictureOptions | None = None, **settings: Any) -> Picture:
        """How the scores of positives and negatives are distributed; settings are as for `picture`."""
        return plot_scores(self.curves, PictureOptions.given(look, as_words(settings)))

    def plot_scores(
        self, path: str | Path, look: PictureOptions | None = None, *, force: bool = False, **settings: Any
    ) -> None:
        """The same into a file: .svg, .png or .pdf, which must not be there unless forced."""
        check_picture(Path(path))
        self.scores_picture(look, **settings).save(Path(path), force=force)

    def plot(
        self, path: str | Path, look: PictureOptions | str | None = None, *, force: bool = False, **settings: Any
    ) -> None:
        """Draw the curves into a file, .svg, .png or .pdf: `axes`, and what `picture` takes."""
        if isinstance(look, str):
            look, settings = None, {"axes": look, **settings}
        super().plot(path, look, force=force, **settings)

    def script(self, path: Path, look: CurvePictureOptions) -> str:
        """The script."""
        return curve_script(self.kind, self.curves, self._axes(look.axes), ScriptPage(path, look))

    def _axes(self, axes: str | None) -> str:
        known = AXES[self.kind]
        if axes is not None and axes not in known:
            raise UsageError(f"axes={axes!r}: not one of {', '.join(known)}")
        return axes or known[0]


def roc(transcripts: Transcripts, options: CurveOptions | None = None, **settings: Any) -> CurveResult:
    """ROC curves of one or several transcripts, with areas, bands and operating points.

    Options are those of the command, with underscores: `harness.roc(["wisard", "witch"], at="fpr=0.01")`.
    """
    return threshold_curves("roc", transcripts, CurveOptions.given(options, settings))


def det(transcripts: Transcripts, options: CurveOptions | None = None, **settings: Any) -> CurveResult:
    """DET curves: both error rates against each other; see `roc`."""
    return threshold_curves("det", transcripts, CurveOptions.given(options, settings))


def pr(transcripts: Transcripts, options: PrOptions | None = None, **settings: Any) -> CurveResult:
    """Curves of precision over recall; see `roc`."""
    return threshold_curves("pr", transcripts, PrOptions.given(options, settings))


def threshold_curves(kind: str, transcripts: Transcripts, options: CurveOptions) -> CurveResult:
    """Curves of a kind: roc, det or pr."""
    request = _curve_request(options, precise=kind == "pr")
    opened = open_transcripts(transcripts, options, told_apart=not (options.swept or options.repeated))
    runs = opened.runs() if not isinstance(options, PrOptions) else at_iou(opened.runs(), options.iou)
    curves = make_curves(runs, request, swept=options.swept, repeated=options.repeated)
    _check_negatives(kind, curves)
    crossed = find_crossings(curves) if all(curve.has_negatives for curve in curves) else []
    return CurveResult(kind, curves, crossed, options.confidence, opened.notes)


def _check_negatives(kind: str, curves: Sequence[Curve]) -> None:
    """ROC and DET curves need a false positive rate."""
    for curve in curves:
        if kind != "pr" and not curve.has_negatives:
            raise UsageError(
                f"hate {kind}: {curve.name} found {curve.elements}, and places without one cannot be counted, so "
                "there is no false positive rate; use hate pr or hate froc"
            )


def _curve_request(options: CurveOptions, *, precise: bool) -> CurveRequest:
    return CurveRequest(
        bands=BandMethod(options.bands),
        confidence=options.confidence,
        seed=options.seed,
        points=options.points,
        at=tuple(map(parse_at, options.at)),
        cost=None if options.cost is None else parse_cost(options.cost),
        subjects=None if options.subjects is None else parse_subjects(options.subjects),
        design=options,
        partial=options.partial,
        precise=precise,
    )
