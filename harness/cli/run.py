"""`hate run`: run a test, print the counts, leave a transcript."""

import shutil
import sys
from pathlib import Path
from typing import Any

import click

from harness.cli.options import (
    PATH,
    TABULAR,
    choice_options,
    format_option,
    interface_options,
    library_option,
    running_options,
)
from harness.cli.options import test_argument as test_arg
from harness.cli.output import chosen, design_rate, emit, psu_words, remark, tell_design
from harness.cli.plan import make_plan
from harness.cli.progress import progress
from harness.cli.train_folds import run_folds, train_folds_options
from harness.engine.run import Options, Plan, Result, run
from harness.engine.target import Output
from harness.errors import UsageError
from harness.report.counts import count_row, count_table
from harness.report.table import Format


@click.command("run")
@test_arg
@interface_options
@choice_options
@click.option("-o", "--output", type=PATH, metavar="FILE", help="The transcript; .gz packs it.")
@running_options
@click.option("--repeat", type=click.IntRange(1, 10_000), default=1, metavar="K",
              help="Ask each case K times, for algorithms that roll dice.")  # fmt: skip
@train_folds_options
@click.option("--resume", is_flag=True, help="Carry on with a run that was stopped.")
@click.option("--retry-errors", is_flag=True, help="Run again only the cases in error.")
@click.option("--force", is_flag=True, help="Overwrite an existing transcript.")
@click.option("--case", "ids", multiple=True, metavar="ID", help="Only this case, without a transcript.")
@click.option("--verbose", is_flag=True, help="With --case: everything about it.")
@click.option("--strict", is_flag=True, help="Exit status 1 when a case was in error.")
@library_option
@format_option(*TABULAR, Format.TRANSCRIPT)
def command(test: str, **given: Any) -> int:
    """Run TEST and print tests, TP, TN, FP, FN and ER (errors among them).

    TEST is a name (see `hate list`), NAME@VERSION, or the path of a script.
    """
    options = Options(given["jobs"], given["timeout"], given["repeat"], given["limit"])
    output = Output(given["output"], given["force"], given["resume"], given["retry_errors"])
    _check(given, output)
    choice = given["gallery"], given["probe"]
    plan = make_plan(test, given["libraries"], given["interface"], given["assignments"], options, choice)
    if given["ids"] and given["train_folds"] is None:
        from harness.cli.one_case import show_cases

        return show_cases(plan, given["ids"], verbose=given["verbose"])
    if given["train_folds"] is not None:
        return run_folds(plan, output, given)
    result = run(plan, output, progress())
    _report(plan, result, chosen(given["style"]))
    return 1 if given["strict"] and result.counts.ER else 0


def _check(given: dict[str, Any], output: Output) -> None:
    if sum((output.force, output.resume, output.retry_errors)) > 1:
        raise UsageError("--force, --resume and --retry-errors exclude one another")
    if given["verbose"] and not given["ids"]:
        raise UsageError("--verbose goes with --case ID")
    for name in ("output", "resume", "retry_errors", "force", "limit", "style", "strict"):
        if given["ids"] and given[name]:
            option = {"output": "-o", "style": "--format"}.get(name, f"--{name.replace('_', '-')}")
            raise UsageError(f"{option} does not go with --case, which only shows; leave one of them out")


def _report(plan: Plan, result: Result, style: Format) -> None:
    if style is Format.TRANSCRIPT:
        _copy(result.path)
        return
    design = design_rate(result)
    row = count_row(plan.params, result.counts, design)
    payload: dict[str, Any] = {"rows": [row], "transcripts": [str(result.path)]}
    remarks = []
    if plan.options.repeat > 1 and result.path is not None:
        from harness.analysis.repeats import as_json, sentence, transcript_repeats

        found = transcript_repeats(result.path, plan.options.repeat)
        payload["repeats"] = as_json(found)
        remarks.append(sentence(found, psu_words(result.header)))
    if plan.cases.gallery is not None and result.path is not None:
        remarks += _identified(plan, result.path, payload)
    emit(style, count_table([(plan.params, result.counts)], designs=[design]), payload)
    tell_design(style, [design])
    for text in remarks:
        remark(text)
    if not result.asked:
        remark("nothing was left to run")
    if result.first_error is not None:
        error = result.first_error
        remark(f"{result.counts.ER:,} errors; the first, case {error.id}: {error.error}: {error.message}")
    remark(f"transcript: {result.path}")


def _identified(plan: Plan, path: Path, payload: dict[str, Any]) -> list[str]:
    """What is said of a rank test beside its counts."""
    from harness.analysis.identifying import as_json, identification, sentences

    found = identification(path)
    payload["identification"] = as_json(found)
    choice = plan.cases.choice
    left_out = 0 if choice is None else choice.left_out
    return sentences(found) + ([f"left out: {left_out:,} probes of nobody in the gallery"] if left_out else [])


def _copy(path: Path | None) -> None:
    if path is not None:
        import gzip

        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
