"""Make the data of test_scripts/shapes: drawn scenes with circles, squares and triangles, and where they are.

    python -m tools.make_shapes [FOLDER]

It prints the `sha256` and `bytes` that the script must have, and draws the picture of the documentation:

    python -m tools.make_shapes --picture docs/pictures/shapes.png
"""

import hashlib
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tools.bundle_files import write_zip

SIDE = 80
SEED = 20
SCENES_PER_CLUTTER = 20
CLUTTERS = ("plain", "lines", "texture")
LABELS = ("circle", "square", "triangle")
# How much brighter than the background an object is.
LIGHTS = {"bright": 70, "dim": 26}
MAX_OBJECTS = 4
SMALLEST, LARGEST = 9, 26
EMPTY_EVERY, HEAP_EVERY = 7, 6  # of the scenes, one in so many has no object, or a heap of small ones

Image = npt.NDArray[np.float64]


def below(n: int, rng: random.Random) -> int:
    """Draw from 0 to n - 1; only `random()` is promised to give the same numbers in every version of Python."""
    return int(rng.random() * n)


@dataclass(frozen=True)
class Shape:
    """An object by its box, all in whole pixels."""

    label: str
    x: int
    y: int
    width: int
    height: int
    ignore: bool = False

    def mask(self) -> npt.NDArray[np.bool_]:
        """The pixels that it covers."""
        y, x = np.mgrid[0:SIDE, 0:SIDE]
        across, down = (x + 0.5 - self.x) / self.width, (y + 0.5 - self.y) / self.height
        inside = (across > 0) & (across < 1) & (down > 0) & (down < 1)
        if self.label == "circle":
            return np.asarray(inside & ((across - 0.5) ** 2 + (down - 0.5) ** 2 <= 0.25))
        if self.label == "triangle":
            return np.asarray(inside & (abs(across - 0.5) <= down / 2))
        return np.asarray(inside)

    def near(self, other: "Shape") -> bool:
        """Whether two boxes touch, or nearly so."""
        gap = 4
        return (
            self.x < other.x + other.width + gap
            and other.x < self.x + self.width + gap
            and self.y < other.y + other.height + gap
            and other.y < self.y + self.height + gap
        )

    def row(self) -> dict[str, Any]:
        """As the truth of a case has it."""
        row: dict[str, Any] = {"label": self.label, "box": [self.x, self.y, self.width, self.height]}
        return row | ({"ignore": True} if self.ignore else {})


@dataclass
class Scene:
    """What is seen, before any light falls on it: objects, a heap of small ones, and the clutter behind them."""

    name: str
    clutter: str
    shapes: list[Shape] = field(default_factory=list)
    heap: list[Shape] = field(default_factory=list)
    # The background, in grey levels.
    ground: Image = field(default_factory=lambda: np.zeros((SIDE, SIDE)))


def make_scene(number: int, clutter: str, rng: random.Random) -> Scene:
    """Draw the objects of a scene at random; they do not touch."""
    scene = Scene(f"{number:03}", clutter, ground=ground(clutter, rng))
    if number % EMPTY_EVERY == 0:
        return scene
    if number % HEAP_EVERY == 0:
        add_heap(scene, rng)
    for _ in range(1 + below(MAX_OBJECTS, rng)):
        size = SMALLEST + below(LARGEST - SMALLEST, rng)
        height = max(SMALLEST, size + below(5, rng) - 2)
        shape = Shape(
            LABELS[below(3, rng)], 2 + below(SIDE - size - 4, rng), 2 + below(SIDE - height - 4, rng), size, height
        )
        if not any(shape.near(other) for other in scene.shapes):
            scene.shapes.append(shape)
    return scene


def add_heap(scene: Scene, rng: random.Random) -> None:
    """Small objects of one kind, too many and too close to count: a region that the test ignores."""
    label, side = LABELS[below(3, rng)], 22
    x, y = 2 + below(SIDE - side - 4, rng), 2 + below(SIDE - side - 4, rng)
    scene.shapes.append(Shape(label, x, y, side, side, ignore=True))
    for _ in range(9):
        scene.heap.append(Shape(label, x + below(side - 6, rng), y + below(side - 6, rng), 6, 6))


def ground(clutter: str, rng: random.Random) -> Image:
    """The background: a slope, and strokes or patches on it."""
    y, x = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    level = 70 + 40 * (rng.random() - 0.5) * x + 40 * (rng.random() - 0.5) * y
    if clutter == "lines":
        for _ in range(7):
            angle, offset = rng.random() * 6.283, rng.random() * 0.8 - 0.1
            distance = abs(np.cos(angle) * (x - 0.5) + np.sin(angle) * (y - 0.5) - offset + 0.3)
            level = level + 45 * (distance < 0.009)
    if clutter == "texture":
        patches = np.array([[rng.random() for _ in range(10)] for _ in range(10)])
        level = level + 44 * (np.kron(patches, np.ones((SIDE // 10, SIDE // 10))) - 0.5)
    return np.asarray(level, dtype=np.float64)


def photograph(scene: Scene, light: str, rng: random.Random) -> npt.NDArray[np.uint8]:
    """The scene in a light: objects stand out by its contrast, one side is darker, and there is noise."""
    image = scene.ground.copy()
    for shape in [*(one for one in scene.shapes if not one.ignore), *scene.heap]:
        image[shape.mask()] += LIGHTS[light]
    image = image * np.linspace(1.0, 0.75 + 0.25 * rng.random(), SIDE)
    noise = np.array([rng.random() + rng.random() - 1 for _ in range(SIDE * SIDE)]).reshape(SIDE, SIDE)
    # An even number of grey levels packs better.
    return np.asarray(np.clip((image + 9 * noise) // 2 * 2, 0, 255), dtype=np.uint8)


def pgm(image: npt.NDArray[np.uint8]) -> bytes:
    """A binary PGM file."""
    return f"P5\n{SIDE} {SIDE}\n255\n".encode() + image.tobytes()


def make_scenes(rng: random.Random) -> list[Scene]:
    """All scenes, kind of clutter by kind of clutter."""
    kinds = [clutter for clutter in CLUTTERS for _ in range(SCENES_PER_CLUTTER)]
    return [make_scene(number, clutter, rng) for number, clutter in enumerate(kinds, 1)]


def make(folder: Path) -> None:
    """Write the archive and the table."""
    rng = random.Random(SEED)  # noqa: S311
    images: dict[str, bytes] = {}
    lines = []
    for scene in make_scenes(rng):
        truth = [shape.row() for shape in scene.shapes]
        for light in LIGHTS:
            name = f"{scene.name}-{light}"
            images[f"{name}.pgm"] = pgm(photograph(scene, light, rng))
            case = {"id": name, "input": f"{{images}}/{name}.pgm", "expect": truth}
            lines.append(json.dumps(case | {"scene": scene.name, "clutter": scene.clutter, "light": light}))
    write_zip(folder / "shapes.zip", images)
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    content = (folder / "shapes.zip").read_bytes()
    print(f'sha256 = "{hashlib.sha256(content).hexdigest()}"\nbytes = {len(content)}')


def main(words: Sequence[str]) -> None:
    """Write the data, or the picture of the documentation."""
    if words[:1] == ["--picture"]:
        from tools.draw_shapes import draw

        draw(Path(words[1]))
        return
    make(Path(words[0]) if words else Path("test_scripts/shapes"))


if __name__ == "__main__":
    main(sys.argv[1:])
