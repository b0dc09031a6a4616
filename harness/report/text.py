"""Text from others, made harmless: no escape sequences, no markup, no TeX commands, no spreadsheet formulas."""

import re
import unicodedata

# Control characters, and those that turn the direction of text around.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "^": r"\textasciicircum{}",
    "_": r"\_", "~": r"\textasciitilde{}", "%": r"\%", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|!~])")


def safe(text: str) -> str:
    """Text for a terminal: what would act there is shown as its code."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def one_word(text: str) -> str:
    """Text as one field of a plain table: gnuplot and R split at blanks."""
    word = re.sub(r"\s+", "_", safe(text).strip())
    return word.replace("#", "_") if word else "-"


def tex(text: str) -> str:
    """Text for TeX."""
    return "".join(_TEX.get(char, char) for char in safe(text))


def markdown(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return _MARKDOWN.sub(r"\\\1", safe(text))


def spreadsheet(text: str) -> str:
    """Text for a CSV cell: no formula for a spreadsheet, no escape sequence for a terminal; line breaks may stay."""
    harmless = "".join(char if char in "\t\r\n" else safe(char) for char in text) if _UNSAFE.search(text) else text
    return f"'{harmless}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else harmless


def json_text(text: str) -> str:
    """JSON for a terminal: the same values, with what would act there written as JSON escapes."""
    return _UNSAFE.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def width(text: str) -> int:
    """Columns that text takes on a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
