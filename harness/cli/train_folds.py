"""`hate run --train-folds K`: train K times, each time without another fold, and see what that changes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from harness.cli.output import chosen, design_rate, emit, psu_words, remark, tell_design
from harness.cli.progress import progress
from harness.engine.run import Plan, Result
from harness.engine.target import Output
from harness.errors import UsageError
from harness.report.counts import count_row, count_table
from harness.report.table import Format

# How an interface of a kind learns; the other kinds are never handed anything to learn from.
_LEARNING = {
    "python": "write a function train(cases, params) into its interface",
    "command": "give its [command] a train command, or {train} among its arguments",
}


def train_folds_options(command: Any) -> Any:
    """--train-folds and --train-seed."""
    for option in (
        click.option("--train-seed", type=click.IntRange(min=0), default=0, show_default=True,
                     help="With --train-folds: how the training part is dealt."),
        click.option("--train-folds", type=click.IntRange(2, 1000), metavar="K",
                     help="Train and run K times, each time without another fold of the training part."),
    ):  # fmt: skip
        command = option(command)
    return command


def run_folds(plan: Plan, output: Output, given: dict[str, Any]) -> int:
    """A run for each fold, its transcript, and the variance of training, case and run."""
    from harness.engine.folds import run_folds as run_all
    from harness.script.teaching import held_back

    _check(given)
    parts = held_back(plan.cases, given["train_folds"], given["train_seed"])
    _check_learns(plan, given["train_folds"])
    results = run_all(plan, parts, output, progress)
    _report(plan, results, chosen(given["style"]))
    return 1 if given["strict"] and any(result.counts.ER for result in results) else 0


def _check(given: dict[str, Any]) -> None:
    if given["style"] == Format.TRANSCRIPT:
        raise UsageError("--train-folds makes several transcripts; --format transcript prints one")
    if given["ids"]:
        raise UsageError("--train-folds does not go with --case, which only shows")


def _check_learns(plan: Plan, folds: int) -> None:
    interface = plan.interface
    if interface.learns:
        return
    remedy = "".join(f"{text}, or " for kind, text in _LEARNING.items() if kind == interface.kind)
    raise UsageError(
        f"--train-folds {folds}: {interface.name} ({interface.kind}) does not learn, so every fold would give the same "
        f"answers; {remedy}leave --train-folds out"
    )


def _report(plan: Plan, results: list[Result], style: Format) -> None:
    from harness.analysis.training import as_json, sentences, transcripts_training

    paths = [result.path for result in results if result.path is not None]
    found = transcripts_training(paths, plan.options.repeat)
    rows = [({"fold": number, **plan.params}, result.counts) for number, result in enumerate(results, 1)]
    designs = [design_rate(result) for result in results]
    payload = {
        "rows": [
            count_row(plan.params, counts, design) | {"fold": params["fold"]}
            for (params, counts), design in zip(rows, designs, strict=True)
        ],
        "transcripts": [str(path) for path in paths],
        "training": as_json(found),
    }
    emit(style, count_table(rows, ["fold"], designs), payload)
    tell_design(style, designs)
    for text in sentences(found, psu_words(results[0].header)):
        remark(text)
    if all(result.counts == results[0].counts for result in results) and _same_outcomes(paths):
        remark(f"all trainings have the same outcome in every case; does {plan.interface.name} learn what it is given?")
    if not any(result.asked for result in results):
        remark("nothing was left to run")
    for path in paths:
        remark(f"transcript: {path}")


def _same_outcomes(paths: Sequence[Path]) -> bool:
    """A stream program is told of the training part, and need not say whether it reads it."""
    from harness.transcript.columns import read_columns

    return len({read_columns(path).outcome.tobytes() for path in paths}) == 1
