"""What a script says of its test, for people: read from the script alone, whose data may be anywhere."""

from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from harness.errors import HateError
from harness.files.strict_toml import read_toml
from harness.site.layout import Release
from harness.site.serving.site import State

LONGEST_DESCRIPTION = 50_000
LARGEST_SCRIPT = 1 << 20


@dataclass(frozen=True)
class About:
    """The parts of a script that need no checking."""

    description: str = ""
    authors: str = ""
    license: str = ""
    baseline: str = ""


def about(state: State, release: Release) -> About:
    """What people want to know; nothing where the script cannot be read, or holds all its cases."""
    script = next(file for file in release.files if file.path == release.script)
    if script.bytes > LARGEST_SCRIPT:
        return About()
    try:
        test = read_toml(state.catalogue.place.file(script.ref))[0].get("test", {})
    except HateError:
        return About()
    authors = test.get("authors", [])
    named = [str(one) for one in authors] if isinstance(authors, list) else []
    texts = {key: str(test.get(key, "")) for key in ("description", "license", "baseline")}
    return About(authors=", ".join(named), **texts)


class _Renderer(RendererHTML):
    """Headings below those of the page, and links that lend nobody our good name."""

    def heading_open(self, tokens: list[Token], index: int, options: Any, env: Any) -> str:
        tokens[index].tag = _lower(tokens[index].tag)
        return self.renderToken(tokens, index, options, env)

    def heading_close(self, tokens: list[Token], index: int, options: Any, env: Any) -> str:
        tokens[index].tag = _lower(tokens[index].tag)
        return self.renderToken(tokens, index, options, env)

    def th_open(self, tokens: list[Token], index: int, options: Any, env: Any) -> str:
        """Numbers to the right, by a class: the page's policy allows no style in an element."""
        style = tokens[index].attrs.pop("style", "")
        if style == "text-align:right":
            tokens[index].attrSet("class", "number")
        return self.renderToken(tokens, index, options, env)

    td_open = th_open

    def link_open(self, tokens: list[Token], index: int, options: Any, env: Any) -> str:
        tokens[index].attrSet("rel", "nofollow ugc noopener")
        return self.renderToken(tokens, index, options, env)


def _lower(tag: str) -> str:
    return f"h{min(6, int(tag[1]) + 2)}"


# No HTML, no pictures from elsewhere; the library itself refuses links that are javascript: and their like.
_markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table").disable("image")


def prose(text: str) -> Markup:
    """Markdown of others as HTML that can do nothing."""
    return Markup(_markdown.render(text[:LONGEST_DESCRIPTION]))  # noqa: S704 (html is off: all text is escaped)
