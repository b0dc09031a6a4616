"""What `hate sweep` and `hate tune` share: values of parameters, and runs that are kept in the cache."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.cli.output import remark
from harness.engine.campaign import Campaign, Kept
from harness.engine.run import Plan
from harness.engine.settings import Grid
from harness.engine.store import Store
from harness.errors import TranscriptError
from harness.params import Value
from harness.site.cache import cache_folder

if TYPE_CHECKING:
    from harness.analysis.deciding import Answers

F = TypeVar("F", bound=Callable[..., Any])

values_option = click.option(
    "--param", "assignments", multiple=True, required=True, metavar="NAME=VALUES",
    help="A list 0,1,2, a range 0:1:0.1, or a logarithmic one, 1:1000:x10; may be repeated.",
)  # fmt: skip
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For what is drawn at random."
)
fresh_option = click.option("--fresh", is_flag=True, help="Run everything, also what is known from earlier runs.")


def run_store(*, fresh: bool) -> Store:
    """The runs that are kept on this machine."""
    return Store(cache_folder() / "runs", fresh)


def kept_answers(kept: Kept, decided: Mapping[str, Value] | None = None) -> "Answers":
    """The answers of a run that is kept; `decided` are the decision parameters that do not vary."""
    from harness.analysis.deciding import read_answers

    try:
        return read_answers(kept.path, decided)
    except TranscriptError as error:
        raise TranscriptError(f"{error}; --fresh runs it again") from None


def tell_decided(grid: Grid, plan: Plan) -> None:
    """A program that applies a decision parameter itself would have to be run again for each of its values."""
    argv = getattr(plan.interface, "argv", ())
    for axis in grid.axes:
        if axis.param.decision and any(f"{{{axis.name}}}" in word for word in argv):
            default = grid.defaults[axis.name]
            remark(f"the program is given {axis.name} = {default:g}, its default; the harness decides on its answers")


def tell_runs(runs: Campaign, kept: Sequence[Kept]) -> None:
    """What was run, what was known, and the first error."""
    known = [one.path for one in kept if one.path.exists() and not one.asked]
    if runs.found:
        oldest = datetime.fromtimestamp(min(path.stat().st_mtime for path in known), UTC)
        taken = runs.found + runs.made
        what = f"{runs.found:,} of {taken:,} runs" if taken > 1 else "the run"
        remark(f"known from the cache, since {oldest:%Y-%m-%d %H:%M} UTC: {what}; --fresh runs everything again")
    for one in kept:
        if one.first_error is not None:
            error = one.first_error
            remark(f"errors; the first, case {error.id}: {error.error}: {error.message}")
            break
