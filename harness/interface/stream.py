"""[stream]: one long-lived process, a JSON line in and one out for every case. See docs/reference/interfaces.md."""

import contextlib
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from harness.errors import InterfaceError
from harness.interface.contract import Interface, Session, Setup
from harness.interface.imports import ImportedFiles
from harness.interface.pipes import PipedProgram
from harness.interface.process import describe_status, exit_status, last_lines, peak_memory, start
from harness.interface.wire import to_line, unspill
from harness.model import ErrorKind, Question, Reply
from harness.params import Param

FORMAT = 1
CLOSING_SECONDS = 5.0
# How long a program may take to start before the user is told what the harness is waiting for.
HINT_SECONDS = 10.0
# How long to wait for a program to end after its output has ended.
ENDING_SECONDS = 0.5
MEMORY_SECONDS = 0.05
# A worker that says that a case took longer than a year is wrong.
LONGEST_SECONDS = 3.2e7
# How much work a worker of ours may have before it, in seconds and in cases.
AHEAD_SECONDS = 0.005
MOST_IN_FLIGHT = 500
# How many answered cases are remembered, to recognise a second answer to one of them.
REMEMBERED = 10_000
ANSWER_KEYS = ("answer", "label", "score", "scores", "value")
_ANSWER_KEYS = frozenset(ANSWER_KEYS)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True)
class StreamInterface:
    """A program that speaks the stream protocol."""

    name: str
    version: str
    sha256: str
    params: Mapping[str, Param]
    argv: tuple[str, ...]
    folder: Path
    in_flight: int = 16
    # How many cases the program may work on before it answers the first of them.
    batch: int = 1
    # Our own workers measure the time themselves, without the pipes.
    own_clock: bool = False
    kind: str = "stream"
    # The first message names the training file and the gallery; whether the program reads them is unknown.
    learns: bool = True
    enrols: bool = True
    # For Python: what the interface file imports, and whether the harness has imported it as well.
    imports: ImportedFiles | None = None
    imported: bool = False

    def open(self, setup: Setup) -> Session:
        """The program, started and ready."""
        session = StreamSession(self, setup)
        try:
            session.start()
        except BaseException:
            session.kill()
            raise
        return session

    def isolated(self) -> Interface:
        """It already runs in its own process."""
        return self


class StreamSession:
    """Keeps several cases in flight; a program that dies or hangs is started again.

    If several cases were in flight, any of them may be to blame: they become suspects, and are asked again one at a
    time.
    """

    def __init__(self, interface: StreamInterface, setup: Setup) -> None:
        self._interface = interface
        self._setup = setup
        # With a time limit a worker gets one batch at a time, so that only that batch waits for a case that hangs.
        one_batch = interface.own_clock and setup.timeout is not None
        self._window = self._least = interface.batch if one_batch else interface.in_flight
        # The answers of a quick worker are not worth a wait each. If there are several, none should keep cases that
        # another could answer.
        self._grows = interface.own_clock and not one_batch and setup.jobs == 1
        self._program: PipedProgram | None = None
        self._waiting: dict[str, list[Question]] = {}
        self._in_flight = 0
        self._suspects: deque[Question] = deque()
        self._answered: deque[str] = deque(maxlen=REMEMBERED)
        self._last_event = 0.0
        self._memory: int | None = None
        self._memory_at = 0.0

    def start(self) -> None:
        """Start the program, tell it about the test, and wait until it is ready."""
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
        self._program = program = PipedProgram(start(interface.argv, interface.folder, subprocess.PIPE, setup.limits))
        program.out += _encode(hello) + b"\n"
        lines = self._wait_for_ready(program)
        if not lines:
            raise InterfaceError(self._failure(program, "before it was ready"))
        self._check_ready(lines[0])

    def _wait_for_ready(self, program: PipedProgram) -> list[bytes]:
        """Training may take any time, but the user is told, in case the program does not flush its output."""
        hint = None if self._interface.own_clock else perf_counter() + HINT_SECONDS
        lines = program.exchange(hint)
        if lines or program.ended:
            return lines
        text = f'waiting for {self._interface.name} to say {{"ready":true}}; does it flush its output?'
        print(f"hate: {text}", file=sys.stderr, flush=True)
        return program.exchange(None)

    def _check_ready(self, line: bytes) -> None:
        try:
            ready = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            ready = {}
        if ready.get("ready") is True:
            return
        if "error" in ready:
            raise InterfaceError(f"{self._interface.name}: {ready['error']}")
        raise InterfaceError(f'{self._interface.name}: wrote {_quote(line)} instead of {{"ready":true}}')

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """A reply for each question, in the order in which the program gives them."""
        more = True
        while True:
            program = self._running()
            while more and self._in_flight < self._window and not self._suspects:
                question = next(questions, None)
                if question is None:
                    more = False
                else:
                    self._send(program, question)
            if self._suspects and not self._in_flight:
                self._send(program, self._suspects.popleft())
            if not self._in_flight:
                return
            yield from self._step(program)

    def _running(self) -> PipedProgram:
        if self._program is None:
            self.start()
        if self._program is None:
            raise InterfaceError(f"{self._interface.name}: did not start")
        return self._program

    def _send(self, program: PipedProgram, question: Question) -> None:
        if not self._in_flight:
            self._last_event = perf_counter()
        # Nearly always a list of one: an id is in flight twice only if a case is asked several times.
        if question.id in self._waiting:
            self._waiting[question.id].append(question)
        else:
            self._waiting[question.id] = [question]
        self._in_flight += 1
        program.out += to_line(question)

    def _step(self, program: PipedProgram) -> Iterator[Reply]:
        """Wait for the next event, and return the replies that follow from it."""
        timeout = self._setup.timeout
        allowed = None if timeout is None else timeout * min(self._interface.batch, self._in_flight)
        lines = program.exchange(None if allowed is None else self._last_event + allowed)
        late = allowed is not None and perf_counter() >= self._last_event + allowed
        if lines:
            before = self._last_event
            yield from self._answers(program, lines)
            # Second answers to cases that are long done do not count.
            late = late and self._last_event == before and self._program is program
        elif program.ended:
            yield from self._blame(program, ErrorKind.CRASH, self._failure(program, "before it answered"))
            return
        if late:
            hint = last_lines(program.stderr.content)
            message = f"no answer in {timeout:g} s" + (f": {hint}" if hint else "")
            yield from self._blame(program, ErrorKind.TIMEOUT, message)

    def _answers(self, program: PipedProgram, lines: list[bytes]) -> Iterator[Reply]:
        program.has_answered = True
        now = perf_counter()
        share = (now - self._last_event) / len(lines)
        if self._grows:
            self._window = max(self._least, min(MOST_IN_FLIGHT, int(AHEAD_SECONDS / max(share, 1e-6))))
        self._update_memory(program, now)
        for line in lines:
            try:
                message = _decode(line)
                question = self._take(message.pop("id"))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
                yield from self._invalid_line(program, line)
                if self._program is not program:
                    return
            else:
                if question is not None:
                    self._last_event = now
                    yield self._reply(question, message, share)

    def _take(self, case_id: str) -> Question | None:
        """The question that a reply belongs to; None if it has been answered already, or was given up."""
        queue = self._waiting.get(case_id)
        if queue is None:
            if case_id in self._answered:
                return None
            raise KeyError(case_id)
        question = queue.pop(0)
        if not queue:
            del self._waiting[case_id]
        self._in_flight -= 1
        self._answered.append(case_id)
        return question

    def _reply(self, question: Question, message: dict[str, Any], share: float) -> Reply:
        # A worker's pipe is open to the code of the interface, so its messages are no more than a program's.
        own = message.pop("seconds", None) if self._interface.own_clock else None
        seconds = own if isinstance(own, float) and 0 <= own < LONGEST_SECONDS else share
        if (error := message.get("error")) is not None:
            stated = message.get("kind") if self._interface.own_clock else None
            kind = ErrorKind.ANSWER if stated == ErrorKind.ANSWER else ErrorKind.CRASH
            return Reply(question, None, kind, self._setup.limits.hint(str(error)), seconds, self._memory)
        if "answer" in message:
            # Only our own workers put parts of their answers into files.
            answer = message["answer"]
            if self._interface.own_clock and type(answer) is dict:
                answer = unspill(answer, self._setup.work)
            return Reply(question, answer, None, "", seconds, self._memory)
        if _ANSWER_KEYS.isdisjoint(message):
            text = f"no {', '.join(ANSWER_KEYS[1:])} or error in {_quote(_encode(message))}"
            return Reply(question, None, ErrorKind.ANSWER, text, seconds, self._memory)
        return Reply(question, message, None, "", seconds, self._memory)

    def _invalid_line(self, program: PipedProgram, line: bytes) -> Iterator[Reply]:
        """A line that is not a reply: the fault of the case in flight, or of one of several."""
        if self._in_flight > 1 or not self._waiting:
            yield from self._blame(program, ErrorKind.ANSWER, f"wrote {_quote(line)}")
            return
        question = self._take(next(iter(self._waiting)))
        if question is not None:
            text = f"wrote {_quote(line)} instead of a JSON line with the id of the case"
            yield Reply(question, None, ErrorKind.ANSWER, text, 0.0, self._memory)

    def _blame(self, program: PipedProgram, kind: ErrorKind, message: str) -> Iterator[Reply]:
        """End the program. A single case in flight is to blame; several are asked again, one at a time.

        A single case is asked again too if the program ended after its last answer without reading the case.
        """
        innocent = program.has_answered and not program.has_read_all() and kind is ErrorKind.CRASH
        self._end(program)
        waiting = sorted((q for queue in self._waiting.values() for q in queue), key=lambda q: (q.index, q.repeat))
        self._waiting.clear()
        self._in_flight = 0
        if len(waiting) == 1 and not innocent:
            yield Reply(waiting[0], None, kind, message, perf_counter() - self._last_event, self._memory)
        else:
            self._suspects.extend(waiting)

    def _failure(self, program: PipedProgram, when: str) -> str:
        """Why a program ended: its status, and the last lines of its stderr."""
        how = program.fault
        if not how:
            status = exit_status(program.process, ENDING_SECONDS)
            how = "closed its output" if status is None else describe_status(status)
        with contextlib.suppress(OSError):
            while program.take_stderr():
                pass
        words = self._setup.limits.hint(last_lines(program.stderr.content))
        return f"{self._interface.name}: {how} {when}" + (f": {words}" if words else "")

    def _update_memory(self, program: PipedProgram, now: float) -> None:
        # Reading it takes as long as ten cases; a peak only grows, so now and then is enough.
        if now - self._memory_at >= MEMORY_SECONDS:
            self._memory_at = now
            self._memory = peak_memory(program.process.pid) or self._memory

    def _end(self, program: PipedProgram) -> None:
        program.close()
        self._program = None

    def kill(self) -> None:
        """Kill the program at once."""
        if self._program is not None:
            self._end(self._program)

    def close(self) -> None:
        """Close the program's input, give it time to end, then kill it."""
        program = self._program
        if program is None:
            return
        if not self._in_flight and program.process.stdin is not None:
            with contextlib.suppress(OSError):
                program.process.stdin.close()
            exit_status(program.process, CLOSING_SECONDS)
        self._end(program)


def _quote(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")
