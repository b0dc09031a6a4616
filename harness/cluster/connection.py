"""The connection to a Dask scheduler, and the workers that are started here.

Runs that belong together, such as those of a sweep, share one connection.
"""

import contextlib
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import Any

from harness.cluster import ClusterError
from harness.cluster.job import Parcel, Versions
from harness.cluster.options import LOCAL
from harness.cluster.worker import receive

CONNECT_SECONDS = 10.0
# How often to ask how many workers there are; they come and go.
REFRESH_SECONDS = 2.0
# How long a scheduler may be without workers before the user is told.
PATIENCE_SECONDS = 5.0
# What a worker that is started here has to import; together with Python itself, most of the time that it takes.
WORKER_MODULES = ("distributed", "distributed.nanny", "harness.cluster.worker")


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
        # When there last were workers.
        self._seen = monotonic()
        self._warned = False
        # Before this process imports Dask, so that both do so at the same time.
        forks = self.same_machine and _prepare_workers()
        _silence_logs()
        try:
            self._settings.enter_context(_settings(forks=forks))
            if self.same_machine:
                self._local = _start_workers(int(address.removeprefix(LOCAL)))
            self.client = _connect(self._local or address, address)
            self._check_versions()
        except BaseException:
            self.close()
            raise

    def _check_versions(self) -> None:
        versions = self.run(Versions.here)
        for worker, theirs in versions.items():
            if isinstance(theirs, BaseException):
                raise ClusterError(f"--cluster {self.address}: {worker}: {_why(theirs)}")
            if mistake := theirs.mistake(self.versions):
                raise ClusterError(f"--cluster {self.address}: {worker} {mistake}")
        for remark in sorted({theirs.remark(self.versions) for theirs in versions.values()} - {""}):
            print(f"hate: some workers have {remark}", file=sys.stderr)

    def run(self, function: Callable[..., Any], *arguments: Any, workers: list[str] | None = None) -> dict[str, Any]:
        """What a function comes to on each worker, an exception if it failed there."""
        results: dict[str, Any] = self.client.run(function, *arguments, workers=workers, on_error="return")
        return results

    def send(self, worker: str, key: str, parcels: dict[str, Parcel], inputs: Mapping[str, bytes]) -> None:
        """Give files to a worker; if it has gone in the meantime, another will ask for them."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            for failure in self.run(receive, key, parcels, inputs, workers=[worker]).values():
                if isinstance(failure, BaseException) and not isinstance(failure, OSError):
                    raise ClusterError(f"{worker}: {_why(failure)}")

    def threads(self) -> dict[str, int]:
        """How many batches each worker can work on at once; the user is told if there is none for a while."""
        now = monotonic()
        if not self._threads or now - self._seen >= REFRESH_SECONDS:
            try:
                self._threads = dict(self.client.nthreads())
            except OSError:  # the scheduler has gone, which `is_lost` tells
                self._threads = {}
            if self._threads:
                self._seen, self._warned = now, False
            elif not self._warned and now - self._seen > PATIENCE_SECONDS:
                self._warned = True
                print(f"hate: {self.address} has no workers at the moment; waiting for one", file=sys.stderr)
        return self._threads

    @property
    def is_lost(self) -> bool:
        return self.client.status in ("connecting", "closing", "closed")

    def close(self) -> None:
        """Leave the scheduler; end the workers that were started here."""
        client = getattr(self, "client", None)
        with contextlib.suppress(Exception), _quiet():
            if client is not None:
                client.close(timeout=1)
        with contextlib.suppress(Exception), _quiet():
            if self._local is not None:
                # Programs are ended with their worker, and Dask would wait for a batch to be done.
                for nanny in self._local.workers.values():
                    nanny.auto_restart = False
                    with contextlib.suppress(OSError, TypeError):
                        os.kill(nanny.pid, signal.SIGKILL)
                self._local.close(timeout=2)
        self._settings.close()


class SharedConnection:
    """The connection of all runs of this process; closed when the last of them has ended."""

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._holders = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Within it, a connection stays open from one run to the next; costs nothing if there is none."""
        with self._lock:
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                ended, self._cluster = (None, self._cluster) if self._holders else (self._cluster, None)
            if ended is not None:
                ended.close()

    def connect(self, address: str) -> Cluster:
        """A connection to this cluster: the one that is open, or a new one in its place."""
        with self._lock:
            if self._cluster is not None and (self._cluster.address != address or self._cluster.is_lost):
                self._cluster.close()
                self._cluster = None
            if self._cluster is None:
                self._cluster = Cluster(address)
            return self._cluster

    def stop(self) -> None:
        """End all runs that use it."""
        if self._cluster is not None:
            self._cluster.stopping.set()


def _prepare_workers() -> bool:
    """Let another process import what workers need while this one imports what it needs.

    Without it, each worker would do so for itself, after this process is ready. Returns whether workers can be forked
    from that process.
    """
    if not sys.platform.startswith("linux") or _is_imported_again():
        return False
    from multiprocessing import forkserver

    forkserver.set_forkserver_preload(list(WORKER_MODULES))
    with contextlib.suppress(OSError):  # then the workers cannot be started either, and that is said
        forkserver.ensure_running()
    return True


def _silence_logs() -> None:
    """Dask logs at length what the harness says in a line."""
    import distributed  # noqa: F401 (it sets up its loggers)

    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _settings(*, forks: bool) -> contextlib.AbstractContextManager[Any]:
    """Settings of Dask; with `forks`, workers are forked from the process that was prepared."""
    import dask
    from distributed import utils

    # Dask keeps its last thousand messages, which are batches of cases, for whoever debugs it.
    settings: dict[str, Any] = {"distributed.admin.low-level-log-length": 1}
    if forks:
        # Dask's own preparation imports all of pandas, if that is installed.
        utils._forkserver_preload_set = True
        settings["distributed.worker.multiprocessing-method"] = "forkserver"
    context: contextlib.AbstractContextManager[Any] = dask.config.set(settings)
    return context


def _start_workers(count: int) -> Any:
    from distributed import LocalCluster

    if _is_imported_again():
        raise ClusterError(
            "--cluster local:N starts processes that import your program: put what it does under "
            'if __name__ == "__main__":'
        )
    try:
        with _quiet():
            return LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address=None,
                host="127.0.0.1",
                silence_logs=logging.CRITICAL,
                # They are forked from a process that may be older than what is in the environment now.
                env=dict(os.environ),
            )
    except (OSError, RuntimeError) as error:
        raise ClusterError(f"--cluster {LOCAL}{count}: the workers cannot be started: {_why(error)}") from None


def _is_imported_again() -> bool:
    """Whether this is a worker that imports the program which started it, so that it cannot start others."""
    import multiprocessing

    return bool(getattr(multiprocessing.current_process(), "_inheriting", False))


def _connect(target: Any, address: str) -> Any:
    from distributed import Client

    try:
        with _quiet():
            if target == address:
                _check_reachable(address)
            return Client(target, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        words = f"{' '.join(str(error).split())}; is it running?"
        if "ssl_context" in words:
            words = "Dask has no certificates for TLS; name them in its settings, distributed.comm.tls"
        raise ClusterError(f"--cluster {address}: no scheduler can be reached: {words}") from None


def _check_reachable(address: str) -> None:
    """Connect and leave: a client that cannot connect takes long to give up, and complains at the end."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from distributed import Security
    from distributed.comm import connect

    async def connect_and_close() -> None:
        comm = await connect(address, timeout=CONNECT_SECONDS, **Security().get_connection_args("client"))
        await comm.close()

    # In a thread of its own: a notebook has a loop already.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, connect_and_close()).result()


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
