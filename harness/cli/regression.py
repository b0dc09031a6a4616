"""`hate test`: run tests as a build does, print only the unexpected, and say with the exit status how it went."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from harness.api.progress import run_progress
from harness.api.regression import CaseTally, RegressionResult, RuleOptions, read_rules, run_regression
from harness.api.runs import PlanOptions, make_plan
from harness.cli.completion import complete_test
from harness.cli.options import command_options
from harness.engine.target import Target
from harness.errors import UsageError
from harness.files.outputs import write_output
from harness.model import Trial
from harness.options import InterfaceOptions, OverwriteOptions, Writes, option
from harness.report.counts import rate_words
from harness.report.junit import JunitCase, JunitStatus, JunitSuite, junit_lines
from harness.report.run_sentences import trial_line
from harness.report.text import fitted, safe
from harness.script.library import scripts_in
from harness.script.load import SUFFIX

# Failed cases of a test that are shown; a build log is read from its end.
MAX_LINES = 20
MAX_PASSING = 10


class RegressionOptions(InterfaceOptions, RuleOptions, PlanOptions, OverwriteOptions):
    """Options of `hate test`."""

    # A case is asked once.
    repeat: int = option(default=1)
    junit: Path | None = option(
        "--junit FILE", "Write the results as JUnit XML, for a build server.", default=None, writes=Writes.FILE
    )
    output: Path | None = option(
        "-o, --output FILE", "Keep a transcript; by default there is none.", default=None, writes=Writes.TRANSCRIPT
    )
    quiet: bool = option("--quiet", "Only the summary.", default=False)
    silent: bool = option("--silent", "Print nothing; the exit status tells.", default=False)
    verbose: bool = option("--verbose", "Every case, not only the first that failed.", default=False)


@click.command("test")
@click.argument("tests", nargs=-1, required=True, metavar="TEST...", shell_complete=complete_test)
@command_options(RegressionOptions)
def test_command(tests: Sequence[str], options: RegressionOptions) -> int:
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
    rules = read_rules(options)
    plans = [make_plan(test, options.interface, options) for word in tests for test in _tests_in(word)]
    if options.output is not None and len(plans) > 1:
        raise UsageError(f"-o {options.output}: {len(plans)} tests do not fit into one transcript; leave out -o")
    results, suites = [], []
    for plan in plans:
        log = CaseLog(plan.cases.name, options, tolerant=rules.cases_may_fail)
        bar = run_progress(False if options.silent else None)
        result = run_regression(plan, rules, Target(options.output, options.force), log.add, bar)
        if not options.silent:
            lines = [*log.rest(), *summary_lines(result, options)]
            print("\n".join(fitted(line, sys.stdout) for line in lines), flush=True)
        results.append(result)
        suites.append(log.finish(result))
    if len(results) > 1 and not options.silent:
        print(fitted(total_line(results), sys.stdout))
    if options.junit is not None:
        text = "".join(f"{line}\n" for line in junit_lines(suites))
        write_output(options.junit, text, force=options.force, what="the table of results")
    return 0 if all(result.passed for result in results) else 1


def _tests_in(word: str) -> list[str]:
    """A test, or the tests of a folder that has no script of its own."""
    folder = Path(word)
    if "@" in word or not folder.is_dir() or len(list(folder.glob(f"*{SUFFIX}"))) == 1:
        return [word]
    scripts = list(dict.fromkeys(scripts_in(folder)))
    # A bare word may be the name of a test that happens to be a folder too.
    if not scripts and "/" not in word:
        return [word]
    if not scripts:
        raise UsageError(f"{word}: no test in it; a test is a file that ends in {SUFFIX}")
    return [str(path) for path in scripts]


class CaseLog:
    """The cases of one test: lines for people as they come in, and a suite for a build server."""

    def __init__(self, test: str, options: RegressionOptions, *, tolerant: bool) -> None:
        self._options, self._tolerant = options, tolerant
        self._suite = JunitSuite(test)
        self._shown = self._hidden = 0

    def add(self, trial: Trial, tally: CaseTally) -> None:
        known = tally.is_known(trial)
        if self._options.junit is not None:
            self._suite.cases.append(self._junit_case(trial, known=known))
        options = self._options
        if options.silent or options.quiet:
            return
        if options.verbose:
            print(trial_line(trial))
        elif not trial.outcome.success and not known:
            self._shown, self._hidden = self._shown + 1, self._hidden + (self._shown >= MAX_LINES)
            if self._shown <= MAX_LINES:
                print(trial_line(trial))

    def rest(self) -> list[str]:
        """How many failed cases were not shown."""
        return [f"... and {self._hidden:,} more; --verbose shows all"] if self._hidden else []

    def finish(self, result: RegressionResult) -> JunitSuite:
        """The suite, with what was asked of the test as a whole."""
        for requirement in result.requirements:
            if requirement.text:
                status = JunitStatus.PASSED if requirement.holds else JunitStatus.FAILED
                self._suite.cases.append(JunitCase(requirement.name, 0.0, status, requirement.text))
        return self._suite

    def _junit_case(self, trial: Trial, *, known: bool) -> JunitCase:
        seconds = trial.seconds if isinstance(trial.seconds, float) else 0.0
        if trial.outcome.success:
            return JunitCase(trial.id, seconds)
        text = trial_line(trial)
        if known or self._tolerant:
            why = "a known failure" if known else "may fail: the run as a whole counts"
            return JunitCase(trial.id, seconds, JunitStatus.SKIPPED, f"{why}; {text}")
        return JunitCase(trial.id, seconds, JunitStatus.ERROR if trial.error else JunitStatus.FAILED, text)


def summary_lines(result: RegressionResult, options: RegressionOptions) -> list[str]:
    """How a test ended: its counts, what was asked of it, and known failures that are none any more."""
    counts, tally = result.run.counts, result.tally
    failed = counts.tests - counts.successes
    lines = [f"{result.name}: all {counts.tests:,} cases passed"]
    if failed:
        errors = f", {counts.ER:,} of them in error" if counts.ER else ""
        rate = rate_words(counts, result.run.design)
        lines = [f"{result.name}: {failed:,} of {counts.tests:,} cases failed{errors}; {rate}"]
    if options.known_failures is not None:
        lines.append(f"{result.name}: {tally.new:,} new failures, {tally.again:,} known ones")
    if tally.passing:
        more = ", ..." if len(tally.passing) > MAX_PASSING else ""
        names = ", ".join(tally.passing[:MAX_PASSING])
        lines.append(f"{result.name}: {len(tally.passing):,} known failures pass now: {names}{more}")
    lines += [f"{result.name}: {result.label_remark}"] if result.label_remark else []
    words = {True: "passed", False: "FAILED"}
    lines += [
        f"{result.name}: {requirement.name}: {words[requirement.holds]}: {requirement.text}"
        for requirement in result.requirements
        if requirement.text
    ]
    return list(map(safe, lines))


def total_line(results: Sequence[RegressionResult]) -> str:
    """How several tests ended."""
    failed = [result.name for result in results if not result.passed]
    if not failed:
        return f"all {len(results):,} tests passed"
    return safe(f"{len(failed):,} of {len(results):,} tests failed: {', '.join(failed)}")
