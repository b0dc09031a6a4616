"""Identification from Python: `cmc`, curves over the rank, of transcripts and of similarity matrices."""

from collections.abc import Sequence
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
from harness.analysis.curve_request import BandMethod
from harness.analysis.galleries import GalleryComparison, compare_galleries, galleries_json
from harness.analysis.replication_methods import MethodComparison, compare_methods, methods_json
from harness.analysis.run_names import run_names
from harness.api.curves import PointsResult
from harness.api.matrices import is_matrix, read_matrices
from harness.api.result import PictureResult
from harness.api.transcripts import Given, OpenedTranscripts, listed, open_transcripts
from harness.errors import UsageError
from harness.options import PictureOptions
from harness.options.curves import CmcOptions
from harness.report.blocks import Block, Table
from harness.report.curve_data import CurveData, match_data
from harness.report.gnuplot import ScriptPage, match_script
from harness.report.identification import (
    gallery_blocks,
    match_blocks,
    method_blocks,
    tidy_effect_table,
    tidy_method_table,
)
from harness.report.plots.canvas import Picture
from harness.report.plots.identification import plot_cmc, plot_methods
from harness.site.locate import Source


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
