"""Sweeps from Python: a test with every combination of the parameters' values, and the transcripts of the runs."""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from harness.analysis.decisions import AnswerLimits, Setting, pool_answers, read_answers, write_decided
from harness.api.progress import ProgressChoice, run_progress, show_downloads
from harness.api.result import PictureResult
from harness.api.runs import EVERY_CASE, AnyTest, first_error_remark, is_all_errors, note
from harness.engine.header import run_header
from harness.engine.plan import Plan, RunOptions, find_parts, run_inputs
from harness.engine.progress import Progress
from harness.engine.run import refuse_blind
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
from harness.engine.tallies import has_design
from harness.errors import HateError, OutputError, TranscriptError, UsageError
from harness.files.outputs import check_free, refuse_inputs
from harness.interface.process import ProgramInterface
from harness.model import Counts
from harness.options import (
    GalleryOptions,
    LibraryOptions,
    OptionSet,
    PictureOptions,
    PlotOptions,
    Range,
    Writes,
    assignments,
    option,
)
from harness.params import Value, value_texts
from harness.report.blocks import Block, Table
from harness.report.counts import (
    CountRow,
    count_row,
    count_table,
    design_remarks,
    design_value,
    rate_interval,
    tidy_table,
)
from harness.report.formats import Format
from harness.report.numbers import estimate_cells
from harness.script.cases import CaseSet
from harness.site.cache import cache_folder
from harness.transcript.format import differences
from harness.transcript.read import open_transcript

if TYPE_CHECKING:
    from harness.analysis.rate_errors import DesignRate
    from harness.measures import Measure
    from harness.report.plots.canvas import Axes, Picture
    from harness.stats.estimate import Estimate

MAX_NAME_LENGTH = 150


class ValuesOptions(OptionSet):
    """The parameters that vary, and whether earlier runs may be used."""

    params: tuple[str, ...] = option(
        "--param NAME=VALUES",
        "A list 0,1,2, a range 0:1:0.1, or a logarithmic range 1:1000:x10; may be repeated.",
        completion="param",
        from_python=assignments,
    )
    fresh: bool = option("--fresh", "Run everything, also what was run before.", default=False)


class SweepOptions(ValuesOptions, PlotOptions, RunOptions, GalleryOptions, LibraryOptions):
    """Which combinations are run, and where their transcripts go."""

    sample: int | None = option(
        "--sample N", "Only N combinations, at random.", default=None, within=Range(1, 1_000_000)
    )
    latin: int | None = option(
        "--latin N",
        "Only N combinations, a Latin hypercube: all values equally often.",
        default=None,
        within=Range(1, 1_000_000),
    )
    seed: int = option(
        "--seed N", "Seed of the random combinations.", default=0, within=Range(0), needs=("sample", "latin")
    )
    output: Path | None = option(
        "-o, --output FOLDER",
        "Put a transcript of each algorithm setting into this folder.",
        default=None,
        writes=Writes.FOLDER,
    )
    force: bool = option("--force", "Overwrite existing files; with -o, transcripts of other runs.", default=False)
    plot: Path | None = option(
        "--plot FILE.svg|png|pdf", "Draw the rates over one or two parameters.", default=None, writes=Writes.FILE
    )
    statistic: str = option(
        "--statistic NAME",
        "Another measure to compute and draw: tpr, precision, f1, auc, ...",
        default="rate",
        completion="measure",
    )


@dataclass(frozen=True)
class SweepResultRow:
    """One combination of parameter values: the counts, and the rate by the test's design where it has one."""

    params: Mapping[str, Value]
    counts: Counts
    design: "DesignRate | None" = None
    # Another measure, if one was asked for and has a value.
    measured: "Estimate | None" = None


@dataclass(frozen=True, repr=False)
class SweepResult(PictureResult):
    """What a sweep came to: a row for each combination, and the transcripts of its runs."""

    rows: Sequence[SweepResultRow]
    paths: Sequence[Path]
    # The parameters that vary.
    swept: Sequence[str]
    remarks: Sequence[str] = ()
    cautions: Sequence[str] = ()
    # What was computed beside the counts, if anything was.
    measure: "Measure | None" = None

    @property
    def all_errors(self) -> bool:
        """Whether every case of a row was an error."""
        return any(is_all_errors(row.counts) for row in self.rows)

    def payload(self) -> dict[str, Any]:
        return {"rows": [self._row_json(row) for row in self.rows], "transcripts": [str(path) for path in self.paths]}

    def _row_json(self, row: SweepResultRow) -> dict[str, Any]:
        record = count_row(row.params, row.counts, row.design)
        if self.measure is None:
            return record
        from harness.analysis.sampling import estimate_json

        measured = None if row.measured is None else estimate_json(row.measured, "se", "interval", value="value")
        return {**record, "measure": None if measured is None else {"name": self.measure.name, **measured}}

    @property
    def has_picture(self) -> bool:
        return 1 <= len(varying(self.swept, self.rows)) <= 2

    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> "Picture":
        """The rates, or the other measure, over the parameters that vary."""
        from harness.measures import MEASURES
        from harness.report.plots.settings import ON_TEST, SettingsChart, SettingValue, plot_settings

        measure, settings = self.measure or MEASURES["rate"], []
        for row in self.rows:
            value, interval = design_value(row.counts, row.design), rate_interval(row.counts, row.design)
            if self.measure is not None:
                value, interval = (
                    (math.nan, None) if row.measured is None else (row.measured.value, row.measured.interval)
                )
            settings.append(SettingValue(row.params, value, interval))
        swept = varying(self.swept, self.rows)
        chart = SettingsChart(settings, swept, measure.words, measure.larger_is_better is not False, ON_TEST)
        return plot_settings(chart, options, ax)

    def blocks(self) -> Sequence[Block]:
        return [self._beside(count_table(*self._rows()), ("", " 95 %"))]

    def table(self) -> Table:
        """A row for each combination."""
        return self._beside(tidy_table(*self._rows()), ("", "_low", "_high"))

    def _beside(self, table: Table, ends: Sequence[str]) -> Table:
        """The table with the other measure, if there is one: its value, and its interval in words or as two numbers."""
        if self.measure is None:
            return table
        rows = []
        for row, combination in zip(table.rows, self.rows, strict=True):
            value, limits = estimate_cells(combination.measured)
            rows.append([*row, value, *([limits] if len(ends) == 2 else [limits.low, limits.high])])
        columns = [*table.columns, *(f"{self.measure.name}{end}" for end in ends)]
        return dataclasses.replace(table, columns=columns, rows=rows)

    def _rows(self) -> "tuple[list[CountRow], Sequence[str], list[DesignRate | None]]":
        return [(row.params, row.counts) for row in self.rows], self.swept, [row.design for row in self.rows]

    def remarks_in(self, style: Format) -> Sequence[str]:
        return [*design_remarks(style, [row.design for row in self.rows]), *self.remarks]


def sweep(
    test: AnyTest,
    interface: object = None,
    *,
    options: SweepOptions,
    name: str | None = None,
    progress: ProgressChoice = None,
) -> SweepResult:
    """Run a test with every combination of the parameters' values, as `hate sweep` does: a row of counts each.

    >>> harness.sweep("hdigits", "wisard", params={"threshold": [0, 10, 20], "tuples": "64:128:32"})

    A decision parameter, such as threshold, never runs the program again. Runs are kept in the cache and used again,
    except those of a function of your own program, whose digest does not tell everything that its answers depend on.
    """
    with show_downloads(progress):
        parts = find_parts(
            test,
            interface,
            note=note,
            name=name,
            libraries=options.libraries,
            selection=options,
            isolate=options.isolate,
        )
        measure = None
        if options.statistic != "rate":
            from harness.analysis.settings import measure_of_settings

            task = parts.script.task
            measure = measure_of_settings(options.statistic, "--statistic", task, repeat=options.repeat)
        grid = make_grid(parts.params, options.params)
        if options.sample and options.latin:
            raise UsageError("--sample and --latin exclude one another")
        if options.sample:
            numbers = random_combinations(grid, options.sample, options.seed)
        elif options.latin:
            numbers = latin_hypercube(grid, options.latin, options.seed)
        else:
            numbers = all_combinations(grid)
        check_axes(grid, options)
        plan = parts.plan(options)
        refuse_blind(plan)
        planned = plan_sweep(plan, grid, numbers)
    return with_picture(_run_sweep(planned, grid, options, measure, run_progress(progress)), options)


def _run_sweep(
    planned: Sweep, grid: Grid, options: SweepOptions, measure: "Measure | None", progress: Progress
) -> SweepResult:
    folder = None if options.output is None else SweepFolder(options.output, planned, grid, force=options.force)
    if folder is not None:
        plan = planned.plans[0]
        refuse_inputs([("-o", path) for path in folder.paths], run_inputs(plan.cases.script, plan.interface))
    with run_batch(RunStore(cache_folder() / "runs", options.fresh), progress, options) as runs:
        runs.announce(len(planned.plans), sum(plan.total for plan in planned.plans))
        cached = runs.take_all(planned.plans)
        settings = _row_settings(planned, cached)
        designs = _designs(planned.plans[0], settings)
        paths = [run.path for run in cached] if folder is None else folder.write(cached)
        measured: Sequence[Estimate | None] = [None] * len(settings)
        if measure is not None:
            from harness.analysis.settings import measured as measured_settings

            measured, _ = measured_settings(measure, settings)
    rows = [
        SweepResultRow(setting.params, setting.counts, design, estimate)
        for setting, design, estimate in zip(settings, designs, measured, strict=True)
    ]
    names = [axis.name for axis in grid.axes]
    remarks = []
    if len(rows) < grid.size:
        how = "a Latin hypercube" if options.latin else "drawn at random"
        remarks.append(f"{len(rows):,} of {grid.size:,} combinations, {how}, seed {options.seed}")
    if options.output is not None:
        remarks.append(f"transcripts: {len(planned.plans):,} in {options.output}")
    alike = _row_remarks(rows, names)
    remarks += alike
    if measure is not None and not any(measured):
        remarks.append(measure.absence([planned.plans[0].interface.name]).removesuffix("."))
    wrong = batch_cautions(cached, planned.plans[0].cases)
    remarks += [*decision_remarks(grid, planned.plans[0]), *cache_remarks(runs, cached), *wrong]
    return SweepResult(rows, paths, names, remarks, [*alike, *wrong], measure)


def _row_settings(planned: Sweep, cached: Sequence[CachedRun]) -> list[Setting]:
    """Every row, with the answers of its run."""
    rows_of_run: dict[int, list[int]] = {}
    for number, row in enumerate(planned.rows):
        rows_of_run.setdefault(row.run, []).append(number)
    settings: dict[int, Setting] = {}
    for run, rows in rows_of_run.items():
        params = [planned.rows[number].setting for number in rows]
        settings.update(zip(rows, decided_settings(planned.plans[run], [cached[run]], params), strict=True))
    return [settings[number] for number in range(len(planned.rows))]


def decided_settings(plan: Plan, parts: Sequence[CachedRun], params: Sequence[Mapping[str, Value]]) -> list[Setting]:
    """Settings that differ in decision parameters only, with the answers of their run, or of the parts of one.

    A task may have a second decision parameter: its values are gone through, those of the first searched.
    """
    script = plan.cases.script
    param = script.task.limits(script.rules, plan.params).param
    others = [name for name in script.task.decisions if name in plan.params and name != param]
    known: dict[tuple[Value, ...], AnswerLimits] = {}
    settings = []
    for values in params:
        key = tuple(values[name] for name in others)
        if key not in known:
            try:
                fixed = dict(zip(others, key, strict=True))
                known[key] = pool_answers([read_answers(part.path, fixed) for part in parts])
            except TranscriptError as error:
                raise TranscriptError(f"{error}; --fresh runs it again") from None
        settings.append(Setting(values, tuple(part.path for part in parts), known[key]))
    return settings


def _designs(plan: Plan, settings: Sequence[Setting]) -> "Sequence[DesignRate | None]":
    """The rates by the test's design; None each where there is none."""
    if not has_design(run_header(plan).design) and plan.options.repeat == 1:
        return [None] * len(settings)
    from harness.analysis.rate_errors import DesignRate
    from harness.analysis.settings import measured
    from harness.measures import MEASURES

    try:
        estimates, sampling = measured(MEASURES["rate"], settings, lean=True)
    except HateError as error:
        return [DesignRate(None, None, str(error).removeprefix("--statistic rate: "))] * len(settings)
    return [DesignRate(estimate, sampling) for estimate in estimates]


def varying(swept: Sequence[str], settings: Sequence[SweepResultRow | Setting]) -> list[str]:
    """The parameters of which the settings have several values: a picture is drawn over these."""
    return [name for name in swept if len({repr(setting.params[name]) for setting in settings}) > 1]


Pictured = TypeVar("Pictured", bound=PictureResult)


def with_picture(result: Pictured, options: PlotOptions) -> Pictured:
    """The result, drawn if a picture was asked for."""
    if options.plot is None:
        return result
    result.make_picture(options).save(options.plot, force=options.force)
    return dataclasses.replace(result, remarks=[f"picture: {options.plot}", *result.remarks])  # type: ignore[type-var]


def check_axes(grid: Grid, options: PlotOptions) -> None:
    """Refuse a picture that cannot be drawn before anything is run."""
    from harness.report.plots.canvas import check_picture
    from harness.report.plots.settings import check_swept

    if options.plot is None:
        return
    check_picture(options.plot)
    check_free(options.outputs(Writes.FILE), force=options.force)
    check_swept([axis.name for axis in grid.axes if len(axis.values) > 1])


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
    argv = plan.interface.argv if isinstance(plan.interface, ProgramInterface) else ()
    return [
        f"the program is given {axis.name} = {grid.defaults[axis.name]:g}, its default; "
        "the harness decides on its answers"
        for axis in grid.axes
        if axis.param.decision and any(f"{{{axis.name}}}" in word for word in argv)
    ]


def cache_remarks(runs: RunBatch, cached: Sequence[CachedRun]) -> list[str]:
    """What was run, and what was known."""
    if not runs.cached:
        return []
    known = [run.path for run in cached if run.path.exists() and not run.asked]
    oldest = datetime.fromtimestamp(min(path.stat().st_mtime for path in known), UTC)
    taken = runs.cached + runs.made
    what = f"{runs.cached:,} of {taken:,} runs" if taken > 1 else "the run"
    return [f"from the cache: {what}, made {oldest:%Y-%m-%d %H:%M} UTC; --fresh runs everything again"]


def batch_cautions(cached: Sequence[CachedRun], cases: CaseSet) -> list[str]:
    """The first error, and the first answers that are no label of the test."""
    error = next((run.first_error for run in cached if run.first_error is not None), None)
    failed = [] if error is None else [first_error_remark("errors", error)]
    label = next(filter(None, (run.labels.remark(cases) for run in cached if run.labels is not None)), "")
    return [*failed, label] if label else failed


class SweepFolder:
    """The folder for the transcripts of a sweep; that each has a place there is checked before anything is run."""

    def __init__(self, folder: Path, planned: Sweep, grid: Grid, *, force: bool) -> None:
        swept = [axis.name for axis in grid.part(decision=False).axes]
        # A decision parameter of one value has it in the transcripts too; one of several has its default there.
        decided = {axis.name: axis.values[0] for axis in grid.part(decision=True).axes if len(axis.values) == 1}
        names = file_names(planned.plans[0].interface.name, [plan.params for plan in planned.plans], swept)
        self.paths = [folder / name for name in names]
        self._headers = [replace(run_header(plan), params={**plan.params, **decided}) for plan in planned.plans]
        if not force:
            for path, header in zip(self.paths, self._headers, strict=True):
                if path.exists():
                    with open_transcript(path) as reader:
                        differing = differences(header, reader.header)
                    if differing:
                        text = f"exists, of another run: {'; '.join(differing)}; --force overwrites it"
                        raise OutputError(f"{path}: {text}")

    def write(self, cached: Sequence[CachedRun]) -> list[Path]:
        """Put them there, each with its outcomes as its parameters decide."""
        for run, path, header in zip(cached, self.paths, self._headers, strict=True):
            write_decided([run.path], path, header)
        return self.paths


def file_names(algorithm: str, settings: Sequence[Mapping[str, Value]], swept: Sequence[str]) -> list[str]:
    """ALGORITHM,tuples=64,bits=8.jsonl for each setting; never the same name twice."""
    names: dict[str, None] = {}
    texts = {name: value_texts([setting[name] for setting in settings]) for name in swept}
    for row in range(len(settings)):
        words = [algorithm, *(f"{name}={texts[name][row]}" for name in swept)]
        stem = re.sub(r"[^A-Za-z0-9._=,+-]+", "_", ",".join(words)).strip("._-,")[:MAX_NAME_LENGTH] or "run"
        number, name = 1, f"{stem}.jsonl"
        while name in names:
            number += 1
            name = f"{stem}-{number}.jsonl"
        names[name] = None
    return list(names)
