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
        "--by COLUMN,...",
        "Break down by a column; noise:5 for 5 bins of a number, noise=0,10,20 for edges, A,B for columns "
        "crossed; may be repeated, for each by itself.",
        default=(),
    )


class IntersectOptions(OptionSet):
    """Transcripts that do not have the same cases."""

    intersect: bool = option("--intersect", "Use only the cases that all transcripts have.", default=False)


class SequentialOptions(OptionSet):
    """Runs that are looked at while they grow, or that stopped early."""

    sequential: bool = option(
        "--sequential",
        "Intervals for this whole test that stay valid however often one looks, and for runs that stopped early.",
        default=False,
    )


class ContrastOptions(OptionSet):
    """What is compared, with whom, and how p-values of several pairs are corrected."""

    baseline: str | None = option(
        "--baseline NAME", "Compare this one with all the others, instead of all pairs.", default=None
    )
    statistic: str | None = option(
        "--statistic NAME",
        "What to compare: {measures}. By default what counts in the test: of boxes ap, of masks iou, else the rate.",
        default=None,
        completion="measure",
    )
    multiplicity: str = option(
        "--multiplicity",
        "How p-values of several pairs are corrected; max-t gives intervals that hold for all at once.",
        default="holm",
        choices=MULTIPLICITY,
    )


class CompareOptions(
    ContrastOptions,
    ByOptions,
    OperatingOptions,
    DesignOptions,
    ReplicationOptions,
    SequentialOptions,
    IntersectOptions,
    PartialOptions,
    DownloadOptions,
):
    """Options of `compare`."""

    extendable = True

    margin: float | None = option(
        "--margin M",
        "Test whether one is as good as another, within this difference.",
        default=None,
        within=Range(0, low_open=True),
    )
    unpaired: bool = option(
        "--unpaired", "The transcripts have other inputs in the same strata, such as two sensors.", default=False
    )
    items: bool = option(
        "--items", "Show which cases separate the algorithms, and how stable the order is.", default=False
    )


class RateOptions(
    ByOptions,
    OperatingOptions,
    DesignOptions,
    ConfidenceOptions,
    SeedOptions,
    SequentialOptions,
    PartialOptions,
    DownloadOptions,
):
    """Options of `rate`."""

    extendable = True

    statistic: str | None = option(
        "--statistic NAME,...",
        "What to measure, with commas between several: {measures}. By default the usual ones that a run has.",
        default=None,
        completion="measure",
    )


class ConfusionOptions(DesignOptions, ConfidenceOptions, IntersectOptions, PartialOptions, DownloadOptions):
    """Options of `confusion`."""

    extendable = True

    threshold: float | None = option(
        "--threshold X", "Answers below it are refusals; by default the run's own.", default=None
    )
    positives: bool = option("--positives", "Only cases whose claim is true.", default=False)
    pairs: int = option("--pairs N", "Name the N most confused pairs of classes.", default=10, within=Range(1))
