"""Options of `power`, and what they ask."""

from enum import StrEnum

from harness.options.declaration import Range, option
from harness.options.shared import ConfidenceOptions, DesignOptions, DownloadOptions, PartialOptions


class PlanningGoal(StrEnum):
    """What a test is planned for."""

    DIFFERENCE = "difference"
    EQUIVALENCE = "equivalence"
    WIDTH = "width"
    DETECTABLE = "detectable"


class PowerOptions(DesignOptions, ConfidenceOptions, PartialOptions, DownloadOptions):
    """Options of `power`."""

    difference: float | None = option(
        "--difference D", "The difference of rates to show.", default=None, within=Range(-1, 1)
    )
    margin: float | None = option(
        "--margin M",
        "Show that two algorithms differ by less than this.",
        default=None,
        within=Range(0, 1, low_open=True, high_open=True),
    )
    width: float | None = option(
        "--width W",
        "The width that the interval of a rate may have.",
        default=None,
        within=Range(0, 1, low_open=True, high_open=True),
    )
    rule_of_30: float | None = option(
        "--rule-of-30, --rule-of-3 RATE",
        "Trials that an error rate takes, by the rules of 3 and of 30 (ISO/IEC 19795-1).",
        default=None,
        within=Range(0, 1, low_open=True, high_open=True),
    )
    rates: tuple[float, ...] | None = option(
        "--rates A[,B]", "The rates that are expected.", default=None, separator=",", within=Range(0, 1)
    )
    discordance: float | None = option(
        "--discordance PSI",
        "The share of cases on which exactly one of the two is right.",
        default=None,
        within=Range(0, 1, low_open=True),
    )
    per_unit: float = option("--per-unit M", "Cases in a unit.", default=1.0, within=Range(1))
    icc: float = option("--icc R", "Intraclass correlation within units.", default=0.0, within=Range(-1, 1))
    strata: int = option("--strata L", "Number of strata.", default=1, within=Range(1))
    algorithms: int = option(
        "--algorithms K",
        "How many will be compared; the level of each pair is Holm's.",
        default=2,
        within=Range(2, 1000),
    )
    power: float = option(
        "--power P",
        "How likely the test should succeed.",
        default=0.8,
        within=Range(0.05, 1, low_open=True, high_open=True),
    )
    units: int | None = option("--units N", "What N units show, instead.", default=None, within=Range(2, 1_000_000_000))

    @property
    def question(self) -> PlanningGoal:
        if self.width is not None:
            return PlanningGoal.WIDTH
        if self.margin is not None:
            return PlanningGoal.EQUIVALENCE
        return PlanningGoal.DETECTABLE if self.difference is None else PlanningGoal.DIFFERENCE

    @property
    def measured(self) -> str:
        """What is computed for a number of units: the power, or a width, or a detectable difference."""
        of_size = (PlanningGoal.WIDTH, PlanningGoal.DETECTABLE)
        return self.question.value if self.question in of_size else "power"

    @property
    def comparisons(self) -> int:
        """Pairs of algorithms."""
        return self.algorithms * (self.algorithms - 1) // 2

    @property
    def alpha(self) -> float:
        """The level of the strictest test: Holm's first."""
        return (1 - self.confidence) / self.comparisons
