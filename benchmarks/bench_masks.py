"""Scoring masks of a megapixel, against reading them: `python -m benchmarks.bench_masks [COUNT]`.

The program answers with the path of an image, so the harness reads the truth and the answer, counts every pixel and
makes the record. Reading alone is taken off the whole. Processor time, the best of three turns; the files are in the
page cache. Memory is that of `hate run`, at its peak, on a tenth of the images and on all of them.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.timing import Timing, best, print_timings, program_usage
from harness.files.images import read_plane, write_image
from harness.model import Case, Question, Reply
from harness.tasks.judge import Judge
from harness.tasks.mask import MASK
from harness.tasks.task import TaskRules

SIDE = 1000
SCRIPT = """
format = 1
[test]
name = "masks"
version = "1.0.0"
synopsis = "many masks"
task = "mask"
[data.here]
path = "images"
[cases]
table = "cases.csv"
"""
ECHO = "def answer(case, params):\n    return case.input\n"


@dataclass(frozen=True)
class MaskKind:
    """One line of the table: a format of the files, [mask], and whether answers are score maps."""

    words: str
    suffix: str
    settings: Mapping[str, Any]
    scores: bool = False
    goal: str = ""


KINDS = (
    MaskKind("PNG masks", ".png", {}, goal="1"),
    MaskKind("PNG masks, a value ignored", ".png", {"ignore": 128}, goal="1"),
    MaskKind("PNG masks, three classes", ".png", {"labels": {"128": "edge", "255": "object"}}),
    MaskKind("PNG masks, a lighter outline of 2 pixels", ".png", {"boundary": {"width": 2, "weight": 0.5}}),
    MaskKind("PNG score maps of 8 bits", ".png", {}, scores=True, goal="1"),
    MaskKind("PGM masks, which need no decoding", ".pgm", {}),
)


def disc(number: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """An object with a rim of another value."""
    y, x = np.ogrid[:SIDE, :SIDE]
    at, radius = rng.uniform(0.3, 0.7, 2) * SIDE, rng.uniform(0.1, 0.3) * SIDE
    distance = (x - at[0]) ** 2 + (y - at[1]) ** 2
    return np.where(distance < radius**2, 255, np.where(distance < (radius + 3) ** 2, 128, 0)).astype(np.uint8)


def scored(truth: npt.NDArray[np.uint8], rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """A smooth map with some noise, as a program would give it."""
    return np.asarray(truth // 2 + rng.integers(0, 32, truth.shape, dtype=np.uint8), dtype=np.uint8)


def write_masks(folder: Path, count: int, kind: MaskKind) -> list[tuple[Path, Path]]:
    """Truths and answers."""
    rng, pairs = np.random.default_rng(1), []
    for number in range(count):
        truth = disc(number, rng)
        answer = scored(truth, rng) if kind.scores else np.roll(truth, 5, axis=1)
        pair = folder / f"t{number}{kind.suffix}", folder / f"i{number}{kind.suffix}"
        write_image(pair[0], truth)
        write_image(pair[1], answer)
        pairs.append(pair)
    return pairs


def bench(folder: Path, count: int, kind: MaskKind) -> Timing:
    pairs = write_masks(folder, count, kind)
    judge = Judge(MASK, TaskRules(settings=kind.settings), {"iou": 0.5, "threshold": 128})

    def read() -> None:
        for truth, answer in pairs:
            read_plane(truth)
            read_plane(answer)

    def run() -> None:
        for number, (truth, answer) in enumerate(pairs):
            raw: Any = {"scores": str(answer)} if kind.scores else str(answer)
            trial = judge.trial(Case(str(number), "", str(truth)), Reply(Question(number, str(number), ""), raw))
            if trial.error:
                raise SystemExit(f"{kind.words}: {trial.message}")

    reading, whole = best(read, run)
    note = f"reading {reading / count * 1e3:.2f} ms"
    return Timing(kind.words, (whole - reading) / count, reading / count, "of reading", kind.goal, note)


def memory(folder: Path, pairs: Sequence[tuple[Path, Path]], count: int) -> int:
    """The peak of `hate run` on so many of the images."""
    rows = [f"{n},{{here}}/{i.name},{{here}}/{t.name}" for n, (t, i) in enumerate(pairs[:count])]
    (folder / "cases.csv").write_text("\n".join(["id,input,expect", *rows, ""]))
    words = [folder / "masks.hate.toml", "--interface", folder / "echo.py", "-o", folder / "out.jsonl", "--force"]
    return program_usage(["-m", "harness.cli.main", "run", *map(str, words)]).memory


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rows = []
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as name:
            rows.append(bench(Path(name), count, kind))
    print_timings(rows, title=f"scoring a megapixel, mean of {count:,} images", unit="ms")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "images").mkdir()
        (folder / "masks.hate.toml").write_text(SCRIPT)
        (folder / "echo.py").write_text(ECHO)
        pairs = write_masks(folder / "images", count, KINDS[0])
        peaks = {number: memory(folder, pairs, number) for number in (max(1, count // 10), count)}
    words = ", ".join(f"{peak / 1e6:.0f} MB with {number:,} images" for number, peak in peaks.items())
    print(f"memory of hate run: {words}")


if __name__ == "__main__":
    main()
