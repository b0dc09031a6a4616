"""Sweeps from Python: a test with every combination of the parameters' values, and the transcripts of the runs."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness.api.result import PictureResult
from harness.api.runs import EVERY_CASE, AnyTest, first_error_words, is_all_errors, network, note, with_assignments
from harness.api.sweep_folder import SweepFolder
from harness.api.sweep_result import SweepResult, SweepResultRow
from harness.engine.header import run_header
from harness.engine.plan import Plan, RunOptions, find_parts, run_inputs
from harness.engine.run import NoProgress, Progress, refuse_blind
from harness.engine.run_cache import CachedRun, RunBatch, RunStore, run_batch
from harness.engine.sweep import (
    Grid,
    Sweep,
    all_combinations,
    latin_hypercube,
    make_grid,
    plan_sweep,
    random_combinations,
)
from harness.engine.unit_tally import has_design
from harness.errors import HateError, TranscriptError, UsageError
from harness.files.outputs import check_free, refuse_inputs
from harness.model import Counts
from harness.options import (
    GalleryOptions,
    LibraryOptions,
    OptionSet,
    PictureOptions,
    PlotOptions,
    Range,
    Writes,
    option,
)
from harness.params import Value
from harness.script.cases import CaseSet
from harness.site.cache import cache_folder

if TYPE_CHECKING:
    from harness.analysis.decisions import AnswerLimits
    from harness.analysis.run_rates import DesignRate
    from harness.measures import Measure
    from harness.stats.estimate import Estimate
    from harness.tasks import Task


class ValuesOptions(OptionSet):
    """The parameters that vary, and whether earlier runs may be used."""

    params: tuple[str, ...] = option(
        "--param", metavar="NAME=VALUES", completion="param",
        help="A list 0,1,2, a range 0:1:0.1, or a logarithmic range 1:1000:x10; may be repeated.",
    )  # fmt: skip
    fresh: bool = option("--fresh", default=False, help="Run everything, also what was run before.")


class SweepOptions(ValuesOptions, PlotOptions, RunOptions, GalleryOptions, LibraryOptions):
    """Which combinations are run, and where their transcripts go."""

    sample: int | None = option(
        "--sample", default=None, within=Range(1, 1_000_000), metavar="N", help="Only N combinations, at random."
    )
    latin: int | None = option(
        "--latin", default=None, within=Range(1, 1_000_000), metavar="N",
        help="Only N combinations, a Latin hypercube: all values equally often.",
    )  # fmt: skip
    seed: int = option(
        "--seed", default=0, within=Range(0), needs=("sample", "latin"), metavar="N",
        help="Seed of the random combinations.",
    )  # fmt: skip
    output: Path | None = option(
        "-o", "--output", default=None, writes=Writes.FOLDER, metavar="FOLDER",
        help="Put a transcript of each algorithm setting there.",
    )  # fmt: skip
    force: bool = option("--force", default=False, help="Overwrite existing files; with -o, transcripts of other runs.")
    plot: Path | None = option(
        "--plot", default=None, writes=Writes.FILE, metavar="FILE.svg|png|pdf",
        help="Draw the rates over one or two parameters.",
    )  # fmt: skip
    statistic: str = option(
        "--statistic", default="rate", metavar="NAME", completion="goal",
        help="Another measure to compute and draw: tpr, precision, f1, auc, ...",
    )  # fmt: skip


def sweep(
    test: AnyTest,
    interface: object = None,
    options: SweepOptions | None = None,
    *,
    name: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> "SweepResult":
    """Run a test with every combination of the parameters' values, as `hate sweep` does: a row of counts each.

    `params` are values by name, `{"threshold": [0, 0.5, 1], "tuples": "2:8:2"}`, or what `--param` takes. A decision
    parameter, such as threshold, never runs the program again. Runs are kept in the cache and used again, except those
    of a function of your own program, whose digest does not tell everything that its answers depend on.

    The test, the interface and `name` are as for `run`. The other options are those of the command: `sample`, `latin`,
    `seed`, `output` (a folder for the transcripts), `force`, `plot` (a picture of two parameters), `fresh`, `jobs`,
    `cluster`, `timeout`, `repeat`, `limit`, `gallery`, `probe`, `libraries`.
    """
    options = SweepOptions.given(options, with_assignments(settings))
    with network(options):
        parts = find_parts(
            test,
            interface,
            note=note,
            name=name,
            libraries=options.libraries,
            selection=options,
            isolate=options.isolate,
        )
        measure = _measure(options.statistic, parts.script.task)
        grid = make_grid(parts.params, options.params)
        numbers = _numbers(grid, options)
        check_axes(grid, options)
        plan = parts.plan(options)
        refuse_blind(plan)
        planned = plan_sweep(plan, grid, numbers)
    return drawn(_run_sweep(planned, grid, options, measure, progress or NoProgress()), options)


def _measure(statistic: str, task: "Task") -> "Measure | None":
    """What to compute beside the counts; None for the rate, which they give."""
    if statistic == "rate":
        return None
    from harness.analysis.lead import parse_goal

    return parse_goal(statistic, "--statistic", task).measure


def _run_sweep(
    planned: Sweep, grid: Grid, options: SweepOptions, measure: "Measure | None", progress: Progress
) -> "SweepResult":
    folder = None if options.output is None else SweepFolder(options.output, planned, grid, force=options.force)
    if folder is not None:
        plan = planned.plans[0]
        refuse_inputs([("-o", path) for path in folder.paths], run_inputs(plan.cases.script, plan.interface))
    with run_batch(run_store(fresh=options.fresh), progress) as runs:
        runs.announce(len(planned.plans), sum(plan.total for plan in planned.plans))
        cached = runs.take_all(planned.plans)
        decided = _decide(planned, cached)
        paths = [one.path for one in cached] if folder is None else folder.write(cached)
        measured = _measured(planned, cached, measure)
    rows = [
        SweepResultRow(row.setting, *found, one)
        for row, found, one in zip(planned.rows, decided, measured, strict=True)
    ]
    names = [axis.name for axis in grid.axes]
    remarks = [*_sample_remarks(grid, planned, options), *_row_remarks(rows, names)]
    remarks += [*decision_remarks(grid, planned.plans[0]), *batch_remarks(runs, cached, planned.plans[0].cases)]
    return SweepResult(rows, paths, names, remarks, options.statistic)


Drawn = TypeVar("Drawn", bound=PictureResult)


def drawn(found: Drawn, options: PlotOptions) -> Drawn:
    """The result, drawn if a picture was asked for."""
    if options.plot is None:
        return found
    found.plot(options.plot, PictureOptions.taken_from(options), force=options.force)
    return dataclasses.replace(found, remarks=[f"picture: {options.plot}", *found.remarks])  # type: ignore[type-var]


def check_axes(grid: Grid, options: PlotOptions) -> None:
    """Refuse a picture that cannot be drawn before anything is run."""
    from harness.report.plots.canvas import check_picture
    from harness.report.plots.settings import check_swept

    if options.plot is None:
        return
    check_picture(options.plot)
    check_free(options.outputs(Writes.FILE), force=options.force)
    check_swept(_varying(grid))


def _varying(grid: Grid) -> list[str]:
    return [axis.name for axis in grid.axes if len(axis.values) > 1]


def _numbers(grid: Grid, options: SweepOptions) -> list[int]:
    if options.sample and options.latin:
        raise UsageError("--sample and --latin exclude one another")
    if options.sample:
        return random_combinations(grid, options.sample, options.seed)
    return latin_hypercube(grid, options.latin, options.seed) if options.latin else all_combinations(grid)


def _decide(planned: Sweep, cached: Sequence[CachedRun]) -> "list[tuple[Counts, DesignRate | None]]":
    """The counts of each row, and its rate by the test's design, from the answers of its run."""
    rates = _rates(planned, cached)
    script, params = planned.plans[0].cases.script, planned.plans[0].params
    param = script.task.limits(script.rules, params).param
    # A rank test may have a second decision parameter: its values are gone through, those of the first searched.
    others = [name for name in script.task.decisions if name in params and name != param]
    places: dict[tuple[int, tuple[Value, ...]], list[int]] = {}
    for place, row in enumerate(planned.rows):
        places.setdefault((row.run, tuple(row.setting[name] for name in others)), []).append(place)
    found: dict[int, tuple[Counts, DesignRate | None]] = {}
    for (run, decided), own in places.items():
        values = [planned.rows[place].setting[param] for place in own]
        answers = cached_answers(cached[run], dict(zip(others, decided, strict=True)))
        designs = rates(run, answers, values)
        found.update(zip(own, zip(answers.counts(values), designs, strict=True), strict=True))
    return [found[place] for place in range(len(planned.rows))]


def _measured(planned: Sweep, cached: Sequence[CachedRun], measure: "Measure | None") -> "list[Estimate | None]":
    """Another measure of each row than the rate, from the answers of its run."""
    if measure is None:
        return [None] * len(planned.rows)
    from harness.analysis.lead import Candidate, estimate_candidates
    from harness.analysis.run_rates import sampling_of_transcript

    script, params = planned.plans[0].cases.script, planned.plans[0].params
    param = script.task.limits(script.rules, params).param
    others = [name for name in script.task.decisions if name in params and name != param]
    found: dict[int, Estimate | None] = {}
    for run, one in enumerate(cached):
        own = [place for place, row in enumerate(planned.rows) if row.run == run]
        candidates = []
        for place in own:
            setting = planned.rows[place].setting
            candidates.append(Candidate(cached_answers(one, {name: setting[name] for name in others}), setting[param]))
        estimates = estimate_candidates(measure, candidates, sampling_of_transcript(one.path).sample)
        found.update(zip(own, estimates, strict=True))
    return [found[place] for place in range(len(planned.rows))]


Rates = Callable[[int, "AnswerLimits", Sequence[Value]], "Sequence[DesignRate | None]"]


def _rates(planned: Sweep, cached: Sequence[CachedRun]) -> Rates:
    """The rates of a run's answers by the test's design; None each where there is none."""
    if not has_design(run_header(planned.plans[0]).design) and planned.plans[0].options.repeat == 1:
        return lambda _run, _answers, values: [None] * len(values)
    from harness.analysis.run_rates import DesignRate, rates_of_answers, sampling_of_transcript

    sampling_of = cache(lambda run: sampling_of_transcript(cached[run].path))

    def rates(run: int, answers: "AnswerLimits", values: Sequence[Value]) -> "Sequence[DesignRate | None]":
        try:
            return rates_of_answers(answers, values, sampling_of(run))
        except HateError as error:
            return [DesignRate(None, None, str(error))] * len(values)

    return rates


def run_store(*, fresh: bool) -> RunStore:
    """The cache of runs on this machine."""
    return RunStore(cache_folder() / "runs", fresh)


def cached_answers(cached: CachedRun, decided: Mapping[str, Value] | None = None) -> "AnswerLimits":
    """The answers of a cached run; `decided` are the decision parameters that do not vary."""
    from harness.analysis.decisions import read_answers

    try:
        return read_answers(cached.path, decided)
    except TranscriptError as error:
        raise TranscriptError(f"{error}; --fresh runs it again") from None


def _sample_remarks(grid: Grid, planned: Sweep, options: SweepOptions) -> list[str]:
    found = []
    if len(planned.rows) < grid.size:
        how = "a Latin hypercube" if options.latin else "drawn at random"
        found.append(f"{len(planned.rows):,} of {grid.size:,} combinations, {how}, seed {options.seed}")
    if options.output is not None:
        found.append(f"transcripts: {len(planned.plans):,} in {options.output}")
    return found


def _row_remarks(rows: Sequence[SweepResultRow], swept: Sequence[str]) -> list[str]:
    failed = [row for row in rows if is_all_errors(row.counts)]
    if failed:
        setting = ", ".join(f"{name}={failed[0].params[name]}" for name in swept)
        some = f"{EVERY_CASE} in {len(failed):,} of {len(rows):,} rows, such as {setting}"
        return [EVERY_CASE if len(failed) == len(rows) else some]
    if len(rows) == 1 or len({str(row.counts) for row in rows}) > 1:
        return []
    return ["all rows are alike: these values change nothing; does the interface give scores?"]


def decision_remarks(grid: Grid, plan: Plan) -> list[str]:
    """A program that applies a decision parameter itself would have to be run again for each of its values."""
    argv = getattr(plan.interface, "argv", ())
    return [
        f"the program is given {axis.name} = {grid.defaults[axis.name]:g}, its default; "
        "the harness decides on its answers"
        for axis in grid.axes
        if axis.param.decision and any(f"{{{axis.name}}}" in word for word in argv)
    ]


def batch_remarks(runs: RunBatch, cached: Sequence[CachedRun], cases: CaseSet) -> list[str]:
    """What was run, what was known, the first error, and the first answers that are no label of the test."""
    found = []
    known = [one.path for one in cached if one.path.exists() and not one.asked]
    if runs.found:
        oldest = datetime.fromtimestamp(min(path.stat().st_mtime for path in known), UTC)
        taken = runs.found + runs.made
        what = f"{runs.found:,} of {taken:,} runs" if taken > 1 else "the run"
        found.append(f"from the cache: {what}, made {oldest:%Y-%m-%d %H:%M} UTC; --fresh runs everything again")
    error = next((one.first_error for one in cached if one.first_error is not None), None)
    if error is not None:
        found.append(f"errors; {first_error_words(error)}")
    label = next(filter(None, (one.labels.remark(cases) for one in cached if one.labels is not None)), "")
    return [*found, label] if label else found
