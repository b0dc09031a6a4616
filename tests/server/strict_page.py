"""A strict parser of pages."""

from html.parser import HTMLParser
from urllib.parse import urlsplit

VOID = {"meta", "link", "input", "line", "circle", "path", "img", "br", "hr"}
TAGS = VOID | {
    "html", "head", "title", "body", "nav", "main", "footer", "form", "button", "a", "code", "pre", "p", "span", "div",
    "ul", "ol", "li", "dl", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "small", "table", "thead", "tbody", "tr",
    "th", "td", "svg", "strong", "em", "blockquote", "abbr", "label", "select", "option", "time", "text",
    "figure", "figcaption", "section", "details", "summary", "caption", "b", "g", "desc",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "name", "content", "rel", "href", "type", "class", "action", "method", "role", "value",
    "aria-label", "placeholder", "tabindex", "viewbox", "aria-hidden", "x1", "x2", "y1", "y2", "cx", "cy", "r",
    "download", "title", "selected", "datetime", "data-sort", "aria-sort", "x", "y", "text-anchor", "d", "src", "alt",
    "width", "height", "loading", "id", "scope",
    "fill", "fill-opacity", "font-size", "stroke", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
    "stroke-width", "transform",
}  # fmt: skip


class Page(HTMLParser):
    """Only known elements, properly nested, with known attributes, and nothing active."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.boxes: list[str] = []
        self.rows: list[list[str]] = []
        self.title = ""
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        assert tag in TAGS
        assert named.keys() <= ATTRIBUTES
        for key in ("href", "action", "src"):
            if key in named:
                # What is in the page itself is only ever a table to download, or a small picture.
                embedded = ("data:text/csv;charset=utf-8;base64,", "data:image/png;base64,")
                assert urlsplit(named[key] or "").scheme in ("", "http", "https", "mailto") or (
                    (named[key] or "").startswith(embedded)
                )
        if tag == "a":
            self.links.append(named["href"] or "")
        if tag == "input" and named.get("type") == "checkbox":
            self.boxes.append(named["value"] or "")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        # A picture has titles, too.
        if self.open[-2:] == ["head", "title"]:
            self.title += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] = f"{self.rows[-1][-1]} {data.strip()}".strip()

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def row(self, name: str) -> list[str]:
        """The first row that has this cell, perhaps with a mark after it."""
        return next(row for row in self.rows if any(cell == name or cell.startswith(f"{name} ") for cell in row))
