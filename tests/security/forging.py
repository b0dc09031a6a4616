"""The tool of somebody who invents results: a transcript with other lines, whose counts and checksum are right."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Lines = list[Record]


def read_lines(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, lines: Lines, *, end: Record | None = None) -> Path:
    """Header and records with a last line that fits them, except what `end` says."""
    body = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    counts = {name: sum(one["outcome"] == name for one in lines[1:]) for name in ("TP", "TN", "FP", "FN")}
    last = {"end": True, "tests": len(lines) - 1, **counts, "ER": sum("error" in one for one in lines[1:])}
    last |= {"sha256": hashlib.sha256(body.encode()).hexdigest()} | (end or {})
    path.write_text(body + json.dumps(last) + "\n", encoding="utf-8")
    return path


def forge(source: Path, target: Path, change: Callable[[Lines], object], *, end: Record | None = None) -> Path:
    """A changed copy; `change` gets the header and the records."""
    lines = read_lines(source)[:-1]
    change(lines)
    return write_lines(target, lines, end=end)


def all_right(lines: Lines) -> None:
    """Every case a success."""
    for record in lines[1:]:
        record["outcome"] = "TP" if record["positive"] else "TN"
