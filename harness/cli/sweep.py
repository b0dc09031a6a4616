"""`hate sweep`: how the counts change with the parameters."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.keeping import Folder
from harness.cli.options import (
    PATH,
    TABULAR,
    choice_options,
    format_option,
    interface_option,
    library_option,
    running_options,
)
from harness.cli.options import test_argument as test_arg
from harness.cli.output import chosen, emit, remark, tell_design
from harness.cli.plan import load_parts
from harness.cli.progress import progress
from harness.cli.sweeping import (
    fresh_option,
    kept_answers,
    run_store,
    seed_option,
    tell_decided,
    tell_runs,
    values_option,
)
from harness.engine.campaign import Kept, campaign
from harness.engine.header import run_header
from harness.engine.run import Options
from harness.engine.settings import Grid, drawn, every, latin, make_grid
from harness.engine.sweep import Sweep, plan_sweep
from harness.engine.units import has_design
from harness.errors import HateError, UsageError
from harness.model import Counts
from harness.params import Value
from harness.report.counts import count_row, count_table

if TYPE_CHECKING:
    from harness.analysis.deciding import Answers
    from harness.analysis.rates import DesignRate


@click.command("sweep")
@test_arg
@interface_option
@choice_options
@values_option
@click.option("--sample", type=click.IntRange(1, 1_000_000), metavar="N", help="Only N combinations, at random.")
@click.option("--latin", type=click.IntRange(1, 1_000_000), metavar="N",
              help="Only N combinations, a Latin hypercube: all values equally often.")  # fmt: skip
@seed_option
@click.option("-o", "--output", type=PATH, metavar="FOLDER", help="Put a transcript of each algorithm setting there.")
@click.option("--force", is_flag=True, help="With -o: overwrite transcripts of other runs.")
@click.option("--plot", type=PATH, metavar="FILE.svg|png|pdf", help="Draw the rates over two parameters.")
@running_options
@click.option("--repeat", type=click.IntRange(1, 10_000), default=1, metavar="K",
              help="Ask each case K times, for algorithms that roll dice.")  # fmt: skip
@fresh_option
@library_option
@format_option(*TABULAR)
def command(test: str, **given: Any) -> None:
    """Run TEST with every combination of the parameters' values; a row of counts each.

    A decision parameter, such as threshold, never runs the program again. Runs are kept: only what is new is run,
    and a sweep that was stopped carries on.
    """
    choice = given["gallery"], given["probe"]
    parts = load_parts(test, given["libraries"], given["interface"], choice)
    grid = make_grid(parts.params, given["assignments"])
    numbers = _numbers(grid, given)
    drawn_over = None if given["plot"] is None else _two_axes(grid, given["plot"])
    options = Options(given["jobs"], given["timeout"], given["repeat"], given["limit"])
    sweep = plan_sweep(parts.plan(options), grid, numbers)
    folder = None if given["output"] is None else Folder(given["output"], sweep, grid, force=given["force"])
    with campaign(run_store(fresh=given["fresh"]), progress()) as runs:
        runs.announce(len(sweep.plans), sum(plan.total for plan in sweep.plans))
        kept = [runs.take(plan) for plan in sweep.plans]
        decided = _decide(sweep, kept)
        paths = [one.path for one in kept] if folder is None else folder.write(kept)
    counts, designs = [count for count, _ in decided], [design for _, design in decided]
    rows = [(row.setting, count) for row, count in zip(sweep.rows, counts, strict=True)]
    payload: dict[str, Any] = {
        "rows": [count_row(*row, design) for row, design in zip(rows, designs, strict=True)],
        "transcripts": [str(path) for path in paths],
    }
    style = chosen(given["style"])
    emit(style, count_table(rows, [axis.name for axis in grid.axes], designs), payload)
    tell_design(style, designs)
    if drawn_over is not None:
        from harness.report.plots.heat_map import heat_map

        heat_map(payload["rows"], *drawn_over, given["plot"])
        remark(f"picture: {given['plot']}")
    _tell(grid, sweep, given)
    if len(rows) > 1 and len(set(map(str, counts))) == 1:
        remark("all rows are alike: these values change nothing; does the interface give scores?")
    tell_decided(grid, sweep.plans[0])
    tell_runs(runs, kept)


def _numbers(grid: Grid, given: dict[str, Any]) -> list[int]:
    if given["sample"] and given["latin"]:
        raise UsageError("--sample and --latin exclude one another")
    if given["sample"]:
        return drawn(grid, given["sample"], given["seed"])
    return latin(grid, given["latin"], given["seed"]) if given["latin"] else every(grid)


def _two_axes(grid: Grid, picture: Path) -> tuple[str, str]:
    """The parameters that a heat map is drawn over; refused before anything is run."""
    from harness.report.plots.canvas import check_picture

    check_picture(picture)
    swept = [axis.name for axis in grid.axes if len(axis.values) > 1]
    if len(swept) != 2:
        raise UsageError(f"--plot: a heat map is drawn over two parameters with several values, not over {len(swept)}")
    return swept[0], swept[1]


def _decide(sweep: Sweep, kept: Sequence[Kept]) -> "list[tuple[Counts, DesignRate | None]]":
    """The counts of each row, and its rate by the test's design, from the answers of its run."""
    rates = _rates(sweep, kept)
    script, params = sweep.plans[0].cases.script, sweep.plans[0].params
    param = script.task.limits(script.rules, params).param
    # A rank test may have a second decision parameter: its values are gone through, those of the first searched.
    others = [name for name in script.task.decisions if name in params and name != param]
    places: dict[tuple[int, tuple[Value, ...]], list[int]] = {}
    for place, row in enumerate(sweep.rows):
        places.setdefault((row.run, tuple(row.setting[name] for name in others)), []).append(place)
    found: dict[int, tuple[Counts, DesignRate | None]] = {}
    for (run, decided), own in places.items():
        values = [sweep.rows[place].setting[param] for place in own]
        answers = kept_answers(kept[run], dict(zip(others, decided, strict=True)))
        designs = rates(run, answers, values)
        found.update(zip(own, zip(answers.counts(values), designs, strict=True), strict=True))
    return [found[place] for place in range(len(sweep.rows))]


Rates = Callable[[int, "Answers", Sequence[Value]], "Sequence[DesignRate | None]"]


def _rates(sweep: Sweep, kept: Sequence[Kept]) -> Rates:
    """The rates of a run's answers by the test's design; None each where there is none."""
    if not has_design(run_header(sweep.plans[0]).design) and sweep.plans[0].options.repeat == 1:
        return lambda _run, _answers, values: [None] * len(values)
    from harness.analysis.rates import DesignRate, rates_of_answers, sampling_of_transcript

    sampling_of = cache(lambda run: sampling_of_transcript(kept[run].path))

    def rates(run: int, answers: "Answers", values: Sequence[Value]) -> "Sequence[DesignRate | None]":
        try:
            return rates_of_answers(answers, values, sampling_of(run))
        except HateError as error:
            return [DesignRate(None, None, str(error))] * len(values)

    return rates


def _tell(grid: Grid, sweep: Sweep, given: dict[str, Any]) -> None:
    if len(sweep.rows) < grid.size:
        how = "a Latin hypercube" if given["latin"] else "drawn at random"
        remark(f"{len(sweep.rows):,} of {grid.size:,} combinations, {how}, seed {given['seed']}")
    if given["output"] is not None:
        remark(f"transcripts: {len(sweep.plans):,} in {given['output']}")
