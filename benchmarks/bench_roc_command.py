"""`hate roc` on a million scores in a thousand strata, with bands by BRR: time as a ratio of reading, and memory.

Run as `python benchmarks/bench_roc_command.py`. The command runs in a process of its own, so that its peak of memory
is its own. Seconds are of processor time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

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
    """A score test of two units in each stratum, 500 cases in each."""
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


def measured(words: list[str]) -> tuple[float, int]:
    """Processor time and peak memory of a program."""
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{words} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss << 10


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.jsonl"
        write_transcript(path)
        reading, read_peak = measured(["-c", READ, str(path)])
        print(f"{'what':<58}{'seconds':>9}  {'ratio':>7}  peak")
        print(f"{'reading 1,000,000 records as columns':<58}{reading:>9.1f}  {1:>7.2f}  {read_peak / GIGABYTE:.2f} GB")
        for kind in ("brr", "none"):
            words = ["-m", "harness.cli.main", "roc", str(path), "--bands", kind, "--format", "json"]
            seconds, peak = measured(words)
            what = f"hate roc of them, 1,000 strata, --bands {kind}"
            goal = "  (goal: seconds, < 1 GB)" if kind == "brr" else ""
            print(f"{what:<58}{seconds:>9.1f}  {seconds / reading:>7.2f}  {peak / GIGABYTE:.2f} GB{goal}")


if __name__ == "__main__":
    main()
