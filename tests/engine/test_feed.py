"""The questions of a run, with several threads."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.api.runs import PlanOptions, make_plan
from harness.engine.plan import Plan
from harness.engine.pool import Pool
from harness.engine.run import Feed
from harness.engine.session import interruptible
from harness.errors import Interrupted
from harness.interface.contract import Setup
from harness.model import Question, Reply
from tests.workshop import WAIT, Workshop


def test_existing_records_are_kept_under_the_lock(toy: Workshop) -> None:
    """With workers, the feed runs in their threads while the main thread appends records."""
    plan = make_plan("toy", None, PlanOptions())
    kept: list[tuple[int, int]] = []

    def keep(index: int, start: int) -> None:
        assert feed.recording.locked()
        kept.append((index, start))

    feed = Feed(plan, {("c1", 1): 100, ("c4", 1): 50}, keep)
    assert [question.id for question in feed] == ["c0", "c2", "c3", "c5"]
    assert kept == [(1, 100), (4, 50)]
    assert sorted(feed.pending) == [0, 2, 3, 5]


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


class SilentInterface:
    """Its session is given a signal that the kernel delivers to its own thread, and then never answers."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plan.interface, name)

    def open(self, setup: Setup) -> "SilentInterface":
        self.released = threading.Event()
        return self

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        next(questions)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        self.released.wait(WAIT)
        yield from ()

    def close(self) -> None:
        pass


def test_an_interrupt_that_another_thread_receives_is_not_lost(toy: Workshop) -> None:
    """Python handles a signal in the main thread, which must therefore not wait for a reply without end."""
    plan = make_plan("toy", None, PlanOptions())
    interface = SilentInterface(plan)
    pool = Pool(interface, Setup("toy", "1.0", "label", plan.params, work=Path()), 1)
    with interruptible():
        pool.start()
        with pytest.raises(Interrupted):
            next(pool.replies(iter([Question(0, "c0", "x")])))
    interface.released.set()
    pool.close()
