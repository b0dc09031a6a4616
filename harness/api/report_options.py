"""Options of `report`, for the command line and for Python."""

from harness.options import (
    ConfidenceOptions,
    DesignOptions,
    DownloadOptions,
    PartialOptions,
    Range,
    SeedOptions,
    option,
)
from harness.options.comparing import ContrastOptions, IntersectOptions


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
