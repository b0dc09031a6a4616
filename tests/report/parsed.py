"""A strict parser of reports: proper nesting, unique ids, headings in order, captions, nothing active."""

import base64
import csv
import io
from html.parser import HTMLParser
from itertools import pairwise

INLINE = {"code", "a"}
VOID = {"meta", "img", "path", "br"}
# Where addresses may point: into the page, or to data that is in it.
SAFE = ("#", "data:text/csv;", "data:image/png;")


class ParsedReport(HTMLParser):
    """The texts, tables, downloads and pictures of a report."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self.rows: list[list[str]] = []
        self.captions: list[str] = []
        self.downloads: dict[str, list[list[str]]] = {}
        self.links = 0
        self.pictures: list[bytes] = []
        self.charts: list[list[str]] = []
        self.targets: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))
        assert {target[1:] for target in self.targets} <= set(self.ids)
        levels = [level for level, _ in self.headings]
        assert levels.count(1) == 1
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        assert all(self.captions)
        assert all("title" in chart and "desc" in chart for chart in self.charts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {key: value or "" for key, value in attrs}
        assert len(named) == len(attrs)
        assert not any(key.startswith("on") or key == "style" for key in named)
        assert tag not in ("iframe", "object", "embed", "link", "base", "form")
        for key in ("href", "src", "action"):
            assert key not in named or named[key].startswith(SAFE), named
        self._note(tag, named)
        if tag not in VOID:
            self.open.append(tag)

    def _note(self, tag: str, named: dict[str, str]) -> None:
        if "id" in named:
            self.ids.append(named["id"])
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append((int(tag[1]), ""))
        if tag == "table":
            self.captions.append("")
        if tag == "th":
            assert named["scope"] in ("col", "row")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self._note_contents(tag, named)

    def _note_contents(self, tag: str, named: dict[str, str]) -> None:
        if tag == "svg" and "svg" not in self.open:
            assert named.get("role") == "img" or named.get("aria-hidden") == "true"
            self.charts += [[]] if named.get("role") == "img" else []
        if tag in ("title", "desc") and self.open[-1] == "svg" and self.charts:
            self.charts[-1].append(tag)
        if tag == "img":
            assert named["alt"]
            self.pictures.append(base64.b64decode(named["src"].partition(",")[2]))
        if tag == "a" and named["href"].startswith("#"):
            self.targets.append(named["href"])
        elif tag == "a":
            data = base64.b64decode(named["href"].partition(",")[2]).decode()
            self.links += 1
            self.downloads[named["download"]] = list(csv.reader(io.StringIO(data)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag
        if tag not in INLINE:
            self.text += " "

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            return
        self.text += data
        if self.open and self.open[-1] in ("h1", "h2", "h3", "h4"):
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)
        if "caption" in self.open:
            self.captions[-1] += data
        if {"td", "th"} & set(self.open) and "svg" not in self.open:
            self.rows[-1][-1] += data.strip()

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def words(self) -> str:
        """All text with single blanks."""
        return " ".join(self.text.split())
