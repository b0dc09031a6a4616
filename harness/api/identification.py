"""Ranks from Python: curves of transcripts and of similarity matrices, the gallery effect, methods side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.analysis.cmc import ProbeRanks, match_curve, ranks_of_matrix, ranks_of_run
from harness.analysis.curve import Curve, curves_json
from harness.analysis.galleries import GalleryComparison, compare_galleries
from harness.analysis.replication_methods import MethodComparison, compare_methods
from harness.analysis.run_names import run_names
from harness.api.curve_result import CurveResult
from harness.api.extension import extended, prepared
from harness.api.matrices import is_matrix, read_matrices
from harness.api.result import PictureResult
from harness.api.transcripts import Given, OpenedTranscripts, listed, open_transcripts
from harness.errors import UsageError
from harness.options import PictureOptions
from harness.options.curves import CmcOptions
from harness.report.blocks import Block, Table
from harness.report.curve_chart import curve_chart
from harness.report.curve_view import CurveView
from harness.report.galleries import gallery_blocks, tidy_effect_table
from harness.report.plots.canvas import Picture
from harness.report.plots.chart import plot_chart
from harness.report.plots.replication_methods import plot_methods
from harness.report.replication_methods import method_blocks, tidy_method_table
from harness.site.locate import Source


@dataclass(frozen=True, repr=False)
class GalleriesResult(PictureResult):
    """The experiment with each set of images as the gallery, and a test of whether they differ."""

    view: CurveView
    found: Sequence[GalleryComparison]
    # The curve of every gallery.
    curves: Sequence[Curve]
    confidence: float

    def payload(self) -> Any:
        """The curves and the tests."""
        return curves_json(self.curves, self.confidence) | {"galleries": self.found}

    def blocks(self) -> Sequence[Block]:
        """Curves and tests."""
        return gallery_blocks(self.found, self.curves, self.confidence)

    def table(self) -> Table:
        """The tests."""
        return tidy_effect_table(self.found)

    def drawn(self, look: PictureOptions) -> Picture:
        """The curves."""
        return plot_chart(curve_chart(self.view, self.curves, self.confidence), look, height=self.view.height)


@dataclass(frozen=True, repr=False)
class MethodsResult(PictureResult):
    """Standard errors of recognition rates by several methods."""

    found: Sequence[MethodComparison]
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        """Every method, rank by rank."""
        return {"methods": self.found}

    def blocks(self) -> Sequence[Block]:
        """The methods side by side."""
        return method_blocks(self.found)

    def table(self) -> Table:
        """A row for each method and rank."""
        return tidy_method_table(self.found)

    def drawn(self, look: PictureOptions) -> Picture:
        """The errors."""
        return plot_methods(self.found, look)


def rank_curves(
    view: CurveView, given: Given | Sequence[Given], options: CmcOptions
) -> CurveResult | GalleriesResult | MethodsResult:
    """Curves over the rank, or what is made of ranks instead."""
    if options.methods and options.galleries is not None:
        raise UsageError("--methods and --galleries are two analyses; ask for one at a time")
    if options.galleries is not None:
        matrices = read_matrices([str(one) for one in listed(given)], options)
        compared = [compare_galleries(matrix, options.galleries, options) for matrix in matrices]
        curves = [curve for _, own in compared for curve in own]
        return GalleriesResult(view, [one for one, _ in compared], curves, options.confidence)
    options = prepared(options)
    ranked, notes = _rank(listed(given), options)
    if options.methods:
        found = [compare_methods(one, limit=options.ranks, seed=options.seed) for one in ranked]
        return MethodsResult(found, notes)
    result = CurveResult(view, [match_curve(one, options) for one in ranked], options.confidence, notes)
    return extended(result, options)


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
