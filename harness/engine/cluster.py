"""The connection to a Dask cluster: a scheduler that is running somewhere, or workers that are started here.

Runs that belong together, such as those of a sweep, share one connection. Nothing of Dask is imported before the first
of them needs it.
"""

import contextlib
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from harness.errors import ClusterError, MissingExtra
from harness.interface.interrupts import check_interrupt

if TYPE_CHECKING:
    from harness.engine.cluster_job import Parcel

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


class Cluster:
    """A client of a Dask scheduler, and the workers if they were started here."""

    def __init__(self, address: str) -> None:
        from harness.engine.cluster_job import Versions

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
        from harness.engine.cluster_worker import versions

        found = self.run(versions)
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

    def send(self, key: str, parcels: "dict[str, Parcel]", worker: str) -> None:
        """Give files to a worker; if it has gone in the meantime, another will ask for them."""
        from harness.engine.cluster_worker import receive

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
    try:
        import distributed  # noqa: F401 (it sets up its loggers)
    except ImportError:
        raise _missing() from None
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


def _missing() -> MissingExtra:
    return MissingExtra("--cluster needs Dask: pip install 'hate-harness[cluster]'")


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


@contextlib.contextmanager
def cluster_kept() -> Iterator[None]:
    """Within it, a cluster stays connected from one run to the next; costs nothing if there is none."""
    with _shared.lock:
        _shared.holders += 1
    try:
        yield
    finally:
        _shared.leave()


def connected(address: str) -> Cluster:
    """The cluster at this address; to be called within `cluster_kept`."""
    return _shared.connect(address)


def side_by_side(act: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Runs on the cluster, a few at a time: the next one fills the workers while the last cases of another are done.

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
