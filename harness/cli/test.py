"""`hate test`: regression testing. Prints only what was unexpected; exit status 1 when a case failed."""

from typing import Any

import click

from harness.cli.options import PATH, interface_options, library_option, running_options
from harness.cli.options import test_argument as test_arg
from harness.cli.output import design_rate
from harness.cli.plan import make_plan
from harness.cli.progress import Silence, progress
from harness.engine.run import Options, Result, run, watch
from harness.engine.target import Output
from harness.model import Trial
from harness.report.counts import rate_words
from harness.report.text import safe
from harness.transcript.read import open_transcript


@click.command("test")
@test_arg
@interface_options
@running_options
@click.option("-o", "--output", type=PATH, metavar="FILE", help="Keep a transcript; none is kept otherwise.")
@click.option("--force", is_flag=True, help="Overwrite an existing transcript.")
@click.option("--quiet", "loudness", flag_value="quiet", help="Only the last line.")
@click.option("--silent", "loudness", flag_value="silent", help="Nothing; the exit status tells.")
@click.option("--verbose", "loudness", flag_value="verbose", help="Every case, not only the failed ones.")
@library_option
def command(test: str, **given: Any) -> int:
    """Run TEST as a regression test, for a build: exit status 1 when a case failed."""
    options = Options(given["jobs"], given["timeout"], 1, given["limit"])
    plan = make_plan(test, given["libraries"], given["interface"], given["assignments"], options)
    loudness = given["loudness"] or ""
    bar = Silence() if loudness == "silent" else progress()

    def show(trial: Trial) -> None:
        if loudness == "verbose" or (loudness == "" and not trial.outcome.success):
            print(describe_trial(trial))

    if given["output"] is None:
        result = watch(plan, show, bar)
    else:
        result = run(plan, Output(given["output"], given["force"]), bar)
        with open_transcript(given["output"]) as reader:
            for trial in (trial for block in reader.blocks() for trial in block):
                show(trial)
    counts = result.counts
    if loudness != "silent":
        print(_verdict(plan.cases.script.name, result))
    return 0 if counts.successes == counts.tests else 1


def describe_trial(trial: Trial) -> str:
    """A case in a line: what was expected, what came."""
    claim = trial.expect if isinstance(trial.expect, str) else "anything"
    wanted = f"expected {claim}" if trial.outcome.positive else f"should refuse {claim}"
    if trial.error:
        came = f"{trial.error}: {trial.message}"
    else:
        came = f"answered {trial.actual}" if isinstance(trial.actual, (str, int, float)) else "refused"
    return safe(f"{trial.id}: {trial.outcome}: {wanted}, {came}")


def _verdict(name: str, result: Result) -> str:
    counts = result.counts
    failed = counts.tests - counts.successes
    if not failed:
        return f"{name}: all {counts.tests:,} cases passed"
    errors = f", {counts.ER:,} of them in error" if counts.ER else ""
    rate = rate_words(counts, design_rate(result))
    return f"{name}: {failed:,} of {counts.tests:,} cases failed{errors}; {rate}"
