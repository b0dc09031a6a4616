"""A report as a PDF: the page for people, set by WeasyPrint on A4."""

from typing import Any

from harness.errors import MissingExtra
from harness.report.page.document import ReportPage
from harness.report.page.html import page_html


def page_pdf(page: ReportPage) -> bytes:
    """The whole page; nothing is loaded, neither from the network nor from files."""
    library = pdf_library()
    fetcher = library.urls.URLFetcher(allowed_protocols=["data"])
    pdf: bytes = library.HTML(string=page_html(page), url_fetcher=fetcher).write_pdf()
    return pdf


def pdf_library() -> Any:
    """WeasyPrint, or a hint on what is missing."""
    try:
        import weasyprint
    except ImportError:
        hint = "pip install 'hate-harness[pdf]', or print the .html from a browser"
        raise MissingExtra(f"a PDF needs WeasyPrint: {hint}") from None
    except OSError:
        # The package is there, but not the libraries that it sets text with.
        hint = "apt install libpango-1.0-0 libpangoft2-1.0-0, or print the .html from a browser"
        raise MissingExtra(f"a PDF needs Pango: {hint}") from None
    return weasyprint
