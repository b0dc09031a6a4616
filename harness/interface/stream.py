"""[stream]: long-lived processes, with a JSON line in and one out for every case. See docs/reference/interfaces.md."""

import select
import subprocess
import sys
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from math import inf
from time import perf_counter
from typing import Annotated, Any, ClassVar

import msgspec
from pydantic import Field

from harness.errors import InterfaceError, quoting
from harness.interface.contract import Session, Setup
from harness.interface.interrupts import check_interrupt
from harness.interface.process import (
    SIGNAL_SECONDS,
    PipedProgram,
    ProgramInterface,
    describe_status,
    exit_status,
    last_lines,
    peak_memory,
    start,
)
from harness.interface.toml import Argv, InterfaceFile, KindSection
from harness.interface.wire import ANSWER_KEYS, BYTES, VALUES, to_line, unspill
from harness.model import ErrorKind, Question, Reply
from harness.tasks import TASKS

FORMAT = 1
CLOSING_SECONDS = 5.0
# How long a program may take to start before the user is told what the harness is waiting for.
HINT_SECONDS = 10.0
# How long to wait for a program to end after its output has ended.
ENDING_SECONDS = 0.5
MEMORY_SECONDS = 0.05
# How much work a worker of ours may have before it, in seconds and in cases: enough that it never waits for us, and
# little, so that slow cases are spread evenly over the workers.
AHEAD_SECONDS = 0.01
MAX_IN_FLIGHT = 128
# How fast a slow case is forgotten, with each block of answers.
FORGETTING = 0.8
# How many answered cases are remembered, to recognise a second answer to one of them.
REMEMBERED = 10_000
# A worker that says that a case took longer than a year is wrong.
MAX_SECONDS = 3.2e7
# What an answer may stand under. Bytes by themselves stand under `answer`.
_ANSWER_KEYS = frozenset({*ANSWER_KEYS, VALUES}).union(*(task.keys for task in TASKS.values())) - {BYTES}
_NOT_A_MESSAGE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class StreamSection(KindSection):
    """[stream]: one long-lived process."""

    argv: Argv
    in_flight: Annotated[int, Field(ge=1, le=10_000)] = 16

    def load(self, file: InterfaceFile) -> "StreamInterface":
        """The program, which must exist."""
        argv = file.program(self.argv, "stream.argv")
        return StreamInterface(**file.described(argv), argv=argv, folder=file.folder, in_flight=self.in_flight)


@dataclass(frozen=True, kw_only=True)
class StreamInterface(ProgramInterface):
    """A program that speaks the stream protocol."""

    kind = "stream"
    shares_jobs = True
    # Our own workers measure the time themselves, without the pipes.
    times_itself: ClassVar[bool] = False

    in_flight: int = 16
    # How many cases the program may work on before it answers the first of them.
    batch: int = 1
    # The first message names the training file and the gallery; whether the program reads them is unknown.
    learns: bool = True
    enrols: bool = True

    def open(self, setup: Setup) -> Session:
        """As many programs as there are jobs, started and ready; they share the questions."""
        session = StreamSession(self, setup)
        try:
            session.start()
        except BaseException:
            session.kill()
            raise
        return session


class QuestionSource:
    """The questions that are still to be asked: first those that a program left without an answer, then new ones."""

    def __init__(self, questions: Iterator[Question]) -> None:
        self._left: deque[Question] = deque()
        self._new = questions

    def take(self, most: int) -> list[Question]:
        """The next questions, in order."""
        left = self._left
        again = [left.popleft() for _ in range(min(most, len(left)))] if left else []
        return [*again, *islice(self._new, most - len(again))]

    def give_back(self, questions: list[Question]) -> None:
        """Have them asked again, before new ones."""
        self._left.extend(questions)

    def __bool__(self) -> bool:
        if not self._left:
            self._left.extend(islice(self._new, 1))
        return bool(self._left)


class StreamSession:
    """Several programs, each with its questions in flight; one thread waits for all of them."""

    def __init__(self, interface: StreamInterface, setup: Setup) -> None:
        self._poll = select.poll()
        self._workers = [StreamWorker(interface, setup, self._poll) for _ in range(setup.jobs)]

    def start(self) -> None:
        """Start all programs, and wait until they are ready."""
        none = QuestionSource(iter(()))
        for worker in self._workers:
            worker.start()
        while not all(worker.ready for worker in self._workers):
            self._step(none)

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """A reply for each question, in the order in which the programs give them."""
        source = QuestionSource(questions)
        for worker in self._workers:
            worker.fill(source)
        while source or any(worker.is_busy for worker in self._workers):
            yield from self._step(source)

    def _step(self, source: QuestionSource) -> list[Reply]:
        """Wait for something to happen; programs get new questions before anyone looks at their replies."""
        # In small steps: the signal that ends the run may have come to another thread.
        check_interrupt()
        left = min(worker.deadline for worker in self._workers) - perf_counter()
        ready = {fd for fd, _ in self._poll.poll(max(0.0, min(left, SIGNAL_SECONDS)) * 1000)}
        replies: list[Reply] = []
        for worker in self._workers:
            if not ready.isdisjoint(worker.watched) or perf_counter() >= worker.deadline:
                replies += worker.step(ready, source)
        for worker in self._workers:
            worker.fill(source)
        return replies

    def kill(self) -> None:
        for worker in self._workers:
            worker.kill()

    def close(self) -> None:
        """Close the programs' input, give them time to end, then kill them."""
        for worker in self._workers:
            worker.end_input()
        deadline = perf_counter() + CLOSING_SECONDS
        for worker in self._workers:
            worker.wait(max(0.0, deadline - perf_counter()))


class StreamWorker:
    """A program with the questions that it has; it is started again if it dies or hangs.

    A worker of ours answers in the order in which it was asked, so the oldest question without an answer is to blame,
    or the oldest batch. In other programs any question in flight may be to blame. If there is one suspect it has an
    error; several are asked again, one at a time.
    """

    def __init__(self, interface: StreamInterface, setup: Setup, poll: "select.poll") -> None:
        self._interface = interface
        self._setup = setup
        self._poll = poll
        self._window = interface.in_flight
        self._slowest = 0.0
        self._program: PipedProgram | None = None
        # When the program has said that it is ready, the time of its last answer, or of a question to an idle program.
        self.ready = False
        self._last_event = 0.0
        # The questions in flight by id, with their numbers in the order of sending. An id is in flight twice only if a
        # case is asked several times.
        self._waiting: dict[str, list[tuple[int, Question]]] = {}
        self._in_flight = self._number = 0
        self._suspects: deque[Question] = deque()
        self._answered: deque[str] = deque(maxlen=REMEMBERED)
        self._memory: int | None = None
        self._memory_at = 0.0

    @property
    def watched(self) -> Collection[int]:
        """The files that have something when there is something to do."""
        return () if self._program is None else self._program.watched

    @property
    def is_busy(self) -> bool:
        """Whether it has questions without an answer."""
        return bool(self._in_flight or self._suspects)

    @property
    def deadline(self) -> float:
        """When it has waited long enough."""
        if self._program is None:
            return inf
        if not self.ready:
            return self._last_event + HINT_SECONDS if self._last_event else inf
        timeout = self._setup.timeout
        if timeout is None or not self._in_flight:
            return inf
        return self._last_event + timeout * min(self._interface.batch, self._in_flight)

    def start(self) -> None:
        """Start the program and tell it about the test; it is ready when it says so."""
        interface, setup = self._interface, self._setup
        hello = {
            "hate": "stream",
            "format": FORMAT,
            "test": {"name": setup.test, "version": setup.version, "task": setup.task},
            "params": dict(setup.params),
            "train": None if setup.train is None else str(setup.train),
            **({} if setup.gallery is None else {"gallery": str(setup.gallery)}),
            "work": str(setup.work),
        }
        process = start(interface.argv, interface.folder, subprocess.PIPE, setup)
        self._program = PipedProgram(process, self._poll)
        self._window, self.ready = interface.in_flight, False
        # Our own workers say when something is wrong.
        self._last_event = 0.0 if interface.times_itself else perf_counter()
        self._program.write(_encode(hello) + b"\n")

    def fill(self, source: QuestionSource) -> None:
        """Give it as many questions as it may have."""
        if self._program is None and (self._suspects or source):
            self.start()
        if self._program is None or not self.ready:
            return
        if not self._suspects:
            # Whole batches: a smaller one may cost as much.
            room = (self._window - self._in_flight) // self._interface.batch * self._interface.batch
            if room > 0:
                self._send(self._program, source.take(room))
        elif not self._in_flight:
            self._send(self._program, [self._suspects.popleft()])

    def _send(self, program: PipedProgram, questions: list[Question]) -> None:
        if not questions:
            return
        if not self._in_flight:
            self._last_event = perf_counter()
        number = self._number
        for question in questions:
            number += 1
            if question.id in self._waiting:
                self._waiting[question.id].append((number, question))
            else:
                self._waiting[question.id] = [(number, question)]
        self._number = number
        self._in_flight += len(questions)
        program.write(b"".join(map(to_line, questions)))

    def step(self, ready: Collection[int], source: QuestionSource) -> list[Reply]:
        """Read what has come, and say what follows from it, or from waiting too long."""
        program = self._program
        if program is None:
            return []
        deadline, lines = self.deadline, program.read(ready)
        if not self.ready:
            self._get_ready(program, lines, late=perf_counter() >= deadline)
            return []
        replies: list[Reply] = []
        if lines:
            replies = self._answers(program, lines, source)
        elif program.ended:
            return self._blame(program, ErrorKind.CRASH, self._failure(program, "before it answered"), source)
        # Second answers to cases that are long done do not count.
        if perf_counter() >= deadline == self.deadline and self._program is program:
            hint = last_lines(program.stderr.content)
            message = f"no answer in {self._setup.timeout:g} s" + (f": {hint}" if hint else "")
            replies += self._blame(program, ErrorKind.TIMEOUT, message, source)
        return replies

    def _get_ready(self, program: PipedProgram, lines: list[bytes], *, late: bool) -> None:
        """Training may take any time, but the user is told, in case the program does not flush its output."""
        name = self._interface.name
        if lines:
            try:
                message = _decode(lines[0])
            except _NOT_A_MESSAGE:
                message = {}
            if "error" in message and message.get("ready") is not True:
                raise InterfaceError(quoting(f"{name}: {message['error']}", str(message["error"])))
            if message.get("ready") is not True:
                raise InterfaceError(f'{name}: wrote {_quote(lines[0])} instead of {{"ready":true}}')
            self.ready = True
        elif program.ended:
            text = self._failure(program, "before it was ready")
            raise InterfaceError(quoting(text, last_lines(program.stderr.content)))
        elif late:
            self._last_event = 0.0
            text = f'waiting for {name} to say {{"ready":true}}; does it flush its output?'
            print(f"hate: {text}", file=sys.stderr, flush=True)

    def _answers(self, program: PipedProgram, lines: list[bytes], source: QuestionSource) -> list[Reply]:
        program.has_answered = True
        now = perf_counter()
        share = (now - self._last_event) / len(lines)
        # Reading it takes as long as ten cases; a peak only grows, so now and then is enough.
        if now - self._memory_at >= MEMORY_SECONDS:
            self._memory_at = now
            self._memory = peak_memory(program.process.pid) or self._memory
        replies, read = list[Reply](), self._read
        for line in lines:
            try:
                message = _decode(line)
                question = self._take(message.pop("id"))
            except (*_NOT_A_MESSAGE, KeyError, TypeError):
                replies += self._invalid_line(program, line, source)
                if self._program is not program:
                    break
            else:
                if question is not None:
                    self._last_event = now
                    replies.append(read(question, message, share))
        if self._interface.times_itself and replies:
            # As much in flight as the slowest of the last cases say: the next one may be as slow.
            slowest = max(share, *(reply.seconds for reply in replies))
            self._slowest = max(slowest, self._slowest * FORGETTING)
            batch, ahead = self._interface.batch, int(AHEAD_SECONDS / max(self._slowest, 1e-6))
            self._window = max(batch, min(MAX_IN_FLIGHT, ahead) // batch * batch)
        return replies

    def _read(self, question: Question, message: dict[str, Any], share: float) -> Reply:
        """The reply in a message, without its id; `share` is the time that the harness measured.

        A worker of ours has measured the time itself, and may have put a large answer into a file. Its pipe is open to
        the code of the interface, so its messages are no more than a program's.
        """
        ours, memory = self._interface.times_itself, self._memory
        stated_seconds = message.pop("seconds", None) if ours else None
        seconds = stated_seconds if isinstance(stated_seconds, float) and 0 <= stated_seconds < MAX_SECONDS else share
        if (error := message.get("error")) is not None:
            stated = message.get("kind") if ours else None
            kind = ErrorKind.ANSWER if stated == ErrorKind.ANSWER else ErrorKind.CRASH
            return Reply(question, None, kind, self._setup.limits.hint(str(error)), seconds, memory)
        if "answer" in message:
            answer = message["answer"]
            if ours and type(answer) is dict:
                answer = unspill(answer, self._setup.work)
            elif VALUES in message:
                answer = {"answer": answer, VALUES: message[VALUES]}
            return Reply(question, answer, None, "", seconds, memory)
        if _ANSWER_KEYS.isdisjoint(message):
            text = f"no {', '.join(ANSWER_KEYS[:-1])} or error in {_quote(_encode(message))}"
            return Reply(question, None, ErrorKind.ANSWER, text, seconds, memory)
        return Reply(question, message, None, "", seconds, memory)

    def _take(self, case_id: str) -> Question | None:
        """The question that a reply belongs to; None if it has been answered already, or was given up."""
        asked = self._waiting.get(case_id)
        if asked is None:
            if case_id in self._answered:
                return None
            raise KeyError(case_id)
        _, question = asked.pop(0)
        if not asked:
            del self._waiting[case_id]
        self._in_flight -= 1
        self._answered.append(case_id)
        return question

    def _invalid_line(self, program: PipedProgram, line: bytes, source: QuestionSource) -> list[Reply]:
        """A line that is not a reply: the fault of the case that the program works on, or of one of several."""
        at_work = min(self._interface.batch, self._in_flight) if self._interface.times_itself else self._in_flight
        if at_work != 1:
            return self._blame(program, ErrorKind.ANSWER, f"wrote {_quote(line)}", source)
        oldest = min(chain.from_iterable(self._waiting.values()), key=lambda sent: sent[0])[1]
        question = self._take(oldest.id)
        if question is None:
            return []
        text = f"wrote {_quote(line)} instead of a JSON line with the id of the case"
        return [Reply(question, None, ErrorKind.ANSWER, text, 0.0, self._memory)]

    def _blame(self, program: PipedProgram, kind: ErrorKind, message: str, source: QuestionSource) -> list[Reply]:
        """End the program. A single suspect is to blame; several are asked again, one at a time.

        A single suspect is asked again too if the program ended after its last answer without reading the case.
        """
        sent = sorted(chain.from_iterable(self._waiting.values()), key=lambda numbered: numbered[0])
        waiting = [question for _, question in sent]
        self._waiting.clear()
        self._in_flight = 0
        unread = program.unread() if kind is ErrorKind.CRASH and program.has_answered else 0
        innocent = 0 < sum(len(to_line(question)) for question in waiting) <= unread
        self.kill()
        most = self._interface.batch if self._interface.times_itself else len(waiting)
        suspects, others = waiting[:most], waiting[most:]
        source.give_back(others)
        if len(suspects) == 1 and not innocent:
            return [Reply(suspects[0], None, kind, message, perf_counter() - self._last_event, self._memory)]
        self._suspects.extend(suspects)
        return []

    def _failure(self, program: PipedProgram, when: str) -> str:
        """Why a program ended: its status, and the last lines of its stderr."""
        how = program.fault
        if not how:
            status = exit_status(program.process, ENDING_SECONDS)
            how = "closed its output" if status is None else describe_status(status)
        while program.take_stderr():
            pass
        words = self._setup.limits.hint(last_lines(program.stderr.content))
        return f"{self._interface.name}: {how} {when}" + (f": {words}" if words else "")

    def end_input(self) -> None:
        """Tell the program that there is nothing more to do; one that is not idle is killed."""
        if self._program is not None:
            if self.ready and not self._in_flight:
                self._program.end_input()
            else:
                self.kill()

    def wait(self, seconds: float) -> None:
        """Give the program time to end, then kill it."""
        if self._program is not None:
            exit_status(self._program.process, seconds)
            self.kill()

    def kill(self) -> None:
        if self._program is not None:
            self._program.close()
            self._program = None


def _quote(line: bytes) -> str:
    """A line for a message, shortened."""
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")
