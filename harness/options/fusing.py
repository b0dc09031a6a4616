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
