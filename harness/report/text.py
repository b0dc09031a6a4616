"""Text from others made harmless (no escape sequences, markup, TeX commands or formulas), and text in lines."""

import re
import textwrap
import unicodedata
from html import escape

# Control characters, line separators, what turns the direction of text around, and what cannot be encoded.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "^": r"\textasciicircum{}",
    "_": r"\_", "~": r"\textasciitilde{}", "%": r"\%", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|!~])")
# Blanks at which no line breaks: 95 %, p = 0.05. NUL stands for them, which harmless text does not have.
_JOINED = re.compile(r"(?<=\d) (?=%)|(?<=\bp) (?=[=<] \d)|(?<=\bp [=<]) (?=\d)")


def safe(text: str) -> str:
    """Text for a terminal: what would act there is shown as its code."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def one_word(text: str) -> str:
    """Text as one field of a plain table: gnuplot and R split at blanks."""
    word = re.sub(r"\s+", "_", safe(text).strip())
    return word.replace("#", "_") if word else "-"


def last_field(text: str) -> str:
    """Text as the last field of a plain table: it may have blanks, and must neither be missing nor begin a comment."""
    return safe(text).strip().replace("#", "_") or "-"


def tex(text: str) -> str:
    """Text for TeX, also at the beginning of a row, where [ and * would belong to the end of the one before."""
    escaped = "".join(_TEX.get(char, char) for char in safe(text))
    return "{}" + escaped if escaped.lstrip().startswith(("[", "*")) else escaped


def markdown(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return _MARKDOWN.sub(r"\\\1", safe(text))


def html(text: str) -> str:
    """Text for a page, inside an element or a quoted attribute."""
    return escape(safe(text))


def spreadsheet(text: str) -> str:
    """Text for a CSV cell: no formula for a spreadsheet, no escape sequence for a terminal; line breaks may stay."""
    # A lone carriage return would end the row: the csv module does not quote it.
    lines = re.sub("\r\n?", "\n", text)
    harmless = "".join(char if char in "\t\n" else safe(char) for char in lines) if _UNSAFE.search(text) else text
    formula = text[:1] in ("=", "+", "-", "@", "\t", "\r") and not _NUMBER.fullmatch(text)
    return f"'{harmless}" if formula else harmless


def json_text(text: str) -> str:
    """JSON for a terminal: the same values, with what would act there written as JSON escapes."""
    return _UNSAFE.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def width(text: str) -> int:
    """Columns that text takes on a terminal."""
    if text.isascii():  # nearly all is, and a sweep can have a million rows
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shortened(name: str, longest: int = 28) -> str:
    """A name that a legend has room for."""
    shown = safe(name)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def wrapped(text: str, size: int, *, indent: str = "") -> str:
    """Harmless text in lines of at most `size` columns, broken between words; a longer word has a line of its own."""
    return "\n".join(indent + line for line in wrapped_lines(text, size - len(indent)))


def wrapped_lines(text: str, size: int, *, cut: bool = False) -> list[str]:
    """The lines themselves; `cut` breaks words that are longer than a line."""
    joined = _JOINED.sub("\0", text)
    lines = textwrap.wrap(joined, size, break_long_words=cut, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines] or [""]
