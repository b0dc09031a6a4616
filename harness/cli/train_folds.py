"""`hate run --train-folds K`: train K times, each time without another fold, and see what that changes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from harness.cli.output import chosen, emit, remark
from harness.cli.progress import progress
from harness.engine.run import Plan, Result, run
from harness.engine.target import Output
from harness.errors import UsageError
from harness.report.counts import count_row, count_table
from harness.report.table import Format


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
    _check(output, given)
    from harness.script.teaching import held_back

    results = []
    for part in held_back(plan.cases, given["train_folds"], given["train_seed"]):
        place = replace(output, path=None if output.path is None else _named(output.path, part.fold))
        results.append(run(replace(plan, held_back=part), place, progress()))
    _report(plan, results, chosen(given["style"]))
    return 1 if given["strict"] and any(result.counts.ER for result in results) else 0


def _check(output: Output, given: dict[str, Any]) -> None:
    if output.resume or output.retry_errors:
        raise UsageError("--train-folds makes several transcripts; --resume and --retry-errors carry on with one")
    if given["style"] == Format.TRANSCRIPT:
        raise UsageError("--train-folds makes several transcripts; --format transcript prints one")
    if given["ids"]:
        raise UsageError("--train-folds does not go with --case, which only shows")


def _named(path: Path, fold: int) -> Path:
    """FILE-fold-1.jsonl for FILE.jsonl."""
    stem, dot, suffixes = path.name.partition(".")
    return path.with_name(f"{stem}-fold-{fold}{dot}{suffixes}")


def _report(plan: Plan, results: list[Result], style: Format) -> None:
    from harness.analysis.training import as_json, sentences, transcripts_training

    paths = [result.path for result in results if result.path is not None]
    found = transcripts_training(paths, plan.options.repeat)
    rows = [({"fold": number, **plan.params}, result.counts) for number, result in enumerate(results, 1)]
    payload = {
        "rows": [count_row(plan.params, counts) | {"fold": params["fold"]} for params, counts in rows],
        "transcripts": [str(path) for path in paths],
        "training": as_json(found),
    }
    emit(style, count_table(rows, ["fold"]), payload)
    for text in sentences(found):
        remark(text)
    for path in paths:
        remark(f"transcript: {path}")
