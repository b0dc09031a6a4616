"""The questions of a run, with several threads."""

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.api.runs import PlanOptions, make_plan
from harness.engine.plan import Plan
from harness.engine.pool import Pool
from harness.errors import Interrupted
from harness.interface.contract import Interface, Session, Setup
from harness.interface.interrupts import interruptible
from harness.interface.process import run_to_end
from harness.interface.stream import StreamInterface
from harness.model import Question, Reply
from tests.workshop import WAIT, Workshop


def test_a_pool_that_is_closed_early_ends_its_threads(toy: Workshop) -> None:
    plan = make_plan("toy", None, PlanOptions(jobs=2))
    setup = Setup("toy", "1.0", "label", plan.params, work=Path())
    before = set(threading.enumerate())
    pool = Pool(plan.interface.isolated(), setup, 2)
    pool.start()
    replies = pool.replies(iter(Question(n, f"c{n}", "x") for n in range(1000)))
    assert next(replies).raw == "x"
    pool.close()
    assert set(threading.enumerate()) <= before


@dataclass(frozen=True, kw_only=True)
class SilentInterface(Interface):
    """Its session does `act` in its own thread, and then never answers."""

    kind = "silent"

    act: Callable[[], None]
    released: threading.Event = field(default_factory=threading.Event)

    def open(self, setup: Setup) -> Session:
        return self

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        next(questions)
        self.act()
        self.released.wait(WAIT)
        yield from ()

    def close(self) -> None:
        pass


@contextlib.contextmanager
def silent_pool(plan: Plan, act: Callable[[], None]) -> Iterator[Iterator[Reply]]:
    """The replies of a pool that never has one."""
    interface = SilentInterface(name="silent", act=act)
    pool = Pool(interface, Setup("toy", "1.0", "label", plan.params, work=Path()), 1)
    pool.start()
    try:
        yield pool.replies(iter([Question(0, "c0", "x")]))
    finally:
        interface.released.set()
        pool.close()


def test_an_interrupt_that_another_thread_receives_is_not_lost(toy: Workshop) -> None:
    """Python handles a signal in the main thread, which must therefore not wait for a reply without end."""
    plan = make_plan("toy", None, PlanOptions())
    with (
        interruptible(),
        silent_pool(plan, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT)) as replies,
        pytest.raises(Interrupted),
    ):
        next(replies)


class Finalised:
    """A signal arrives while Python runs its finaliser, and drops what that raises."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def wait_in_a_pool(plan: Plan) -> None:
    with silent_pool(plan, lambda: None) as replies:
        next(replies)


def wait_for_a_program(plan: Plan) -> None:
    run_to_end(["sleep", str(WAIT)], Path(), timeout=None, stdin=subprocess.DEVNULL)


def wait_for_a_stream(plan: Plan) -> None:
    stream = StreamInterface(name="sleeper", argv=("sleep", str(WAIT)), folder=Path())
    stream.open(Setup("toy", "1.0", "label", plan.params, work=Path()))


@pytest.mark.parametrize("wait", [wait_in_a_pool, wait_for_a_program, wait_for_a_stream])
def test_an_interrupt_whose_exception_is_dropped_ends_the_wait(
    wait: Callable[[Plan], None], toy: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python documents that exceptions in `__del__` are ignored; the latch remembers the signal."""
    plan, dropped = make_plan("toy", None, PlanOptions()), list[object]()
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: dropped.append(unraisable.exc_type))
    with interruptible():
        Finalised()
        assert dropped == [Interrupted]
        with pytest.raises(Interrupted):
            wait(plan)
