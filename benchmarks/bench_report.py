"""What a report costs beside the commands that it is made of: `python -m benchmarks.bench_report [CASES]`.

Whole commands as people type them, in processes of their own; processor time. The floor is the sum of the commands
whose numbers are in the report. The size of the page, and how many elements a browser has to draw, are printed too.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import Timing, print_timings, program_usage
from tests.report.runs import scored_run

COLUMNS = ("place", "noise", "channel", "positive")


def main(cases: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder
        runs = [str(scored_run(Path(f"{name}.jsonl"), cases, shift=len(name) / 10)) for name in ("a", "bb", "ccc")]
        measure("data sheet of one", runs[:1], [["rate"], *by("rate"), ["roc"]])
        measure("comparison of three", runs, [["compare"], *by("compare"), ["roc"]])


def by(command: str) -> list[list[str]]:
    return [[command, "--by", "stratum" if column == "place" else column] for column in COLUMNS]


def measure(what: str, runs: list[str], commands: list[list[str]]) -> None:
    page = Path("report.html")
    hate(["rate", *runs])  # what is kept in the cache is there for all of them
    whole = hate(["report", *runs, "-o", str(page), "--force"])
    parts = [hate([command, *runs, *more]) for command, *more in commands]
    text = page.read_text(encoding="utf-8")
    size = f"{page.stat().st_size / 1e3:,.0f} kB, {len(re.findall('<[a-z]', text)):,} elements"
    print_timings(
        [
            Timing(f"{what}: hate report", whole, sum(parts), f"of its {len(parts)} commands", "1", size),
            Timing(f"{what}: hate {', '.join(' '.join(command) for command in commands)}"[:66], sum(parts)),
        ]
    )


def hate(words: list[str]) -> float:
    return program_usage(["-m", "harness.cli.main", *words]).seconds


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
