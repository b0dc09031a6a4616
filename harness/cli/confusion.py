"""`hate confusion`: what was there, and what the program said."""

from collections.abc import Sequence
from typing import Any

import click

from harness.cli.curves import FORMATS, design_of, design_options, print_payload
from harness.cli.options import CONFIDENCE, PATH, format_option
from harness.cli.output import chosen, emit, emit_document, remark
from harness.cli.tested import partial_option, read_runs, sources_argument
from harness.report.table import Format


@click.command("confusion")
@sources_argument
@click.option("--threshold", type=float, metavar="X", help="Answers below it are refusals; the run's own by default.")
@click.option("--positives", is_flag=True, help="Only cases whose claim is true.")
@click.option("--pairs", type=click.IntRange(min=1), default=10, show_default=True, metavar="N",
              help="Name the N most confused pairs.")  # fmt: skip
@click.option("--intersect", is_flag=True, help="Of several transcripts, the cases that all have.")
@click.option("--confidence", type=CONFIDENCE, default=0.95,
              show_default=True)  # fmt: skip
@design_options
@partial_option
@click.option("--plot", type=PATH, metavar="FILE.svg|png|pdf", help="Draw it; of two transcripts, the difference.")
@format_option(*FORMATS)
def command(words: Sequence[str], **given: Any) -> None:
    """Confusion matrices of transcripts: rows the truth, columns the answer, refusals last.

    Recall and precision of each class with intervals, and the most confused pairs. Two transcripts give the
    difference too. T is a file, a URL, NAME of a run, TEST/NAME of a published one, or a test, which is run first.
    """
    if given["plot"] is not None:
        from harness.report.plots.canvas import check_picture

        check_picture(given["plot"])
    from harness.analysis.confusion import Choice, confusions

    choice = Choice(
        threshold=given["threshold"],
        positives=given["positives"],
        intersect=given["intersect"],
        partial=given["partial"],
        confidence=given["confidence"],
        design=design_of(given),
    )
    found = confusions(read_runs(words, given), choice)
    _print(chosen(given["style"]), found, given)
    if given["plot"] is not None:
        _plot(found, given["plot"])


def _print(style: Format, found: Sequence[Any], given: dict[str, Any]) -> None:
    from harness.analysis.confusing.as_json import as_json
    from harness.report.confusion import confusion_blocks, long_table

    if style in (Format.JSON, Format.R):
        print_payload(style, as_json(found))
    elif style is Format.CSV:
        emit(style, long_table(found), None)
    else:
        emit_document(style, confusion_blocks(found, given["confidence"], given["pairs"]), None)


def _plot(found: Sequence[Any], path: Any) -> None:
    from harness.analysis.confusion import difference
    from harness.errors import UsageError
    from harness.report.plots.confusion import plot_confusion, plot_difference

    if len(found) > 2:
        raise UsageError(f"--plot: {len(found)} transcripts; one is drawn, or the difference of two")
    if len(found) == 2:
        title = f"{found[0].name} less {found[1].name}"
        plot_difference(found[0].labels, difference(*found).tolist(), path, title=title)
    else:
        plot_confusion(found[0].labels, found[0].matrix.tolist(), path, title=found[0].name)
    remark(f"picture: {path}")
