"""Run a test: start the program, ask it every case, judge the replies and record them."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, count, islice, repeat
from pathlib import Path
from time import perf_counter
from typing import Protocol

from harness.engine.early_stopping import Stopper
from harness.engine.engines import open_session
from harness.engine.guard import guarded
from harness.engine.header import run_header
from harness.engine.plan import Plan
from harness.engine.progress import Progress, WorkerProgress
from harness.engine.resumed_records import PlannedTrial, unanswered
from harness.engine.tallies import AnsweredLabels, UnitTally
from harness.engine.target import FinishedTranscript, Target, prepare
from harness.errors import HateError, Interrupted, RunAborted, UsageError
from harness.interface.contract import Session, SpreadSession
from harness.interface.interrupts import Latch, interruptible
from harness.model import Case, Counts, ErrorKind, ErrorRule, Question, Reply, Trial
from harness.script.expansion import InputError
from harness.site.judged import remember_run, remember_test
from harness.transcript.format import Header
from harness.transcript.write import TranscriptWriter

TICK_SECONDS = 0.1


class Recorder(Protocol):
    """Keeps the trials: in a transcript, or only as counts."""

    @property
    def counts(self) -> Counts:
        """The counts of the trials so far."""

    def append(self, index: int, trial: Trial) -> None:
        """Add a trial."""


class Tally:
    """Keeps only counts, and passes each trial on."""

    def __init__(self, callback: Callable[[Trial], None]) -> None:
        self.counts = Counts()
        self._callback = callback

    def append(self, index: int, trial: Trial) -> None:
        self.counts = self.counts.plus(trial)
        self._callback(trial)


@dataclass(frozen=True)
class FinishedRun:
    """A run that has ended; `path` is None if no transcript was written."""

    counts: Counts
    path: Path | None
    asked: int
    first_error: Trial | None = None
    header: Header | None = None
    # Successes by unit, if there is a design and no trial was recorded earlier.
    units: UnitTally | None = None
    # What was answered now, if answers are classes.
    labels: AnsweredLabels | None = None


def run(plan: Plan, target: Target, progress: Progress) -> FinishedRun:
    """Run to the end. If the run ends early, the records of all finished cases are on disk."""
    if plan.stop_rule is not None:
        refuse_blind(plan)
    header = run_header(plan)
    transcript = prepare(target, header)
    if isinstance(transcript, FinishedTranscript):
        return FinishedRun(transcript.counts, transcript.path, 0, header=header)
    with interruptible() as latch, guarded(plan) as guard:
        with open_session(plan) as session:
            guard.writer = writer = transcript()
            carries_on = writer.counts.tests > 0
            feed = Feed(plan)
            loop = Loop(plan, feed, writer, latch)
            try:
                if carries_on:
                    feed.leave_out(writer)
                loop.go(session, progress)
            except BaseException as error:
                # Also for what a caller's own progress raises: the file must not stay locked.
                writer.close()
                if isinstance(error, (HateError, Interrupted)):
                    error.note = _note(writer, plan.total, target)
                raise
        guard.check()
        path = writer.finish()
    remember_test(header.test, plan.cases.script.path)
    # What was there before a run was carried on may be somebody else's.
    if not (carries_on or plan.cases.records_answers or plan.cases.script.is_blind):
        remember_run(path)
    units = None if carries_on else loop.units
    return FinishedRun(writer.counts, path, loop.asked, loop.first_error, header, units, loop.labels)


def _note(writer: TranscriptWriter, total: int, target: Target) -> str:
    """What was saved of a run that ended early, and how to carry on."""
    saved = f"{writer.counts.tests:,} of {total:,} trials are in {writer.path}"
    if not writer.replaces:
        # The file is named where the command does not name it, so that no later run can be taken for it.
        named = target.path is not None or target.fold is not None
        return f"{saved}; carry on with --resume{'' if named else f' -o {writer.target}'}"
    return f"{saved}, and {writer.target} is unchanged; carry on with --retry-errors -o {writer.target}"


def watch(plan: Plan, callback: Callable[[Trial], None], progress: Progress) -> FinishedRun:
    """Run without a transcript; `callback` is called with every trial."""
    refuse_blind(plan)
    tally = Tally(callback)
    with interruptible() as latch, guarded(plan) as guard:
        with open_session(plan) as session:
            loop = Loop(plan, Feed(plan), tally, latch)
            loop.go(session, progress)
        guard.check()
    return FinishedRun(tally.counts, None, loop.asked, loop.first_error, run_header(plan), loop.units, loop.labels)


def refuse_blind(plan: Plan) -> None:
    """Where outcomes are to be shown: a site keeps those of a blind test to itself."""
    if plan.cases.script.is_blind:
        name = plan.cases.name
        raise UsageError(
            f"{name}: a blind test, judged by its site: `hate run {name}`, then `hate submit` the transcript"
        )


class Feed:
    """The questions of a run in case order, except those that were answered earlier."""

    def __init__(self, plan: Plan, *, only: set[str] | None = None) -> None:
        self._plan = plan
        self._only = only
        self._trials = self._planned()
        # The cases that wait for a reply, by the index of their question.
        self.pending: dict[int, Case] = {}
        # Questions that could not be asked, because their input could not be made.
        self.failures: deque[Reply] = deque()

    def leave_out(self, writer: TranscriptWriter) -> None:
        """Ask only what has no record yet in a transcript that is carried on with."""
        self._trials = chain(unanswered(writer, self._trials), self._trials)

    def _planned(self) -> Iterator[PlannedTrial]:
        plan, turns = self._plan, self._plan.options.repeat
        # As many as were checked: an algorithm may have added rows to the table that they are read from.
        whole = islice(plan.cases, plan.total // turns)
        if turns == 1 and plan.unit_order is None and self._only is None:
            return zip(count(), repeat(1), whole, strict=False)  # no step in Python: there may be millions
        numbered = enumerate(whole) if plan.unit_order is None else plan.unit_order.cases
        return (
            (number * turns + turn, turn + 1, case)
            for number, case in numbered
            if self._only is None or case.id in self._only
            for turn in range(turns)
        )

    def __iter__(self) -> Iterator[Question]:
        resolve = self._plan.cases.references.resolve
        shows_claim = self._plan.cases.script.task.shows_claim
        maker = self._plan.cases.input_maker()
        for index, turn, case in self._trials:
            self.pending[index] = case
            value = case.input
            if maker is not None:
                try:
                    self.pending[index], value = maker.make(case)
                except InputError as error:
                    question = Question(index, case.id, value, repeat=turn)
                    self.failures.append(Reply(question, error=ErrorKind.INTERFACE, message=str(error)))
                    continue
            elif type(value) is not str or value.startswith("{"):
                value = resolve(value)
            yield Question(index, case.id, value, case.expect if shows_claim else "", case.columns, turn)

    def replies(self, session: Session) -> Iterator[Reply]:
        """The replies of the program, and those for questions that it could not be asked."""
        for reply in session.replies(iter(self)):
            yield reply
            while self.failures:
                yield self.failures.popleft()
        yield from self.failures


class Loop:
    """Asks, judges and records until no questions are left."""

    def __init__(self, plan: Plan, feed: Feed, recorder: Recorder, latch: Latch) -> None:
        self._plan = plan
        self._feed = feed
        self._recorder = recorder
        self._latch = latch
        self._judge = plan.cases.judge(plan.params, repeated=plan.options.repeat > 1)
        self.asked = 0
        self.first_error: Trial | None = None
        self._first_index = 0
        design, repeated = plan.cases.script.file.design, plan.options.repeat > 1
        grouped = design.stratum is not None or design.psu is not None or repeated
        self.units = UnitTally(repeated=repeated) if grouped else None
        script = plan.cases.script
        self.labels = AnsweredLabels() if script.task.answers_classes and not script.is_blind else None
        rule, order = plan.stop_rule, plan.unit_order
        self._stopper = None if rule is None or order is None else Stopper(order, rule, repeat=plan.options.repeat)

    def go(self, session: Session, progress: Progress) -> None:
        """Run to the end; a timeout, a crash or an invalid answer is an error of that case only."""
        progress.begin(self._plan.total, self._recorder.counts.tests)
        try:
            self._go(session, progress)
        finally:
            try:
                progress.advance(self._recorder.counts.tests, self._recorder.counts.ER)
            finally:
                progress.end()

    def _go(self, session: Session, progress: Progress) -> None:
        pending, append, judge = self._feed.pending, self._recorder.append, self._judge.trial
        latch, tick = self._latch, perf_counter() + TICK_SECONDS
        add_to_units, stopper = None if self.units is None else self.units.add, self._stopper
        add_label = None if self.labels is None else self.labels.add
        for reply in self._feed.replies(session):
            index = reply.question.index
            trial = judge(pending.pop(index), reply)
            counted = ((index, trial),) if stopper is None else stopper.add(index, trial)
            for number, counted_trial in counted:
                append(number, counted_trial)
                if add_to_units is not None:
                    add_to_units(counted_trial)
            self.asked += 1
            if add_label is not None:
                add_label(trial)
            if trial.error:
                self._note_error(index, trial)
            if latch.signum is not None:
                latch.check()
            if stopper is not None and stopper.is_met:
                break
            if perf_counter() >= tick:
                tick = perf_counter() + TICK_SECONDS
                counts = self._recorder.counts
                progress.advance(counts.tests, counts.ER)
                if isinstance(session, SpreadSession) and isinstance(progress, WorkerProgress):
                    progress.show_workers(session.throughput())

    def _note_error(self, index: int, trial: Trial) -> None:
        # Workers answer in any order: the first is that of the test.
        if self.first_error is None or index < self._first_index:
            self.first_error, self._first_index = trial, index
        if self._plan.cases.script.file.test.errors is ErrorRule.ABORT:
            raise RunAborted(f"case {trial.id}: {trial.error}: {trial.message}; this test ends at the first error")


@dataclass(frozen=True)
class CaseDetail:
    """Everything about one case, to explain its outcome."""

    case: Case
    reply: Reply
    trial: Trial


def ask(plan: Plan, ids: set[str]) -> Iterator[CaseDetail]:
    """Run only the named cases, with everything about them."""
    refuse_blind(plan)
    feed = Feed(plan, only=ids)
    judge = plan.cases.judge(plan.params, repeated=plan.options.repeat > 1)
    with interruptible(), guarded(plan) as guard:
        with open_session(plan) as session:
            for reply in feed.replies(session):
                case = feed.pending[reply.question.index]
                yield CaseDetail(case, reply, judge.trial(case, reply))
        guard.check()
