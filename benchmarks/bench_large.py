"""Commands on large transcripts, as people type them: `python -m benchmarks.bench_large [CASES]`.

Processor time of whole commands, start and processes that they start included, against a floor: msgspec decoding every
line of the same transcripts into records, in a bare loop. `first` has an empty cache, `again` finds the columns kept by
the command before. Two transcripts are read side by side, so it takes less by the clock where there are two cores.
Polars and DuckDB read the same files if they are installed. pROC would need R, and is not run here.
"""

import hashlib
import importlib.util
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import Timing, Usage, best, print_timings, program_usage

HEADER = (
    '{"hate":"transcript","format":1,"test":{"name":"big","version":"1","digest":"1:0","task":"score"},'
    '"algorithm":{"name":"NAME","version":"1"},"params":{"threshold":0.5},"design":{"stratum":"s","psu":"u"}}\n'
)
CASES = 1_000_000
COMMANDS = {
    "compare": ["compare", "a.jsonl", "b.jsonl"],
    "compare --stratum none": ["compare", "a.jsonl", "b.jsonl", "--stratum", "none"],
    "compare --statistic auc": ["compare", "a.jsonl", "b.jsonl", "--statistic", "auc"],
    "compare --method bootstrap": ["compare", "a.jsonl", "b.jsonl", "--method", "bootstrap"],
    "compare --by expect": ["compare", "a.jsonl", "b.jsonl", "--by", "expect"],
    "compare --at eer": ["compare", "a.jsonl", "b.jsonl", "--at", "eer"],
    "rate, of one": ["rate", "a.jsonl"],
    "roc, of one": ["roc", "a.jsonl"],
}


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else CASES
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        # Its threads use the processor while they wait for work, of which there is none here.
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        for name, shift in (("a", 2.0), ("b", 1.9)):
            write(name, cases, shift)
        print_timings(measure(), title=f"two transcripts of {cases:,} cases, {cases // 100:,} strata of 20 units")


def write(name: str, cases: int, shift: float) -> None:
    """A transcript as the harness writes it: 100 cases in a stratum, 5 in a unit."""
    rng, digest = random.Random(name), hashlib.sha256()
    with Path(f"{name}.jsonl").open("w") as file:
        for number in range(-1, cases):
            line = HEADER.replace("NAME", name) if number < 0 else _record(number, rng, shift)
            digest.update(line.encode())
            file.write(line)
        file.write(f'{{"end":true,"tests":{cases},"sha256":"{digest.hexdigest()}"}}\n')


def _record(number: int, rng: random.Random, shift: float) -> str:
    positive = number % 2 == 0
    score = rng.gauss(shift if positive else 0, 1)
    outcome = ("TP" if score >= 0.5 else "FN") if positive else ("FP" if score >= 0.5 else "TN")
    return (
        f'{{"id":"c{number:07d}","outcome":"{outcome}","positive":{"true" if positive else "false"},'
        f'"expect":"{number % 10}","score":{score!r},"seconds":0.0012,"stratum":"{number // 100}",'
        f'"psu":"{number // 5}","columns":{{"writer":"{number // 5}"}}}}\n'
    )


def decode(*names: str) -> None:
    """The floor: every line, one after the other."""
    import msgspec

    from harness.model import Trial

    decoder = msgspec.json.Decoder(Trial)
    for name in names:
        with Path(name).open("rb") as file:
            next(file)
            for line in file:
                if line.startswith(b'{"id"'):
                    decoder.decode(line)


def peers() -> dict[str, str]:
    """Programs that read the same file into columns, for the libraries that are there."""
    known = {
        "polars": "import polars; polars.read_ndjson('a.jsonl', ignore_errors=True)",
        "duckdb": "import duckdb; duckdb.sql(\"create table t as from read_json('a.jsonl', ignore_errors=true)\")",
    }
    return {name: program for name, program in known.items() if importlib.util.find_spec(name) is not None}


def _seconds(usage: Usage) -> float:
    return usage.seconds


def measure() -> list[Timing]:
    [one, two] = best(lambda: decode("a.jsonl"), lambda: decode("a.jsonl", "b.jsonl"))
    timings = [Timing("decoding both, every line in a bare loop", two), Timing("decoding one", one)]
    for name, words in COMMANDS.items():
        floor, against = (one, "decodings of one") if "of one" in name else (two, "decodings")
        shutil.rmtree("hate", ignore_errors=True)
        arguments = ["-m", "harness.cli.main", *words, "--format", "json"]
        first, again = program_usage(arguments), min((program_usage(arguments) for _ in range(2)), key=_seconds)
        goals = ("", "") if "of one" in name else ("1.6", "1") if name == "compare" else ("2.5", "")
        for when, usage, goal in zip(("first", "again"), (first, again), goals, strict=True):
            clock = f"{usage.elapsed / floor:.2f} by the clock"
            timings.append(Timing(f"{name}, {when}", usage.seconds, floor, against, goal, clock))
    for name, program in peers().items():
        timings.append(Timing(f"{name} reads one", program_usage(["-c", program]).seconds, one, "decodings of one"))
    return timings


if __name__ == "__main__":
    main()
