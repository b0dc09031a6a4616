"""What is behind the pages, for programs: rankings as tables, curves as pictures and points."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.report.formats import Format
from harness.server.page_site import PageSite
from harness.server.ranking_page import ranking_data

Maker = Callable[[PageSite, str, Sequence[str]], str]


@dataclass(frozen=True)
class DataKind:
    """A file behind a page: its type, and how it is made of a test and some names of transcripts."""

    media_type: str
    make: Maker


def _ranking(style: Format) -> Maker:
    return lambda site, text, _names: ranking_data(site, site.test(text), style)


CSV, JSON = "text/csv; charset=utf-8", "application/json"
PAGE_DATA = {
    "ranking.csv": DataKind(CSV, _ranking(Format.CSV)),
    "ranking.json": DataKind(JSON, _ranking(Format.JSON)),
}
