"""Write runs under the working folder, for the tests of names and lists."""

import gzip
import hashlib
import json
import os
from datetime import UTC, datetime, timedelta
from typing import Any

from harness.site.download_request import DownloadLimits
from harness.site.find_transcripts import KnownTranscripts, Source
from tests.workshop import Workshop

Record = dict[str, Any]
CASES = 6


def ago(seconds: float) -> str:
    """A time in the format of transcripts."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_run(
    shop: Workshop,
    file: str,
    algorithm: str = "mine",
    *,
    right: int = CASES,
    count: int = CASES,
    test: str = "toy",
    complete: bool = True,
    modified: float | None = None,
    **header: Any,
) -> str:
    """Write transcripts/FILE: a run that is right on `right` of its cases; `header` has further keys."""
    first: Record = {
        "hate": "transcript",
        "format": 1,
        "test": {"name": test, "version": "1.0", "digest": "1:" + hashlib.sha256(test.encode()).hexdigest(),
                 "task": "label", "cases": CASES},
        "algorithm": {"name": algorithm},
        "params": {},
        "started": ago(0),
    }  # fmt: skip
    first |= header
    records = [{"id": f"c{n}", "outcome": "TP" if n < right else "FN", "positive": True} for n in range(count)]
    content = "".join(json.dumps(line) + "\n" for line in [first, *records]).encode()
    good = min(right, count)
    end: Record = {"end": True, "tests": count, "TP": good, "TN": 0, "FP": 0, "FN": count - good, "ER": 0}
    end |= {"sha256": hashlib.sha256(content).hexdigest()}
    content += json.dumps(end).encode() + b"\n" if complete else b""
    path = shop.write(f"transcripts/{file}", gzip.compress(content) if file.endswith(".gz") else content)
    if modified is not None:
        os.utime(path, (modified, modified))
    return f"transcripts/{file}"


def successes(shop: Workshop, *words: str) -> list[int]:
    """The number of successes of each transcript that a comparison used."""
    done = shop.call("compare", *words, "--format", "json")
    assert done.status == 0, done.err
    return [entry["TP"] for entry in done.json["transcripts"]]


def refused(shop: Workshop, *words: str) -> str:
    """The one line that a failing command prints."""
    done = shop.call(*words)
    assert done.status == 2, done.out
    assert len(done.err.splitlines()) == 1
    return done.err


def open_source(text: str, limits: DownloadLimits | None = None) -> Source:
    """The transcript that a user means by a path, a URL, TEST/NAME, NAME or `-`."""
    return KnownTranscripts().open([text], limits)[0]
