"""`hate tune`: which values of the parameters are best, found without looking at the test cases."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from harness.cli.compare_options import complete_goal
from harness.cli.keeping import shown
from harness.cli.options import TABULAR, format_option, interface_option, library_option, running_options
from harness.cli.options import test_argument as test_arg
from harness.cli.output import chosen, emit_document
from harness.cli.plan import Parts, load_parts
from harness.cli.progress import progress
from harness.cli.sweeping import fresh_option, run_store, seed_option, tell_decided, tell_runs, values_option
from harness.engine.campaign import campaign
from harness.engine.run import Options, Plan
from harness.engine.settings import Grid, make_grid
from harness.errors import UsageError
from harness.measures import goals
from harness.params import Value
from harness.script.cases import load_cases
from harness.script.load import load_script

if TYPE_CHECKING:
    from harness.analysis.tuning.goals import Goal

SCHEME = 1


@click.command("tune")
@test_arg
@interface_option
@values_option
@click.option("--goal", default="rate", show_default=True, metavar="NAME", shell_complete=complete_goal,
              help=f"What to tune for: {', '.join(goals())}, or cost:fp=10,fn=1.")  # fmt: skip
@click.option("--folds", type=click.IntRange(2, 100), default=5, show_default=True, metavar="K",
              help="Learn from K - 1 parts of the training material, be tested on the other, in turn.")  # fmt: skip
@click.option("--method", type=click.Choice(["grid", "random", "optimise"]), default="grid", show_default=True,
              help="All combinations; some at random; or where an optimiser leads (Optuna).")  # fmt: skip
@click.option("--trials", type=click.IntRange(1, 100_000), default=50, show_default=True, metavar="N",
              help="How many combinations to run, with random and optimise.")  # fmt: skip
@click.option("--on-test", is_flag=True, help="Tune on the test's own cases; results on them are then no evidence.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Show the best N.")
@seed_option
@running_options
@fresh_option
@library_option
@format_option(*TABULAR)
def command(test: str, **given: Any) -> None:
    """Find the best values of parameters for TEST, on folds of its training part: its test cases are not used.

    Values of a decision parameter, such as threshold, cost nothing. Runs are kept, as by `hate sweep`.
    """
    from harness.analysis.tuning.goals import parse_goal

    goal = parse_goal(given["goal"])
    parts = load_parts(test, given["libraries"], given["interface"])
    grid = make_grid(parts.params, given["assignments"])
    _check_goal(goal, grid)
    options = Options(given["jobs"], given["timeout"], 1, given["limit"])
    bases, words = _on_test(parts, options) if given["on_test"] else _on_folds(parts, options, given)
    _tune(test, grid, goal, bases, words, given)


def _check_goal(goal: "Goal", grid: Grid) -> None:
    for axis in grid.part(decision=True).axes:
        if goal.of_curve and len(axis.values) > 1:
            raise UsageError(f"--goal {goal.name} looks at every {axis.name} at once; leave out --param {axis.name}")


def _on_test(parts: Parts, options: Options) -> tuple[list[Plan], str]:
    words = (
        f"Tuned on the test cases of {parts.script.name} themselves: what they now say of the winner is no evidence."
    )
    return [parts.plan(options)], words


def _on_folds(parts: Parts, options: Options, given: dict[str, Any]) -> tuple[list[Plan], str]:
    """A plan for each fold, and what was done, in words."""
    import hashlib

    from harness.script.folds import fold_scripts, training_material, write_folds
    from harness.site.cache import cached

    whole = parts.plan(options)
    material = training_material(whole.cases)
    folds, seed = given["folds"], given["seed"]
    named = [SCHEME, parts.script.digest, str(parts.script.folder.resolve()), folds, seed]
    key = hashlib.sha256(repr(named).encode()).hexdigest()
    folder = cached("folds", key, lambda scratch: write_folds(material, folds, seed, scratch))
    scripts = [load_script(path) for path in fold_scripts(folder, folds)]
    plans = [Plan(load_cases(script, {}), parts.interface, whole.params, options) for script in scripts]
    claims = ", a false claim drawn at random beside each true one" if material.makes_claims else ""
    words = f"Tuned on {folds} folds of the {len(material.items):,} training cases of {parts.script.name}{claims}"
    return plans, f"{words}; its test cases were not used."


def _tune(test: str, grid: Grid, goal: "Goal", bases: Sequence[Plan], words: str, given: dict[str, Any]) -> None:
    from dataclasses import replace

    from harness.analysis.tuning.tuned import as_json, judge
    from harness.cli.tuning import Tuner
    from harness.report.counts import count_row
    from harness.report.document import Lines
    from harness.report.tuning import tuning_blocks

    script = bases[0].cases.script
    decision = script.task.limits(script.rules, bases[0].params).param
    isolated = [replace(base, interface=base.interface.isolated()) for base in bases]
    with campaign(run_store(fresh=given["fresh"]), progress()) as runs:
        tuner = Tuner(goal, grid, isolated, runs, decision)
        tuner.announce(given["method"], given["trials"])
        default = tuner.default()
        tuner.search(given["method"], given["trials"], given["seed"])
        found = judge(goal, tuner.tried, default)
    swept = [axis.name for axis in grid.axes]
    command_line = run_command(test, given["interface"], {name: found.winner.params[name] for name in swept})
    payload = {
        **as_json(found),
        "method": given["method"],
        "on": "test" if given["on_test"] else "folds",
        "folds": None if given["on_test"] else given["folds"],
        "seed": given["seed"],
        "command": command_line,
        "rows": [{**count_row(one.params, one.counts), "value": one.value} for one in found.tried],
    }
    blocks = [*tuning_blocks(found, swept, given["top"]), Lines([words, f"Run it: {command_line}"])]
    emit_document(chosen(given["style"]), blocks, payload)
    tell_decided(grid, bases[0])
    tell_runs(runs, tuner.kept)


def run_command(test: str, interface: str | None, params: dict[str, Value]) -> str:
    """The command line that runs the test with these values."""
    words = ["hate", "run", test, *(["--interface", interface] if interface is not None else [])]
    for name, value in params.items():
        words += ["--param", f"{name}={shown(value)}"]
    return shlex.join(words)
