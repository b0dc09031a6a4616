"""Ranks of transcripts and of similarity matrices, and their curves."""

from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.cmc import ProbeRanks, match_curve, ranks_of_matrix, ranks_of_run
from harness.analysis.run_identity import run_names
from harness.api.curve_result import CurveResult
from harness.api.extension import extendable
from harness.api.matrices import is_matrix, read_matrices
from harness.api.transcripts import Given, OpenedTranscripts, listed, open_transcripts
from harness.errors import UsageError
from harness.options.curves import CmcOptions, RankOptions
from harness.report.curve_view import CurveView
from harness.site.find_transcripts import Source


@extendable
def rank_curves(view: CurveView, given: Given | Sequence[Given], options: CmcOptions) -> CurveResult:
    """Curves over the rank."""
    ranked, notes = ranks_of(given, options)
    return CurveResult(view, [match_curve(one, options) for one in ranked], options.confidence, notes)


def ranks_of(given: Given | Sequence[Given], options: RankOptions) -> tuple[list[ProbeRanks], Sequence[str]]:
    """Ranks of all probes, from wherever they are, in the order given; and notes on where that is."""
    several = listed(given)
    of_matrix = [is_matrix(one) for one in several]
    if not any(of_matrix):
        _check_matrix_options(several[0], options)
    matrices = iter(read_matrices([str(one) for one, own in zip(several, of_matrix, strict=True) if own], options))
    others = [one for one, own in zip(several, of_matrix, strict=True) if not own]
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


def _check_matrix_options(first: Given, options: RankOptions) -> None:
    """Options that mean nothing for a transcript."""
    for name in ("labels", "distance", "identity", "exclude_diagonal"):
        if getattr(options, name):
            flag, what = f"--{name.replace('_', '-')}", first.name if isinstance(first, Source) else first
            raise UsageError(f"{flag} is for a similarity matrix; {what} is a transcript or a test")
