"""Options of the commands that show cases."""

from harness.model import Outcome
from harness.options.declaration import OptionSet, Range, option
from harness.options.shared import DownloadOptions

ERROR = "ER"


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
