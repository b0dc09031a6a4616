"""How far a run is, seen from outside while it goes on, or after it ended: `status`, `hate status`."""

import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from harness.analysis.run_identity import identity_json
from harness.api.result import Result
from harness.engine.tallies import UnitTally, has_design
from harness.engine.target import RETRY
from harness.errors import UsageError
from harness.model import Counts
from harness.options import SECONDS, OptionSet, option, seconds
from harness.report.blocks import Block, Table
from harness.report.counts import count_row
from harness.report.status import status_blocks, status_table
from harness.site.local_runs import runs_here, timestamp
from harness.transcript.status import Follower, RunState, RunStatus, Speed
from harness.transcript.write import working_path

if TYPE_CHECKING:
    from harness.analysis.rate_errors import DesignRate

# Where a run is watched for longer, the last so many seconds are what is recent.
RECENT = 60.0


class StatusOptions(OptionSet):
    """How a run is looked at."""

    every: float = option(
        "--every SECONDS",
        "How long to look at a run that is under way, to see how fast it is, and how often a run is watched.",
        default=1.0,
        parse=seconds,
        within=SECONDS,
    )


@dataclass(frozen=True, repr=False)
class StatusResult(Result):
    """How far a run is: its speed, its errors, and its counts so far, which are those of a part of the test."""

    run: RunStatus
    # The rate so far by the test's design; None where it has none.
    design: "DesignRate | None"

    def payload(self) -> dict[str, Any]:
        run, header = self.run, self.run.header
        return {
            "file": str(run.path),
            "test": identity_json(header.test),
            "algorithm": header.algorithm,
            "state": run.state,
            "started": header.started or None,
            "done": run.done,
            "total": run.total,
            "seconds": run.speed.seconds,
            "cases_per_second": run.speed.overall,
            "recent_cases_per_second": run.speed.recent,
            "seconds_left": run.seconds_left,
            "errors": run.errors,
            "so_far": None if header.is_blind else count_row(header.params, run.counts, self.design),
        }

    def blocks(self) -> Sequence[Block]:
        """Sentences, and the counts so far."""
        return status_blocks(self.run, self.design)

    def table(self) -> Table:
        """One row of numbers."""
        return status_table(self.run, self.design)


class RunWatch:
    """A run that is looked at again and again; each look reads only what is new."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._looks: deque[tuple[float, int]] = deque()
        self._begin()

    def _begin(self) -> None:
        self._follower = Follower(self._path)
        self._counts, self._errors = Counts(), Counter[str]()
        self._units = UnitTally(repeated=self._follower.header.repeat is not UNSET)

    def look(self) -> StatusResult:
        """The run as it is now."""
        if self._follower.is_replaced:
            self.close()
            self._begin()
        follower = self._follower
        # Asked before the records are read: a run that ends in between is then seen to its last line.
        written = follower.is_written()
        for block in follower.read_on():
            self._counts = self._counts + Counts.of(block)
            for record in block:
                self._units.add(record)
                if record.error:
                    self._errors[str(record.error)] += 1
        state = RunState.STOPPED if written is False else RunState.RUNNING
        state = state if follower.end is None else RunState.COMPLETE
        run = RunStatus(
            follower.path,
            follower.header,
            state,
            self._counts,
            dict(self._errors),
            self._speed(state),
            certain=written is not None or follower.end is not None,
        )
        return StatusResult(run, self._rate())

    def close(self) -> None:
        self._follower.close()

    def _rate(self) -> "DesignRate | None":
        """As `hate run` and `hate rate` give it for the records so far."""
        header = self._follower.header
        if header.is_blind or not self._counts.tests or not (has_design(header.design) or header.repeat):
            return None
        from harness.analysis.rate_errors import rate_of_transcript, rate_of_units

        if header.weighs_cases:
            return rate_of_transcript(self._follower.path, partial=True)
        return rate_of_units(self._units.sums, header)

    def _speed(self, state: RunState) -> Speed:
        follower, now = self._follower, time.time()
        started = timestamp(follower.header.started)
        until = now if state is RunState.RUNNING else follower.modified
        if follower.end is not None:
            until = timestamp(follower.end.finished) or until
        passed = None if started is None else max(until - started, 0.0)
        overall = self._counts.tests / passed if passed else None
        if state is not RunState.RUNNING:
            return Speed(passed, overall)
        self._looks.append((now, self._counts.tests))
        while len(self._looks) > 2 and now - self._looks[1][0] >= RECENT:
            self._looks.popleft()
        then, before = self._looks[0]
        recent = (self._counts.tests - before) / (now - then) if now > then else None
        return Speed(passed, overall, recent, now - then)


def status(run: str | Path | None = None, *, options: StatusOptions) -> StatusResult:
    """How far a run is, finished or not.

    >>> harness.status("transcripts/hdigits/mine.jsonl")

    A run that is under way is looked at twice, `every` seconds apart, to see how fast it is now.

    Args:
        run: The name of an algorithm, or the file of its transcript; by default the newest one here.
    """
    watch = RunWatch(find_run(run))
    try:
        result = watch.look()
        if result.run.state is RunState.RUNNING:
            time.sleep(options.every)
            result = watch.look()
        return result
    finally:
        watch.close()


def find_run(run: str | Path | None) -> Path:
    """The transcript of a run by its file or name, finished or not; without either, the one written to last."""
    if run is not None and (Path(run).is_file() or working_path(Path(run)).is_file()):
        return _retried(Path(run))
    runs = [known for known in runs_here() if run is None or str(run) in known.names]
    if run is not None:  # algorithms go before files
        runs = [known for known in runs if known.algorithm == str(run)] or runs
    if not runs:
        what = "no runs here" if run is None else f"{run}: no such transcript"
        raise UsageError(f"{what}; name the file of the run")
    return _retried(max(runs, key=lambda known: known.modified).path)


def _retried(path: Path) -> Path:
    """What --retry-errors is writing beside it, if it is."""
    retry = path.with_name(path.name + RETRY)
    return retry if retry.is_file() else path
