"""Transcripts written by hand, record by record."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Record = dict[str, Any]
TEST = {"name": "toy", "version": "1.0", "digest": "1:" + "ab" * 32, "task": "label"}


def header(algorithm: str = "mine", **test: Any) -> Record:
    return {
        "hate": "transcript", "format": 1, "test": TEST | test, "algorithm": {"name": algorithm, "version": "2"},
        "design": {"stratum": "truth", "psu": "writer"},
    }  # fmt: skip


def write_transcript(
    path: Path, records: Iterable[Record], *, first: Record | None = None, complete: bool = True
) -> Path:
    """Write a transcript of these records, with a valid last line."""
    lines = [json.dumps(line) + "\n" for line in [first or header(), *records]]
    content = "".join(lines).encode()
    outcomes = [json.loads(line)["outcome"] for line in lines[1:]]
    end: Record = {
        "end": True,
        "tests": len(outcomes),
        **{name: outcomes.count(name) for name in ("TP", "TN", "FP", "FN")},
    }
    end |= {"ER": sum("error" in json.loads(line) for line in lines[1:]), "sha256": hashlib.sha256(content).hexdigest()}
    path.write_bytes(content + (json.dumps(end).encode() + b"\n" if complete else b""))
    return path
