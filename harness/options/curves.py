"""Options of `roc`, `det`, `pr`, `froc` and `cmc`, and how similarity matrices are read."""

import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from harness.options.declaration import OptionSet, Range, option
from harness.options.shared import ConfidenceOptions, DesignOptions, DownloadOptions, PartialOptions, SeedOptions
from harness.params import nearest


class BandMethod(StrEnum):
    """How bands are computed; `AUTO` chooses what suits the design."""

    AUTO = "auto"
    WILSON = "wilson"
    BRR = "brr"
    BOOTSTRAP = "bootstrap"
    TWO_WAY = "two-way"
    SIMULTANEOUS = "simultaneous"
    NONE = "none"


# Ranks have no second side, and no curve over a threshold.
CMC_BANDS = (BandMethod.AUTO, BandMethod.WILSON, BandMethod.BRR, BandMethod.BOOTSTRAP, BandMethod.NONE)
POINT_RATES = ("fpr", "fnr", "threshold")


@dataclass(frozen=True)
class PointLimit:
    """Where an operating point lies: the threshold where a rate is within a limit, or a threshold itself."""

    of: str
    value: float

    @property
    def text(self) -> str:
        """As it was written."""
        return f"{self.of}={self.value:g}"

    @classmethod
    def parse(cls, text: str) -> "PointLimit":
        """`fpr=0.01`, `fnr=0.1` or `threshold=3`."""
        name, _, value = text.partition("=")
        of = {"fmr": "fpr", "fnmr": "fnr"}.get(name.strip(), name.strip())
        if of not in POINT_RATES:
            raise ValueError(f"'{text}': write fpr=, fnr= or threshold= and a number; {nearest(of, POINT_RATES)}")
        number = _number(value)
        if of != "threshold" and not 0 <= number <= 1:
            raise ValueError(f"'{text}': a rate must be between 0 and 1")
        return cls(of, number)


@dataclass(frozen=True)
class ErrorCosts:
    """What a false positive and a false negative cost, and how likely a positive is in use."""

    fp: float = 1.0
    fn: float = 1.0
    prior: float = 0.5

    @classmethod
    def parse(cls, text: str) -> "ErrorCosts":
        """`fp=10,fn=1,prior=0.01`; costs are 1 by default, and the prior is a half."""
        values: dict[str, float] = {}
        for part in text.split(","):
            name, _, value = part.partition("=")
            if name.strip() not in ("fp", "fn", "prior"):
                raise ValueError(f"'{text}': write fp=10,fn=1,prior=0.01; '{name.strip()}' is none of them")
            values[name.strip()] = _number(value)
        cost = cls(**values)
        if not (cost.fp > 0 and cost.fn > 0):
            raise ValueError(f"'{text}': costs must be above 0")
        if not 0 < cost.prior < 1:
            raise ValueError(f"'{text}': the prior, the chance of a positive in use, must be between 0 and 1")
        return cost


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"'{text}' is not a finite number")
    return number


class BandOptions(ConfidenceOptions, SeedOptions):
    """Bands around a curve."""

    bands: BandMethod = option(
        "--bands",
        "How bands are found; auto takes pointwise ones that fit the sampling design.",
        default=BandMethod.AUTO,
    )


class PointsOptions(BandOptions, DesignOptions, PartialOptions, DownloadOptions):
    """Options of all curves over a threshold."""

    extendable = True

    points: int | None = option(
        "--points N",
        "At most N points, 0 for all; by default all of a short curve, 1,000 of a long one.",
        default=None,
        within=Range(0),
    )


class ObjectOptions(OptionSet):
    """How objects are matched."""

    iou: float | None = option(
        "--iou X",
        "Objects: the overlap from which a box matches one; by default the run's own.",
        default=None,
        within=Range(0, 1, low_open=True),
    )


class FrocOptions(ObjectOptions, PointsOptions):
    """Options of `froc`."""


class CurveOptions(PointsOptions):
    """Options of `roc` and `det`."""

    at: tuple[PointLimit, ...] = option(
        "--at fpr=0.01",
        "An operating point: fpr=, fnr= or threshold=; may be repeated.",
        default=(),
        parse=PointLimit.parse,
    )
    cost: ErrorCosts | None = option(
        "--cost fp=10,fn=1,prior=0.01",
        "Find the threshold of least expected cost.",
        default=None,
        parse=ErrorCosts.parse,
    )
    swept: str | None = option(
        "--swept PARAM",
        "The transcripts are of one algorithm with several values of this parameter: a point for each.",
        default=None,
    )
    repeated: bool = option(
        "--repeated",
        "The transcripts are of one algorithm on several sets of data: mean points with error ellipses.",
        default=False,
    )
    subjects: tuple[str, ...] | None = option(
        "--subjects ROW,COLUMN",
        "Columns with the two subjects of a comparison, for two-way intervals.",
        default=None,
        separator=",",
    )


class PrOptions(ObjectOptions, CurveOptions):
    """Options of `pr`."""


class MatrixOptions(OptionSet):
    """How a similarity matrix is read."""

    labels: tuple[Path, ...] = option(
        "--labels TABLE",
        "Labels of rows and columns (twice: of rows, of columns); by default the table beside the matrix.",
        default=(),
    )
    distance: bool = option(
        "--distance", "Smaller is better: the matrix has distances, not similarities.", default=False
    )
    identity: str | None = option(
        "--identity REGEX",
        "Whose image a label is: the first group of the pattern, or all that it matches.",
        default=None,
    )
    gallery: tuple[str, ...] = option(
        "--gallery COLUMN=VALUE", "Only such images in the gallery; may be repeated.", default=()
    )
    probe: tuple[str, ...] = option("--probe COLUMN=VALUE", "Only such images as probes; may be repeated.", default=())


class RankOptions(MatrixOptions, DesignOptions, PartialOptions, DownloadOptions):
    """Where ranks come from: transcripts, tests that are run, or similarity matrices."""

    exclude_diagonal: bool = option(
        "--exclude-diagonal",
        "Matrices: probe i and gallery image i are the same image, so leave that comparison out.",
        default=False,
    )


class LastRankOptions(OptionSet):
    """How far down the list to look."""

    ranks: int | None = option("--ranks N", "Up to this rank.", default=None, within=Range(1, 1_000_000))


class RankCurveOptions(LastRankOptions, BandOptions):
    """Curves over the rank."""

    censor: int | None = option(
        "--censor N", "For the median: ranks beyond N count as N.", default=None, within=Range(1)
    )
    bands: BandMethod = option(
        "--bands", "How bands are found; auto fits the design.", default=BandMethod.AUTO, choices=CMC_BANDS
    )


class CmcOptions(RankCurveOptions, RankOptions):
    """Options of `cmc`."""

    extendable = True
