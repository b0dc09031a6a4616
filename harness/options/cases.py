"""Options of `show`, `diff` and `cases`."""

from harness.model import Outcome
from harness.options.declaration import OptionSet, Range, option
from harness.options.shared import DownloadOptions, LibraryOptions

ERROR = "ER"


class CaseOptions(OptionSet):
    """Which cases of a transcript are shown."""

    outcome: tuple[str, ...] = option(
        "--outcome",
        "Only cases with this outcome, ER for errors; may be repeated.",
        default=(),
        choices=(*map(str, Outcome), ERROR),
    )
    where: tuple[str, ...] = option(
        "--where COLUMN=VALUE",
        "Only cases for which this holds (also !=, <, <=, >, >=); of several, all must hold.",
        default=(),
    )
    sort: tuple[str, ...] = option(
        "--sort COLUMN",
        "Sort by a column, numbers as numbers, -COLUMN in descending order; may be repeated.",
        default=(),
    )
    limit: int | None = option("--limit N", "Only the first N of them.", default=None, within=Range(1))


class ShowOptions(CaseOptions, DownloadOptions):
    """Options of `hate show`."""


class DiffOptions(CaseOptions, DownloadOptions):
    """Options of `hate diff`."""

    answers: bool = option(
        "--answers", "Also show cases of the same outcome where only the answers differ.", default=False
    )


class CaseListOptions(LibraryOptions):
    """Which cases, and how much of them."""

    part: str = option(
        "--part",
        "The cases to answer, those to learn from, or the gallery of a rank test.",
        default="cases",
        choices=("cases", "train", "gallery"),
    )
    truth: bool = option("--truth", "Also what a program is not told: expect, positive, truth.", default=False)
    limit: int | None = option("--limit N", "Only the first N.", default=None, within=Range(1))
