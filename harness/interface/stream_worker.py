"""One program of a stream: started, asked, and started again when it dies or hangs."""

import select
import subprocess
import sys
from collections import deque
from collections.abc import Collection, Iterator
from itertools import chain, islice
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from harness.errors import InterfaceError
from harness.interface.contract import Setup
from harness.interface.pipes import PipedProgram
from harness.interface.process import describe_status, exit_status, last_lines, peak_memory, start
from harness.interface.stream_reply import NOT_A_MESSAGE, ReplyReader, decode, encode, quote
from harness.interface.wire import to_line
from harness.model import ErrorKind, Question, Reply

if TYPE_CHECKING:
    from harness.interface.stream import StreamInterface

FORMAT = 1
# How long a program may take to start before the user is told what the harness is waiting for.
HINT_SECONDS = 10.0
# How long to wait for a program to end after its output has ended.
ENDING_SECONDS = 0.5
MEMORY_SECONDS = 0.05
# How much work a worker of ours may have before it, in seconds and in cases: enough that it never waits for us, and
# little, so that slow cases are spread evenly over the workers.
AHEAD_SECONDS = 0.01
MOST_IN_FLIGHT = 128
# How fast a slow case is forgotten, with each block of answers.
FORGETTING = 0.8
# How many answered cases are remembered, to recognise a second answer to one of them.
REMEMBERED = 10_000


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


class StreamWorker:
    """A program with the questions that it has; it is started again if it dies or hangs.

    A worker of ours answers in the order in which it was asked, so the oldest question without an answer is to blame,
    or the oldest batch. In other programs any question in flight may be to blame. If there is one suspect it has an
    error; several are asked again, one at a time.
    """

    def __init__(self, interface: "StreamInterface", setup: Setup, poll: "select.poll") -> None:
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
        self._read = ReplyReader(setup, ours=interface.own_clock).read
        self._memory: int | None = None
        self._memory_at = 0.0

    @property
    def watched(self) -> Collection[int]:
        """The files that have something when there is something to do."""
        return () if self._program is None else self._program.watched

    @property
    def busy(self) -> bool:
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
        self._last_event = 0.0 if interface.own_clock else perf_counter()
        self._program.write(encode(hello) + b"\n")

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
            self._check_ready(lines[0])
            self.ready = True
        elif program.ended:
            raise InterfaceError(self._failure(program, "before it was ready"))
        elif late:
            self._last_event = 0.0
            text = f'waiting for {name} to say {{"ready":true}}; does it flush its output?'
            print(f"hate: {text}", file=sys.stderr, flush=True)

    def _check_ready(self, line: bytes) -> None:
        try:
            ready = decode(line)
        except NOT_A_MESSAGE:
            ready = {}
        if ready.get("ready") is True:
            return
        if "error" in ready:
            raise InterfaceError(f"{self._interface.name}: {ready['error']}")
        raise InterfaceError(f'{self._interface.name}: wrote {quote(line)} instead of {{"ready":true}}')

    def _answers(self, program: PipedProgram, lines: list[bytes], source: QuestionSource) -> list[Reply]:
        program.has_answered = True
        now = perf_counter()
        share = (now - self._last_event) / len(lines)
        self._update_memory(program, now)
        replies, read, memory = list[Reply](), self._read, self._memory
        for line in lines:
            try:
                message = decode(line)
                question = self._take(message.pop("id"))
            except (*NOT_A_MESSAGE, KeyError, TypeError):
                replies += self._invalid_line(program, line, source)
                if self._program is not program:
                    break
            else:
                if question is not None:
                    self._last_event = now
                    replies.append(read(question, message, share, memory))
        if self._interface.own_clock and replies:
            self._resize(max(share, *(reply.seconds for reply in replies)))
        return replies

    def _resize(self, slowest: float) -> None:
        """Have as much work in flight as the slowest of the last cases say: the next one may be as slow."""
        self._slowest = max(slowest, self._slowest * FORGETTING)
        batch, ahead = self._interface.batch, int(AHEAD_SECONDS / max(self._slowest, 1e-6))
        self._window = max(batch, min(MOST_IN_FLIGHT, ahead) // batch * batch)

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

    def _take_all(self) -> list[Question]:
        """All questions without an answer, in the order in which they were sent."""
        asked = sorted(chain.from_iterable(self._waiting.values()), key=lambda one: one[0])
        self._waiting.clear()
        self._in_flight = 0
        return [question for _, question in asked]

    def _invalid_line(self, program: PipedProgram, line: bytes, source: QuestionSource) -> list[Reply]:
        """A line that is not a reply: the fault of the case that the program works on, or of one of several."""
        at_work = min(self._interface.batch, self._in_flight) if self._interface.own_clock else self._in_flight
        if at_work != 1:
            return self._blame(program, ErrorKind.ANSWER, f"wrote {quote(line)}", source)
        oldest = min(chain.from_iterable(self._waiting.values()), key=lambda one: one[0])[1]
        question = self._take(oldest.id)
        if question is None:
            return []
        text = f"wrote {quote(line)} instead of a JSON line with the id of the case"
        return [Reply(question, None, ErrorKind.ANSWER, text, 0.0, self._memory)]

    def _blame(self, program: PipedProgram, kind: ErrorKind, message: str, source: QuestionSource) -> list[Reply]:
        """End the program. A single suspect is to blame; several are asked again, one at a time.

        A single suspect is asked again too if the program ended after its last answer without reading the case.
        """
        waiting = self._take_all()
        unread = program.unread() if kind is ErrorKind.CRASH and program.has_answered else 0
        innocent = 0 < sum(len(to_line(question)) for question in waiting) <= unread
        self.kill()
        most = self._interface.batch if self._interface.own_clock else len(waiting)
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

    def _update_memory(self, program: PipedProgram, now: float) -> None:
        # Reading it takes as long as ten cases; a peak only grows, so now and then is enough.
        if now - self._memory_at >= MEMORY_SECONDS:
            self._memory_at = now
            self._memory = peak_memory(program.process.pid) or self._memory

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
        """Kill the program at once."""
        if self._program is not None:
            self._program.close()
            self._program = None
