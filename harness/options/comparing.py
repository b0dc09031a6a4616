"""Options of what is done with several transcripts: `compare`, `rate`, `confusion`, `fuse` and `report`."""

from enum import StrEnum
from pathlib import Path

from harness.options.declaration import OptionSet, Range, Writes, option
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


class TableOptions(ContrastOptions, ConfidenceOptions, SeedOptions):
    """Options of `compare_table`: what can be asked of four counts."""

    extendable = True

    margin: float | None = option(
        "--margin M",
        "Test whether one is as good as another, within this difference.",
        default=None,
        within=Range(0, low_open=True),
    )
    items: bool = option(
        "--items", "Show which cases separate the algorithms, and how stable the order is.", default=False
    )


class CompareOptions(
    TableOptions,
    ByOptions,
    OperatingOptions,
    DesignOptions,
    ReplicationOptions,
    IntersectOptions,
    PartialOptions,
    DownloadOptions,
):
    """Options of `compare`."""

    unpaired: bool = option(
        "--unpaired", "The transcripts have other inputs in the same strata, such as two sensors.", default=False
    )


class RateOptions(
    ByOptions, OperatingOptions, DesignOptions, ConfidenceOptions, SeedOptions, PartialOptions, DownloadOptions
):
    """Options of `rate`."""

    extendable = True

    statistic: str | None = option(
        "--statistic NAME,...",
        "What to measure, with commas between several: {measures}. By default the usual ones that a run has.",
        default=None,
        completion="measure",
    )


class SequentialOptions(DesignOptions, ConfidenceOptions, PartialOptions, DownloadOptions):
    """Options of `compare_sequentially`."""


class ConfusionOptions(DesignOptions, ConfidenceOptions, IntersectOptions, PartialOptions, DownloadOptions):
    """Options of `confusion`."""

    extendable = True

    threshold: float | None = option(
        "--threshold X", "Answers below it are refusals; by default the run's own.", default=None
    )
    positives: bool = option("--positives", "Only cases whose claim is true.", default=False)
    pairs: int = option("--pairs N", "Name the N most confused pairs of classes.", default=10, within=Range(1))


class FusionRule(StrEnum):
    """How several answers become one."""

    MAJORITY = "majority"
    MEAN = "mean"
    RANKS = "ranks"
    LOGISTIC = "logistic"


TIES = ("refuse", "first")


class FuseOptions(SeedOptions, DownloadOptions):
    """Options of `fuse`."""

    rule: str = option(
        "--rule",
        "Votes; the mean of scores, by median and spread or by ranks; or weights by logistic regression.",
        default=FusionRule.MAJORITY,
        choices=tuple(FusionRule),
    )
    ties: str = option(
        "--ties", "What a tie gives: a refusal, or the first run's answer.", default="refuse", choices=TIES
    )
    learn: tuple[str, ...] = option(
        "--learn T",
        "Logistic: a transcript of the same algorithm on other cases; one for each, in the same order.",
        default=(),
        completion="transcript",
    )
    folds: int | None = option(
        "--folds K",
        "Logistic: learn on K - 1 of K parts of the sampling units, and fuse the other part.",
        default=None,
        within=Range(2),
    )
    psu: tuple[str, ...] | None = option(
        "--psu COLUMN,...",
        "Columns that make the sampling units, for --folds; by default those of the test.",
        default=None,
        separator=",",
    )
    threshold: float | None = option(
        "--threshold X", "Threshold of the fused score; by default it follows the rule.", default=None
    )
    algorithm: str | None = option("--algorithm NAME", "Name of the result; by default A+B.", default=None)
    output: Path | None = option(
        "-o, --output FILE", "The transcript; with .gz it is compressed.", default=None, writes=Writes.TRANSCRIPT
    )
    force: bool = option("--force", "Overwrite an existing transcript.", default=False)


class ReportOptions(
    ContrastOptions, DesignOptions, ConfidenceOptions, SeedOptions, IntersectOptions, PartialOptions, DownloadOptions
):
    """Options of `report`."""

    title: str | None = option("--title TEXT", "The title of the page.", default=None)
    by: tuple[str, ...] = option(
        "--by COLUMN",
        "Break down by this column; may be repeated. By default all that the test declares, and others with few "
        "groups.",
        default=(),
    )
    cases: int = option(
        "--cases N",
        "Show at most N cases of a kind, with their inputs if these are here.",
        default=24,
        within=Range(0, 200),
    )
