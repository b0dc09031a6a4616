"""Tuning from Python: the best values of parameters, found on folds of the training part."""

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.analysis.decisions import Setting
from harness.api.progress import ProgressChoice, run_progress, show_downloads
from harness.api.result import PictureResult
from harness.api.runs import AnyTest, note
from harness.api.sweeps import (
    ValuesOptions,
    batch_cautions,
    cache_remarks,
    check_axes,
    decided_settings,
    decision_remarks,
    varying,
    with_picture,
)
from harness.engine.plan import Plan, RunOptions, RunParts, find_parts, spare_inputs
from harness.engine.progress import Progress
from harness.engine.run_cache import CachedRun, RunBatch, RunStore, run_batch
from harness.engine.sweep import Axis, Grid, ParamValues, all_combinations, make_grid, random_combinations, setting_key
from harness.errors import UsageError
from harness.options import LibraryOptions, PictureOptions, PlotOptions, Range, SeedOptions, Writes, option
from harness.params import Value, is_number, value_text
from harness.report.blocks import Block, CommandText, Paragraphs, Table
from harness.report.counts import COUNTS, count_cells, count_row, parameter_cells
from harness.script.cases import CaseSet, load_cases
from harness.script.load import load_script
from harness.site.cache import cache_folder, cached

if TYPE_CHECKING:
    from harness.analysis.tune import Tuning
    from harness.measures import Measure
    from harness.report.plots.canvas import Axes, Picture
    from harness.stats.estimate import Estimate

# Version of how folds are cached; part of their key.
SCHEME = 1
# An optimiser may ask for the same setting again; it is stopped when it has nothing new to ask.
ASKS_A_TRIAL = 5
METHODS = ("grid", "random", "optimise")


def _goal_help() -> str:
    from harness.measures import goals

    return f"What to tune for: {', '.join(goals())}, or cost:fp=10,fn=1."


class TuneOptions(ValuesOptions, SeedOptions, PlotOptions, RunOptions, LibraryOptions):
    """What to tune for, on which cases, and which combinations to try."""

    goal: str = option("--goal NAME", _goal_help, default="rate", completion="goal")
    folds: int = option(
        "--folds K",
        "Learn from K - 1 parts of the training material, be tested on the other, in turn.",
        default=5,
        within=Range(2, 100),
    )
    method: str = option(
        "--method",
        "All combinations; some at random; or where an optimiser leads (Optuna).",
        default="grid",
        choices=METHODS,
    )
    trials: int = option(
        "--trials N",
        "How many combinations to run, with random and optimise.",
        default=50,
        within=Range(1, 100_000),
        needs=("method",),
    )
    on_test: bool = option(
        "--on-test", "Tune on the test's own cases; results on them are then no longer evidence.", default=False
    )
    top: int = option("--top N", "Show the best N.", default=10, within=Range(1))
    plot: Path | None = option(
        "--plot FILE.svg|png|pdf", "Draw what was tried over one or two parameters.", default=None, writes=Writes.FILE
    )
    # Folds are made of cases that are asked once.
    repeat: int = option(default=1, within=Range(1, 1))


def tune(
    test: AnyTest,
    interface: object = None,
    *,
    options: TuneOptions,
    name: str | None = None,
    progress: ProgressChoice = None,
) -> "TuneResult":
    """Find the best values of parameters, as `hate tune` does: on folds of the training part, not on the test cases.

    >>> harness.tune("hdigits", "wisard", params={"tuples": [64, 128], "bits": "6:10:2"}, goal="f1")
    """
    from harness.analysis.tune import is_of_curve, parse_goal

    with show_downloads(progress):
        parts = find_parts(test, interface, note=note, name=name, libraries=options.libraries, isolate=options.isolate)
        goal = parse_goal(options.goal, parts.script.task)
        grid = make_grid(parts.params, options.params)
        for axis in grid.part(decision=True).axes:
            if is_of_curve(goal) and len(axis.values) > 1:
                raise UsageError(
                    f"--goal {goal.name} looks at every {axis.name} at once; leave out --param {axis.name}"
                )
        check_axes(grid, options)
        spare_inputs(options, parts.script, parts.interface)
        if options.on_test:
            bases, script = [parts.plan(options)], parts.script.name
            words = f"Tuned on the test cases of {script} themselves: they are no longer evidence for the winner."
        else:
            bases, words = _fold_plans(parts, options)
    tuning, remarks, cautions = _search(goal, grid, bases, options, run_progress(progress))
    swept = [axis.name for axis in grid.axes]
    command = _run_command(test, interface, {name: tuning.winner.params[name] for name in swept})
    result = TuneResult(tuning, swept, options, words, command, remarks, cautions)
    return with_picture(result, options)


def _search(
    goal: "Measure", grid: Grid, bases: Sequence[Plan], options: TuneOptions, progress: Progress
) -> "tuple[Tuning, list[str], list[str]]":
    """Try the settings; returns what was found, remarks, and those of them that are cautions."""
    from harness.analysis.tune import rank_settings

    isolated = [replace(base, interface=base.interface.isolated()) for base in bases]
    with run_batch(RunStore(cache_folder() / "runs", options.fresh), progress, options) as runs:
        tuner = Tuner(goal, grid, isolated, runs)
        # At most.
        size = grid.part(decision=False).size
        trials = 1 + (size if options.method == "grid" else min(size, options.trials))
        runs.announce(trials * len(bases), trials * sum(base.total for base in bases))
        default = tuner.default()
        tuner.search(options.method, options.trials, options.seed)
        tuning = rank_settings(goal, tuner.tried, tuner.values, default)
    cautions = batch_cautions(tuner.cached, bases[0].cases)
    return tuning, [*decision_remarks(grid, bases[0]), *cache_remarks(runs, tuner.cached), *cautions], cautions


def _fold_plans(parts: RunParts, options: TuneOptions) -> tuple[list[Plan], str]:
    """A plan for each fold, and what was done, in words."""
    from harness.script.folds import fold_scripts, training_material, write_folds

    whole = parts.plan(options)
    material = training_material(whole.cases)
    folds, seed = options.folds, options.seed
    named = [SCHEME, parts.script.digest, str(parts.script.folder.resolve()), folds, seed]
    key = hashlib.sha256(repr(named).encode()).hexdigest()
    folder = cached("folds", key, lambda scratch: write_folds(material, folds, seed, scratch))
    scripts = [load_script(path) for path in fold_scripts(folder, folds)]
    plans = [
        Plan(load_cases(script, {}), parts.interface, whole.params, options, data_of=whole.cases) for script in scripts
    ]
    claims = ", a false claim drawn at random beside each true one" if material.makes_claims else ""
    words = f"Tuned on {folds} folds of the {len(material.items):,} training cases of {parts.script.name}{claims}"
    return plans, f"{words}; its test cases were not used."


def _run_command(test: AnyTest, interface: object, params: dict[str, Value]) -> str | None:
    """The command line that runs the test with these values; None where the algorithm is an object of the caller."""
    if interface is not None and not isinstance(interface, str):
        return None
    words = ["hate", "run", str(test.script.path) if isinstance(test, CaseSet) else str(test)]
    words += ["--interface", interface] if interface is not None else []
    for name, value in params.items():
        words += ["--param", f"{name}={value_text(value)}"]
    return shlex.join(words)


@dataclass(frozen=True, repr=False)
class TuneResult(PictureResult):
    """What tuning found: the best setting, the default, and whether the lead is more than noise."""

    tuning: "Tuning"
    # The parameters that vary.
    swept: Sequence[str]
    options: TuneOptions
    # What the settings were tried on, in words.
    tried_on: str
    # Runs the winner; None where no command line can.
    command: str | None
    remarks: Sequence[str] = ()
    cautions: Sequence[str] = ()

    @property
    def params(self) -> dict[str, Value]:
        """The best values of the parameters that vary."""
        return {name: self.tuning.winner.params[name] for name in self.swept}

    def payload(self) -> dict[str, Any]:
        from harness.analysis.sampling import estimate_json

        tuning, options, lead = self.tuning, self.options, self.tuning.lead
        best_and_default = ((tuning.winner, lead.winner), (tuning.settings[tuning.default], lead.default))
        winner, default = (
            {"params": setting.params, **estimate_json(estimate, "se", "interval", value="value")}
            for setting, estimate in best_and_default
        )
        ahead = {
            **estimate_json(lead.estimate, "se", "interval", "p_value"),
            "p_chosen": lead.p_chosen,
            "candidates": lead.candidates,
            "n_sf": lead.n_sf,
            "n_fs": lead.n_fs,
            "p_exact": lead.p_exact,
            "within_noise": lead.within_noise,
        }
        return {
            "goal": tuning.goal.name,
            "winner": winner,
            "default": default,
            "lead": None if tuning.default_wins else ahead,
            "strata": tuning.sampling.sample.strata,
            "units": tuning.sampling.sample.units,
            "transcripts": [str(path) for path in tuning.winner.transcripts],
            "method": options.method,
            "on": "test" if options.on_test else "folds",
            "folds": None if options.on_test else options.folds,
            "seed": options.seed,
            "command": self.command,
            "rows": [
                {**count_row(setting.params, setting.counts), "value": value}
                for setting, value in zip(tuning.settings, tuning.values, strict=True)
            ],
        }

    @property
    def has_picture(self) -> bool:
        return 1 <= len(varying(self.swept, self.tuning.settings)) <= 2

    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> "Picture":
        """What was tried, over the parameters that vary."""
        from harness.analysis.settings import measured
        from harness.report.plots.settings import ON_TEST, SettingsChart, SettingValue, plot_settings

        tuning, measure = self.tuning, self.tuning.goal
        swept = varying(self.swept, tuning.settings)
        estimates: list[Estimate | None] = [None] * len(tuning.settings)
        if len(swept) == 1:
            estimates, _ = measured(measure, tuning.settings)
        settings = [
            SettingValue(setting.params, value, None if estimate is None else estimate.interval)
            for setting, value, estimate in zip(tuning.settings, tuning.values, estimates, strict=True)
        ]
        note = ON_TEST if self.options.on_test else f"On {self.options.folds} folds of the training part."
        chart = SettingsChart(settings, swept, measure.words, measure.larger_is_better is not False, note)
        return plot_settings(chart, options, ax)

    def blocks(self) -> Sequence[Block]:
        """The best settings, and what to make of them."""
        from harness.report.tuning import tuning_blocks

        doubtful = self.tuning.lead.within_noise and not self.tuning.default_wins
        advice = "Keep the default; to run the best of these all the same" if doubtful else "Run it"
        command = [CommandText(f"{advice}: {self.command}")] if self.command is not None else []
        return [*tuning_blocks(self.tuning, self.swept, self.options.top), Paragraphs([self.tried_on, *command])]

    def table(self) -> Table:
        """A row for each setting that was tried, the best first."""
        tuning = self.tuning
        params = parameter_cells([setting.params for setting in tuning.settings], self.swept)
        rows = [
            [*params[index], tuning.values[index], *count_cells(tuning.settings[index].counts)]
            for index in tuning.ranking
        ]
        return Table([*self.swept, "value", *COUNTS], rows)


@dataclass
class Tuner:
    """Tries settings on the folds, each once, and tells the search what they came to."""

    goal: "Measure"
    grid: Grid
    bases: Sequence[Plan]
    runs: RunBatch
    tried: list[Setting] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    cached: list[CachedRun] = field(default_factory=list)
    # The best value of an algorithm setting over all decisions.
    _known: dict[tuple[object, ...], float] = field(default_factory=dict)

    def default(self) -> int:
        """Try the default, which everything is compared with; parameters of one value have that. Returns its index."""
        decisions = [axis.name for axis in self.grid.part(decision=True).axes]
        params = {**self.grid.defaults, **{axis.name: self._default_value(axis) for axis in self.grid.axes}}
        run = {**params, **{name: self.grid.defaults[name] for name in decisions}}
        self.attempt(run)
        for index, setting in enumerate(self.tried):
            if all(setting.params[name] == params[name] for name in decisions):
                return index
        self._decide(self.cached, [params])
        return len(self.tried) - 1

    def _default_value(self, axis: Axis) -> Value:
        """As it is among the values of the axis, whose numbers are all of one type if the parameter has one."""
        index = 0 if len(axis.values) == 1 else axis.index(self.grid.defaults[axis.name])
        return self.grid.defaults[axis.name] if index is None else axis.values[index]

    def attempt(self, setting: ParamValues) -> float:
        """The best value of an algorithm setting over all decisions, which need no further run."""
        key = setting_key(setting)
        if key not in self._known:
            taken = self.runs.take_all([replace(base, params=setting) for base in self.bases])
            self.cached += taken
            script = self.bases[0].cases.script
            searched = script.task.limits(script.rules, setting).param
            axes = sorted(self.grid.part(decision=True).axes, key=lambda axis: axis.name == searched)
            decisions = Grid({}, tuple(axes))
            values = self._decide(taken, [{**setting, **decisions.at(n)} for n in all_combinations(decisions)])
            self._known[key] = (max if self.goal.larger_is_better else min)(values)
        return self._known[key]

    def _decide(self, taken: Sequence[CachedRun], params: Sequence[ParamValues]) -> list[float]:
        """Add settings that are decided on the same answers; returns their values."""
        from harness.analysis.tune import goal_values

        settings = decided_settings(self.bases[0], taken, params)
        values = goal_values(self.goal, settings)
        self.tried += settings
        self.values += values
        return values

    def search(self, method: str, trials: int, seed: int) -> None:
        """Go through the grid, a random part of it, or where an optimiser leads."""
        grid = self.grid.part(decision=False)
        if method == "optimise" and trials < grid.size:
            self._optimise(grid, trials, seed)
            return
        for number in all_combinations(grid) if method == "grid" else random_combinations(grid, trials, seed):
            self.attempt(grid.at(number))

    def _optimise(self, grid: Grid, trials: int, seed: int) -> None:
        from harness.analysis.tune import Optimiser, SearchDimension

        dimensions = [
            SearchDimension(axis.name, len(axis.values), all(map(is_number, axis.values))) for axis in grid.axes
        ]
        # An optimiser should know what is known already: the default, if it is on the grid.
        default = [axis.index(grid.defaults[axis.name]) for axis in grid.axes]
        first = tuple(index for index in default if index is not None)
        optimiser = Optimiser(
            dimensions,
            maximise=self.goal.larger_is_better is True,
            seed=seed,
            first=first if len(first) == len(default) else None,
        )
        known = len(self._known)
        for _ in range(trials * ASKS_A_TRIAL):
            optimiser.tell(self.attempt(grid.at(grid.number(optimiser.ask()))))
            if len(self._known) - known >= trials:
                break
