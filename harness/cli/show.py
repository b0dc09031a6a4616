"""`hate show`: look into the cases of a transcript."""

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from harness.analysis.fields import OWN, VALUES, value
from harness.analysis.look import Run, View, look
from harness.cli.looking import choice_of, choice_options, of_design, present, print_cases
from harness.cli.options import TABULAR, format_option
from harness.cli.output import chosen
from harness.cli.sources import complete_transcript, http_options, opened
from harness.report.table import Table

# Those that stay even where no case has any.
FIXED = ("id", "outcome", "expect", "actual", "score", "error", "seconds")
COLUMNS = ("id", "repeat", "outcome", "expect", "truth", "actual", "score", "error", "message", "seconds", "memory")


@click.command("show")
@click.argument("transcript", shell_complete=complete_transcript)
@choice_options
@http_options
@format_option(*TABULAR)
def command(
    transcript: str,
    outcomes: Sequence[str],
    conditions: Sequence[str],
    sort: Sequence[str],
    limit: int | None,
    http_timeout: float,
    http_limit: int,
    style: str | None,
) -> None:
    """Look into the cases of a TRANSCRIPT.

    It is a file, a URL, NAME of a run, TEST/NAME of a published one, or - for standard input.

    \b
    hate show wisard --outcome FP --where truth=4 --sort -score
    """
    choice = choice_of(outcomes, conditions, sort, limit)
    [source] = opened([transcript], http_timeout, http_limit)
    view = look(source.path, source.name, choice)
    print_cases(chosen(style), _table(view), lambda: _payload(view), [_heading(view)])


def describe_run(run: Run) -> str:
    """Test, algorithm and counts in a line."""
    test, algorithm, counts = run.header.test, run.header.algorithm, run.counts
    tally = ", ".join(f"{name} {getattr(counts, name):,}" for name in ("TP", "TN", "FP", "FN", "ER"))
    text = f"{test.name} {test.version}, {algorithm.name} {algorithm.version}".rstrip()
    missing = "" if run.complete else "; INCOMPLETE: it has no last line, the run was not finished"
    return f"{text}: {counts.tests:,} cases, {tally}{missing}"


def run_payload(run: Run) -> dict[str, Any]:
    """The same for JSON."""
    return {
        "algorithm": run.header.algorithm,
        "params": run.header.params,
        "complete": run.complete,
        "tests": run.counts.tests,
        **msgspec.structs.asdict(run.counts),
    }


def test_payload(run: Run) -> dict[str, str]:
    """Which test, for JSON."""
    test = run.header.test
    return {"name": test.name, "version": test.version, "digest": test.digest}


def count_shown(shown: int, matching: int) -> str:
    """How many are shown of how many."""
    return f"{matching:,} match" if shown == matching else f"{matching:,} match, the first {shown:,} are shown"


def _heading(view: View) -> str:
    text = describe_run(view.run)
    if len(view.trials) == view.run.counts.tests:
        return text
    return f"{text}; {count_shown(len(view.trials), view.matching)}"


def _table(view: View) -> Table:
    columns = [(name, name in FIXED) for name in COLUMNS]
    shown = [*COLUMNS, *view.run.columns]
    columns += [(name, False) for name in of_design(view.run.header, shown)]
    # A column of the case by a name that a record has of its own could not be told from it.
    columns += [(name, False) for name in view.run.columns if name not in COLUMNS]
    columns += [
        (VALUES + name if name in OWN else name, False) for name in view.run.values if name not in view.run.columns
    ]
    return present(columns, view.trials, value)


def _payload(view: View) -> dict[str, Any]:
    return {
        "test": test_payload(view.run),
        **run_payload(view.run),
        "matching": view.matching,
        "cases": view.trials,
    }
