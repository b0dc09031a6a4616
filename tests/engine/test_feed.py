"""The questions of a run, with several threads."""

import threading
from pathlib import Path

from harness.api.runs import PlanOptions, make_plan
from harness.engine.pool import Pool
from harness.engine.run import Feed
from harness.interface.contract import Setup
from harness.model import Question
from tests.workshop import Workshop


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
    before = threading.active_count()
    pool = Pool(plan.interface.isolated(), setup, 2)
    pool.start()
    replies = pool.replies(iter(Question(n, f"c{n}", "x") for n in range(1000)))
    assert next(replies).raw == "x"
    pool.close()
    assert threading.active_count() == before
