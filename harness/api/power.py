"""Planning from Python: `power` says how many units and cases a test needs, or what one could have shown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.analysis.power import PowerPlan, pilot_of, plan_power, planned_sample, power_json
from harness.api.result import PictureResult, Result
from harness.api.transcripts import Transcripts, open_transcripts
from harness.errors import UsageError
from harness.options import PictureOptions
from harness.options.power import PlanningGoal, PowerOptions
from harness.report.blocks import Block, Table
from harness.report.plots.canvas import Picture
from harness.report.plots.settings import plot_power
from harness.report.power import power_blocks, power_table, rule_blocks, rule_table
from harness.stats.power import rule_of_30, rule_of_three

if TYPE_CHECKING:
    from harness.report.plots.canvas import Axes


@dataclass(frozen=True, repr=False)
class PowerResult(PictureResult):
    """How large a test must be, or what a test of a given size shows."""

    plan: PowerPlan
    remarks: Sequence[str] = ()

    @property
    def units(self) -> int | None:
        """Units that the test needs."""
        return self.plan.units

    @property
    def cases(self) -> int | None:
        """Cases in that many units."""
        return self.plan.cases

    def payload(self) -> Any:
        return power_json(self.plan)

    def blocks(self) -> Sequence[Block]:
        """The answer, what it rests on, and a table."""
        return power_blocks(self.plan)

    def table(self) -> Table:
        """The power, or the width, over the number of units."""
        return power_table(self.plan)

    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> Picture:
        return plot_power(self.plan, options, ax)


@dataclass(frozen=True, repr=False)
class RuleResult(Result):
    """Trials that an error rate takes, by the rules of three and of thirty."""

    rate: float
    confidence: float
    design_effect: float = 1.0
    remarks: Sequence[str] = ()

    @property
    def three(self) -> int:
        """Trials without an error that show a lower error rate."""
        return rule_of_three(self.rate, confidence=self.confidence)

    @property
    def thirty(self) -> int:
        """Trials in which thirty errors are expected."""
        return rule_of_30(self.rate)

    def payload(self) -> Any:
        """Both numbers, for independent trials and with the design effect."""
        effect = self.design_effect
        return {
            "rate": self.rate,
            "confidence": self.confidence,
            "design_effect": effect,
            "rule_of_3": {"independent": self.three, "trials": round(self.three * effect)},
            "rule_of_30": {"independent": self.thirty, "trials": round(self.thirty * effect)},
        }

    def blocks(self) -> Sequence[Block]:
        """A table and what the rules say."""
        return rule_blocks(self.rate, self.confidence, self.design_effect, self.three, self.thirty)

    def table(self) -> Table:
        """A row for each rule."""
        return rule_table(self.design_effect, self.three, self.thirty)


def power(transcripts: Transcripts | None = None, *, options: PowerOptions) -> PowerResult | RuleResult:
    """Plan a test, from figures or from one or two pilot transcripts.

    >>> harness.power(difference=0.02, discordance=0.1)
    >>> harness.power(["wisard", "witch"], difference=0.02)

    Args:
        transcripts: One or two pilot runs; names, paths, URLs, or what `run`, `read` and `fuse` returned.
    """
    if options.rates is not None and len(options.rates) > 2:
        raise UsageError(f"--rates: {len(options.rates)} rates; expected one or two")
    sample = planned_sample(options)
    if options.rule_of_30 is not None:
        if transcripts is not None or options.difference is not None or options.width is not None:
            raise UsageError("--rule-of-30 is a question of its own; leave out the others")
        return RuleResult(options.rule_of_30, options.confidence, sample.design_effect)
    if transcripts is None:
        _check_goal(options)
        return PowerResult(plan_power(options))
    # A pilot has the shape of the sample.
    for name, flag in (("per_unit", "--per-unit"), ("icc", "--icc"), ("strata", "--strata")):
        if getattr(options, name) != getattr(PowerOptions(), name):
            raise UsageError(f"{flag}: the pilot says that itself; leave it out, or leave out the transcripts")
    if options.question is not PlanningGoal.DETECTABLE:
        _check_goal(options)
    opened = open_transcripts(transcripts, options)
    pilot = pilot_of(opened.runs(), options, partial=options.partial)
    if options.question is PlanningGoal.DETECTABLE:
        # What these runs themselves could have shown: their power for the difference that they found says nothing more
        # than their p-value (Hoenig and Heisey 2001).
        if len(pilot.rates) == 1:
            raise UsageError("one transcript shows no difference; ask for --width 0.02, or name a second one")
        options = replace(options, units=options.units or pilot.units)
    return PowerResult(plan_power(options, pilot), opened.notes)


def _check_goal(options: PowerOptions) -> None:
    if options.width is not None and (options.difference is not None or options.margin is not None):
        raise UsageError("--width is for one algorithm, --difference and --margin for two; ask one question at a time")
    if options.question is PlanningGoal.DETECTABLE:
        raise UsageError(
            "say what the test should show: --difference 0.02, --margin 0.01 (equivalence), --width 0.02 (of an "
            "interval) or --rule-of-30 0.001; or name pilot transcripts"
        )
    if options.difference == 0 and options.margin is None:
        raise UsageError("--difference 0: no test shows that; --margin 0.01 asks for equivalence within a margin")
