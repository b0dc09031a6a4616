"""`hate cmc --galleries` and `--methods`: the gallery effect, and methods of replication side by side."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from harness.cli.curves import design_of, print_payload
from harness.cli.matrices import read_matrices
from harness.cli.output import chosen, emit_document, remark
from harness.errors import UsageError
from harness.report.table import Format

F = TypeVar("F", bound=Callable[..., Any])


def gallery_options(command: F) -> F:
    """--galleries, --mix, --permutations, --methods."""
    for option in (
        click.option("--methods", is_flag=True,
                     help="Standard errors by BRR, jackknife and bootstrap side by side, and with a unit less."),
        click.option("--permutations", type=click.IntRange(19, 1_000_000), default=999, show_default=True, metavar="N",
                     help="With --galleries: of the test."),
        click.option("--mix", is_flag=True, help="With --galleries: give each gallery an equal share of all images."),
        click.option("--galleries", metavar="COLUMN",
                     help="Of matrices: each value's images as the gallery in turn; test whether they differ."),
    ):  # fmt: skip
        command = option(command)
    return command


def check_galleries(given: dict[str, Any]) -> None:
    """Options that do not go together."""
    if given["mix"] and given["galleries"] is None:
        raise UsageError("--mix is for --galleries COLUMN; give both")
    if given["methods"] and given["galleries"] is not None:
        raise UsageError("--methods and --galleries are two analyses; ask for one at a time")
    if given["gnuplot"] is not None and (given["methods"] or given["galleries"] is not None):
        raise UsageError("--gnuplot: not for --methods and --galleries; --format csv has the data")


def draw_galleries(words: Sequence[str], wishes: Any, given: dict[str, Any]) -> None:
    """The experiment with each gallery, and the test."""
    from harness.analysis.curves.match import as_json
    from harness.analysis.galleries.effect import as_json as tests_json
    from harness.analysis.galleries.effect import galleries
    from harness.report.galleries import effect_table, gallery_blocks

    matrices = read_matrices(words, given)
    column, design = given["galleries"], design_of(given)
    options = {"mix": given["mix"], "permutations": given["permutations"]}
    found = [galleries(matrix, column, wishes, design, **options) for matrix in matrices]
    curves = [curve for one in found for curve in one.curves]
    style = chosen(given["style"])
    if style in (Format.JSON, Format.R):
        tests = {"galleries": [tests_json(one) for one in found]}
        print_payload(style, as_json(curves, given["confidence"]) | tests)
    else:
        blocks = [effect_table(found)] if style is Format.CSV else gallery_blocks(found, given["confidence"])
        emit_document(style, blocks, None)
    if given["plot"] is not None:
        from harness.report.plots.match import plot_cmc

        plot_cmc(curves, given["plot"])
        remark(f"picture: {given['plot']}")


def draw_methods(ranked: Sequence[Any], given: dict[str, Any]) -> None:
    """Standard errors by several methods."""
    from harness.analysis.curves.methods import as_json, side_by_side
    from harness.report.methods import long_table, method_blocks

    found = [side_by_side(one, limit=given["ranks"], seed=given["seed"]) for one in ranked]
    style = chosen(given["style"])
    if style in (Format.JSON, Format.R):
        print_payload(style, {"methods": [as_json(one) for one in found]})
    else:
        emit_document(style, [long_table(found)] if style is Format.CSV else method_blocks(found), None)
    if given["plot"] is not None:
        from harness.report.plots.methods import plot_methods

        plot_methods(found, given["plot"])
        remark(f"picture: {given['plot']}")
