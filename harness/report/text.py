"""Make text from others harmless (no escape sequences, markup, TeX commands or formulas), wrap and print it."""

import re
import shutil
import sys
import textwrap
import unicodedata
from html import escape
from typing import TextIO

# Control characters, line separators, marks that reverse the direction of text, and surrogates.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?(\d++(?:\.\d*+)?|\.\d++)(e[+-]?\d++)?", re.IGNORECASE | re.ASCII)
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "%": r"\%",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|!~])")
MIN_WIDTH = 40
# Blanks at which no line breaks: 95 %, p = 0.05. NUL, which harmless text never has, stands for them.
_JOINED = re.compile(r"(?<=\d) (?=%)|(?<=\bp) (?=[=<] \d)|(?<=\bp [=<]) (?=\d)")


def safe(text: str) -> str:
    """Text for a terminal: a control character is shown as its code."""
    return _UNSAFE.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def safe_lines(text: str) -> str:
    """Text of several lines for a terminal or a page: line breaks and tabs stay."""
    return "\n".join("\t".join(map(safe, line.split("\t"))) for line in re.sub("\r\n?", "\n", text).split("\n"))


def safe_message(text: str) -> str:
    """The text of an error for a terminal: one line, or a heading and an indented line for each mistake.

    A line break anywhere else came in with a value, and is shown as its code.
    """
    return "\n  ".join(map(safe, text.rstrip("\n").split("\n  ")))


def one_word(text: str) -> str:
    """Text as one field of a plain table: gnuplot and R split at blanks."""
    if text.isascii() and text.isalnum():  # most are, and there may be millions
        return text
    word = re.sub(r"\s+", "_", safe(text).strip())
    return word.replace("#", "_") if word else "-"


def last_field(text: str) -> str:
    """Text as the last field of a plain table: it may have blanks, but may not be empty or start a comment."""
    if text.isascii() and text.isalnum():
        return text
    return safe(text).strip().replace("#", "_") or "-"


def tex(text: str) -> str:
    """Text for TeX; at the start of a row, a [ or * would be read as an argument of the row break before it."""
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
    """JSON for a terminal: the same values, with control characters written as JSON escapes."""
    if text.isascii() and "\x7f" not in text:  # those below the blank are escaped already, and there may be much of it
        return text
    return _UNSAFE.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)


def width(text: str) -> int:
    """Columns that text takes on a terminal."""
    if text.isascii():  # nearly all is, and a sweep can have a million rows
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shortened(name: str, max_length: int = 28) -> str:
    """A name short enough for a legend; both ends stay, since long names often differ in the last letters."""
    shown = safe(name)
    end = (max_length - 1) // 3
    return shown if len(shown) <= max_length else f"{shown[: max_length - 1 - end]}…{shown[-end:]}"


def cut(text: str, max_length: int) -> str:
    """Text without its end, if it is too long."""
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def wrapped(text: str, size: int, *, indent: str = "", cut: bool = False) -> str:
    """Harmless text in lines of at most `size` columns, broken between words; a longer word has a line of its own."""
    return "\n".join(indent + line for line in wrapped_lines(text, size - len(indent), cut=cut))


def wrapped_lines(text: str, size: int, *, cut: bool = False) -> list[str]:
    """The lines themselves; `cut` breaks words that are longer than a line."""
    joined = _JOINED.sub("\0", text)
    lines = textwrap.wrap(joined, size, break_long_words=cut, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines] or [""]


def say(text: str) -> None:
    """A remark or an error on stderr."""
    print(fitted(safe_message(text), sys.stderr), file=sys.stderr)


def fitted(text: str, stream: TextIO) -> str:
    """Harmless text as a stream should get it: on a terminal wrapped between words, so that paths stay whole."""
    if not stream.isatty():
        return text
    columns = max(MIN_WIDTH, shutil.get_terminal_size().columns)
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip(" ")))
        lines.append(wrapped(line.lstrip(" "), columns, indent=indent) if len(line) > columns else line)
    return "\n".join(lines)
