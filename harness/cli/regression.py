"""`hate test`: run tests as a build does, print only the unexpected, and say with the exit status how it went."""

import sys
from collections.abc import Sequence

import click

from harness.api.regression import MAX_LINES, RegressionOptions, RegressionResult, regression_runs, write_junit
from harness.cli.completion import complete_test
from harness.cli.options import command_options
from harness.errors import UsageError
from harness.model import Trial
from harness.options import InterfaceOptions, option
from harness.report.run_sentences import trial_line
from harness.report.text import fitted


class RegressionCommandOptions(InterfaceOptions, RegressionOptions):
    """Options of `hate test`, and how much to print."""

    quiet: bool = option("--quiet", "Only the summary.", default=False)
    silent: bool = option("--silent", "Print nothing; the exit status tells.", default=False)
    verbose: bool = option("--verbose", "Every case, not only the first that failed.", default=False)


@click.command("test")
@click.argument("tests", nargs=-1, required=True, metavar="TEST...", shell_complete=complete_test)
@command_options(RegressionCommandOptions)
def test_command(tests: Sequence[str], options: RegressionCommandOptions) -> int:
    """Run tests as regression tests, for a build: exit status 1 when a case failed.

    TEST is a name, a path, or a folder of tests. With --least, --baseline or --known-failures, cases may fail as far
    as these allow.

    \b
    hate test hdigits --interface mine --least 0.9
    hate test hdigits --baseline last-week.jsonl --junit results.xml
    hate test tests/ --known-failures known.txt
    """
    if options.quiet + options.silent + options.verbose > 1:
        raise UsageError("--quiet, --silent and --verbose exclude one another")
    log, ended = CaseLog(options), []
    for test in regression_runs(tests, options.interface, options, log.add, False if options.silent else None):
        if not options.silent:
            lines = [*log.rest(), *test.summary]
            print("\n".join(fitted(line, sys.stdout) for line in lines), flush=True)
        ended.append(test)
    result = RegressionResult(ended)
    if result.total and not options.silent:
        print(fitted(result.total, sys.stdout))
    write_junit(ended, options)
    return 0 if result.passed else 1


class CaseLog:
    """The cases of a test, as they come in: those that failed, or all."""

    def __init__(self, options: RegressionCommandOptions) -> None:
        self._options = options
        self._failed = 0

    def add(self, trial: Trial, known: bool) -> None:
        options = self._options
        if options.verbose:
            print(trial_line(trial))
        elif not (options.silent or options.quiet or trial.outcome.success or known):
            self._failed += 1
            if self._failed <= MAX_LINES:
                print(trial_line(trial))

    def rest(self) -> list[str]:
        """How many failed cases of the test were not shown; the next test begins anew."""
        hidden, self._failed = self._failed - MAX_LINES, 0
        return [f"... and {hidden:,} more; --verbose shows all"] if hidden > 0 else []
