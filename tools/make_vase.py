"""Draw the data of test_scripts/vase: vases that are lit and textured, on a plain or a cluttered background.

    python -m tools.make_vase [FOLDER]

It prints the `sha256` and `bytes` that the script must have.
"""

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tools.bundle_files import write_table, write_zip
from tools.make_digits import declare

WIDTH, HEIGHT = 96, 128
# Every pixel is the mean of this many by this many points: at the outline, vase and background mix.
FINE = 3
SEED = 1979
COPIES = 5
HEADER = "id,input,expect,positive,background,shape,light"
BACKGROUNDS = ("plain", "cluttered")
NO_VASE = "none"
# Radii from the rim to the foot, as parts of half the width of the picture.
SHAPES = {
    "amphora": (0.34, 0.24, 0.26, 0.56, 0.72, 0.70, 0.52, 0.30, 0.32),
    "bottle": (0.20, 0.16, 0.16, 0.18, 0.34, 0.52, 0.58, 0.56, 0.46),
    "bowl": (0.74, 0.76, 0.74, 0.70, 0.62, 0.50, 0.36, 0.26, 0.40),
    "beaker": (0.52, 0.48, 0.45, 0.43, 0.42, 0.41, 0.41, 0.42, 0.44),
}
# Where the light comes from: x to the right, y down, z to the viewer.
LIGHTS = {"front": (0.0, -0.2, 0.98), "left": (-0.6, -0.3, 0.74), "right": (0.6, -0.3, 0.74), "above": (0.1, -0.7, 0.7)}

Plane = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Drawing:
    """A picture with its truth, and what is in it."""

    picture: Plane
    truth: npt.NDArray[np.bool_]
    background: str
    shape: str
    light: str


def _below(n: int, rng: random.Random) -> int:
    """Draw from 0 to n - 1; only `random()` is promised to give the same numbers in every version of Python."""
    return int(rng.random() * n)


def _between(low: float, high: float, rng: random.Random) -> float:
    return low + (high - low) * rng.random()


def _points() -> tuple[Plane, Plane]:
    """The x and y of every point, in pixels."""
    x = (np.arange(WIDTH * FINE) + 0.5) / FINE
    y = (np.arange(HEIGHT * FINE) + 0.5) / FINE
    return np.broadcast_to(x, (y.size, x.size)), np.broadcast_to(y[:, None], (y.size, x.size))


def _texture(cell: float, x: Plane, y: Plane, rng: random.Random) -> Plane:
    """Smooth random values from -1 to 1: random numbers on a grid, with smooth steps between them."""
    grid = np.array([[_between(-1, 1, rng) for _ in range(32)] for _ in range(32)])
    column, row = x / cell, y / cell
    left, upper = np.floor(column).astype(int), np.floor(row).astype(int)
    across, down = column - left, row - upper
    across, down = across * across * (3 - 2 * across), down * down * (3 - 2 * down)
    corners = [grid[(upper + i) % 32, (left + j) % 32] for i in (0, 1) for j in (0, 1)]
    top = corners[0] * (1 - across) + corners[1] * across
    low = corners[2] * (1 - across) + corners[3] * across
    return np.asarray(top * (1 - down) + low * down)


def _radius(profile: Sequence[float], along: Plane) -> Plane:
    """The radius at each place from the rim (0) to the foot (1), with smooth steps between the given ones."""
    place = np.clip(along, 0, 1) * (len(profile) - 1)
    lower = np.minimum(place.astype(int), len(profile) - 2)
    part = place - lower
    part = part * part * (3 - 2 * part)
    given = np.array(profile)
    return np.asarray(given[lower] * (1 - part) + given[lower + 1] * part)


def _background(kind: str, rng: random.Random) -> Plane:
    """Dark, a little brighter to one side; cluttered ones have boards and discs of many greys on it."""
    x, y = _points()
    level, slope = _between(35, 60, rng), _between(-14, 14, rng)
    ground = level + slope * (x / WIDTH - 0.5) + 4 * _texture(9, x, y, rng)
    if kind == "plain":
        return ground
    for number in range(9):
        grey = _between(30, 125, rng) + 8 * _texture(_between(4, 12, rng), x, y, rng)
        middle_x, middle_y = _between(0, WIDTH, rng), _between(0, HEIGHT, rng)
        wide, high = _between(6, 26, rng), _between(6, 34, rng)
        across, down = (x - middle_x) / wide, (y - middle_y) / high
        inside = across * across + down * down < 1 if number % 3 == 0 else (abs(across) < 1) & (abs(down) < 1)
        ground = np.where(inside, grey, ground)
    return ground


def _vase(shape: str, light: str, rng: random.Random) -> tuple[Plane, npt.NDArray[np.bool_]]:
    """Brightness of every point, and which are the vase: a solid of revolution, lit by Lambert's law."""
    x, y = _points()
    rim, foot = _between(12, 24, rng), _between(104, 118, rng)
    middle, size = WIDTH / 2 + _between(-8, 8, rng), WIDTH / 2 * _between(0.78, 0.98, rng)
    along = (y - rim) / (foot - rim)
    radius = size * _radius([r * _between(0.92, 1.08, rng) for r in SHAPES[shape]], along)
    out = (x - middle) / radius
    inside = (along >= 0) & (along <= 1) & (abs(out) < 1)
    depth = np.sqrt(np.maximum(1 - out * out, 0))
    towards = LIGHTS[light]
    # The wall leans outwards where the radius grows towards the foot, and then its normal points up.
    lean = np.gradient(radius, axis=0) * FINE
    normal = np.sqrt(1 + lean * lean)
    lambert = np.maximum((out * towards[0] - lean * towards[1] + depth * towards[2]) / normal, 0)
    glaze = _between(150, 215, rng)
    bands = np.where(np.floor(along * 12) % 4 == 1, 0.88, 1.0)
    grain = 1 + 0.09 * _texture(5, x + 40 * out, y, rng)
    square = lambert * lambert
    shine = 50 * square * square * square * square
    return np.asarray(glaze * bands * grain * (0.30 + 0.70 * lambert) + shine), inside


def _pixels(points: Plane) -> Plane:
    """The mean over the points of each pixel; of whole numbers, whose sum is the same on every machine."""
    parts = np.rint(points * 64).reshape(HEIGHT, FINE, WIDTH, FINE).sum(axis=(1, 3))
    return np.asarray(parts / (64 * FINE * FINE))


def draw(background: str, shape: str, light: str, rng: random.Random) -> Drawing:
    """One picture; the truth is the pixels that are mostly vase."""
    ground = _background(background, rng)
    if shape == NO_VASE:
        nothing = np.zeros((HEIGHT, WIDTH), dtype=np.bool_)
        return Drawing(np.clip(np.rint(_pixels(ground)), 0, 255), nothing, background, shape, "")
    vase, inside = _vase(shape, light, rng)
    picture = _pixels(np.asarray(np.where(inside, np.clip(vase, 0, 255), ground), dtype=np.float64))
    return Drawing(
        np.clip(np.rint(picture), 0, 255), _pixels(inside.astype(np.float64)) >= 0.5, background, shape, light
    )


def drawings() -> list[Drawing]:
    """Every shape, and none, on both backgrounds, several times."""
    return [drawing(number) for number in range(1, len(BACKGROUNDS) * (len(SHAPES) + 1) * COPIES + 1)]


def drawing(number: int) -> Drawing:
    """One of the drawings, numbered from 1; each has random numbers of its own."""
    rng = random.Random(SEED * 1000 + number)  # noqa: S311  (images, not secrets)
    background, shape = list(product(BACKGROUNDS, (*SHAPES, NO_VASE)))[(number - 1) // COPIES]
    return draw(background, shape, list(LIGHTS)[_below(len(LIGHTS), rng)], rng)


def pgm(plane: npt.NDArray[np.generic]) -> bytes:
    """A binary PGM file of 256 grey levels."""
    return f"P5\n{plane.shape[1]} {plane.shape[0]}\n255\n".encode() + plane.astype(np.uint8).tobytes()


def _yes(one: Drawing) -> str:
    return "true" if one.truth.any() else "false"


def _columns(one: Drawing) -> tuple[str, str, str]:
    return one.background, one.shape, one.light


def make(folder: Path) -> None:
    """Write the archive and the table."""
    made = {f"{n:02}": one for n, one in enumerate(drawings(), 1)}
    pictures = {f"picture/{name}.pgm": pgm(one.picture) for name, one in made.items()}
    truths = {f"truth/{name}.pgm": pgm(one.truth * 255) for name, one in made.items()}
    write_zip(folder / "vase.zip", pictures | truths)
    rows = [
        [name, f"{{images}}/picture/{name}.pgm", f"{{images}}/truth/{name}.pgm", _yes(one), *_columns(one)]
        for name, one in made.items()
    ]
    write_table(folder / "cases.csv", HEADER, rows)


if __name__ == "__main__":
    bundled = Path(__file__).parents[1] / "test_scripts" / "vase"
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else bundled
    make(target)
    print(declare(target / "vase.zip"))
