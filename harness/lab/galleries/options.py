"""Options of `hate galleries`."""

from harness.options import DesignOptions, Range, option
from harness.options.curves import MatrixOptions, RankCurveOptions


class GalleriesOptions(MatrixOptions, RankCurveOptions, DesignOptions):
    """Options of `hate galleries`."""

    by: str = option("--by", metavar="COLUMN", help="The images of each value of this column are the gallery in turn.")
    mix: bool = option("--mix", default=False, help="Also give each gallery an equal share of all images.")
    permutations: int = option(
        "--permutations",
        default=999,
        within=Range(19, 1_000_000),
        metavar="N",
        help="How many permutations the test draws.",
    )
