"""What a comparison costs beyond reading its transcripts: `python benchmarks/bench_compare.py`.

CPU time, best of three turns; the two sides take turns in one run.
"""

import hashlib
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

from harness.analysis.comparing.align import Aligned, Run, align
from harness.analysis.comparing.as_json import as_json
from harness.analysis.comparing.compare import compare
from harness.analysis.comparing.sampling import DesignOptions, take_sample
from harness.stats.replication.plan import Plan
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


def write(name: str, count: int, rate: float, strata: int) -> Path:
    """A transcript as the harness writes it; units of five cases."""
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


def _record(number: int, good: bool, size: int) -> str:
    return (
        f'{{"id":"c{number:07d}","outcome":"{"TP" if good else "FN"}","positive":true,"expect":"{number % 10}",'
        f'"actual":"{number % 10}","score":{number % 97}.5,"seconds":0.0012,"stratum":"{number // size}",'
        f'"psu":"{number // 5}","columns":{{"writer":"{number // 5}"}}}}\n'
    )


def best(turns: int, *actions: Callable[[], object]) -> list[float]:
    """The shortest CPU time of each action, the actions taking turns."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(turns):
        for action, found in zip(actions, times, strict=True):
            start = process_time()
            action()
            found.append(process_time() - start)
    return [min(found) for found in times]


def decode(paths: list[Path]) -> None:
    for path in paths:
        with open_transcript(path) as reader:
            for _ in reader.blocks():
                pass


def read(paths: list[Path]) -> Aligned:
    return align([Run(read_columns(path, lean=True), path.name, path.stem) for path in paths])


def whole(paths: list[Path]) -> None:
    aligned = read(paths)
    as_json(compare(aligned, take_sample(aligned, DesignOptions()), Plan()))


def million() -> None:
    paths = [write("a", 1_000_000, 0.90, 10_000), write("b", 1_000_000, 0.89, 10_000)]
    decoding, reading, all_of_it = best(3, lambda: decode(paths), lambda: read(paths), lambda: whole(paths))
    print("two transcripts of 1,000,000 cases, 10,000 strata, 200,000 units")
    print(f"  decoding alone            {decoding:6.2f} s")
    print(f"  reading into columns      {reading:6.2f} s   {reading / decoding:.2f} times decoding")
    print(f"  compared, BRR included    {all_of_it:6.2f} s   {all_of_it / decoding:.2f} times decoding (mark: 1.5)")


def hundred() -> None:
    paths = [write(f"a{n}", 500, 0.5 + n / 250, 10) for n in range(100)]
    decoding, all_of_it = best(3, lambda: decode(paths), lambda: whole(paths))
    print("100 transcripts of 500 cases, all 4,950 pairs")
    print(f"  decoding alone            {decoding:6.2f} s")
    print(f"  compared, BRR included    {all_of_it:6.2f} s   (mark: under 2 s)")


if __name__ == "__main__":
    main()
