"""Curves from Python: `roc`, `det` and `pr` over a threshold, and `cmc` over the rank."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.analysis.cmc import (
    CmcRequest,
    MatchCurve,
    ProbeRanks,
    cmc_json,
    match_curve,
    ranks_of_matrix,
    ranks_of_run,
)
from harness.analysis.curve import Curve, CurveCrossings, curves_json, find_crossings
from harness.analysis.curve_request import BandMethod, CurveRequest, parse_at, parse_cost, parse_subjects
from harness.analysis.curves import make_curves
from harness.analysis.froc import at_iou
from harness.analysis.galleries import GalleryComparison, compare_galleries, galleries_json
from harness.analysis.replication_methods import MethodComparison, compare_methods, methods_json
from harness.analysis.run_names import run_names
from harness.api.matrices import is_matrix, read_matrices
from harness.api.options import CmcOptions, CurveOptions, PrOptions
from harness.api.result import PictureResult, as_words
from harness.api.transcripts import Given, OpenedTranscripts, Transcripts, listed, open_transcripts
from harness.errors import UsageError
from harness.options import CurvePictureOptions, PictureOptions
from harness.report.blocks import Block, Table
from harness.report.curve_data import CurveData, curve_data, curve_table, match_data, plain_data
from harness.report.curves import curve_blocks
from harness.report.formats import Format
from harness.report.gnuplot import ScriptPage, curve_script, match_script
from harness.report.identification import (
    gallery_blocks,
    match_blocks,
    method_blocks,
    tidy_effect_table,
    tidy_method_table,
)
from harness.report.plots.canvas import Picture, check_picture
from harness.report.plots.curves import plot_det, plot_pr, plot_roc
from harness.report.plots.identification import plot_cmc, plot_methods
from harness.report.plots.scores import plot_scores
from harness.site.locate import Source

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

    def plot_scores(self, path: str | Path, look: PictureOptions | None = None, **settings: Any) -> None:
        """The same into a file: .svg, .png or .pdf."""
        check_picture(Path(path))
        self.scores_picture(look, **settings).save(Path(path))

    def plot(self, path: str | Path, look: PictureOptions | str | None = None, **settings: Any) -> None:
        """Draw the curves into a file, .svg, .png or .pdf: `axes`, and what `picture` takes."""
        if isinstance(look, str):
            look, settings = None, {"axes": look, **settings}
        super().plot(path, look, **settings)

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


@dataclass(frozen=True, repr=False)
class CmcResult(PointsResult):
    """Cumulative match curves."""

    curves: Sequence[MatchCurve]
    confidence: float
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        """As documented for the command."""
        return cmc_json(self.curves, self.confidence)

    def blocks(self) -> Sequence[Block]:
        """A summary."""
        return match_blocks(self.curves, self.confidence)

    def data(self) -> list[CurveData]:
        """The points of each curve."""
        return [match_data(curve) for curve in self.curves]

    def drawn(self, look: PictureOptions) -> Picture:
        """The curves."""
        return plot_cmc(self.curves, look)

    def script(self, path: Path, look: PictureOptions) -> str:
        """The script."""
        return match_script(self.curves, ScriptPage(path, look))


@dataclass(frozen=True, repr=False)
class GalleriesResult(PictureResult):
    """The experiment with each set of images as the gallery, and a test of whether they differ."""

    found: Sequence[GalleryComparison]
    confidence: float

    @property
    def curves(self) -> list[MatchCurve]:
        """The curve of every gallery."""
        return [curve for one in self.found for curve in one.curves]

    def payload(self) -> Any:
        """The curves and the tests."""
        return cmc_json(self.curves, self.confidence) | {"galleries": [galleries_json(one) for one in self.found]}

    def blocks(self) -> Sequence[Block]:
        """Curves and tests."""
        return gallery_blocks(self.found, self.confidence)

    def table(self) -> Table:
        """The tests."""
        return tidy_effect_table(self.found)

    def drawn(self, look: PictureOptions) -> Picture:
        """The curves."""
        return plot_cmc(self.curves, look)


@dataclass(frozen=True, repr=False)
class MethodsResult(PictureResult):
    """Standard errors of recognition rates by several methods."""

    found: Sequence[MethodComparison]
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        """Every method, rank by rank."""
        return {"methods": [methods_json(one) for one in self.found]}

    def blocks(self) -> Sequence[Block]:
        """The methods side by side."""
        return method_blocks(self.found)

    def table(self) -> Table:
        """A row for each method and rank."""
        return tidy_method_table(self.found)

    def drawn(self, look: PictureOptions) -> Picture:
        """The errors."""
        return plot_methods(self.found, look)


def cmc(
    given: Given | Sequence[Given], options: CmcOptions | None = None, **settings: Any
) -> CmcResult | GalleriesResult | MethodsResult:
    """Cumulative match curves of transcripts of rank tests and of similarity matrices (.npy, .csv, .tsv, .parquet).

    Options are those of the command, with underscores: `harness.cmc("faces.npy", gallery="session=1")`. With
    `galleries` the result is a test of the gallery effect, with `methods` several standard errors side by side.
    """
    options = CmcOptions.given(options, settings)
    _check_together(options)
    request = CmcRequest(
        bands=BandMethod(options.bands),
        confidence=options.confidence,
        seed=options.seed,
        limit=options.ranks,
        censor=options.censor,
    )
    if options.galleries is not None:
        return _galleries(listed(given), options.galleries, request, options)
    ranked, notes = _rank(listed(given), options)
    if options.methods:
        found = [compare_methods(one, limit=options.ranks, seed=options.seed) for one in ranked]
        return MethodsResult(found, notes)
    return CmcResult([match_curve(one, request) for one in ranked], options.confidence, notes)


def _check_together(options: CmcOptions) -> None:
    if options.mix and options.galleries is None:
        raise UsageError("--mix is for --galleries COLUMN; give both")
    if options.methods and options.galleries is not None:
        raise UsageError("--methods and --galleries are two analyses; ask for one at a time")


def _galleries(
    given: Sequence[Given], column: str, request: CmcRequest, options: CmcOptions
) -> GalleriesResult:  # fmt: skip
    matrices = read_matrices([str(one) for one in given], options)
    settings: dict[str, Any] = {"mix": options.mix, "permutations": options.permutations}
    found = [compare_galleries(matrix, column, request, options, **settings) for matrix in matrices]
    return GalleriesResult(found, options.confidence)


def _rank(given: Sequence[Given], options: CmcOptions) -> tuple[list[ProbeRanks], Sequence[str]]:
    """Ranks of all probes, from wherever they are, in the order given."""
    of_matrix = [is_matrix(one) for one in given]
    if not any(of_matrix):
        _check_matrix_options(given[0], options)
    matrices = iter(read_matrices([str(one) for one, own in zip(given, of_matrix, strict=True) if own], options))
    others = [one for one, own in zip(given, of_matrix, strict=True) if not own]
    opened = open_transcripts(others, options) if others else OpenedTranscripts([])
    runs = iter(opened.runs())
    ranked: list[ProbeRanks] = []
    stems: list[str] = []
    for own in of_matrix:
        if own:
            matrix = next(matrices)
            ranked.append(ranks_of_matrix(matrix, options, diagonal=options.exclude_diagonal))
            stems.append(matrix.name)
        else:
            run = next(runs)
            name = run.columns.header.algorithm.name
            ranked.append(ranks_of_run(run, name, options, partial=options.partial))
            stems.append(run.stem)
    names = run_names([one.name for one in ranked], stems)
    named = [one if own else replace(one, name=name) for one, own, name in zip(ranked, of_matrix, names, strict=True)]
    return named, opened.notes


def _check_matrix_options(first: Given, options: CmcOptions) -> None:
    """Options that mean nothing for a transcript."""
    for name in ("labels", "distance", "identity", "exclude_diagonal"):
        if getattr(options, name):
            flag, what = f"--{name.replace('_', '-')}", first.name if isinstance(first, Source) else first
            raise UsageError(f"{flag} is for a similarity matrix; {what} is a transcript or a test")
