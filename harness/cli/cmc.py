"""`hate cmc`: cumulative match curves from rank tests, their transcripts, or similarity matrices."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import click

from harness.cli.curves import (
    FORMATS,
    certainty_options,
    check_drawing,
    design_of,
    design_options,
    drawing_options,
    print_data,
    print_payload,
    write_script,
)
from harness.cli.galleries import check_galleries, draw_galleries, draw_methods, gallery_options
from harness.cli.matrices import matrix_options, read_matrices
from harness.cli.options import format_option
from harness.cli.output import chosen, emit_document, remark
from harness.cli.tested import partial_option, read_runs, sources_argument
from harness.errors import UsageError
from harness.report.table import Format

MATRICES = (".npy", ".csv", ".tsv", ".parquet")


@click.command("cmc")
@sources_argument
@matrix_options
@click.option("--exclude-diagonal", is_flag=True, help="Probe i and gallery image i are the same image: leave it out.")
@click.option("--ranks", type=click.IntRange(min=1), metavar="N", help="Up to this rank.")
@click.option("--censor", type=click.IntRange(min=1), metavar="N",
              help="For the median: ranks beyond N are as bad as N.")  # fmt: skip
@gallery_options
@certainty_options(("auto", "wilson", "brr", "bootstrap", "none"))
@design_options
@partial_option
@drawing_options
@format_option(*FORMATS)
def command(words: Sequence[str], **given: Any) -> None:
    """Cumulative match curves: the share of probes found at each rank or better.

    T is a rank test, which is run first, its transcript, or a similarity matrix: .npy with a table of labels beside it,
    or CSV or Parquet with the gallery in its first row and the probes in its first column.

    \b
    hate cmc faces --interface matrix:eigenfaces_l1.npy --gallery image=1 --probe 'image>1'
    hate cmc faces.npy --gallery session=1 --probe session=2 --stratum subject --plot cmc.svg
    hate cmc faces.csv --identity '^[^_]+'
    """
    check_drawing(given)
    check_galleries(given)
    from harness.analysis.curves.match import MatchWishes, match_curve
    from harness.analysis.curves.wishes import Bands

    wishes = MatchWishes(
        bands=Bands(given["bands"]),
        confidence=given["confidence"],
        seed=given["seed"],
        limit=given["ranks"],
        censor=given["censor"],
    )
    if given["galleries"] is not None:
        draw_galleries(words, wishes, given)
        return
    found = _ranked(words, given)
    if given["methods"]:
        draw_methods(found, given)
        return
    curves = [match_curve(ranked, wishes) for ranked in found]
    _print(chosen(given["style"]), curves, given["confidence"])
    if given["plot"] is not None:
        from harness.report.plots.match import plot_cmc

        plot_cmc(curves, given["plot"])
        remark(f"picture: {given['plot']}")
    if given["gnuplot"] is not None:
        from harness.report.curve_sketch import match_script

        write_script(given["gnuplot"], match_script(curves, given["gnuplot"]))


def _ranked(words: Sequence[str], given: dict[str, Any]) -> list[Any]:
    """Ranks of all probes, from wherever they are, in the order of the words."""
    from harness.analysis.curves.ranked import ranks_of_matrix, ranks_of_run
    from harness.analysis.names import run_names

    design = design_of(given)
    paths = {word: Path(word) for word in words if Path(word).suffix.lower() in MATRICES}
    others = [word for word in words if word not in paths]
    _check(paths, others, given)
    matrices = dict(zip(paths, read_matrices(list(paths.values()), given), strict=True)) if paths else {}
    runs = dict(zip(others, read_runs(others, given), strict=True)) if others else {}
    named = [matrices[w].name if w in matrices else runs[w].columns.header.algorithm.name for w in words]
    stems = [matrices[w].name if w in matrices else runs[w].stem for w in words]
    found = []
    for word, name in zip(words, run_names(named, stems), strict=True):
        if word in matrices:
            found.append(ranks_of_matrix(matrices[word], design, diagonal=given["exclude_diagonal"]))
        else:
            found.append(ranks_of_run(runs[word], name, design, partial=given["partial"]))
    return found


def _check(matrices: Collection[str], others: Sequence[str], given: dict[str, Any]) -> None:
    """Options that say nothing of what they are given with."""
    if matrices:
        return
    for option, name in (("labels", "--labels"), ("distance", "--distance"), ("identity", "--identity"),
                         ("exclude_diagonal", "--exclude-diagonal")):  # fmt: skip
        if given[option]:
            raise UsageError(f"{name} is for a similarity matrix; {others[0]} is a transcript or a test")


def _print(style: Format, curves: Sequence[Any], confidence: float) -> None:
    from harness.analysis.curves.match import as_json
    from harness.report.curve_sketch import match_data
    from harness.report.match import match_blocks

    if style in (Format.JSON, Format.R):
        print_payload(style, as_json(curves, confidence))
    elif style in (Format.PLAIN, Format.CSV):
        print_data(style, [match_data(curve) for curve in curves])
    else:
        emit_document(style, match_blocks(curves, confidence), None)
