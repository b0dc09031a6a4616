"""`hate new matrix`: a synthetic similarity matrix with known variance components."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import PATH, Numbers
from harness.cli.output import remark
from harness.errors import OutputError, UsageError

if TYPE_CHECKING:
    from harness.analysis.matrices.generate import Effect

_EFFECT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(\d+(?:\.\d*)?|\.\d+)(?:/(\d{1,6}))?", re.ASCII)
LARGEST = 50_000


@click.command("matrix")
@click.argument("path", required=False, default=Path("synthetic.npy"), type=PATH, metavar="[FILE.npy]")
@click.option("--subjects", type=click.IntRange(2, LARGEST), default=256, show_default=True, metavar="N")
@click.option("--images", type=click.IntRange(1, 10_000), default=4, show_default=True, metavar="K",
              help="Of every subject.")  # fmt: skip
@click.option("--effect", "effects", multiple=True, metavar="NAME=SD[/LEVELS]",
              help="A variance component: subject, image, or a column of its own; may be repeated.")  # fmt: skip
@click.option("--separation", type=Numbers(-100, 100), default=3.0, show_default=True, metavar="D",
              help="How far right comparisons are above wrong ones, in standard deviations of the noise.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def new_matrix(path: Path, **given: Any) -> None:
    """Write a similarity matrix, every image against every other, with labels and what it was made of.

    An effect adds to the right comparisons of a probe what was drawn for its level, from a normal distribution of
    standard deviation SD; the noise of a comparison has 1. `day=0.3`: image k of everyone was taken on day k.
    `day=0.3/45`: on one of 45 days, at random.

    \b
    hate new matrix made.npy --subjects 256 --images 4 --effect subject=0.5 --effect day=0.3
    hate cmc made.npy --gallery day=1 --probe day=2
    """
    from harness.analysis.matrices.generate import Recipe, write_matrix

    if path.suffix.lower() != ".npy":
        raise UsageError(f"{path}: a matrix is written as .npy; call it {path.stem}.npy")
    effects = [parse_effect(text) for text in given["effects"]]
    names = [effect.name for effect in effects]
    if len(set(names)) < len(names):
        raise UsageError("--effect: one of them is there twice")
    recipe = Recipe(given["subjects"], given["images"], effects, given["separation"], given["seed"])
    if recipe.size > LARGEST:
        raise UsageError(f"--subjects x --images is {recipe.size:,} rows and columns; at most {LARGEST:,}")
    for there in (path, path.with_suffix(".labels.csv"), path.with_suffix(".truth.json")):
        if there.exists() and not given["force"]:
            raise OutputError(f"{there}: exists; --force overwrites it; nothing was written")
    written = write_matrix(recipe, path)
    remark(f"{recipe.size:,} x {recipe.size:,}, seed {recipe.seed}: {', '.join(map(str, written))}")


def parse_effect(text: str) -> "Effect":
    """NAME=SD, or NAME=SD/LEVELS."""
    from harness.analysis.matrices.generate import OWN, Effect

    found = _EFFECT.fullmatch(text)
    if found is None:
        raise UsageError(f"--effect {text}: write NAME=SD or NAME=SD/LEVELS, such as day=0.3")
    levels = None if found[3] is None else int(found[3])
    if found[1] == "id" or (levels is not None and (found[1] in OWN or levels < 1)):
        raise UsageError(
            f"--effect {text}: {found[1]} cannot have {'that name' if found[1] == 'id' else 'these levels'}"
        )
    return Effect(found[1], float(found[2]), levels)
