"""The result of a run of a blind test: how many answers there are; what they are worth is with the site."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.api.runs import RunResult, error_remarks
from harness.engine.plan import Plan
from harness.engine.run import FinishedRun
from harness.errors import UsageError
from harness.model import Counts
from harness.report.blocks import Block, Table
from harness.report.formats import Format
from harness.stats.rates import Interval

WITH_THE_SITE = "the outcomes of a blind test are with its site"


@dataclass(frozen=True, repr=False)
class BlindRunResult(RunResult):
    """Answers that nobody here can judge."""

    answers: int = 0

    @property
    def rate(self) -> float:
        """Nothing that is known here."""
        raise UsageError(f"{WITH_THE_SITE}; hand the transcript in with `hate submit`")

    @property
    def all_errors(self) -> bool:
        """Whether every case was an error."""
        return 0 < self.answers == self.counts.ER

    @property
    def interval(self) -> Interval | None:
        """Nothing that is known here."""
        return None

    def row(self) -> dict[str, Any]:
        """Parameters and the number of answers, as JSON has them."""
        return {"params": dict(self.params), "tests": self.answers, "ER": self.counts.ER, "blind": True}

    def blocks(self) -> Sequence[Block]:
        """The number of answers."""
        return [self.table()]

    def table(self) -> Table:
        """One row."""
        return Table([*self.params, "tests", "ER"], [[*self.params.values(), self.answers, self.counts.ER]])

    def remarks_in(self, style: Format) -> Sequence[str]:
        """The remarks beside every format."""
        return self.remarks


def blind_result(plan: Plan, finished: FinishedRun) -> BlindRunResult:
    """The result of a run that has ended."""
    remarks = [] if finished.asked else ["nothing was left to run"]
    remarks += error_remarks(finished, every=0 < plan.total == finished.counts.ER)
    if finished.path is not None:
        remarks.append(f"transcript: {finished.path}")
    remarks.append(f"{WITH_THE_SITE}: `hate submit {finished.path} --to SITE` hands the answers in")
    return BlindRunResult(
        plan.params, Counts(ER=finished.counts.ER), finished.path, remarks=remarks, answers=plan.total
    )
