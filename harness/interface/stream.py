"""[stream]: long-lived processes, with a JSON line in and one out for every case. See docs/reference/interfaces.md."""

import select
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from harness.interface.contract import NO_LINKS, AlgorithmLinks, Interface, Session, Setup
from harness.interface.imports import ImportedFiles
from harness.interface.interrupts import check_interrupt
from harness.interface.process import SIGNAL_SECONDS
from harness.interface.stream_worker import QuestionSource, StreamWorker
from harness.model import Question, Reply
from harness.params import Param

CLOSING_SECONDS = 5.0


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
    links: AlgorithmLinks = NO_LINKS

    def open(self, setup: Setup) -> Session:
        """The program, started and ready."""
        return self.open_several(setup, 1)

    def open_several(self, setup: Setup, count: int) -> Session:
        """As many programs, which share the questions."""
        session = StreamSession(self, setup, count)
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
    """Several programs, each with its questions in flight; one thread waits for all of them."""

    def __init__(self, interface: StreamInterface, setup: Setup, count: int) -> None:
        self._poll = select.poll()
        self._workers = [StreamWorker(interface, setup, self._poll) for _ in range(count)]

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
        while source or any(worker.busy for worker in self._workers):
            yield from self._step(source)

    def _step(self, source: QuestionSource) -> list[Reply]:
        """Wait for something to happen; programs get new questions before anyone looks at their replies."""
        ready, replies = self._wait(), list[Reply]()
        for worker in self._workers:
            if not ready.isdisjoint(worker.watched) or perf_counter() >= worker.deadline:
                replies += worker.step(ready, source)
        for worker in self._workers:
            worker.fill(source)
        return replies

    def _wait(self) -> set[int]:
        # In small steps: the signal that ends the run may have come to another thread.
        check_interrupt()
        left = min(worker.deadline for worker in self._workers) - perf_counter()
        return {fd for fd, _ in self._poll.poll(max(0.0, min(left, SIGNAL_SECONDS)) * 1000)}

    def kill(self) -> None:
        """Kill the programs at once."""
        for worker in self._workers:
            worker.kill()

    def close(self) -> None:
        """Close the programs' input, give them time to end, then kill them."""
        for worker in self._workers:
            worker.end_input()
        deadline = perf_counter() + CLOSING_SECONDS
        for worker in self._workers:
            worker.wait(max(0.0, deadline - perf_counter()))
