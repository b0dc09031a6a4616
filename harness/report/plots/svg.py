"""An SVG file as an element of a page: no names in comments, no ids or rules that reach other pictures, no styles.

A page may forbid style attributes (a content security policy), and can map colours that are attributes: `[fill="..."]`.
"""

import re

from harness.report.text import html

_NOT_SHOWN = re.compile(
    r"<!--.*?(?:-->\n?|\Z)|(?<!\s)\s*+(?:<metadata>.*?(?:</metadata>|\Z)|<style.*?(?:</style>|\Z))", re.DOTALL
)
_REFERENCE = re.compile(r"(href=\"|url\()#([^\")]+)")
# What the file says in its <style>, for all lines that say nothing else.
_LINES = {"stroke-linejoin": "round", "stroke-linecap": "butt"}


def svg_element(text: str, prefix: str, alt: str) -> str:
    """The element; `prefix` is put before its ids, `alt` says what it shows."""
    text = _NOT_SHOWN.sub("", text[text.index("<svg") :])
    used = {found[1] for found in _REFERENCE.findall(text)}
    text = re.sub(r' id="([^"]*)"', lambda found: f' id="{prefix}{found[1]}"' if found[1] in used else "", text)
    text = _REFERENCE.sub(rf"\1#{prefix}\2", text)
    text = re.sub(r' style="([^"]*)"', lambda found: _attributes(found[1]), text)
    words = f'role="img" aria-label="{html(alt)}"' if alt else 'aria-hidden="true"'
    return text.replace("<svg", f"<svg {words}{_written(_LINES)}", 1)


def _attributes(style: str) -> str:
    """The rules of a style attribute as attributes."""
    rules = dict(rule.split(":", 1) for rule in style.split(";") if ":" in rule)
    return _written({name.strip(): value.strip() for name, value in rules.items() if "blend" not in name})


def _written(attributes: dict[str, str]) -> str:
    return "".join(f' {name}="{value}"' for name, value in attributes.items())
