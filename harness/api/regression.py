"""Regression testing: does a program still do what it did? `check_regression`, `hate test`.

Not `test_...`: pytest would take that for a test wherever it is imported.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.api.progress import ProgressChoice, run_progress
from harness.api.result import Result
from harness.api.runs import EVERY_CASE, AnyTest, PlanOptions, RunResult, finish_run, label_remark, make_plan
from harness.api.transcripts import open_transcripts
from harness.engine.header import run_header
from harness.engine.plan import Plan
from harness.engine.progress import Progress
from harness.engine.run import FinishedRun, refuse_blind, run, watch
from harness.engine.target import Target
from harness.errors import UsageError
from harness.files.outputs import check_free, refuse_inputs, write_output
from harness.model import Trial
from harness.options import DownloadOptions, OverwriteOptions, Range, Writes, option
from harness.options.comparing import CompareOptions
from harness.report.blocks import Block, Table
from harness.report.counts import rate_words
from harness.report.junit import JunitCase, JunitStatus, JunitSuite, junit_lines
from harness.report.run_sentences import trial_line
from harness.report.text import safe
from harness.script.cases import CaseSet
from harness.script.library import scripts_in
from harness.script.load import SUFFIX
from harness.site.find_transcripts import Source
from harness.transcript.read import open_transcript

# Failed cases of a test that are shown; a build log is read from its end.
MAX_LINES = 20
MAX_PASSING = 10
# A rate by weights is this exact.
ROUNDING = 1e-12


class RuleOptions(DownloadOptions):
    """When a test has passed, where not every case need succeed."""

    least: float | None = option(
        "--least RATE", "Pass when the rate is at least this, whichever cases fail.", default=None, within=Range(0, 1)
    )
    baseline: tuple[str, ...] = option(
        "--baseline T",
        "Pass unless significantly worse than this stored run; for several tests, one for each.",
        default=(),
        completion="transcript",
    )
    known_failures: Path | None = option(
        "--known-failures FILE", "Pass when only these cases fail: a line for each, ID or TEST/ID.", default=None
    )


class RegressionOptions(RuleOptions, PlanOptions, OverwriteOptions):
    """Options of `check_regression`."""

    # A case is asked once.
    repeat: int = option(default=1, within=Range(1, 1))
    junit: Path | None = option(
        "--junit FILE", "Write the results as JUnit XML, for a build server.", default=None, writes=Writes.FILE
    )
    output: Path | None = option(
        "-o, --output FILE", "Keep a transcript; by default there is none.", default=None, writes=Writes.TRANSCRIPT
    )


@dataclass(frozen=True)
class Requirement:
    """What a test had to fulfil, whether it did, and what is said about it."""

    name: str
    holds: bool
    text: str


@dataclass
class CaseTally:
    """Which cases failed, and which of them were known to."""

    known: frozenset[str]
    test: str
    new: int = 0
    again: int = 0
    passing: list[str] = field(default_factory=list)

    def is_known(self, trial: Trial) -> bool:
        return trial.id in self.known or f"{self.test}/{trial.id}" in self.known

    def add(self, trial: Trial) -> None:
        if not trial.outcome.success:
            known = self.is_known(trial)
            self.again, self.new = self.again + known, self.new + (not known)
        elif self.is_known(trial):
            self.passing.append(trial.id)


@dataclass(frozen=True)
class RegressionRules:
    """`RuleOptions`, with their files read."""

    least: float | None
    baselines: Sequence[Source]
    known: frozenset[str] | None

    @property
    def cases_may_fail(self) -> bool:
        """Whether a failed case is no failure of the test by itself."""
        return self.known is None and (self.least is not None or bool(self.baselines))


@dataclass(frozen=True)
class RegressionRun:
    """How a test ended."""

    name: str
    run: RunResult
    rules: RegressionRules
    tally: CaseTally
    requirements: Sequence[Requirement]
    # What is to be said of answers that are no label of the test.
    label_remark: str = ""
    # For a build server; None if nobody asked.
    suite: JunitSuite | None = None
    # The cases that failed and were not known to.
    failures: Sequence[Trial] = ()

    @property
    def passed(self) -> bool:
        """Whether every requirement is met."""
        return all(requirement.holds for requirement in self.requirements)

    @property
    def summary(self) -> list[str]:
        """Its counts, what was asked of it, and known failures that are none any more, in lines."""
        counts, tally = self.run.counts, self.tally
        failed = counts.tests - counts.successes
        lines = [f"all {counts.tests:,} cases passed"]
        if failed:
            errors = f", {counts.ER:,} of them in error" if counts.ER else ""
            lines = [f"{failed:,} of {counts.tests:,} cases failed{errors}; {rate_words(counts, self.run.design)}"]
        if self.rules.known is not None:
            lines.append(f"{tally.new:,} new failures, {tally.again:,} known ones")
        if tally.passing:
            more = ", ..." if len(tally.passing) > MAX_PASSING else ""
            names = ", ".join(tally.passing[:MAX_PASSING])
            lines.append(f"{len(tally.passing):,} known failures pass now: {names}{more}")
        lines += [self.label_remark] if self.label_remark else []
        words = {True: "passed", False: "FAILED"}
        lines += [
            f"{requirement.name}: {words[requirement.holds]}: {requirement.text}"
            for requirement in self.requirements
            if requirement.text
        ]
        return [safe(f"{self.name}: {line}") for line in lines]

    def payload(self) -> dict[str, Any]:
        """Its entry in JSON."""
        return {
            "test": self.name,
            "passed": self.passed,
            **self.run.row(),
            "new_failures": self.tally.new,
            "known_failures": self.tally.again,
            "passing_now": self.tally.passing,
            "requirements": self.requirements,
            "failures": self.failures,
            "transcript": None if self.run.path is None else str(self.run.path),
        }


@dataclass(frozen=True, repr=False)
class RegressionResult(Result):
    """How tests ended: whether all passed, and of each what was required of it and which cases failed."""

    tests: Sequence[RegressionRun]

    @property
    def passed(self) -> bool:
        """Whether every test meets every requirement."""
        return all(test.passed for test in self.tests)

    @property
    def total(self) -> str:
        """How several tests ended, in a line; empty for a single one."""
        if len(self.tests) < 2:
            return ""
        failed = [test.name for test in self.tests if not test.passed]
        if not failed:
            return f"all {len(self.tests):,} tests passed"
        return safe(f"{len(failed):,} of {len(self.tests):,} tests failed: {', '.join(failed)}")

    def payload(self) -> Any:
        return {"passed": self.passed, "tests": [test.payload() for test in self.tests]}

    def plain(self) -> str:
        """What the command prints: the first failures, then the summary of each test."""
        lines: list[str] = []
        for test in self.tests:
            lines += [trial_line(trial) for trial in test.failures[:MAX_LINES]]
            hidden = len(test.failures) - MAX_LINES
            lines += [f"... and {hidden:,} more"] if hidden > 0 else []
            lines += test.summary
        return "".join(f"{line}\n" for line in [*lines, *filter(None, [self.total])])

    def blocks(self) -> Sequence[Block]:
        """A row for each requirement."""
        rows = [
            [test.name, requirement.name, "yes" if requirement.holds else "no", requirement.text]
            for test in self.tests
            for requirement in test.requirements
        ]
        return [Table(["test", "requirement", "holds", "found"], rows)]


def check_regression(
    tests: AnyTest | Sequence[AnyTest],
    interface: object = None,
    *,
    options: RegressionOptions,
    progress: ProgressChoice = None,
) -> RegressionResult:
    """Run tests as a build does: has a program become worse?

    >>> assert harness.check_regression("hdigits", "wisard", least=0.9).passed

    Every case must succeed, unless `least`, `baseline` or `known_failures` allow some to fail.

    Args:
        tests: One or several: what `load_test` returned, a name or path, or a folder of tests.
    """
    failures: list[Trial] = []

    def keep(trial: Trial, known: bool) -> None:
        if not trial.outcome.success and not known:
            failures.append(trial)

    several = [tests] if isinstance(tests, (str, Path, CaseSet)) else list(tests)
    ended = []
    for test in regression_runs(several, interface, options, keep, progress):
        ended.append(replace(test, failures=tuple(failures)))
        failures.clear()
    write_junit(ended, options)
    return RegressionResult(ended)


def regression_runs(
    tests: Sequence[AnyTest],
    interface: object,
    options: RegressionOptions,
    each: Callable[[Trial, bool], None],
    progress: ProgressChoice = None,
) -> Iterator[RegressionRun]:
    """Run the tests one after the other; hand each case to `each`, with whether it is known to fail."""
    check_free(options.outputs(Writes.FILE), force=options.force)
    rules = read_rules(options)
    if not tests:
        raise UsageError("no test; name at least one")
    plans = [make_plan(test, interface, options) for given in tests for test in _tests_in(given)]
    if options.output is not None and len(plans) > 1:
        raise UsageError(f"-o {options.output}: {len(plans)} tests do not fit into one transcript; leave out -o")
    for plan in plans:
        suite = None if options.junit is None else JunitSuite(plan.cases.name)
        yield _run_test(plan, rules, Target(options.output, options.force), suite, each, run_progress(progress))


def _tests_in(given: AnyTest) -> Sequence[AnyTest]:
    """A test, or the tests of a folder that has no script of its own."""
    if isinstance(given, CaseSet):
        return [given]
    word, folder = str(given), Path(given)
    if "@" in word or not folder.is_dir() or len(list(folder.glob(f"*{SUFFIX}"))) == 1:
        return [word]
    scripts = list(dict.fromkeys(scripts_in(folder)))
    # A bare word may be the name of a test that happens to be a folder too.
    if not scripts and "/" not in word:
        return [word]
    if not scripts:
        raise UsageError(f"{word}: no test in it; a test is a file that ends in {SUFFIX}")
    return [str(path) for path in scripts]


def read_rules(options: RuleOptions) -> RegressionRules:
    """The rules, with stored runs found and known failures read."""
    sources = [source for name in options.baseline for source in open_transcripts(name, options).sources]
    path, known = options.known_failures, None
    if path is not None:
        refuse_inputs(options.outputs(), [path])
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise UsageError(f"--known-failures {path}: {reason}") from None
        known = frozenset(line for line in map(str.strip, lines) if line and not line.startswith("#"))
    return RegressionRules(options.least, sources, known)


def _run_test(
    plan: Plan,
    rules: RegressionRules,
    target: Target,
    suite: JunitSuite | None,
    each: Callable[[Trial, bool], None],
    progress: Progress,
) -> RegressionRun:
    """Run a test, and hold what came of it against the rules."""
    refuse_blind(plan)
    tally = CaseTally(rules.known or frozenset(), plan.cases.name)

    def see(trial: Trial) -> None:
        tally.add(trial)
        known = tally.is_known(trial)
        if suite is not None:
            suite.cases.append(_junit_case(trial, known=known, tolerant=rules.cases_may_fail))
        each(trial, known)

    baseline = _baseline_of(plan.cases.name, rules)
    with ExitStack() as stack:
        kept = target.path is not None
        # The rate of cases that weigh differently is computed from their records.
        weighs = rules.least is not None and run_header(plan).weighs_cases
        if (baseline is not None or weighs) and not kept:
            folder = stack.enter_context(TemporaryDirectory(prefix="hate-"))
            target = Target(Path(folder, "this-run.jsonl"))
        finished = _run(plan, target, see, progress)
        result = finish_run(plan, finished)
        weighted = finished.header is not None and finished.header.is_weighted
        requirements = _requirements(result, tally, rules, weighted=weighted)
        if baseline is not None and target.path is not None:
            requirements.append(_not_worse(baseline, target.path))
    if baseline is not None and not kept:
        result = replace(result, path=None, remarks=[text for text in result.remarks if str(target.path) not in text])
    if suite is not None:
        for requirement in requirements:
            if requirement.text:
                status = JunitStatus.PASSED if requirement.holds else JunitStatus.FAILED
                suite.cases.append(JunitCase(requirement.name, 0.0, status, requirement.text))
    return RegressionRun(plan.cases.name, result, rules, tally, requirements, label_remark(plan, finished), suite)


def _junit_case(trial: Trial, *, known: bool, tolerant: bool) -> JunitCase:
    seconds = trial.seconds if isinstance(trial.seconds, float) else 0.0
    if trial.outcome.success:
        return JunitCase(trial.id, seconds)
    text = trial_line(trial)
    if known or tolerant:
        why = "a known failure" if known else "may fail: the run as a whole counts"
        return JunitCase(trial.id, seconds, JunitStatus.SKIPPED, f"{why}; {text}")
    return JunitCase(trial.id, seconds, JunitStatus.ERROR if trial.error else JunitStatus.FAILED, text)


def write_junit(tests: Sequence[RegressionRun], options: RegressionOptions) -> None:
    """Write the results for a build server, if that was asked for."""
    if options.junit is not None:
        text = "".join(f"{line}\n" for line in junit_lines([test.suite for test in tests if test.suite is not None]))
        write_output(options.junit, text, force=options.force, what="the table of results")


def _run(plan: Plan, target: Target, see: Callable[[Trial], None], progress: Progress) -> FinishedRun:
    if target.path is None:
        return watch(plan, see, progress)
    finished = run(plan, target, progress)
    with open_transcript(target.path) as reader:
        for trial in (trial for block in reader.blocks() for trial in block):
            see(trial)
    return finished


def _requirements(result: RunResult, tally: CaseTally, rules: RegressionRules, *, weighted: bool) -> list[Requirement]:
    requirements: list[Requirement] = []
    if rules.least is not None:
        rate, what = result.counts.rate, "rate"
        if weighted and result.design is not None:
            rate, what = math.nan if result.design.estimate is None else result.design.estimate.value, "weighted rate"
        holds, side = (True, "not below") if rate >= rules.least - ROUNDING else (False, "below")
        text = f"{what} {rate:.4f}, {side} {rules.least:g}"
        if math.isnan(rate) and result.design is not None:
            text = f"no weighted rate: {result.design.reason}"
        requirements.append(Requirement(f"{what} at least {rules.least:g}", holds, text))
    if not rules.cases_may_fail:
        kind = "new failures" if rules.known is not None else "failures"
        requirements.append(Requirement(f"no {kind}", tally.new == 0, ""))
    if result.all_errors and all(requirement.holds for requirement in requirements):
        requirements.append(Requirement("an answer", False, EVERY_CASE))
    return requirements


def _baseline_of(test: str, rules: RegressionRules) -> Source | None:
    """The stored run of a test."""
    if not rules.baselines:
        return None
    for source in rules.baselines:
        with open_transcript(source.path) as reader:
            if reader.header.test.name == test:
                return source
    raise UsageError(f"--baseline: no run of {test} among them; give one for each test")


def _not_worse(baseline: Source, path: Path) -> Requirement:
    """This run against a stored one, by the paired test that fits how the cases were sampled."""
    from harness.api.comparisons import compare  # scipy is not needed without it

    comparison = compare([Source(path, str(path), "this-run"), baseline], options=CompareOptions())
    return Requirement(f"not worse than {baseline.known_as}", not comparison.first_is_worse, comparison.verdicts[0])
