"""Templates: everything is escaped, and what would act on a reader's eyes is shown as its code."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.report.document import Block, render_document
from harness.report.table import Format
from harness.report.text import safe

TEMPLATES = Path(__file__).parent / "templates"
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def _harmless(value: Any) -> Any:
    return safe(value) if type(value) is str else value


def size_text(size: int) -> str:
    """A size for people."""
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{size:,} bytes" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def shortened(value: object, longest: int = 80) -> str:
    """Text that is not too long for a page."""
    text = str(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _segment(text: str) -> str:
    """A name as a part of an address."""
    return quote(text, safe="@")


_templates = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_harmless,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= {"size": size_text, "short": shortened, "segment": _segment}


def render_page(template: str, **values: Any) -> str:
    """A page, or a part of one."""
    return _templates.get_template(template).render(**values)


def as_html(blocks: Sequence[Block]) -> Markup:
    """A report as a part of a page; it escapes all text itself."""
    return Markup(render_document(blocks, Format.HTML))  # noqa: S704
