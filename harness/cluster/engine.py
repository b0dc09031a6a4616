"""The engine of `--cluster`: a session that keeps the workers of a cluster busy with batches of cases."""

import contextlib
import math
import pickle
import secrets
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from harness.cluster import ClusterError
from harness.cluster.connection import Cluster, SharedConnection
from harness.cluster.job import BatchResult, Job, Parcel, make_job, pack_questions, unpack_replies
from harness.cluster.options import ClusterOptions
from harness.cluster.worker import answer, close
from harness.engine.engines import Engine
from harness.engine.local_engine import make_setup
from harness.engine.plan import Plan, RunOptions
from harness.errors import InterfaceError, UsageError, quoting
from harness.interface.contract import Interface, Session
from harness.interface.interrupts import check_interrupt
from harness.interface.python import INTO_A_FILE, is_in_memory
from harness.model import ErrorKind, Question, Reply

T = TypeVar("T")
R = TypeVar("R")
RUNS_AT_ONCE = 2
SIGNAL_SECONDS = 0.5
TICK_SECONDS = 0.1
# How much work a batch should be: a few milliseconds of Dask's for each batch should not count.
BATCH_SECONDS = 0.1
# More seconds for each thread of the cluster, because one scheduler has to keep up with all of them.
SECONDS_A_THREAD = 0.001
MAX_CASES = 2_000
# How many times as large the next batch may be: a first case may be quicker than those that follow.
GROWTH = 8
# For each thread: one batch that is worked on, one that waits at the worker, and two on the way there and back.
BATCHES_A_THREAD = 4
# Each thread should get this many batches, so that none is left alone with the last one.
MIN_BATCHES = 8
# Into how many parts a batch is divided to find the case that kills its worker.
PARTS = 32
# Over how many seconds the throughput of a worker is measured.
RECENT_SECONDS = 10.0


@dataclass(frozen=True)
class _Batch:
    """Questions that were sent together; `alone` if nothing else was in flight."""

    questions: dict[int, Question]
    future: Any
    alone: bool = False


class ClusterSession:
    """Keeps the workers of a cluster busy. Results are taken by case: what is done a second time is dropped."""

    def __init__(self, cluster: Cluster, job: Job, total: int) -> None:
        from distributed import as_completed

        self._cluster = cluster
        self._job = job
        self._content = pickle.dumps(job, protocol=5)
        self._total = total
        self._batches: dict[str, _Batch] = {}
        self._completed = as_completed([], loop=cluster.client.loop, with_results=True, raise_errors=False)
        # Parts of batches whose workers died.
        self._suspects: deque[list[Question]] = deque()
        self._packed: dict[str, Parcel] = {}
        self._size = 1
        self._number = 0
        # When, which worker, how many cases.
        self._recent: deque[tuple[float, str, int]] = deque()
        self._begun = perf_counter()

    def start(self) -> None:
        """Make a program ready on each worker, and wait for the first; an InterfaceError if it does not start."""
        for worker in self._cluster.threads() or [None]:
            self._submit([], worker=worker)
        waiting = set(self._batches)
        while waiting <= self._batches.keys():
            for key, result in self._events():
                list(self._take(key, result))
            if self._batches.keys() - waiting:  # asked again, with the files that were missing
                waiting = set(self._batches)
        self._begun = perf_counter()

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        more = True
        while True:
            more = self._fill(questions, more=more)
            if not self._in_flight() and not self._suspects and not more:
                return
            for key, result in self._events():
                yield from self._take(key, result)

    def _in_flight(self) -> int:
        """How many batches have been sent; programs that are only made ready do not count."""
        return sum(bool(batch.questions) for batch in self._batches.values())

    def _fill(self, questions: Iterator[Question], *, more: bool) -> bool:
        """Send as much as the workers can use; returns whether there may be more questions."""
        if self._suspects:
            if not self._in_flight():
                self._submit(self._suspects.popleft(), alone=True)
            return more
        threads = max(1, sum(self._cluster.threads().values()))
        share = self._total // (MIN_BATCHES * threads)
        while more and self._in_flight() < BATCHES_A_THREAD * threads:
            batch = list(islice(questions, max(1, min(self._size, share, MAX_CASES))))
            if batch:
                self._submit(batch)
            more = bool(batch)
        return more

    def _submit(self, questions: list[Question], *, alone: bool = False, worker: str | None = None) -> None:
        self._number += 1
        future = self._cluster.client.submit(
            answer,
            self._job.key,
            self._cluster.versions,
            self._content,
            pack_questions(questions),
            key=f"hate-{self._job.key}-{self._number}",
            pure=False,
            workers=worker,
            # A worker that has gone in the meantime must not keep the others waiting.
            allow_other_workers=worker is not None,
        )
        self._batches[future.key] = _Batch({question.index: question for question in questions}, future, alone)
        self._completed.add(future)

    def _events(self) -> Iterator[tuple[str, BatchResult | None]]:
        """Batches that are done, as soon as there are some. Waits in small steps, for signals."""
        completed, cluster = self._completed, self._cluster
        while not (done := completed.next_batch(block=False)):
            check_interrupt()
            if cluster.stopping.is_set():
                raise ClusterError("another run on the cluster was stopped")
            if cluster.is_lost:
                raise ClusterError(f"--cluster {cluster.address}: the scheduler is gone")
            cluster.threads()  # which says so if there are none
            with completed.thread_condition:
                if completed.queue.empty():
                    completed.thread_condition.wait(TICK_SECONDS)
        for future, result in done:
            yield future.key, self._result(future, result)

    def _result(self, future: Any, result: Any) -> BatchResult | None:
        """What a batch came to; None if its workers died, one after the other."""
        # Not by the status of the future: its worker may have died after it gave the result.
        if isinstance(result, BatchResult):
            return result
        if future.status == "error":
            from distributed import KilledWorker

            error = result[1]
            if isinstance(error, KilledWorker):
                return None
            text = " ".join(f"{type(error).__name__}: {error}".split())
            raise ClusterError(f"--cluster {self._cluster.address}: a worker failed: {text}")
        if future.status == "cancelled":
            raise ClusterError(f"--cluster {self._cluster.address}: the scheduler is gone")
        raise ClusterError(f"--cluster {self._cluster.address}: a worker answered {type(result).__name__}")

    def _take(self, key: str, result: BatchResult | None) -> Iterator[Reply]:
        batch = self._batches.pop(key, None)
        if batch is None:
            return
        questions = batch.questions
        if result is None:
            yield from self._killed(batch)
        elif result.refusal:
            raise InterfaceError(quoting(result.refusal, result.refusal))
        elif result.missing:
            self._send(result, questions)
            self._submit(list(questions.values()), alone=batch.alone, worker=None if questions else result.worker)
        elif questions:
            self._measure(result, len(questions))
            for reply in unpack_replies(result.replies, questions):
                yield reply
                del questions[reply.question.index]
            if questions:
                raise ClusterError(f"{result.worker}: gave no answer to {len(questions):,} cases of a batch")

    def _killed(self, batch: _Batch) -> Iterator[Reply]:
        """The worker died each time: ask parts of the batch, with nothing else in flight, until one case is left."""
        questions = list(batch.questions.values())
        if not questions:
            raise InterfaceError(f"{self._job.interface.name}: the worker dies when the program is started")
        if len(questions) == 1 and batch.alone:
            yield Reply(questions[0], None, ErrorKind.CRASH, "the worker that was asked died, each time")
            return
        size = math.ceil(len(questions) / PARTS)
        self._suspects.extend(questions[at : at + size] for at in range(0, len(questions), size))

    def _send(self, result: BatchResult, questions: Mapping[int, Question]) -> None:
        """Send a worker the files that it asked for: materials of the job, and inputs of these questions."""
        materials = self._job.materials
        for name in result.missing:
            if name in materials and name not in self._packed:
                self._packed[name] = materials[name].pack()
        parcels = {name: self._packed[name] for name in result.missing if name in materials}
        paths = {question.input for question in questions.values() if isinstance(question.input, str)}
        inputs = {path: Path(path).read_bytes() for path in paths.intersection(result.missing)}
        self._cluster.send(result.worker, self._job.key, parcels, inputs)

    def _measure(self, result: BatchResult, count: int) -> None:
        """The size of the next batches, from the time that this one took."""
        now = perf_counter()
        self._recent.append((now, result.worker, count))
        while self._recent[0][0] < now - RECENT_SECONDS:
            self._recent.popleft()
        threads = sum(self._cluster.threads().values())
        wanted = max(BATCH_SECONDS, SECONDS_A_THREAD * threads) / max(result.seconds / count, 1e-6)
        self._size = max(1, min(int(wanted), GROWTH * max(count, self._size // 2)))

    def throughput(self) -> dict[str, float]:
        """Cases a second by worker, lately."""
        span = min(RECENT_SECONDS, perf_counter() - self._begun) or 1.0
        rates: dict[str, float] = dict.fromkeys(self._cluster.threads(), 0.0)
        for _, worker, count in self._recent:
            rates[worker] = rates.get(worker, 0.0) + count / span
        return rates

    def close(self) -> None:
        """End the programs; what is in flight counts for nothing."""
        if self._cluster.is_lost:
            return
        futures = [batch.future for batch in self._batches.values()]
        self._batches.clear()
        with contextlib.suppress(OSError):  # the scheduler has gone in the meantime
            if futures:
                self._cluster.client.cancel(futures, force=True)
            self._cluster.run(close, self._job.key)


_connection = SharedConnection()


class ClusterEngine(Engine):
    """Runs cases on the workers of a Dask cluster."""

    def check(self, interface: Interface, options: RunOptions) -> None:
        """The cluster has its own workers, which must be able to load the program."""
        if options.jobs != 1:
            raise UsageError("--cluster and -j exclude one another: the cluster has its own number of workers")
        if is_in_memory(interface):
            address = ClusterOptions.taken_from(options).cluster
            raise UsageError(
                f"cluster='{address}': {interface.name} is an object of this program, which no worker has; "
                f"{INTO_A_FILE}"
            )

    @contextlib.contextmanager
    def open(self, plan: Plan) -> Iterator[Session]:
        """A program on each worker, ready; they are ended when the run is."""
        interface = plan.interface.isolated()
        with tempfile.TemporaryDirectory(prefix="hate-", ignore_cleanup_errors=True) as work, self.kept():
            setup = make_setup(plan, interface, Path(work))
            cluster = _connection.connect(ClusterOptions.taken_from(plan.options).cluster or "")
            job = make_job(plan, interface, setup, key=secrets.token_hex(8), same_machine=cluster.same_machine)
            session = ClusterSession(cluster, job, plan.total)
            try:
                session.start()
                yield session
            finally:
                session.close()

    def kept(self) -> contextlib.AbstractContextManager[None]:
        """Within it, a cluster stays connected from one run to the next."""
        return _connection.kept()

    def run_all(self, act: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """A few at a time: the next run fills the workers while the last cases of another are done.

        When one fails, or is interrupted, the others end too.
        """
        from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

        with ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
            runs = [pool.submit(act, item) for item in items]
            waiting = set(runs)
            try:
                while waiting:
                    done, waiting = wait(waiting, SIGNAL_SECONDS, FIRST_EXCEPTION)
                    check_interrupt()
                    for run in done:
                        run.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                _connection.stop()
                raise
        return [run.result() for run in runs]
