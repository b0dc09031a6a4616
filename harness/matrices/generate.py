"""Synthetic similarity matrices with known variance components, for trying out and validating methods.

The similarity of probe i and gallery image j is

    (separation + sum over effects of e(level of i)) x [the same subject] + noise

with e(level) drawn from N(0, sd^2) once for every level of an effect, and noise from N(0, 1) for every pair. Over
repetitions, right comparisons have the mean `separation` and the variance components sd^2 and 1; wrong ones are noise.
"""

import csv
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from harness.errors import OutputError
from harness.files.outputs import replacing
from harness.stats.arrays import FloatArray, IntArray

BLOCK = 1 << 22
# Columns of every image.
IMAGE_LEVELS = ("subject", "image")


@dataclass(frozen=True)
class Effect:
    """Something that makes right comparisons more or less similar.

    The levels of `subject` and `image` are the subjects and the image numbers. Any other effect has level k for image k
    of a subject, or `levels` levels, drawn at random for every image.
    """

    name: str
    sd: float
    levels: int | None = None


@dataclass(frozen=True)
class MatrixRecipe:
    """The parameters of a synthetic matrix."""

    subjects: int
    images: int
    effects: Sequence[Effect] = ()
    separation: float = 3.0
    seed: int = 0

    @property
    def size(self) -> int:
        """Number of rows, and of columns."""
        return self.subjects * self.images


@dataclass(frozen=True, eq=False)
class ImageEffects:
    """The levels of every image by effect, and what they add to its right comparisons."""

    levels: Mapping[str, IntArray]
    quality: FloatArray
    rng: np.random.Generator = field(repr=False)


def draw(recipe: MatrixRecipe) -> ImageEffects:
    rng = np.random.default_rng(recipe.seed)
    number = np.arange(recipe.size)
    levels = {"subject": number // recipe.images, "image": number % recipe.images}
    quality = np.zeros(recipe.size)
    for effect in recipe.effects:
        if effect.name not in IMAGE_LEVELS:
            of_image = levels["image"]
            levels[effect.name] = of_image if effect.levels is None else rng.integers(effect.levels, size=recipe.size)
        level = levels[effect.name]
        quality += rng.normal(0, effect.sd, int(level.max()) + 1)[level]
    return ImageEffects(levels, quality, rng)


def rows_of(recipe: MatrixRecipe, image_effects: ImageEffects, start: int, stop: int) -> npt.NDArray[np.float32]:
    """The similarities of some probes; blocks must be drawn in order."""
    part = image_effects.rng.standard_normal((stop - start, recipe.size), dtype=np.float32)
    who = image_effects.levels["subject"]
    same_person = who[start:stop, None] == who[None, :]
    part += same_person * (recipe.separation + image_effects.quality[start:stop, None]).astype(np.float32)
    return part


def matrix_files(path: Path) -> list[Path]:
    """NAME.npy, NAME.labels.csv and NAME.truth.json."""
    return [path, path.with_suffix(".labels.csv"), path.with_suffix(".truth.json")]


def write_matrix(recipe: MatrixRecipe, path: Path, *, force: bool = False) -> list[Path]:
    """Write a matrix block by block, its labels, and what it was made of."""
    image_effects = draw(recipe)
    files = matrix_files(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from None
    with ExitStack() as stack:
        matrix, labels, truth = (stack.enter_context(replacing(file, force=force, what="the matrix")) for file in files)
        shape = (recipe.size, recipe.size)
        stored = np.lib.format.open_memmap(matrix, mode="w+", dtype=np.float32, shape=shape)
        rows = max(1, BLOCK // recipe.size)
        for start in range(0, recipe.size, rows):
            stop = min(start + rows, recipe.size)
            stored[start:stop] = rows_of(recipe, image_effects, start, stop)
        stored.flush()
        _write_labels(labels, image_effects)
        made_of = {
            "subjects": recipe.subjects,
            "images": recipe.images,
            "separation": recipe.separation,
            "components": {effect.name: effect.sd**2 for effect in recipe.effects} | {"noise": 1.0},
            "levels": {effect.name: effect.levels for effect in recipe.effects if effect.levels is not None},
            "seed": recipe.seed,
        }
        truth.write_bytes(msgspec.json.format(msgspec.json.encode(made_of), indent=1) + b"\n")
    return files


def _write_labels(path: Path, image_effects: ImageEffects) -> None:
    subjects, images = image_effects.levels["subject"], image_effects.levels["image"]
    width = [len(str(int(levels.max()) + 1)) for levels in (subjects, images)]
    others = [name for name in image_effects.levels if name not in IMAGE_LEVELS]
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["id", "subject", "image", *others])
        for index, (subject, image) in enumerate(zip(subjects.tolist(), images.tolist(), strict=True)):
            who = f"p{subject + 1:0{width[0]}}"
            more = [int(image_effects.levels[name][index]) + 1 for name in others]
            table.writerow([f"{who}_{image + 1:0{width[1]}}", who, image + 1, *more])
