"""Options of `hate compare` beyond the rate of success and the design, and what may not be asked for together."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from harness.cli.options import PATH, Numbers
from harness.errors import UsageError
from harness.measures import MEASURES, goals, spelled

F = TypeVar("F", bound=Callable[..., Any])
MULTIPLICITY = ("holm", "max-t", "hochberg", "bh")


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in (*MEASURES, "rank1") if name.startswith(incomplete)]


def complete_goal(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Measures that can be tuned for, for the shell."""
    return [name for name in goals() if name.startswith(incomplete)]


def statistic_option(**more: Any) -> Callable[[F], F]:
    """--statistic, from the registry of measures."""
    return click.option("--statistic", metavar="NAME", shell_complete=_complete, **more)


def further_options(command: F) -> F:
    """--statistic, --at, --margin, --unpaired, --by, --plot, --items."""
    for option in (
        click.option("--items", is_flag=True, help="Which cases tell them apart, and how stable the order is."),
        click.option("--plot", type=PATH, metavar="FILE", help="Draw what --by shows: .png, .svg or .pdf."),
        click.option("--by", metavar="COLUMN",
                     help="Break down by a column; noise:5 for 5 bins of a number, noise=0,10,20 for edges."),
        click.option("--unpaired", is_flag=True, help="Other inputs in the same strata, such as two sensors."),
        click.option("--margin", type=Numbers(0, 1, min_open=True, max_open=True), metavar="M",
                     help="Is one as good as another, within this difference?"),
        click.option("--at", metavar="eer|fpr=RATE", help="First set each threshold there, on the recorded scores."),
        click.option("--multiplicity", type=click.Choice(MULTIPLICITY), default="holm", show_default=True,
                     help="How p-values of several pairs are corrected; max-t gives intervals for all at once."),
        statistic_option(default="rate", show_default=True, help=f"What to compare: {spelled()}."),
    ):  # fmt: skip
        command = option(command)
    return command


def check_together(given: dict[str, Any]) -> None:
    """A UsageError for options that do not go together."""
    if given["unpaired"]:
        for option in ("baseline", "items", "intersect"):
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
    from harness.stats.multiplicity import Multiplicity

    method = Multiplicity(given["multiplicity"])
    return Asked(given["statistic"], point, given["margin"], given["by"], given["items"], baseline, method)
