"""Options of the commands that work on transcripts and matrices, for the command line and for Python."""

from pathlib import Path

from harness.model import Outcome
from harness.options import (
    ConfidenceOptions,
    DesignOptions,
    DownloadOptions,
    OperatingOptions,
    OptionSet,
    PartialOptions,
    Range,
    ReplicationOptions,
    SeedOptions,
    option,
)

ERROR = "ER"
MULTIPLICITY = ("holm", "max-t", "hochberg", "bh")
BANDS = ("auto", "wilson", "brr", "bootstrap", "two-way", "simultaneous", "none")
CMC_BANDS = ("auto", "wilson", "brr", "bootstrap", "none")
SAMPLING = ("balanced", "unbalanced", "both")
URN_DESIGNS = ("st", "srs", "cl")


def _measure_names() -> str:
    from harness.measures import measures_for_help

    return measures_for_help()


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
        help=lambda: f"What to compare: {_measure_names()}. By default what counts in the test: of boxes ap, of masks "
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

    margin: float | None = option(
        "--margin", default=None, within=Range(0, low_open=True), metavar="M",
        help="Test whether one is as good as another, within this difference.",
    )  # fmt: skip
    unpaired: bool = option(
        "--unpaired", default=False, help="The transcripts have other inputs in the same strata, such as two sensors."
    )
    cross_check: bool = option(
        "--cross-check", default=False,
        help="Ask other methods too: a mixed-effects logistic model, and Bayesian probabilities.",
    )  # fmt: skip
    rope: float = option(
        "--rope", default=0.01, within=Range(0, 1, high_open=True), needs=("cross_check", "folds"), metavar="R",
        help="With --cross-check or --folds: differences up to this are practically none.",
    )  # fmt: skip
    folds: str | None = option(
        "--folds", default=None, metavar="COLUMN",
        help="The column with the fold of a cross-validation that a case was tested in: compare the folds too.",
    )  # fmt: skip
    items: bool = option(
        "--items", default=False, help="Show which cases separate the algorithms, and how stable the order is."
    )


class RateOptions(
    ByOptions, OperatingOptions, DesignOptions, ConfidenceOptions, SeedOptions, SequentialOptions, PartialOptions,
    DownloadOptions,
):  # fmt: skip
    """Options of `rate`."""

    statistic: str | None = option(
        "--statistic", default=None, metavar="NAME,...", completion="measure",
        help=lambda: f"What to measure, with commas between several: {_measure_names()}. "
        "By default the usual ones that a run has.",
    )  # fmt: skip


class ConfusionOptions(DesignOptions, ConfidenceOptions, IntersectOptions, PartialOptions, DownloadOptions):
    """Options of `confusion`."""

    threshold: float | None = option(
        "--threshold", default=None, metavar="X", help="Answers below it are refusals; by default the run's own."
    )
    positives: bool = option("--positives", default=False, help="Only cases whose claim is true.")
    pairs: int = option(
        "--pairs", default=10, within=Range(1), metavar="N", help="Name the N most confused pairs of classes."
    )


class BandOptions(ConfidenceOptions, SeedOptions):
    """Bands around a curve."""

    bands: str = option(
        "--bands", default="auto", choices=BANDS,
        help="How bands are found; auto takes pointwise ones that fit the sampling design.",
    )  # fmt: skip


class PointsOptions(BandOptions, DesignOptions, PartialOptions, DownloadOptions):
    """Options of all curves over a threshold."""

    points: int | None = option(
        "--points", default=None, within=Range(0), metavar="N",
        help="At most N points, 0 for all; by default all of a short curve, 1,000 of a long one.",
    )  # fmt: skip


class ObjectOptions(OptionSet):
    """How objects are matched."""

    iou: float | None = option(
        "--iou", default=None, within=Range(0, 1, low_open=True), metavar="X",
        help="Objects: the overlap from which a box matches one; by default the run's own.",
    )  # fmt: skip


class FrocOptions(ObjectOptions, PointsOptions):
    """Options of `froc`."""


class CurveOptions(PointsOptions):
    """Options of `roc` and `det`."""

    at: tuple[str, ...] = option(
        "--at", default=(), metavar="fpr=0.01", help="An operating point: fpr=, fnr= or threshold=; may be repeated."
    )
    cost: str | None = option(
        "--cost", default=None, metavar="fp=10,fn=1,prior=0.01", help="Find the threshold of least expected cost."
    )
    swept: str | None = option(
        "--swept", default=None, metavar="PARAM",
        help="The transcripts are of one algorithm with several values of this parameter: a point for each.",
    )  # fmt: skip
    repeated: bool = option(
        "--repeated", default=False,
        help="The transcripts are of one algorithm on several sets of data: mean points with error ellipses.",
    )  # fmt: skip
    subjects: str | None = option(
        "--subjects", default=None, metavar="ROW,COLUMN",
        help="Columns with the two subjects of a comparison, for two-way intervals.",
    )  # fmt: skip


class PrOptions(ObjectOptions, CurveOptions):
    """Options of `pr`."""


class MatrixOptions(OptionSet):
    """How a similarity matrix is read."""

    labels: tuple[Path, ...] = option(
        "--labels", default=(), metavar="TABLE",
        help="Labels of rows and columns (twice: of rows, of columns); by default the table beside the matrix.",
    )  # fmt: skip
    distance: bool = option(
        "--distance", default=False, help="Smaller is better: the matrix has distances, not similarities."
    )
    identity: str | None = option(
        "--identity", default=None, metavar="REGEX",
        help="Whose image a label is: the first group of the pattern, or all that it matches.",
    )  # fmt: skip
    gallery: tuple[str, ...] = option(
        "--gallery", default=(), metavar="COLUMN=VALUE", help="Only such images in the gallery; may be repeated."
    )
    probe: tuple[str, ...] = option(
        "--probe", default=(), metavar="COLUMN=VALUE", help="Only such images as probes; may be repeated."
    )


class CmcOptions(MatrixOptions, BandOptions, DesignOptions, PartialOptions, DownloadOptions):
    """Options of `cmc`."""

    exclude_diagonal: bool = option(
        "--exclude-diagonal", default=False,
        help="Matrices: probe i and gallery image i are the same image, so leave that comparison out.",
    )  # fmt: skip
    ranks: int | None = option(
        "--ranks", default=None, within=Range(1, 1_000_000), metavar="N", help="Up to this rank."
    )
    censor: int | None = option(
        "--censor", default=None, within=Range(1), metavar="N", help="For the median: ranks beyond N count as N."
    )
    galleries: str | None = option(
        "--galleries", default=None, metavar="COLUMN",
        help="Matrices: the images of each value of the column as the gallery in turn; test whether they differ.",
    )  # fmt: skip
    mix: bool = option(
        "--mix", default=False, needs=("galleries",),
        help="With --galleries: give each gallery an equal share of all images.",
    )  # fmt: skip
    permutations: int = option(
        "--permutations", default=999, within=Range(19, 1_000_000), needs=("galleries",), metavar="N",
        help="With --galleries: how many permutations the test draws.",
    )  # fmt: skip
    methods: bool = option(
        "--methods", default=False,
        help="Show standard errors by BRR, jackknife and bootstrap side by side, and with one unit less.",
    )  # fmt: skip
    bands: str = option("--bands", default="auto", choices=CMC_BANDS, help="How bands are found; auto fits the design.")


class CaseOptions(OptionSet):
    """Which cases of a transcript are shown."""

    outcome: tuple[str, ...] = option(
        "--outcome", default=(), choices=(*map(str, Outcome), ERROR),
        help="Only cases with this outcome, ER for errors; may be repeated.",
    )  # fmt: skip
    where: tuple[str, ...] = option(
        "--where", default=(), metavar="COLUMN=VALUE",
        help="Only cases for which this holds (also !=, <, <=, >, >=); if repeated, all must hold.",
    )  # fmt: skip
    sort: tuple[str, ...] = option(
        "--sort", default=(), metavar="COLUMN",
        help="Sort by a column, numbers as numbers, -COLUMN in descending order; may be repeated.",
    )  # fmt: skip
    limit: int | None = option("--limit", default=None, within=Range(1), metavar="N", help="Only the first N of them.")


class ShowOptions(CaseOptions, DownloadOptions):
    """Options of `hate show`."""


class DiffOptions(CaseOptions, DownloadOptions):
    """Options of `hate diff`."""

    answers: bool = option(
        "--answers", default=False, help="Also show cases of the same outcome where only the answers differ."
    )


class PermuteOptions(MatrixOptions, ConfidenceOptions, SeedOptions):
    """Options of `hate permute`."""

    subject: str = option("--subject", default="subject", metavar="COLUMN", help="The column that says who it is.")
    differ: tuple[str, ...] = option(
        "--differ", default=(), separator=",", metavar="COLUMN,...",
        help="A person's gallery and probe images differ in these columns, such as day.",
    )  # fmt: skip
    agree: tuple[str, ...] = option(
        "--agree", default=(), separator=",", metavar="COLUMN,...",
        help="A person's gallery and probe images agree in these columns, such as camera.",
    )  # fmt: skip
    experiments: int = option(
        "--experiments", default=10_000, within=Range(1, 10_000_000), metavar="N", help="How many experiments to draw."
    )
    ranks: int = option("--ranks", default=10, within=Range(1), metavar="N", help="Up to this rank.")
    sampling: str = option(
        "--sampling", default="balanced", choices=SAMPLING,
        help="Take all pairs of a person's images equally often, or draw them for each person independently.",
    )  # fmt: skip


class UrnOptions(MatrixOptions, SeedOptions, DownloadOptions):
    """Options of `hate urn`."""

    group: str = option("--group", metavar="COLUMN", help="The partition to test, such as subject or image.")
    trial: str | None = option(
        "--trial", default=None, metavar="COLUMN",
        help="What is repeated, such as a day or a data collection; 'source' for files.",
    )  # fmt: skip
    elements: int | None = option(
        "--elements", default=None, within=Range(1), metavar="M",
        help="How many repetitions make a trial; by default 4 where a group has one element in each, else 1.",
    )  # fmt: skip
    shuffle: tuple[str, ...] = option(
        "--shuffle", default=(), separator=",", metavar="COLUMN,...",
        help="Randomise these cofactors within the groups, such as time.",
    )  # fmt: skip
    resample: str | None = option(
        "--resample", default=None, choices=("groups",), help="Draw other groups for every trial."
    )
    groups: int | None = option(
        "--groups", default=None, within=Range(2), needs=("resample",), metavar="N",
        help="With --resample: how many groups a trial has; by default a tenth of them.",
    )  # fmt: skip
    design: str | None = option(
        "--design", default=None, choices=URN_DESIGNS, help="The design to test; st, or cl with --resample."
    )
    threshold: str | None = option(
        "--threshold", default=None, metavar="VALUES", help="Where success begins: 1, or 1,5,10, or 0:1:0.1."
    )
    on: str = option("--on", default="rank", choices=("rank", "score"), help="Matrices: what the threshold applies to.")
    subject: str = option(
        "--subject", default="subject", metavar="COLUMN", help="Matrices: the column that says who it is."
    )
    runs: int = option(
        "--runs", default=1, within=Range(1, 1000), metavar="N",
        help="Repeat the analysis N times, each time with a random half of the repetitions.",
    )  # fmt: skip
    permutations: int = option(
        "--permutations", default=999, within=Range(19, 1_000_000), metavar="N",
        help="How many permutations the test draws.",
    )  # fmt: skip
    alpha: float = option(
        "--alpha", default=0.05, within=Range(0, 1, low_open=True, high_open=True), metavar="P",
        help="Reject a design whose p-value is at most this.",
    )  # fmt: skip
