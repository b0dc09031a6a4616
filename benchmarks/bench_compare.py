"""What a comparison costs beyond reading its transcripts: `python -m benchmarks.bench_compare`.

Processor time, the best of three turns.
"""

import hashlib
import os
import random
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.timing import Timing, best, print_timings
from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.cells import Measurement
from harness.analysis.compare import compare_aligned
from harness.analysis.sampling import take_sample
from harness.measures import MEASURES
from harness.options import DesignOptions
from harness.options.comparing import CompareOptions
from harness.report.comparison import comparison_json
from harness.stats.replication.method import Replication
from harness.transcript.columns import read_columns
from harness.transcript.read import open_transcript

HEADER = (
    '{"hate":"transcript","format":1,"test":{"name":"big","version":"1","digest":"1:0","task":"label"},'
    '"algorithm":{"name":"NAME","version":"1"},"design":{"stratum":"s","psu":"u"}}\n'
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        million()
        hundred()
        numbers()


def write(name: str, count: int, rate: float, strata: int) -> Path:
    """Write a transcript as the harness does, with units of five cases."""
    rng = random.Random(name)
    digest = hashlib.sha256()
    path = Path(f"{name}.jsonl")
    with path.open("w") as file:
        for number in range(-1, count):
            line = HEADER.replace("NAME", name) if number < 0 else _record(number, rng.random() < rate, count // strata)
            digest.update(line.encode())
            file.write(line)
        file.write(f'{{"end":true,"tests":{count},"sha256":"{digest.hexdigest()}"}}\n')
    return path


def _record(number: int, success: bool, size: int) -> str:
    return (
        f'{{"id":"c{number:07d}","outcome":"{"TP" if success else "FN"}","positive":true,"expect":"{number % 10}",'
        f'"actual":"{number % 10}","score":{number % 97}.5,"seconds":0.0012,"stratum":"{number // size}",'
        f'"psu":"{number // 5}","columns":{{"writer":"{number // 5}"}}}}\n'
    )


def decode(paths: list[Path]) -> None:
    for path in paths:
        with open_transcript(path) as reader:
            for _ in reader.blocks():
                pass


def read(paths: list[Path]) -> AlignedRuns:
    return align([Run(read_columns(path, lean=True), path.name, path.stem) for path in paths])


def compare(paths: list[Path]) -> None:
    aligned = read(paths)
    comparison_json(compare_aligned(aligned, CompareOptions(), resources=False))


def million() -> None:
    paths = [write("a", 1_000_000, 0.90, 10_000), write("b", 1_000_000, 0.89, 10_000)]
    decoding, reading, comparing = best(lambda: decode(paths), lambda: read(paths), lambda: compare(paths))
    rows = [
        Timing("decoding alone", decoding),
        Timing("reading into columns", reading, decoding, "decoding"),
        Timing("compared, BRR included", comparing, decoding, "decoding", "1.5"),
    ]
    print_timings(rows, title="two transcripts of 1,000,000 cases, 10,000 strata, 200,000 units")


def hundred() -> None:
    paths = [write(f"a{n}", 500, 0.5 + n / 250, 10) for n in range(100)]
    decoding, comparing = best(lambda: decode(paths), lambda: compare(paths))
    rows = [
        Timing("decoding alone", decoding),
        Timing("compared, BRR included", comparing, decoding, "decoding", "under 2 s"),
    ]
    print_timings(rows, title="100 transcripts of 500 cases, all 4,950 pairs")


NUMBERS = 200_000


def write_numbers(name: str) -> Path:
    """A value test with different numbers in all records."""
    rng = random.Random(name)
    digest, path = hashlib.sha256(), Path(f"{name}.jsonl")
    header = HEADER.replace('"task":"label"', '"task":"value"').replace(',"design":{"stratum":"s","psu":"u"}', "")
    with path.open("w") as file:
        for number in range(-1, NUMBERS):
            truth = 0.001 * number
            line = (
                f'{{"id":"{number}","outcome":"TP","expect":"{truth!r}","actual":{truth + rng.gauss(0, 1)!r}}}\n'
                if number >= 0
                else header.replace("NAME", name)
            )
            digest.update(line.encode())
            file.write(line)
        file.write(f'{{"end":true,"tests":{NUMBERS},"sha256":"{digest.hexdigest()}"}}\n')
    return path


def numbers() -> None:
    """Measures of the errors of numbers, with their standard errors, against the same in plain numpy."""
    path = write_numbers("v")
    aligned = align([Run(read_columns(path), path.name, path.stem)])
    sampling = take_sample(aligned, DesignOptions())
    texts = [(float(label), float(answer)) for label, answer in zip(
        aligned.cases.expect.labels, aligned.cases.actual.labels, strict=True)]  # fmt: skip
    table = np.array(texts)

    def plain() -> None:
        errors = table[:, 1] - table[:, 0]
        for values in (np.abs(errors), errors**2):
            values.mean(), values.std(ddof=1)

    def measure(name: str) -> None:
        # A copy, which has not parsed the numbers yet.
        Measurement(MEASURES[name], replace(aligned), sampling, Replication()).runs().estimate(0)

    reading, by_hand, mae, rmse = best(
        lambda: read_columns(path), plain, lambda: measure("mae"), lambda: measure("rmse")
    )
    print_timings(
        [
            Timing(f"read {NUMBERS:,} records of numbers", reading),
            Timing("mean and deviation of errors and squares, numpy, from arrays", by_hand),
            Timing("mae with its error and interval", mae, by_hand, "times numpy"),
            Timing("rmse with its error and interval", rmse, by_hand, "times numpy"),
            Timing("both", mae + rmse, reading, "of reading", "below 1"),
        ],
        title=f"errors of {NUMBERS:,} numbers",
        unit="ms",
    )


if __name__ == "__main__":
    main()
