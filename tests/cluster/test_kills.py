"""A run on a cluster survives what is killed on the way, or is carried on; the result is that of a run left alone."""

import os
import random
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.cluster.dask_processes import DaskProcesses, dask_processes
from tests.workshop import Record, Workshop, wait_until

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

CASES = 300
# An answer takes long enough for a run to be hit in the middle.
SLOW_ECHO = """\
import os, time
LOG = os.open(__file__ + ".calls", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def answer(case, params):
    os.write(LOG, (case.id + "\\n").encode())
    time.sleep(0.01)
    return case.input if int(case.id[1:]) % 7 else None
"""
Run = subprocess.Popen[str]


@pytest.fixture
def whole(shop: Workshop) -> list[Record]:
    """The records of a run that nobody disturbs."""
    shop.script(CASES)
    shop.interface(SLOW_ECHO)
    return shop.run(output="whole.jsonl")


def done(shop: Workshop) -> int:
    path = shop.folder / "out.jsonl"
    return path.read_bytes().count(b"\n") - 1 if path.exists() else -1


def start(shop: Workshop, address: str, rng: random.Random, *, most: int) -> Run:
    """A run that has got as far as chance will have it."""
    run = shop.start("run", "toy", "-o", "out.jsonl", "--resume", "--cluster", address)
    moment = max(done(shop), rng.randrange(1, most))
    wait_until(f"{moment} records", lambda: done(shop) >= moment, run)
    return run


def end(run: Run) -> tuple[int, str]:
    _, err = run.communicate(timeout=120)
    assert "Traceback" not in err, err
    return run.returncode, err


def kill(pid: int | None) -> None:
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster() -> Iterator[DaskProcesses]:
    with dask_processes() as started:
        yield started


@pytest.mark.slow
def test_a_run_goes_on_without_a_worker_and_without_a_nanny(
    shop: Workshop, whole: list[Record], cluster: DaskProcesses
) -> None:
    calls = shop.folder / "interface.py.calls"
    calls.unlink()
    rng = random.Random(13)
    run = start(shop, cluster.address, rng, most=CASES // 3)
    first, second = rng.sample(cluster.nannies, 2)
    kill(cluster.worker_of(first))
    later = done(shop) + rng.randrange(1, CASES // 3)
    wait_until(f"{later} records", lambda: done(shop) >= later, run)
    kill(second.pid)
    cluster.add_worker()
    assert end(run)[0] == 0
    assert shop.records() == whole
    asked = calls.read_text().split()
    assert set(asked) == {record["id"] for record in whole}
    # Only what a worker had was asked again: what it worked on, what waited for it, what was not fetched yet.
    assert len(asked) <= CASES + 2 * 100


@pytest.mark.slow
def test_a_driver_that_is_killed_is_carried_on(shop: Workshop, whole: list[Record], cluster: DaskProcesses) -> None:
    rng = random.Random(19)
    for most in (CASES // 3, 2 * CASES // 3):
        run = start(shop, cluster.address, rng, most=most)
        run.kill()
        run.communicate()
    assert shop.run("--resume", "--cluster", cluster.address) == whole


@pytest.mark.slow
def test_a_run_without_its_scheduler_ends_and_is_carried_on_here(shop: Workshop, whole: list[Record]) -> None:
    with dask_processes() as cluster:
        run = start(shop, cluster.address, random.Random(17), most=CASES // 2)
        cluster.scheduler.kill()
        status, err = end(run)
    assert status == 2
    assert "the scheduler is gone" in err
    assert f"of {CASES} trials are in out.jsonl; carry on with --resume" in err
    assert len(err.splitlines()) == 2
    assert done(shop) < CASES
    assert shop.run("--resume") == whole


@pytest.mark.slow
@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGINT])
def test_workers_that_were_started_here_end_with_the_run(
    shop: Workshop, whole: list[Record], signum: signal.Signals
) -> None:
    run = start(shop, "local:2", random.Random(23), most=CASES // 2)
    run.send_signal(signum)
    _, err = run.communicate(timeout=120)
    if signum is signal.SIGINT:
        assert run.returncode == 130
        assert "carry on with --resume" in err
    assert not shop.left_running()
    assert shop.run("--resume", "-j", "2") == whole
