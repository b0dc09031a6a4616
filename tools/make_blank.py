"""Make the data of test_scripts/blank: images that are not digits, and the training part of hdigits.

    python -m tools.make_blank [FOLDER]

It prints the `sha256` and `bytes` that the script must have.
"""

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.bundle_files import MAXVAL, SIDE, pgm, write_table, write_zip
from tools.make_digits import declare, read_source, split, train_files, write_train

HEADER = "id,input,expect,positive,truth,kind,pattern"
SEED = 1434
DENSITIES = (10, 25, 50, 75, 90)  # per cent of the pixels that have ink
NOISE_PER_DENSITY = 20
COPIES_PER_LETTER = 5

# Seven rows of five. Capitals that a reader could take for a digit (B, D, G, I, L, O, Q, S, Z) are left out.
LETTERS = {
    "A": "..#.. .#.#. #...# #...# ##### #...# #...#",
    "C": ".#### #.... #.... #.... #.... #.... .####",
    "E": "##### #.... #.... ####. #.... #.... #####",
    "F": "##### #.... #.... ####. #.... #.... #....",
    "H": "#...# #...# #...# ##### #...# #...# #...#",
    "K": "#...# #..#. #.#.. ##... #.#.. #..#. #...#",
    "M": "#...# ##.## #.#.# #.#.# #...# #...# #...#",
    "N": "#...# ##..# ##..# #.#.# #..## #..## #...#",
    "P": "####. #...# #...# ####. #.... #.... #....",
    "R": "####. #...# #...# ####. #.#.. #..#. #...#",
    "T": "##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#..",
    "U": "#...# #...# #...# #...# #...# #...# .###.",
    "V": "#...# #...# #...# .#.#. .#.#. .#.#. ..#..",
    "W": "#...# #...# #...# #.#.# #.#.# ##.## #...#",
    "X": "#...# #...# .#.#. ..#.. .#.#. #...# #...#",
    "Y": "#...# #...# .#.#. ..#.. ..#.. ..#.. ..#..",
}


@dataclass(frozen=True)
class Blank:
    """An image that no algorithm should accept as a digit; `pattern` is the drawing that it was copied from, if any."""

    kind: str
    truth: str
    pixels: list[int]
    pattern: str | None = None


def _below(n: int, rng: random.Random) -> int:
    """Draw from 0 to n - 1; only `random()` is promised to give the same numbers in every version of Python."""
    return int(rng.random() * n)


def uniform() -> Iterator[Blank]:
    """Yield every grey level once."""
    for level in range(MAXVAL + 1):
        yield Blank("uniform", f"grey {level}", [level] * SIDE * SIDE)


def noise(rng: random.Random) -> Iterator[Blank]:
    """Yield images with ink of random strength in random pixels."""
    for density in DENSITIES:
        for _ in range(NOISE_PER_DENSITY):
            inked = [_below(100, rng) < density for _ in range(SIDE * SIDE)]
            yield Blank("noise", f"noise {density} %", [1 + _below(MAXVAL, rng) if ink else 0 for ink in inked])


def letters(rng: random.Random) -> Iterator[Blank]:
    """Yield each letter several times: shifted, with ink of uneven strength and some noise."""
    for letter, drawing in LETTERS.items():
        rows = drawing.split()
        for _ in range(COPIES_PER_LETTER):
            right, down = _below(SIDE - 4, rng), _below(SIDE - 6, rng)
            pixels = [_below(3, rng) for _ in range(SIDE * SIDE)]
            for y, row in enumerate(rows):
                for x, mark in enumerate(row):
                    if mark == "#":
                        pixels[(y + down) * SIDE + x + right] = 10 + _below(MAXVAL - 9, rng)
            yield Blank("letter", letter, pixels, letter)


def make(folder: Path) -> None:
    """Write the archive and both tables."""
    rng = random.Random(SEED)  # noqa: S311  (images, not secrets)
    blanks = [*uniform(), *noise(rng), *letters(rng)]
    train, _ = split(read_source())
    files = {f"test/{n:03}.pgm": pgm(b.pixels) for n, b in enumerate(blanks, 1)}
    write_zip(folder / "blank.zip", train_files(train) | files)
    write_train(folder / "train.csv", train)
    rows = [
        [f"{n:03}", f"{{images}}/test/{n:03}.pgm", "", "false", b.truth, b.kind, b.pattern or f"{n:03}"]
        for n, b in enumerate(blanks, 1)
    ]
    write_table(folder / "cases.csv", HEADER, rows)


if __name__ == "__main__":
    bundled = Path(__file__).parents[1] / "test_scripts" / "blank"
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else bundled
    make(target)
    print(declare(target / "blank.zip"))
