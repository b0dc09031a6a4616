"""`hate run`: run a test, print the counts, leave a transcript."""

import difflib
import shutil
import sys
from pathlib import Path

import click

from harness.api.progress import run_progress
from harness.api.runs import RunCallOptions, TrainFoldsOptions, failure_remarks, finish_run, make_plan
from harness.cli.options import TABULAR, FormatOptions, command_options, named_test
from harness.cli.output import emit_result, remark
from harness.engine.plan import Plan
from harness.engine.run import ask, run
from harness.errors import UsageError
from harness.options import InterfaceOptions, declared_options, option
from harness.report.formats import Format
from harness.report.run_sentences import trial_details, trial_line
from harness.report.text import json_text
from harness.transcript.storage import open_lines

# How many ids are looked through for one that is like a misspelt one.
MAX_COMPARED = 10_000


class RunCommandOptions(InterfaceOptions, RunCallOptions, TrainFoldsOptions, FormatOptions):
    """Options of `hate run`."""

    case: tuple[str, ...] = option(
        "--case ID", "Run only this case, without a transcript; may be repeated.", default=()
    )
    verbose: bool = option("--verbose", "With --case: show everything about it.", default=False)
    strict: bool = option("--strict", "Exit status 1 when a case was in error, not only when all were.", default=False)
    style: str | None = option(
        "--format",
        "How to print; by default a table on a terminal and plain columns elsewhere.",
        default=None,
        choices=map(str, (*TABULAR, Format.TRANSCRIPT)),
    )


@click.command("run")
@named_test
@command_options(RunCommandOptions)
def run_command(test: str, options: RunCommandOptions) -> int:
    """Run TEST and print tests, TP, TN, FP, FN and ER (errors among them).

    TEST is a name (see `hate list`), NAME@VERSION, or the path of a script.

    \b
    hate run hdigits --interface wisard
    hate run hdigits --param threshold=10 -j 4 -o mine.jsonl
    """
    target = options.target
    _check(options)
    plan = make_plan(test, options.interface, options)
    if options.case:
        return _show_cases(plan, set(options.case), verbose=options.verbose)
    if options.train_folds is not None:
        from harness.api.train_folds import train_on_folds

        folds = train_on_folds(plan, target, folds=options.train_folds, seed=options.train_seed)
        emit_result(folds, options.style)
        errors = options.strict and any(fold.counts.ER for fold in folds.runs)
        return 1 if errors or any(fold.all_errors for fold in folds.runs) else 0
    finished = run(plan, target, run_progress())
    result = finish_run(plan, finished)
    if options.style == Format.TRANSCRIPT and finished.path is not None:
        _copy(finished.path)
        for text in failure_remarks(plan, finished):
            remark(text)
    else:
        emit_result(result, options.style)
    return 1 if result.all_errors or (options.strict and finished.counts.ER) else 0


# Of transcripts and of printing counts; with --case, there are neither.
_NOT_WITH_CASE = (
    "output",
    "resume",
    "retry_errors",
    "force",
    "limit",
    "style",
    "strict",
    "stop_when",
    "lower",
    "higher",
)


def _check(options: RunCommandOptions) -> None:
    if options.train_folds is not None and options.style == Format.TRANSCRIPT:
        raise UsageError("--train-folds makes several transcripts; --format transcript prints one")
    if options.train_folds is not None and options.case:
        raise UsageError("--train-folds cannot be combined with --case, which only shows a case")
    if options.verbose and not options.case:
        raise UsageError("--verbose needs --case ID")
    for declared in declared_options(RunCommandOptions) if options.case else ():
        if declared.name in _NOT_WITH_CASE and getattr(options, declared.name):
            flag = declared.spec.flags[0]
            raise UsageError(f"{flag} cannot be combined with --case, which only shows a case; leave one of them out")


def _show_cases(plan: Plan, wanted: set[str], *, verbose: bool) -> int:
    """Run and show the named cases; exit status 1 when one failed."""
    known = {case.id for case in plan.cases if case.id in wanted}
    for missing in sorted(wanted - known):
        # Where no id is near, the first and the last, since there can be a million.
        ids = [case.id for case in plan.cases]
        near = difflib.get_close_matches(missing, ids[:MAX_COMPARED], n=1, cutoff=0.6)
        hint = f"did you mean '{near[0]}'?" if near else f"there are {len(ids):,}, from '{ids[0]}' to '{ids[-1]}'"
        raise UsageError(f"--case {missing}: no such case; {hint}")
    status = 0
    for judged in ask(plan, wanted):
        lines = trial_details(judged.case, judged.reply, judged.trial) if verbose else [trial_line(judged.trial)]
        print("\n".join(lines))
        status = status if judged.trial.outcome.success else 1
    return status


def _copy(path: Path) -> None:
    """The transcript itself on standard output."""
    with open_lines(path) as file:
        if sys.stdout.isatty():
            # The same values; a file or a program gets the very bytes, which have a checksum.
            sys.stdout.writelines(json_text(line.decode(errors="replace")) for line in file)
            return
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()
