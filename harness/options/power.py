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
        "--difference", default=None, within=Range(-1, 1), metavar="D", help="The difference of rates to show."
    )
    margin: float | None = option(
        "--margin", default=None, within=Range(0, 1, low_open=True, high_open=True), metavar="M",
        help="Show that two algorithms differ by less than this.",
    )  # fmt: skip
    width: float | None = option(
        "--width", default=None, within=Range(0, 1, low_open=True, high_open=True), metavar="W",
        help="The width that the interval of a rate may have.",
    )  # fmt: skip
    rule_of_30: float | None = option(
        "--rule-of-30", "--rule-of-3", default=None, within=Range(0, 1, low_open=True, high_open=True),
        metavar="RATE", help="Trials that an error rate takes, by the rules of 3 and of 30 (ISO/IEC 19795-1).",
    )  # fmt: skip
    rates: tuple[float, ...] | None = option(
        "--rates", default=None, separator=",", within=Range(0, 1), metavar="A[,B]",
        help="The rates that are expected.",
    )  # fmt: skip
    discordance: float | None = option(
        "--discordance", default=None, within=Range(0, 1, low_open=True), metavar="PSI",
        help="The share of cases on which exactly one of the two is right.",
    )  # fmt: skip
    per_unit: float = option("--per-unit", default=1.0, within=Range(1), metavar="M", help="Cases in a unit.")
    icc: float = option(
        "--icc", default=0.0, within=Range(-1, 1), metavar="R", help="Intraclass correlation within units."
    )
    strata: int = option("--strata", default=1, within=Range(1), metavar="L", help="Number of strata.")
    algorithms: int = option(
        "--algorithms", default=2, within=Range(2, 1000), metavar="K",
        help="How many will be compared; the level of each pair is Holm's.",
    )  # fmt: skip
    power: float = option(
        "--power", default=0.8, within=Range(0.05, 1, low_open=True, high_open=True), metavar="P",
        help="How likely the test should succeed.",
    )  # fmt: skip
    units: int | None = option(
        "--units", default=None, within=Range(2, 1_000_000_000), metavar="N", help="What N units show, instead."
    )

    @property
    def question(self) -> PlanningGoal:
        """What is asked."""
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
