"""Text beside the results, on stderr: wrapped between words on a terminal, a line each where it goes into a file."""

import shutil
import sys
from typing import TextIO

from harness.report.text import safe_message, wrapped

NARROWEST = 40


def say(text: str) -> None:
    """A remark or an error on stderr."""
    print(fitted(safe_message(text), sys.stderr), file=sys.stderr)


def fitted(text: str, stream: TextIO) -> str:
    """Harmless text as a stream should get it: on a terminal wrapped between words, so that paths stay whole."""
    if not stream.isatty():
        return text
    columns = max(NARROWEST, shutil.get_terminal_size().columns)
    return "\n".join(_wrapped(line, columns) for line in text.split("\n"))


def _wrapped(line: str, columns: int) -> str:
    indent = " " * (len(line) - len(line.lstrip(" ")))
    return wrapped(line.lstrip(" "), columns, indent=indent) if len(line) > columns else line
