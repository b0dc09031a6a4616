"""Tests and runs from Python: `load_test` and `run`, which the commands call too."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.held import HeldFile
from harness.api.progress import ProgressChoice, run_progress, show_downloads
from harness.api.result import Result
from harness.engine.plan import Plan, RunOptions, StopOptions, find_parts
from harness.engine.run import FinishedRun
from harness.engine.run import run as run_plan
from harness.engine.tallies import has_design
from harness.engine.target import Target
from harness.errors import UsageError, quoting
from harness.model import Counts, Trial, plural
from harness.options import GalleryOptions, LibraryOptions, OptionSet, ParamOptions, Range, Writes, option
from harness.params import Value
from harness.report.blocks import Block, Table
from harness.report.counts import count_row, count_table, design_remarks, rate_interval, tidy_table
from harness.report.formats import Format
from harness.report.text import safe, say
from harness.script.cases import CaseSet, load_cases
from harness.site.config import without_network
from harness.site.fetch import fetch_data
from harness.site.find_test import find_test
from harness.stats.rates import Interval

if TYPE_CHECKING:
    from harness.analysis.identification import Identification
    from harness.analysis.rate_errors import DesignRate
    from harness.analysis.sequential import SequentialComparison
    from harness.stats.repeats import Repeats
    from harness.transcript.format import Header

# Said of a run that came to nothing.
EVERY_CASE = "every case was an error"
WITH_THE_SITE = "the outcomes of a blind test are with its site"
# A test that was loaded, or its name, path or address.
AnyTest = str | Path | CaseSet


class PlanOptions(ParamOptions, RunOptions, GalleryOptions, LibraryOptions):
    """Which test is run, and how."""


class RunCallOptions(PlanOptions, StopOptions):
    """How a test is run, and where its transcript goes."""

    output: Path | None = option(
        "-o, --output FILE",
        "The transcript, compressed if it ends in .gz; by default transcripts/TEST/ALGORITHM.jsonl, or -2, -3 "
        "if that exists.",
        default=None,
        writes=Writes.TRANSCRIPT,
    )
    resume: bool = option("--resume", "Carry on with a run that was stopped.", default=False)
    retry_errors: bool = option("--retry-errors", "Run only the cases in error again.", default=False)
    force: bool = option("--force", "Overwrite an existing transcript; without -o, ALGORITHM.jsonl.", default=False)

    @property
    def target(self) -> Target:
        """Where the transcript goes."""
        if sum((self.force, self.resume, self.retry_errors)) > 1:
            raise UsageError("--force, --resume and --retry-errors exclude one another")
        if self.stop_when is not None and (self.resume or self.retry_errors):
            raise UsageError("--stop-when: a run that may stop cannot be carried on; run it again with --force")
        return Target(self.output, self.force, self.resume, self.retry_errors)


class TrainFoldsOptions(OptionSet):
    """Training several times, each time without another fold of the training part."""

    train_folds: int | None = option(
        "--train-folds K",
        "Train and run K times, each time without another fold of the training part.",
        default=None,
        within=Range(2, 1000),
    )
    train_seed: int = option(
        "--train-seed N", "With --train-folds: seed of the folds.", default=0, within=Range(0), needs=("train_folds",)
    )


def load_test(
    name: AnyTest,
    *,
    libraries: str | Path | Sequence[str | Path] = (),
    offline: bool = False,
    progress: bool | None = None,
) -> CaseSet:
    """A test with its data at hand.

    >>> len(harness.load_test("hdigits"))

    It has a length, the number of cases; going through it gives each case with `id`, `input`, `expect`, `positive`,
    `truth` and `columns`.

    Args:
        name: Its name, NAME@VERSION, path or URL; a test that was loaded is returned as it is.
        libraries: More folders to find tests in; one or several.
        offline: Do not use the network: only what is here or in the cache.
        progress: Show downloads: see `run`.
    """
    if isinstance(name, CaseSet):
        return name.check_held()
    folders = [libraries] if isinstance(libraries, (str, Path)) else libraries
    with without_network() if offline else nullcontext(), show_downloads(progress):
        script = find_test(str(name), [str(folder) for folder in folders], note)
        return load_cases(script, fetch_data(script)).held()


def run(
    test: AnyTest,
    interface: object = None,
    *,
    options: RunCallOptions,
    name: str | None = None,
    progress: ProgressChoice = None,
) -> "RunResult":
    """Run a test and leave a transcript, as `hate run` does.

    >>> harness.run("hdigits", lambda case, params: "3", name="threes")

    A function or class of your own program runs in this process: with `jobs` in as many threads, which helps where it
    waits for something else; a time limit needs an `interface.py`, whose processes can be stopped.

    Args:
        test: What `load_test` returned, or a name, path or URL.
        interface: A function `(case, params)` that returns an answer; a class or an object with `answer`, and perhaps
            `train`, `enrol`, `answer_batch` and `close`, as in an `interface.py`; the name of a bundled interface; a
            path; by default `interface.py` or `interface.toml` in the working folder.
        name: What the algorithm is to be called.
        progress: By default, a bar on a terminal or in a notebook if the run takes longer than a moment, and nothing if
            stderr goes into a file or a pipe. True: a bar at once, or lines on stderr where there is no place for a
            bar. False: nothing. An object with `begin(total, done)`, `advance(done, errors)` and `end()` is told
            instead.
    """
    with show_downloads(progress):
        plan = make_plan(test, interface, options, name=name)
    return finish_run(plan, run_plan(plan, options.target, run_progress(progress)))


def make_plan(test: AnyTest, interface: object, options: PlanOptions, *, name: str | None = None) -> Plan:
    """A run that could start now, from what a caller said."""
    parts = find_parts(
        test, interface, note=note, name=name, libraries=options.libraries, selection=options, isolate=options.isolate
    )
    return parts.plan(options, options.params)


def note(text: str) -> None:
    """Tell the user where something came from, on stderr."""
    say(safe(f"hate: {text}"))


@dataclass(frozen=True, repr=False)
class RunResult(Result):
    """What a run came to: its counts, its rate, and where the transcript is. It can be given to `compare` as it is."""

    params: Mapping[str, Value]
    counts: Counts
    # None where no transcript was wanted.
    path: Path | None
    # The rate as the test's sampling design gives it; None where the test has none.
    design: "DesignRate | None" = None
    # How the answers to one case agree, where each was asked several times.
    repeats: "Repeats | None" = None
    # Rates under their names in biometrics, of a rank test.
    identification: "Identification | None" = None
    # The rate of the whole test, if the run could stop before its end: no other interval is then valid.
    stopped: "SequentialComparison | None" = None
    remarks: Sequence[str] = ()
    cautions: Sequence[str] = ()
    held: HeldFile | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "held", None if self.path is None else HeldFile.of(self.path))

    @property
    def rate(self) -> float:
        """The share of cases that succeeded."""
        return self.counts.rate

    @property
    def all_errors(self) -> bool:
        """Whether every case was an error."""
        return is_all_errors(self.counts)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the rate: by the design of the test where it has one, else Wilson's."""
        if self.stopped is not None:
            return self.stopped.rates[0].interval
        return rate_interval(self.counts, self.design)

    def __fspath__(self) -> str:
        if self.path is None:
            raise UsageError("this run left no transcript")
        return str(self.path)

    def row(self) -> dict[str, Any]:
        """Parameters, counts and rate, as JSON has them."""
        row = count_row(self.params, self.counts, self.design)
        if self.stopped is not None and self.interval is not None:
            row["interval"] = self.interval
        return row

    def payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = {"rows": [self.row()], "transcripts": [str(self.path)]}
        if self.repeats is not None:
            payload["repeats"] = self.repeats
        if self.stopped is not None:
            from harness.analysis.sequential import sequential_json

            payload["sequential"] = sequential_json(self.stopped)
        if self.identification is not None:
            payload["identification"] = self.identification
        return payload

    def blocks(self) -> Sequence[Block]:
        return [count_table([(self.params, self.counts)], designs=[self.design])]

    def table(self) -> Table:
        """One row: the counts, and the rate with its limits."""
        return tidy_table([(self.params, self.counts)], designs=[self.design])

    def remarks_in(self, style: Format) -> Sequence[str]:
        """The remarks beside a format; most of them need to be told what the interval is."""
        return [*design_remarks(style, [self.design]), *self.remarks]


@dataclass(frozen=True, repr=False)
class BlindRunResult(RunResult):
    """Answers that nobody here can judge."""

    answers: int = 0

    @property
    def rate(self) -> float:
        """Nothing that is known here."""
        raise UsageError(f"{WITH_THE_SITE}; hand the transcript in with `hate submit`")

    @property
    def all_errors(self) -> bool:
        """Whether every case was an error."""
        return 0 < self.answers == self.counts.ER

    @property
    def interval(self) -> Interval | None:
        """Nothing that is known here."""
        return None

    def row(self) -> dict[str, Any]:
        """Parameters and the number of answers, as JSON has them."""
        return {"params": dict(self.params), "tests": self.answers, "ER": self.counts.ER, "blind": True}

    def blocks(self) -> Sequence[Block]:
        """The number of answers."""
        return [self.table()]

    def table(self) -> Table:
        return Table([*self.params, "tests", "ER"], [[*self.params.values(), self.answers, self.counts.ER]])

    def remarks_in(self, style: Format) -> Sequence[str]:
        """The remarks beside every format."""
        return self.remarks


def finish_run(plan: Plan, finished: FinishedRun) -> RunResult:
    """The result of a run that has ended, with all that is said about it."""
    if plan.cases.script.is_blind:
        return _blind_result(plan, finished)
    remarks: list[str] = []
    repeats = identification = None
    if plan.options.repeat > 1 and finished.path is not None:
        from harness.analysis.rate_errors import transcript_repeats
        from harness.report.run_sentences import repeats_sentence

        repeats = transcript_repeats(finished.path, plan.options.repeat)
        weighted = finished.header is not None and finished.header.is_weighted
        remarks.append(repeats_sentence(repeats, unit_words(finished.header), weighted=weighted))
    if plan.cases.gallery is not None and finished.path is not None:
        from harness.analysis.identification import identification as identify
        from harness.report.run_sentences import identification_sentences

        identification = identify(finished.path)
        remarks += identification_sentences(identification)
        left_out = plan.cases.experiment.left_out if plan.cases.experiment is not None else 0
        remarks += [f"left out: {left_out:,} probes of people not enrolled"] if left_out else []
    stopped = None
    if plan.stop_rule is not None and finished.path is not None:
        from harness.analysis.sequential import stopped_run
        from harness.report.sequential import stopped_sentence

        stopped = stopped_run(finished.path)
        remarks.append(stopped_sentence(stopped))
    remarks += [] if finished.asked else ["nothing was left to run"]
    cautions = failure_remarks(plan, finished)
    remarks += cautions
    remarks += [] if finished.path is None else [f"transcript: {finished.path}"]
    design = None if stopped is not None else design_rate(finished)
    return RunResult(
        plan.params, finished.counts, finished.path, design, repeats, identification, stopped, remarks, cautions
    )


def _blind_result(plan: Plan, finished: FinishedRun) -> BlindRunResult:
    cautions = error_remarks(finished, every=0 < plan.total == finished.counts.ER)
    remarks = [*([] if finished.asked else ["nothing was left to run"]), *cautions]
    remarks += [] if finished.path is None else [f"transcript: {finished.path}"]
    remarks.append(f"{WITH_THE_SITE}: `hate submit {finished.path} --to SITE` hands the answers in")
    counts = Counts(ER=finished.counts.ER)
    return BlindRunResult(plan.params, counts, finished.path, remarks=remarks, cautions=cautions, answers=plan.total)


def failure_remarks(plan: Plan, finished: FinishedRun) -> list[str]:
    """What a reader of the counts would not notice: cases without an answer, and answers that cannot be right."""
    remarks = error_remarks(finished, every=is_all_errors(finished.counts))
    label = label_remark(plan, finished)
    return [*remarks, label] if label else remarks


def error_remarks(finished: FinishedRun, *, every: bool) -> list[str]:
    """How many cases were errors, or that every one was, and the first of those of now."""
    error, counts = finished.first_error, EVERY_CASE if every else f"{finished.counts.ER:,} errors"
    if error is not None:
        return [first_error_remark(counts, error)]
    return [counts] if every else []


def label_remark(plan: Plan, finished: FinishedRun) -> str:
    """What is to be said of answers that are no label of the test; empty if there are none."""
    return "" if finished.labels is None else finished.labels.remark(plan.cases)


def is_all_errors(counts: Counts) -> bool:
    """Whether nothing was answered: a command then has exit status 1."""
    return 0 < counts.tests == counts.ER


def first_error_remark(counts: str, error: Trial) -> str:
    """How many errors there are, and the first of them, as the program said it."""
    said = str(error.message)
    return quoting(f"{counts}; the first, case {error.id}: {error.error}: {said}", said)


def design_rate(finished: FinishedRun) -> "DesignRate | None":
    """The rate of a run by the test's design; None where there is none."""
    header = finished.header
    if header is None or not (has_design(header.design) or header.repeat):
        return None
    from harness.analysis.rate_errors import DesignRate, rate_of_transcript, rate_of_units

    # Sums by unit are all that it takes, unless single cases have weights.
    if finished.units is not None and not header.weighs_cases:
        return rate_of_units(finished.units.sums, header)
    if finished.path is None:
        return DesignRate(None, None, "single cases have weights, which takes a transcript: -o FILE leaves one")
    return rate_of_transcript(finished.path)


def unit_words(header: "Header | None") -> str:
    """What the test's units are, in the plural; units where it does not say."""
    name = None if header is None else header.design.get("psu")
    return plural(name) if isinstance(name, str) else "units"
