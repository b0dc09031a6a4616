"""Make the data of test_scripts/hdigits from the digits that scikit-learn carries.

    python -m tools.make_digits [FOLDER]

It prints the `sha256` and `bytes` that the script must have.
"""

import gzip
import hashlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.bundle_files import SIDE, pgm, write_table, write_zip

TRAINING = 1080  # the rest, 717 images with two claims each, gives the tutorial's 1,434 cases
TRAIN_HEADER = "id,input,expect"
CASES_HEADER = "id,input,expect,positive,truth,image"


@dataclass(frozen=True)
class Digit:
    """An image of the source and the digit that it shows."""

    pixels: tuple[int, ...]
    label: int

    @property
    def digest(self) -> bytes:
        """SHA-256 of the pixels: sorting by it reveals nothing about the digit."""
        return hashlib.sha256(bytes(self.pixels)).digest()


@dataclass(frozen=True)
class Mean:
    """The mean of a digit's training images, as a sum and a count, so that distances are exact."""

    total: tuple[int, ...]
    count: int

    def distance(self, pixels: Sequence[int]) -> float:
        """Return the squared distance of an image from the mean."""
        return sum((self.count * p - t) ** 2 for p, t in zip(pixels, self.total, strict=True)) / self.count**2


def read_source() -> list[Digit]:
    """Read scikit-learn's copy: 64 grey levels and the digit on each line."""
    spec = importlib.util.find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise SystemExit("make_digits: the source is part of scikit-learn; install it: pip install scikit-learn")
    path = Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz"
    with gzip.open(path, "rt", encoding="ascii") as lines:
        rows = [[int(float(cell)) for cell in line.split(",")] for line in lines]
    return [Digit(tuple(row[: SIDE * SIDE]), row[-1]) for row in rows]


def split(source: Sequence[Digit]) -> tuple[list[Digit], list[Digit]]:
    """Return the training part in the source's order and the test part in the order of digests.

    In the source the digits come in runs (0 1 2 3 ...), so the place of an image there hints at its label.
    """
    return list(source[:TRAINING]), sorted(source[TRAINING:], key=lambda d: d.digest)


def train_files(train: Sequence[Digit]) -> dict[str, bytes]:
    """Return the training images under their names in the archive."""
    return {f"train/{n:04}.pgm": pgm(d.pixels) for n, d in enumerate(train, 1)}


def write_train(path: Path, train: Sequence[Digit]) -> None:
    """Write the training table."""
    rows = [[f"{n:04}", f"{{images}}/train/{n:04}.pgm", str(d.label)] for n, d in enumerate(train, 1)]
    write_table(path, TRAIN_HEADER, rows)


def means(train: Sequence[Digit]) -> dict[int, Mean]:
    """Return the mean training image of every digit."""
    found = {}
    for label in sorted({d.label for d in train}):
        images = [d.pixels for d in train if d.label == label]
        found[label] = Mean(tuple(map(sum, zip(*images, strict=True))), len(images))
    return found


def confusable(digit: Digit, of: dict[int, Mean]) -> int:
    """Return the other digit whose training mean is nearest to the image."""
    return min((mean.distance(digit.pixels), label) for label, mean in of.items() if label != digit.label)[1]


def claims(test: Sequence[Digit], of: dict[int, Mean]) -> Iterator[list[str]]:
    """Yield the rows of the case table: two claims per image, one true, one false.

    A bit of the digest decides which comes first: a program sees the ids, and they must not reveal it.
    """
    for number, digit in enumerate(test, 1):
        image, truth, false = f"{number:04}", digit.label, confusable(digit, of)
        pair = (truth, false) if digit.digest[-1] % 2 else (false, truth)
        for letter, claim in zip("ab", pair, strict=True):
            positive = "true" if claim == truth else "false"
            yield [image + letter, f"{{images}}/test/{image}.pgm", str(claim), positive, str(truth), image]


def make(folder: Path) -> None:
    """Write the archive and both tables."""
    train, test = split(read_source())
    test_files = {f"test/{n:04}.pgm": pgm(d.pixels) for n, d in enumerate(test, 1)}
    write_zip(folder / "digits.zip", train_files(train) | test_files)
    write_train(folder / "train.csv", train)
    write_table(folder / "cases.csv", CASES_HEADER, list(claims(test, means(train))))


def declare(path: Path) -> str:
    """Return what a script must declare about a data file."""
    content = path.read_bytes()
    return f'sha256 = "{hashlib.sha256(content).hexdigest()}"\nbytes = {len(content)}'


if __name__ == "__main__":
    bundled = Path(__file__).parents[1] / "test_scripts" / "hdigits"
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else bundled
    make(target)
    print(declare(target / "digits.zip"))
