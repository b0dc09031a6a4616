"""`hate permute`: how far would the recognition rate move with other images of the same people?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from harness.cli.matrices import matrix_options, read_matrices
from harness.cli.options import CONFIDENCE, PATH, TABULAR, format_option
from harness.cli.output import chosen, emit_document, remark
from harness.report.table import Format

SAMPLING = ("balanced", "unbalanced", "both")


@click.command("permute")
@click.argument("matrices", nargs=-1, required=True, metavar="MATRIX|TEST...")
@matrix_options
@click.option("--subject", default="subject", show_default=True, metavar="COLUMN", help="Who is on an image.")
@click.option("--differ", metavar="COLUMN,...", help="Gallery and probe image of a person differ in it: day.")
@click.option("--agree", metavar="COLUMN,...", help="They agree in it: camera.")
@click.option("--experiments", type=click.IntRange(1, 10_000_000), default=10_000, show_default=True, metavar="N")
@click.option(
    "--ranks", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Up to this rank."
)
@click.option("--sampling", type=click.Choice(SAMPLING), default="balanced", show_default=True,
              help="Take all pairs of images equally often, or draw each person's by itself.")  # fmt: skip
@click.option("--confidence", type=CONFIDENCE, default=0.95,
              show_default=True)  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--plot", type=PATH, metavar="FILE.svg|png|pdf", help="Draw the distributions.")
@format_option(*TABULAR)
def command(matrices: Sequence[str], **given: Any) -> None:
    """Permute gallery and probe images: the recognition rate of these people with other choices of image.

    In every experiment each person has one image in the gallery and another as the probe. Two or more matrices
    (algorithms) are compared on the same draws.

    \b
    hate permute faces
    hate permute pca.npy lda.npy --labels images.csv --differ day --plot permuted.svg
    """
    if given["plot"] is not None:
        from harness.report.plots.canvas import check_picture

        check_picture(given["plot"])
    from harness.analysis.permuting.experiment import permuted_rates

    wishes, read = _wishes(given), read_matrices(matrices, given)
    found = permuted_rates(read, wishes)
    other = permuted_rates(read, replace(wishes, balanced=False)) if given["sampling"] == "both" else None
    _print(chosen(given["style"]), found, other)
    if given["plot"] is not None:
        from harness.report.plots.permuted import plot_permuted

        plot_permuted(found, given["plot"], other)
        remark(f"picture: {given['plot']}")


def _wishes(given: dict[str, Any]) -> Any:
    from harness.analysis.permuting.exchange import Rule
    from harness.analysis.permuting.experiment import PermuteWishes

    return PermuteWishes(
        rule=Rule(_names(given["differ"]), _names(given["agree"])),
        identity=given["subject"],
        experiments=given["experiments"],
        ranks=given["ranks"],
        balanced=given["sampling"] != "unbalanced",
        confidence=given["confidence"],
        seed=given["seed"],
    )


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _print(style: Format, found: Any, other: Any) -> None:
    from harness.analysis.permuting.as_json import as_json
    from harness.report.permuted import long_tables, permuted_blocks

    payload = as_json(found, other) if style is Format.JSON else None
    blocks = long_tables(found) if style is Format.CSV else permuted_blocks(found, other)
    emit_document(style, blocks, payload)
