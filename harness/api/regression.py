"""Regression testing: does a program still do what it did? `hate test` asks this of one test or of several."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.api.runs import EVERY_CASE, RunResult, finish_run, label_remark
from harness.api.transcripts import open_transcripts
from harness.engine.plan import Plan
from harness.engine.progress import Progress
from harness.engine.run import FinishedRun, refuse_blind, run, watch
from harness.engine.target import Target
from harness.errors import UsageError
from harness.model import Trial
from harness.options import DownloadOptions, Range, option
from harness.options.comparing import CompareOptions
from harness.site.find_transcripts import Source
from harness.transcript.read import open_transcript


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
class RegressionResult:
    """How a test ended."""

    name: str
    run: RunResult
    tally: CaseTally
    requirements: Sequence[Requirement]
    # What is to be said of answers that are no label of the test.
    label_remark: str = ""

    @property
    def passed(self) -> bool:
        """Whether every requirement is met."""
        return all(requirement.holds for requirement in self.requirements)


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


def read_rules(options: RuleOptions) -> RegressionRules:
    """The rules, with stored runs found and known failures read."""
    sources = [source for name in options.baseline for source in open_transcripts(name, options).sources]
    path, known = options.known_failures, None
    if path is not None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise UsageError(f"--known-failures {path}: {reason}") from None
        known = frozenset(line for line in map(str.strip, lines) if line and not line.startswith("#"))
    return RegressionRules(options.least, sources, known)


def run_regression(
    plan: Plan, rules: RegressionRules, target: Target, each: Callable[[Trial, CaseTally], None], progress: Progress
) -> RegressionResult:
    """Run a test, hand each case to `each`, and hold what came of it against the rules."""
    refuse_blind(plan)
    tally = CaseTally(rules.known or frozenset(), plan.cases.name)

    def see(trial: Trial) -> None:
        tally.add(trial)
        each(trial, tally)

    baseline = _baseline_of(plan.cases.name, rules)
    with ExitStack() as stack:
        if baseline is not None and target.path is None:
            folder = stack.enter_context(TemporaryDirectory(prefix="hate-"))
            target = Target(Path(folder, "this-run.jsonl"))
        finished = _run(plan, target, see, progress)
        result = finish_run(plan, finished)
        requirements = _requirements(result, tally, rules)
        if baseline is not None and target.path is not None:
            requirements.append(_not_worse(baseline, target.path))
    return RegressionResult(plan.cases.name, result, tally, requirements, label_remark(plan, finished))


def _run(plan: Plan, target: Target, see: Callable[[Trial], None], progress: Progress) -> FinishedRun:
    if target.path is None:
        return watch(plan, see, progress)
    finished = run(plan, target, progress)
    with open_transcript(target.path) as reader:
        for trial in (trial for block in reader.blocks() for trial in block):
            see(trial)
    return finished


def _requirements(result: RunResult, tally: CaseTally, rules: RegressionRules) -> list[Requirement]:
    requirements: list[Requirement] = []
    if rules.least is not None:
        rate = result.counts.rate
        holds, side = (True, "not below") if rate >= rules.least else (False, "below")
        text = f"rate {rate:.4f}, {side} {rules.least:g}"
        requirements.append(Requirement(f"rate at least {rules.least:g}", holds, text))
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
