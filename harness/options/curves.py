"""Options of `roc`, `det`, `pr`, `froc` and `cmc`, and how similarity matrices are read."""

from pathlib import Path

from harness.options.declaration import OptionSet, Range, option
from harness.options.shared import ConfidenceOptions, DesignOptions, DownloadOptions, PartialOptions, SeedOptions

BANDS = ("auto", "wilson", "brr", "bootstrap", "two-way", "simultaneous", "none")
CMC_BANDS = ("auto", "wilson", "brr", "bootstrap", "none")


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
