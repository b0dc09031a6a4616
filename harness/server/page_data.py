"""What is behind the pages, for programs: rankings as tables."""

from collections.abc import Callable
from dataclasses import dataclass

from harness.report.formats import Format
from harness.server.page_site import PageSite
from harness.server.ranking_page import ranking_data

Maker = Callable[[PageSite, str], str]


@dataclass(frozen=True)
class DataKind:
    """A file behind the page of a test: its type, and how it is made."""

    media_type: str
    make: Maker


def _ranking(style: Format) -> Maker:
    return lambda site, text: ranking_data(site, site.test(text), style)


PAGE_DATA = {
    "ranking.csv": DataKind("text/csv; charset=utf-8", _ranking(Format.CSV)),
    "ranking.json": DataKind("application/json", _ranking(Format.JSON)),
}
