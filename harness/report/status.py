"""How far a run is, in words and in a row of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.report.blocks import Block, Cell, Paragraphs, Table
from harness.report.counts import COUNTS, count_cells, count_table, design_words, rate_interval
from harness.report.numbers import duration, share_text
from harness.transcript.status import RunState, RunStatus

if TYPE_CHECKING:
    from harness.analysis.rate_errors import DesignRate

_PEEKING = (
    "These are the cases so far, a part of the test. The interval is right for a single look; to stop when it looks "
    "good would make it wrong, and hate run --stop-when is made for that."
)
_STOPPING = "It may stop early, and an interval must allow for that: hate rate --sequential gives it in the end."


def status_blocks(run: RunStatus, design: DesignRate | None) -> Sequence[Block]:
    """Sentences about the run, its counts so far, and what they are worth."""
    header = run.header
    title = f"{header.algorithm.name} on {header.test.name} {header.test.version}: {run.path}"
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(run.errors.items()))
    errors = f"errors so far: {run.counts.ER:,}" + (f" ({kinds})" if kinds else "")
    speed = run.speed
    rates = [] if speed.recent is None else [(speed.recent, f"in the last {duration(speed.watched)}")]
    if speed.overall is not None and speed.seconds is not None:
        rates.append((speed.overall, f"on average over {duration(speed.seconds)}"))
    speeds = [f"{_rate(rate)} {header.counted} a second {when}" for rate, when in rates]
    lines = [title, _progress(run), f"speed: {', '.join(speeds)}" if speeds else "", errors]
    blocks: list[Block] = [Paragraphs([line for line in lines if line])]
    if run.header.is_blind or not run.done:
        return blocks
    blocks.append(count_table([(run.header.params, run.counts)], designs=[design], interval=not run.may_stop_early))
    words = "" if design is None else design_words(design)
    notes = [_STOPPING] if run.may_stop_early else [] if not words else [f"{words[0].upper()}{words[1:]}."]
    notes += [] if run.state is RunState.COMPLETE or run.may_stop_early else [_PEEKING]
    return [*blocks, Paragraphs(notes)] if notes else blocks


def status_table(run: RunStatus, design: DesignRate | None) -> Table:
    """One row of numbers; the counts are those so far."""
    hidden = run.header.is_blind or run.may_stop_early or not run.done
    interval = None if hidden else rate_interval(run.counts, design)
    counts: list[Cell] = [None] * 7 if run.header.is_blind else count_cells(run.counts)
    limits: list[Cell] = [None, None] if interval is None else [interval.low, interval.high]
    columns = ["state", "done", "total", "seconds", "per_second", "recent_per_second", "seconds_left"]
    speed = run.speed
    cells: list[Cell] = [str(run.state), run.done, run.total, speed.seconds, speed.overall, speed.recent]
    return Table([*columns, *COUNTS, "low", "high"], [[*cells, run.seconds_left, *counts, *limits]])


def _progress(run: RunStatus) -> str:
    counted = run.header.counted
    share = f" ({share_text(run.done / run.total)})" if run.total else ""
    at_most = "at most " if run.may_stop_early and run.state is not RunState.COMPLETE else ""
    of = f"{counted}; its transcript does not say of how many"
    of = of if run.total is None else f"of {at_most}{run.total:,} {counted}{share}"
    left = "" if not run.seconds_left else f"; about {duration(run.seconds_left)} left"
    state = "running, or stopped (this system cannot tell)" if not run.certain else str(run.state)
    carry_on = "; --resume carries on with it" if run.state is RunState.STOPPED else ""
    return f"{state}: {run.done:,} {of}{left}{carry_on}"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
