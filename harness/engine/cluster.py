"""The engine of `--cluster`: the connection to Dask, and a session that keeps its workers busy.

The scheduler is running somewhere, or workers are started here. Runs that belong together, such as those of a sweep,
share one connection. Nothing of Dask is imported before the first of them needs it. What runs on the workers is in
`cluster_worker.py`.
"""

import contextlib
import logging
import math
import os
import pickle
import secrets
import signal
import sys
import tempfile
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, TypeVar

from harness.engine.cluster_worker import (
    MADE_FILE,
    BatchResult,
    Job,
    Parcel,
    Versions,
    answer,
    close,
    make_job,
    pack_questions,
    receive,
    unpack_replies,
)
from harness.engine.engines import Engine
from harness.engine.plan import Plan, RunOptions
from harness.engine.session import make_setup
from harness.errors import ClusterError, InterfaceError, UsageError
from harness.interface.contract import Interface, Session
from harness.interface.interrupts import check_interrupt
from harness.interface.python import INTO_A_FILE, is_in_memory
from harness.model import ErrorKind, Question, Reply
from harness.script.vary import MADE

T = TypeVar("T")
R = TypeVar("R")
LOCAL = "local:"
CONNECT_SECONDS = 10.0
# How often to ask how many workers there are; they come and go.
REFRESH_SECONDS = 2.0
# How long a scheduler may be without workers before the user is told.
PATIENCE_SECONDS = 5.0
RUNS_AT_ONCE = 2
SIGNAL_SECONDS = 0.5
# How much work a batch should be: a few milliseconds of Dask's for each batch should not count.
BATCH_SECONDS = 0.1
# More seconds for each thread of the cluster, because one scheduler has to keep up with all of them.
SECONDS_A_THREAD = 0.001
MOST_CASES = 2_000
# A first case may be quicker than those that follow.
GROWTH = 8
# For each thread: one batch that is worked on, one that waits at the worker, and two on the way there and back.
BATCHES_A_THREAD = 4
# Each thread should get this many batches, so that none is left alone with the last one.
LEAST_BATCHES = 8
# Into how many parts a batch is divided to find the case that kills its worker.
PARTS = 32
TICK_SECONDS = 0.1
# Over how many seconds the throughput of a worker is measured.
RECENT_SECONDS = 10.0


class Cluster:
    """A client of a Dask scheduler, and the workers if they were started here."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.same_machine = address.startswith(LOCAL)
        self.versions = Versions.here()
        # Set when the runs that use it are to end.
        self.stopping = threading.Event()
        self._local: Any = None
        # Settings of Dask that hold as long as the workers.
        self._settings = contextlib.ExitStack()
        self._threads: dict[str, int] = {}
        self._asked = -REFRESH_SECONDS
        self._warned = False
        prepared = _prepare_workers() if self.same_machine else contextlib.nullcontext()
        _silence_logs()
        try:
            self._settings.enter_context(_forgetful())
            self._settings.enter_context(prepared)
            if self.same_machine:
                self._local = _start_workers(int(address.removeprefix(LOCAL)))
            self.client = _connect(self._local or address, address)
            self._check_versions()
        except BaseException:
            self.close()
            raise

    def _check_versions(self) -> None:
        found = self.run(Versions.here)
        for worker, own in found.items():
            if isinstance(own, BaseException):
                raise ClusterError(f"--cluster {self.address}: {worker}: {_why(own)}")
            if mistake := own.mistake(self.versions):
                raise ClusterError(f"--cluster {self.address}: {worker} {mistake}")
        remarks = {remark for own in found.values() if (remark := own.remark(self.versions))}
        for remark in sorted(remarks):
            print(f"hate: some workers have {remark}", file=sys.stderr)

    def run(self, function: Callable[..., Any], *arguments: Any, workers: list[str] | None = None) -> dict[str, Any]:
        """What a function comes to on each worker, an exception if it failed there."""
        found: dict[str, Any] = self.client.run(function, *arguments, workers=workers, on_error="return")
        return found

    def send(self, key: str, parcels: dict[str, Parcel], worker: str) -> None:
        """Give files to a worker; if it has gone in the meantime, another will ask for them."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            for failure in self.run(receive, key, parcels, workers=[worker]).values():
                if isinstance(failure, BaseException) and not isinstance(failure, OSError):
                    raise ClusterError(f"{worker}: {_why(failure)}")

    def threads(self) -> dict[str, int]:
        """How many batches each worker can work on at once; the user is told if there is none for a while."""
        now = monotonic()
        if now - self._asked >= REFRESH_SECONDS:
            found = self._count_threads()
            if found or self._asked < 0:
                self._warned = False
            elif not self._warned and now - self._asked > PATIENCE_SECONDS:
                self._warned = True
                print(f"hate: {self.address} has no workers at the moment; waiting for one", file=sys.stderr)
                return found
            if found or self._asked < 0:
                self._asked = now
            self._threads = found
        return self._threads

    def _count_threads(self) -> dict[str, int]:
        try:
            return dict(self.client.nthreads())
        except OSError:  # the scheduler has gone, which `is_lost` tells
            return {}

    @property
    def is_lost(self) -> bool:
        """Whether the scheduler has gone."""
        return self.client.status in ("connecting", "closing", "closed")

    def close(self) -> None:
        """Leave the scheduler; end the workers that were started here."""
        client = getattr(self, "client", None)
        with contextlib.suppress(Exception), _quiet():
            if client is not None:
                client.close(timeout=1)
        with contextlib.suppress(Exception), _quiet():
            if self._local is not None:
                _end_workers(self._local)
        self._settings.close()


def _silence_logs() -> None:
    """Dask logs at length what the harness says in a line."""
    import distributed  # noqa: F401 (it sets up its loggers)

    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


# What a worker that is started here has to import; together with Python itself, most of the time that it takes.
_OF_WORKERS = ("distributed", "distributed.nanny", "harness.engine.cluster_worker")


def _prepare_workers() -> contextlib.AbstractContextManager[None]:
    """Let another process import what workers need while this one imports what it needs; workers are forked from it.

    Without it, each worker would do so for itself, after this process is ready. Returns what must last as long as the
    workers.
    """
    if not sys.platform.startswith("linux") or _is_imported_again():
        return contextlib.nullcontext()
    from multiprocessing import forkserver

    forkserver.set_forkserver_preload(list(_OF_WORKERS))
    with contextlib.suppress(OSError):  # then the workers cannot be started either, and that is said
        forkserver.ensure_running()
    return _forked_workers()


@contextlib.contextmanager
def _forked_workers() -> Iterator[None]:
    """Within it, Dask forks workers from the prepared process."""
    import dask
    from distributed import utils

    # Dask's own preparation imports all of pandas here, if that is installed.
    utils._forkserver_preload_set = True
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        yield


def _forgetful() -> contextlib.AbstractContextManager[Any]:
    """Within it, Dask does not keep its last thousand messages, which are batches of cases, for whoever debugs it."""
    import dask

    settings: contextlib.AbstractContextManager[Any] = dask.config.set({"distributed.admin.low-level-log-length": 1})
    return settings


def _start_workers(count: int) -> Any:
    with _quiet():
        from distributed import LocalCluster

        if _is_imported_again():
            raise ClusterError(
                "--cluster local:N starts processes that import your program: put what it does under "
                'if __name__ == "__main__":'
            )
        try:
            return LocalCluster(
                n_workers=count, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address=None,
                host="127.0.0.1", silence_logs=logging.CRITICAL,
                # They are forked from a process that may be older than what is in the environment now.
                env=dict(os.environ),
            )  # fmt: skip
        except (OSError, RuntimeError) as error:
            raise ClusterError(f"--cluster {LOCAL}{count}: the workers cannot be started: {_why(error)}") from None


def _is_imported_again() -> bool:
    """Whether this is a worker that imports the program which started it, so that it cannot start others."""
    import multiprocessing

    return bool(getattr(multiprocessing.current_process(), "_inheriting", False))


def _end_workers(local: Any) -> None:
    """Kill them: programs are ended with their worker, and Dask would wait for a batch to be done."""
    for nanny in local.workers.values():
        nanny.auto_restart = False
        with contextlib.suppress(OSError, TypeError):
            os.kill(nanny.pid, signal.SIGKILL)
    local.close(timeout=2)


def _connect(target: Any, address: str) -> Any:
    from distributed import Client

    try:
        with _quiet():
            if target == address:
                _knock(address)
            return Client(target, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        words = f"{' '.join(str(error).split())}; is it running?"
        if "ssl_context" in words:
            words = "Dask has no certificates for TLS; name them in its settings, distributed.comm.tls"
        raise ClusterError(f"--cluster {address}: no scheduler can be reached: {words}") from None


def _knock(address: str) -> None:
    """Connect and leave: a client that cannot connect takes long to give up, and complains at the end."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from distributed import Security
    from distributed.comm import connect

    async def knock() -> None:
        comm = await connect(address, timeout=CONNECT_SECONDS, **Security().get_connection_args("client"))
        await comm.close()

    # In a thread of its own: a notebook has a loop already.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, knock()).result()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask warns of versions that differ, and of ports; what matters is said in a line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _why(error: BaseException) -> str:
    """An exception in one line."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "harness":
        return "hate-harness is not installed there"
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split()) or type(error).__name__


class _Shared:
    """The connection that the runs of this process share; closed when the last of them has ended."""

    def __init__(self) -> None:
        self.cluster: Cluster | None = None
        self.holders = 0
        self.lock = threading.Lock()

    def connect(self, address: str) -> Cluster:
        with self.lock:
            if self.cluster is not None and (self.cluster.address != address or self.cluster.is_lost):
                self.cluster.close()
                self.cluster = None
            if self.cluster is None:
                self.cluster = Cluster(address)
            return self.cluster

    def leave(self) -> None:
        with self.lock:
            self.holders -= 1
            ended, self.cluster = (None, self.cluster) if self.holders else (self.cluster, None)
        if ended is not None:
            ended.close()


_shared = _Shared()


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
        self._cluster_has_answered()
        self._begun = perf_counter()

    def _cluster_has_answered(self) -> None:
        waiting = dict(self._batches)
        while all(key in self._batches for key in waiting):
            for key, result in self._events():
                list(self._take(key, result))
            if self._batches.keys() - waiting.keys():  # asked again, with the files that were missing
                waiting = dict(self._batches)

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """The replies of all workers."""
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
        threads = sum(self._cluster.threads().values())
        while more and self._in_flight() < max(1, BATCHES_A_THREAD * threads):
            batch = list(islice(questions, self._batch_size(threads)))
            if batch:
                self._submit(batch)
            more = bool(batch)
        return more

    def _batch_size(self, threads: int) -> int:
        share = self._total // (LEAST_BATCHES * max(1, threads))
        return max(1, min(self._size, share, MOST_CASES))

    def _submit(self, questions: list[Question], *, alone: bool = False, worker: str | None = None) -> None:
        self._number += 1
        future = self._cluster.client.submit(
            answer, self._job.key, self._cluster.versions, self._content, pack_questions(questions),
            key=f"hate-{self._job.key}-{self._number}", pure=False, workers=worker,
            # A worker that has gone in the meantime must not keep the others waiting.
            allow_other_workers=worker is not None,
        )  # fmt: skip
        self._batches[future.key] = _Batch({one.index: one for one in questions}, future, alone)
        self._completed.add(future)

    def _events(self) -> Iterator[tuple[str, Any]]:
        """Batches that are done, as soon as there are some. Waits in small steps, for signals."""
        completed = self._completed
        while not (found := completed.next_batch(block=False)):
            check_interrupt()
            self._check_cluster()
            with completed.thread_condition:
                if completed.queue.empty():
                    completed.thread_condition.wait(TICK_SECONDS)
        for future, result in found:
            yield future.key, self._result(future, result)

    def _check_cluster(self) -> None:
        if self._cluster.stopping.is_set():
            raise ClusterError("another run on the cluster was stopped")
        if self._cluster.is_lost:
            raise ClusterError(f"--cluster {self._cluster.address}: the scheduler is gone")
        self._cluster.threads()

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
            raise InterfaceError(result.refusal)
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
        """Send a worker the files that it asked for."""
        parcels: dict[str, Parcel] = {}
        wanted = {name.removeprefix(MADE_FILE) for name in result.missing if name.startswith(MADE_FILE)}
        if wanted:
            folder = self._job.places[MADE]
            parcels[MADE] = Parcel({name: ((folder / name).read_bytes(), 0o444) for name in wanted})
        for name in result.missing:
            if name in self._job.materials:
                if name not in self._packed:
                    self._packed[name] = self._job.materials[name].pack()
                parcels[name] = self._packed[name]
        self._cluster.send(self._job.key, parcels, result.worker)

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
        now = perf_counter()
        span = min(RECENT_SECONDS, now - self._begun) or 1.0
        found: dict[str, float] = dict.fromkeys(self._cluster.threads(), 0.0)
        for _, worker, count in self._recent:
            found[worker] = found.get(worker, 0.0) + count / span
        return found

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


class ClusterEngine(Engine):
    """Runs cases on the workers of a Dask cluster."""

    def check(self, interface: Interface, options: RunOptions) -> None:
        """The cluster has its own workers, which must be able to load the program."""
        if options.jobs != 1:
            raise UsageError("--cluster and -j exclude one another: the cluster has its own number of workers")
        if is_in_memory(interface):
            raise UsageError(
                f"cluster='{options.changed()['cluster']}': {interface.name} is an object of this program, which no "
                f"worker has; {INTO_A_FILE}"
            )

    @contextlib.contextmanager
    def open(self, plan: Plan) -> Iterator[Session]:
        """A program on each worker, ready; they are ended when the run is."""
        interface = plan.interface.isolated()
        with tempfile.TemporaryDirectory(prefix="hate-", ignore_cleanup_errors=True) as work, self.kept():
            setup = make_setup(plan, interface, Path(work))
            cluster = _shared.connect(plan.options.changed()["cluster"])
            # A name that no other run on the cluster has.
            key = secrets.token_hex(8)
            job = make_job(plan, interface, setup, key=key, same_machine=cluster.same_machine)
            session = ClusterSession(cluster, job, plan.total)
            try:
                session.start()
                yield session
            finally:
                session.close()

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Within it, a cluster stays connected from one run to the next; costs nothing if there is none."""
        with _shared.lock:
            _shared.holders += 1
        try:
            yield
        finally:
            _shared.leave()

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
                    for one in done:
                        one.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                if _shared.cluster is not None:
                    _shared.cluster.stopping.set()
                raise
        return [one.result() for one in runs]
