"""Options of `fuse`."""

from enum import StrEnum
from pathlib import Path

from harness.options.declaration import Range, Writes, option
from harness.options.shared import DownloadOptions, SeedOptions


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
        "--rule", default=FusionRule.MAJORITY, choices=tuple(FusionRule),
        help="Votes; the mean of scores, by median and spread or by ranks; or weights by logistic regression.",
    )  # fmt: skip
    ties: str = option(
        "--ties", default="refuse", choices=TIES, help="What a tie gives: a refusal, or the first run's answer."
    )
    learn: tuple[str, ...] = option(
        "--learn", default=(), metavar="T", completion="transcript",
        help="Logistic: a transcript of the same algorithm on other cases; one for each, in the same order.",
    )  # fmt: skip
    folds: int | None = option(
        "--folds", default=None, within=Range(2), metavar="K",
        help="Logistic: learn on K - 1 of K parts of the sampling units, and fuse the other part.",
    )  # fmt: skip
    psu: tuple[str, ...] | None = option(
        "--psu", default=None, separator=",", metavar="COLUMN,...",
        help="Columns that make the sampling units, for --folds; by default those of the test.",
    )  # fmt: skip
    threshold: float | None = option(
        "--threshold", default=None, metavar="X", help="Threshold of the fused score; by default it follows the rule."
    )
    algorithm: str | None = option(
        "--algorithm", default=None, metavar="NAME", help="Name of the result; by default A+B."
    )
    output: Path | None = option(
        "-o", "--output", default=None, writes=Writes.TRANSCRIPT, metavar="FILE",
        help="The transcript; with .gz it is compressed.",
    )  # fmt: skip
    force: bool = option("--force", default=False, help="Overwrite an existing transcript.")
