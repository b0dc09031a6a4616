"""`hate roc` on a million scores in a thousand strata, with bands by BRR: time as a ratio of reading, and memory.

Run as `python -m benchmarks.bench_roc_command`. The command runs in a new process, to measure its own
peak memory. Processor time.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.timing import Timing, print_timings, program_usage

MILLION = 1_000_000
STRATA = 1000
GIGABYTE = 1 << 30

READ = """
import sys
from pathlib import Path
from harness.transcript.columns import read_columns
read_columns(Path(sys.argv[1]))
"""


def write_transcript(path: Path) -> None:
    """A score test with two units in each stratum, and 500 cases in each unit."""
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(2 * STRATA), MILLION // (2 * STRATA))
    positive = rng.random(MILLION) < 0.5
    scores = rng.normal(size=MILLION) + positive + 0.5 * rng.normal(size=2 * STRATA)[unit]
    test = {"name": "big", "version": "1", "digest": "1:00", "task": "score"}
    head = {"hate": "transcript", "format": 1, "test": test, "algorithm": {"name": "big"},
            "design": {"stratum": "stratum", "psu": "unit"}}  # fmt: skip
    outcomes = np.where(positive, np.where(scores >= 0, "TP", "FN"), np.where(scores >= 0, "FP", "TN"))
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(head) + "\n")
        for i in range(MILLION):
            file.write(
                f'{{"id":"{i}","outcome":"{outcomes[i]}","positive":{"true" if positive[i] else "false"},'
                f'"score":{scores[i]:.9f},"stratum":"s{unit[i] // 2}","psu":"u{unit[i]}"}}\n'
            )
        counts = {name: int((outcomes == name).sum()) for name in ("TP", "TN", "FP", "FN")}
        file.write(json.dumps({"end": True, "tests": MILLION, **counts, "ER": 0}) + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.jsonl"
        write_transcript(path)
        reading = program_usage(["-c", READ, str(path)])
        note = f"{reading.memory / GIGABYTE:.2f} GB"
        rows = [Timing("reading 1,000,000 records as columns", reading.seconds, note=note)]
        for kind in ("brr", "none"):
            used = program_usage(["-m", "harness.cli.main", "roc", str(path), "--bands", kind, "--format", "json"])
            what = f"hate roc of them, 1,000 strata, --bands {kind}"
            goal = "seconds, < 1 GB" if kind == "brr" else ""
            note = f"{used.memory / GIGABYTE:.2f} GB"
            rows.append(Timing(what, used.seconds, reading.seconds, "reading", goal, note))
    print_timings(rows)


if __name__ == "__main__":
    main()
