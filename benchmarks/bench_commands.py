"""Whole commands as people type them: import, show, list, compare, confusion, start-up; time and peak memory.

Run as `python -m benchmarks.bench_commands [part...]`, with parts import, show, parquet, list, many, confusion and
start. Each command runs in a new process. Processor time, as ratios: of `import` and `show` to decoding and encoding
the same records, of Parquet to lines, of `list` to walking over the files, of the start-up to that of Python alone.
Memory is at the peak, for two sizes, to show whether it grows.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import Timing, Usage, print_timings, program_usage
from harness.model import Outcome, Trial
from harness.transcript.format import AlgorithmInfo, Header, TestInfo
from harness.transcript.write import TranscriptWriter

HATE = ["-m", "harness.cli.main"]
SIZES = (200_000, 1_000_000)
MEGABYTE = 1 << 20

# The floor of a command that reads and writes records: decode and encode them, and nothing else.
RECORDS = """
import sys, msgspec
from harness.model import Trial
decode, encode = msgspec.json.Decoder(Trial).decode_lines, msgspec.json.Encoder().encode_lines
with open(sys.argv[1], "rb") as file:
    head, rest = file.readline(), b""
    while block := file.read(1 << 20):
        whole, newline, rest = (rest + block).rpartition(b"\\n")
        encode(decode(whole.partition(b'{"end":')[0]))
"""
# The floor of a command that looks at all files of a test: ask the system about each.
WALK = """
import sys
from pathlib import Path
from harness.files.digest import stamps
stamps(Path(sys.argv[1]))
"""
SCRIPT = """\
format = 1
[test]
name = "big"
version = "1"
synopsis = "many files"
task = "label"
[data.files]
path = "files"
[cases]
table = "cases.csv"
"""


def hate(*words: object) -> Usage:
    """What a command uses."""
    return program_usage([*HATE, *map(str, words)])


def write_table(path: Path, rows: int) -> None:
    """Predictions of ten classes, as a program would save them."""
    rng = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        file.write("id,y_true,y_pred,site\n")
        for row in range(rows):
            truth = rng.choice("abcdefghij")
            answer = truth if rng.random() < 0.8 else rng.choice("abcdefghij")
            file.write(f"case{row},{truth},{answer},s{row % 100}\n")


def write_run(path: Path, name: str, cases: int, classes: int = 2) -> None:
    """A transcript of two hundred units in ten strata."""
    rng = random.Random(name)
    test = TestInfo("bench", "1", "1:00", cases=cases)
    header = Header("transcript", 1, test, AlgorithmInfo(name), design={"stratum": "s", "psu": "u"})
    share, writer = 0.6 + 0.3 * rng.random(), TranscriptWriter.create(path, header, force=True)
    for start in range(0, cases, 1000):
        writer.extend([_trial(number, share, classes, rng) for number in range(start, min(start + 1000, cases))])
    writer.finish()


def _trial(number: int, share: float, classes: int, rng: random.Random) -> Trial:
    right, truth = rng.random() < share, str(rng.randrange(classes))
    answer = truth if right else str((int(truth) + 1) % classes)
    return Trial(
        str(number), Outcome.TP if right else Outcome.FN, True, truth, actual=answer, seconds=0.01 * rng.random(),
        stratum=f"s{number % 10}", psu=f"u{number % 200}",
    )  # fmt: skip


def per_row(used: Usage, start: Usage, rows: int) -> str:
    """Microseconds of a row beyond the start-up, and the peak."""
    return f"{(used.seconds - start.seconds) / rows * 1e6:.1f} us a row, peak {used.memory / MEGABYTE:.0f} MB"


def bench_import(folder: Path) -> list[Timing]:
    """A CSV table into a transcript; peak memory at two sizes."""
    start, rows = hate("import", "--help"), list[Timing]()
    for size in SIZES:
        table, out = folder / f"{size}.csv", folder / f"{size}.jsonl"
        write_table(table, size)
        used = hate("import", table, "-o", out, "--force")
        floor = program_usage(["-c", RECORDS, str(out)])
        what, note = f"hate import of {size:,} rows of CSV", per_row(used, start, size)
        rows.append(Timing(what, used.seconds, floor.seconds, "of decoding and encoding", "12 us a row", note))
    return rows


def bench_show(folder: Path) -> list[Timing]:
    """All cases of a transcript, in three formats; peak memory at two sizes."""
    start, rows = hate("show", "--help"), list[Timing]()
    for size in SIZES:
        path = folder / f"show-{size}.jsonl"
        write_run(path, "shown", size)
        floor = program_usage(["-c", RECORDS, str(path)])
        for style in ("plain", "csv", "json"):
            used = hate("show", path, "--format", style)
            what = f"hate show of {size:,} cases, {style}"
            note = per_row(used, start, size)
            rows.append(Timing(what, used.seconds, floor.seconds, "of decoding and encoding", "12 us a row", note))
    return rows


def bench_parquet(folder: Path) -> list[Timing]:
    """The same transcript as Parquet and in lines, with nothing kept in the cache."""
    rows, lines, table = list[Timing](), folder / "run.jsonl", folder / "run.parquet"
    write_run(lines, "run", SIZES[-1])
    made = hate("convert", lines, table)
    os.environ["HATE_COLUMNS"] = "off"
    for words in (["rate", "--statistic", "rate"], ["confusion"]):
        there, here = (hate(*words, path, "--format", "json") for path in (table, lines))
        note = f"peak {there.memory / MEGABYTE:.0f} MB, of the lines {here.memory / MEGABYTE:.0f} MB"
        what = f"hate {words[0]} of {SIZES[-1]:,} cases, Parquet"
        rows.append(Timing(what, there.seconds, here.seconds, "of the same in lines", "1", note))
    del os.environ["HATE_COLUMNS"]
    return [*rows, Timing("hate convert to Parquet", made.seconds)]


def bench_list(folder: Path, files: int = 100_000) -> list[Timing]:
    """A test with many files: the first time they are hashed, then they are known."""
    place = folder / "library" / "big"
    (place / "files").mkdir(parents=True)
    for number in range(files):
        (place / "files" / f"{number:06d}.txt").write_text(str(number))
    (place / "cases.csv").write_text("id,input,expect\n1,{files}/000000.txt,0\n")
    (place / "big.hate.toml").write_text(SCRIPT)
    os.environ["HATE_LIBRARY"], os.environ["XDG_CACHE_HOME"] = str(place.parent), str(folder / "cache")
    floor = program_usage(["-c", WALK, str(place / "files")]).seconds
    against = "of a walk over the files"
    first = hate("list").seconds
    known = min(hate("list").seconds for _ in range(2))
    os.environ["HATE_DIGESTS"] = "off"
    off = hate("list").seconds
    for name in ("HATE_LIBRARY", "XDG_CACHE_HOME", "HATE_DIGESTS"):
        del os.environ[name]
    return [
        Timing(f"walk over {files:,} files", floor),
        Timing("hate list, digests kept off", off, floor, against),
        Timing("hate list, the first time", first, floor, against),
        Timing("hate list, again", known, floor, against),
    ]


def bench_many(folder: Path, count: int = 1_000, cases: int = 1_000) -> list[Timing]:
    """Every pair of a thousand transcripts."""
    paths = [folder / f"run-{number:04d}.jsonl" for number in range(count)]
    for path in paths:
        write_run(path, path.stem, cases)
    rows = []
    for some in (count // 4, count):
        used = hate("compare", *paths[:some], "--format", "json")
        pairs = some * (some - 1) // 2
        note = f"{used.seconds / pairs * 1e6:.0f} us a pair, peak {used.memory / MEGABYTE:.0f} MB"
        rows.append(Timing(f"hate compare of {some:,} transcripts, json", used.seconds, goal="90 s", note=note))
    return rows


def bench_confusion(folder: Path) -> list[Timing]:
    """A thousand labels."""
    rows = []
    for size in SIZES:
        path = folder / f"labels-{size}.jsonl"
        write_run(path, "labels", size, classes=1_000)
        reading = hate("rate", path, "--statistic", "rate", "--format", "json")
        used = hate("confusion", path, "--format", "json")
        note = f"peak {used.memory / MEGABYTE:.0f} MB, of the rate {reading.memory / MEGABYTE:.0f} MB"
        what = f"hate confusion, 1,000 labels, {size:,} cases"
        rows.append(Timing(what, used.seconds, reading.seconds, "of hate rate", note=note))
    return rows


def bench_start(folder: Path) -> list[Timing]:
    """Commands on next to nothing, against Python alone."""
    paths = [folder / f"{name}.jsonl" for name in ("one", "other")]
    for path in paths:
        write_run(path, path.stem, 20)
    bare = min(program_usage(["-c", ""]).seconds for _ in range(5))
    numbers = min(program_usage(["-c", "import scipy.special"]).seconds for _ in range(5))
    rows = [Timing("python", bare), Timing("python, import scipy.special", numbers, bare, "of python")]
    commands: list[list[object]] = [
        ["--help"], ["list"], ["show", paths[0]], ["status", paths[0]], ["rate", paths[0]], ["compare", *paths],
    ]  # fmt: skip
    for words in commands:
        used = min(hate(*words).seconds for _ in range(3))
        rows.append(Timing(f"hate {words[0]}", used, bare, "of python"))
    return rows


PARTS = {
    "import": bench_import, "show": bench_show, "parquet": bench_parquet, "list": bench_list, "many": bench_many,
    "confusion": bench_confusion, "start": bench_start,
}  # fmt: skip


def main() -> None:
    for part in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            print_timings(PARTS[part](Path(folder)), title=part)


if __name__ == "__main__":
    main()
