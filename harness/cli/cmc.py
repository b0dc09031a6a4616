"""`hate cmc`: cumulative match curves from similarity matrices."""

from collections.abc import Sequence
from typing import Any

import click

from harness.cli.curves import (
    FORMATS,
    certainty_options,
    check_drawing,
    drawing_options,
    print_data,
    print_payload,
    write_script,
)
from harness.cli.options import PATH, format_option
from harness.cli.output import chosen, emit_document, remark
from harness.errors import UsageError
from harness.report.table import Format


@click.command("cmc")
@click.argument("matrices", nargs=-1, required=True, metavar="MATRIX.csv...", type=PATH)
@click.option("--distance", is_flag=True, help="Smaller is better: distances, not similarities.")
@click.option("--exclude-diagonal", is_flag=True, help="Probe i and gallery image i are the same image: leave it out.")
@click.option("--identity", metavar="REGEX", help="Who a label is: the pattern's first group, or what it matches.")
@click.option("--ranks", type=click.IntRange(min=1), metavar="N", help="Up to this rank.")
@certainty_options(("auto", "wilson", "brr", "bootstrap", "none"))
@drawing_options
@format_option(*FORMATS)
def command(matrices: Sequence[Any], **given: Any) -> None:
    """Cumulative match curves: the share of probes found at each rank or better.

    A matrix has the labels of the gallery in its first row and those of the probes in its first column.

    \b
    hate cmc faces.csv --identity '^[^_]+' --plot cmc.svg
    """
    check_drawing(given)
    for path in matrices:
        if path.name.endswith((".jsonl", ".jsonl.gz", ".out")):
            raise UsageError(f"{path}: a transcript; `hate cmc` takes a similarity matrix, a CSV table")
    from harness.analysis.curves.match import MatchWishes, match_curve
    from harness.analysis.curves.matrix import read_matrix
    from harness.analysis.curves.wishes import Bands

    wishes = MatchWishes(
        bands=Bands(given["bands"]),
        confidence=given["confidence"],
        seed=given["seed"],
        larger_is_better=not given["distance"],
        exclude_diagonal=given["exclude_diagonal"],
        limit=given["ranks"],
    )
    curves = [match_curve(read_matrix(path, given["identity"]), wishes) for path in matrices]
    _print(chosen(given["style"]), curves, given["confidence"])
    if given["plot"] is not None:
        from harness.report.plots.match import plot_cmc

        plot_cmc(curves, given["plot"])
        remark(f"picture: {given['plot']}")
    if given["gnuplot"] is not None:
        from harness.report.curve_sketch import match_script

        write_script(given["gnuplot"], match_script(curves, given["gnuplot"]))


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
