"""What pages are made from: the site as it is now, templates and Markdown.

Everything is escaped, and control characters are shown as their codes.
"""

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from harness.errors import HateError
from harness.files.caches import MemoryCache
from harness.files.toml import read_toml
from harness.report.blocks import Block
from harness.report.formats import Format, render_document
from harness.report.numbers import size_text
from harness.report.page.html import STYLE
from harness.report.text import cut, safe, safe_lines
from harness.server.links import Links
from harness.server.state import SiteState, find_test
from harness.site.catalogue import SiteTest
from harness.site.layout import Release, TranscriptEntry


class PageError(Exception):
    """Why there is no such page, for people: a status of HTTP and a sentence."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


TEMPLATES = Path(__file__).parent / "templates"
# What pages refer to, and where it is; the script is for pages in files only.
ASSETS = {name: TEMPLATES / name for name in ("style.css", "icon.svg", "pages.js")} | {"report.css": STYLE}
ASSET_TYPES = {".css": "text/css", ".svg": "image/svg+xml", ".js": "text/javascript"}


def shortened(value: object, longest: int = 80) -> str:
    """Text, cut if it is too long for a page."""
    return cut(str(value), longest)


def param_text(value: object) -> str:
    """The value of a parameter, for a page."""
    return shortened(value if isinstance(value, str) else msgspec.json.encode(value).decode())


_templates = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=lambda value: safe(value) if type(value) is str else value,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= {"size": size_text, "short": shortened}


@functools.cache
def template_hash() -> str:
    """The hash of templates and style sheet, which may change without a new version."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in [*sorted(TEMPLATES.iterdir()), STYLE])).hexdigest()


def render_page(template: str, **values: Any) -> str:
    """A page, or part of one."""
    return _templates.get_template(template).render(**values)


def as_html(blocks: Sequence[Block]) -> Markup:
    """A report as part of a page; it escapes all text itself."""
    return Markup(render_document(blocks, Format.HTML))  # noqa: S704


MAX_DESCRIPTION_LENGTH = 50_000
MAX_SCRIPT_BYTES = 1 << 20


@dataclass(frozen=True)
class ScriptSummary:
    """What a script says about its test, in prose."""

    description: str = ""
    authors: str = ""
    license: str = ""
    baseline: str = ""


def script_summary(state: SiteState, release: Release) -> ScriptSummary:
    """Read from the script alone; empty if it cannot be read, or is large because it holds all its cases."""
    script = next(file for file in release.files if file.path == release.script)
    if script.bytes > MAX_SCRIPT_BYTES:
        return ScriptSummary()
    try:
        test = read_toml(state.catalogue.store.file(script.ref))[0].get("test", {})
    except HateError:
        return ScriptSummary()
    authors = test.get("authors", [])
    names = [str(author) for author in authors] if isinstance(authors, list) else []
    texts = {key: str(test.get(key, "")) for key in ("description", "license", "baseline")}
    return ScriptSummary(authors=", ".join(names), **texts)


class _Renderer(RendererHTML):
    """Headings below those of the page, and links that search engines do not follow."""

    def heading_open(self, tokens: list[Token], index: int, options: Any, env: Any) -> str:
        tokens[index].tag = _demoted(tokens[index].tag)
        return self.renderToken(tokens, index, options, env)

    def heading_close(self, tokens: list[Token], index: int, options: Any, env: Any) -> str:
        tokens[index].tag = _demoted(tokens[index].tag)
        return self.renderToken(tokens, index, options, env)

    def th_open(self, tokens: list[Token], index: int, options: Any, env: Any) -> str:
        """Align numbers to the right by a class: the page's policy allows no style attributes."""
        style = tokens[index].attrs.pop("style", "")
        if style == "text-align:right":
            tokens[index].attrSet("class", "number")
        return self.renderToken(tokens, index, options, env)

    td_open = th_open

    def link_open(self, tokens: list[Token], index: int, options: Any, env: Any) -> str:
        tokens[index].attrSet("rel", "nofollow ugc noopener")
        return self.renderToken(tokens, index, options, env)


def _demoted(tag: str) -> str:
    return f"h{min(6, int(tag[1]) + 2)}"


# No HTML and no images; the library itself refuses javascript: links and the like.
_markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table").disable("image")


def markdown_html(text: str) -> Markup:
    """Untrusted Markdown as safe HTML."""
    return Markup(_markdown.render(safe_lines(text[:MAX_DESCRIPTION_LENGTH])))  # noqa: S704 (html is off: all text is escaped)


@dataclass(frozen=True)
class PageSite:
    """A site, for the functions that make its pages."""

    state: SiteState
    links: Links
    cache: MemoryCache[bytes]

    def test(self, text: str) -> SiteTest:
        """A test by NAME or NAME@VERSION; a PageError if there is none."""
        test = find_test(self.state, text)
        if test is None:
            raise PageError(404, "No such test here.")
        return test

    def entry(self, test: SiteTest, name: str) -> TranscriptEntry:
        """A transcript of a test; a PageError if there is none."""
        entry = self.state.catalogue.transcript(test.index, name, test.version.version)
        if entry is None:
            raise PageError(404, "No such transcript here.")
        return entry

    def part(self, kind: str, test: SiteTest, entries: Sequence[TranscriptEntry], make: Callable[[], str]) -> Markup:
        """A part of a page that takes long to compute; templates and reports escape all text themselves."""
        return Markup(self.data(kind, test, entries, lambda: make().encode()).decode())  # noqa: S704

    def data(self, kind: str, test: SiteTest, entries: Sequence[TranscriptEntry], make: Callable[[], bytes]) -> bytes:
        """What is made of transcripts; again only when the test or the content of the transcripts is another."""
        parts = [f"{entry.name}\0{entry.file.sha256}\0{entry.by}\0{entry.published}" for entry in entries]
        content = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self.cache.get_or_make((kind, self.links, test.full_name, content), make)
