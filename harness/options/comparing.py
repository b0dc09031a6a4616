"""Options of `compare`, `rate` and `confusion`."""

from harness.options.declaration import OptionSet, Range, option
from harness.options.shared import (
    ConfidenceOptions,
    DesignOptions,
    DownloadOptions,
    OperatingOptions,
    PartialOptions,
    ReplicationOptions,
    SeedOptions,
)

MULTIPLICITY = ("holm", "max-t", "hochberg", "bh")


class ByOptions(OptionSet):
    """Breakdowns by properties of the cases."""

    by: tuple[str, ...] = option(
        "--by", default=(), metavar="COLUMN,...",
        help="Break down by a column; noise:5 for 5 bins of a number, noise=0,10,20 for edges, A,B for columns "
        "crossed; may be repeated, for each by itself.",
    )  # fmt: skip


class IntersectOptions(OptionSet):
    """Transcripts that do not have the same cases."""

    intersect: bool = option("--intersect", default=False, help="Use only the cases that all transcripts have.")


class SequentialOptions(OptionSet):
    """Runs that are looked at while they grow, or that stopped early."""

    sequential: bool = option(
        "--sequential", default=False,
        help="Intervals for this whole test that stay valid however often one looks, and for runs that stopped early.",
    )  # fmt: skip


class ContrastOptions(OptionSet):
    """What is compared, with whom, and how p-values of several pairs are corrected."""

    baseline: str | None = option(
        "--baseline", default=None, metavar="NAME", help="Compare this one with all the others, instead of all pairs."
    )
    statistic: str | None = option(
        "--statistic", default=None, metavar="NAME", completion="measure",
        help="What to compare: {measures}. By default what counts in the test: of boxes ap, of masks "
        "iou, else the rate.",
    )  # fmt: skip
    multiplicity: str = option(
        "--multiplicity", default="holm", choices=MULTIPLICITY,
        help="How p-values of several pairs are corrected; max-t gives intervals that hold for all at once.",
    )  # fmt: skip


class CompareOptions(
    ContrastOptions, ByOptions, OperatingOptions, DesignOptions, ReplicationOptions, SequentialOptions,
    IntersectOptions, PartialOptions, DownloadOptions,
):  # fmt: skip
    """Options of `compare`."""

    extendable = True

    margin: float | None = option(
        "--margin", default=None, within=Range(0, low_open=True), metavar="M",
        help="Test whether one is as good as another, within this difference.",
    )  # fmt: skip
    unpaired: bool = option(
        "--unpaired", default=False, help="The transcripts have other inputs in the same strata, such as two sensors."
    )
    items: bool = option(
        "--items", default=False, help="Show which cases separate the algorithms, and how stable the order is."
    )


class RateOptions(
    ByOptions, OperatingOptions, DesignOptions, ConfidenceOptions, SeedOptions, SequentialOptions, PartialOptions,
    DownloadOptions,
):  # fmt: skip
    """Options of `rate`."""

    extendable = True

    statistic: str | None = option(
        "--statistic", default=None, metavar="NAME,...", completion="measure",
        help="What to measure, with commas between several: {measures}. "
        "By default the usual ones that a run has.",
    )  # fmt: skip


class ConfusionOptions(DesignOptions, ConfidenceOptions, IntersectOptions, PartialOptions, DownloadOptions):
    """Options of `confusion`."""

    extendable = True

    threshold: float | None = option(
        "--threshold", default=None, metavar="X", help="Answers below it are refusals; by default the run's own."
    )
    positives: bool = option("--positives", default=False, help="Only cases whose claim is true.")
    pairs: int = option(
        "--pairs", default=10, within=Range(1), metavar="N", help="Name the N most confused pairs of classes."
    )
