"""`hate rate`: one algorithm by itself."""

from collections.abc import Sequence
from typing import Any

import click

from harness.cli.compare_options import statistic_option
from harness.cli.curves import design_of, design_options
from harness.cli.options import CONFIDENCE, PATH, TABULAR, format_option
from harness.cli.output import chosen, emit, emit_document, remark
from harness.cli.tested import partial_option, read_runs, sources_argument
from harness.errors import UsageError
from harness.measures import spelled
from harness.report.table import Format


@click.command("rate")
@sources_argument
@statistic_option(
    help=f"What to measure, with commas between several: {spelled()}. The usual ones that a run has, unless told."
)
@click.option("--by", metavar="COLUMN",
              help="Break down by a column; noise:5 for 5 bins of a number, noise=0,10,20 for edges.")  # fmt: skip
@click.option("--plot", type=PATH, metavar="FILE", help="Draw what --by shows: .png, .svg or .pdf.")
@click.option("--confidence", type=CONFIDENCE, default=0.95, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For methods that draw.")
@design_options
@partial_option
@format_option(*TABULAR)
def command(words: Sequence[str], **given: Any) -> None:
    """Look at transcripts one by one: measures with errors by design, groups, the worst of them, and the gap.

    T is a file, a URL, TEST/NAME or NAME of a transcript, or a test, which is run first.

    \b
    hate rate wisard
    hate rate wisard --by truth --statistic rate,tpr --plot digits.png
    """
    _check(given)
    from harness.analysis.comparing.alone import RateOptions, alone_json, look_alone
    from harness.report.alone import alone_blocks, tidy_table
    from harness.stats.replication.plan import Plan

    plan = Plan(confidence=given["confidence"], seed=given["seed"])
    statistics = tuple(name.strip() for name in (given["statistic"] or "").split(",") if name.strip())
    options = RateOptions(_joined(statistics), given["by"], design_of(given), plan, given["partial"])
    runs = look_alone(read_runs(words, given), options)
    style = chosen(given["style"])
    if given["plot"] is not None:
        _plot(runs, plan.confidence, given["plot"])
    if style is Format.JSON:
        emit_document(style, [], alone_json(runs))
    elif style is Format.CSV:
        emit(style, tidy_table(runs), None)
    else:
        emit_document(style, alone_blocks(runs, plan), None)


def _joined(names: Sequence[str]) -> tuple[str, ...]:
    """The comma of cost:fp=10,fn=1 is its own."""
    found: list[str] = []
    for name in names:
        if found and found[-1].startswith("cost:") and name.startswith(("fp=", "fn=")):
            found[-1] += f",{name}"
        else:
            found.append(name)
    return tuple(found)


def _check(given: dict[str, Any]) -> None:
    if given["plot"] is not None:
        if given["by"] is None:
            raise UsageError("--plot draws what --by shows: name a column, such as --by truth")
        from harness.report.plots.canvas import check_picture

        check_picture(given["plot"])


def _plot(runs: Sequence[Any], confidence: float, path: Any) -> None:
    from harness.analysis.comparing.alone import merged
    from harness.report.plots.by_group import draw_groups

    first = next(iter(runs[0].by))
    draw_groups(merged(runs, first), [run.name for run in runs], [], runs[0].measures[first], confidence, path)
    remark(f"picture: {path}")
