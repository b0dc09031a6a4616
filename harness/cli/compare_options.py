"""Options of `hate compare` beyond the rate of success and the design, and what may not be asked for together."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from harness.cli.options import PATH
from harness.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
# By name here, so that `--help` needs no numpy; a test holds them to those that there are.
STATISTICS = (
    "rate", "tpr", "tnr", "fpr", "fnr", "precision", "npv", "balanced", "informedness", "f1", "mcc", "kappa",
    "auc", "eer",
)  # fmt: skip
# What a record's outcome is enough for.
OF_OUTCOMES = STATISTICS[:-2]


def _statistic(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    if value not in STATISTICS and not re.fullmatch(r"rank[1-9]\d{0,8}", value, re.ASCII):
        raise click.BadParameter(f"'{value}' is not one of {', '.join(STATISTICS)}, rank1, rank5 ...")
    return value


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in (*STATISTICS, "rank1") if name.startswith(incomplete)]


def further_options(command: F) -> F:
    """--statistic, --at, --margin, --unpaired, --by, --plot, --items."""
    for option in (
        click.option("--items", is_flag=True, help="Which cases tell them apart, and how stable the order is."),
        click.option("--plot", type=PATH, metavar="FILE", help="Draw what --by shows: .png, .svg or .pdf."),
        click.option("--by", metavar="COLUMN",
                     help="Break down by a column; noise:5 for 5 bins of a number, noise=0,10,20 for edges."),
        click.option("--unpaired", is_flag=True, help="Other inputs in the same strata, such as two sensors."),
        click.option("--margin", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="M",
                     help="Is one as good as another, within this difference?"),
        click.option("--at", metavar="eer|fpr=RATE", help="First set each threshold there, on the recorded scores."),
        click.option("--statistic", default="rate", show_default=True, metavar="NAME", callback=_statistic,
                     shell_complete=_complete, help=f"What to compare: {', '.join(STATISTICS)}, rank1, rank5 ..."),
    ):  # fmt: skip
        command = option(command)
    return command


def check_together(given: dict[str, Any]) -> None:
    """A UsageError for options that do not go together."""
    if given["unpaired"]:
        for option in ("baseline", "margin", "by", "items", "intersect"):
            if given[option]:
                raise UsageError(f"--unpaired matches no cases, so --{option} has nothing to work on")
    if given["plot"] is not None:
        if given["by"] is None:
            raise UsageError("--plot draws what --by shows: name a column, such as --by truth")
        from harness.report.plots.canvas import check_picture

        check_picture(given["plot"])


def asked_for(given: dict[str, Any], baseline: int | None) -> Any:
    """The options as one thing."""
    from harness.analysis.comparing.further import Asked
    from harness.analysis.comparing.operating import parse_point

    point = None if given["at"] is None else parse_point(given["at"])
    return Asked(given["statistic"], point, given["margin"], given["by"], given["items"], baseline)
