"""Similarity matrices as arguments: options that several commands share, and reading them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.cli.options import PATH
from harness.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def matrix_options(command: F) -> F:
    """--labels, --distance, --identity, --gallery, --probe."""
    for option in (
        click.option("--probe", "probes", multiple=True, metavar="COLUMN=VALUE",
                     help="Only such images as probes; may be repeated."),
        click.option("--gallery", "gallery", multiple=True, metavar="COLUMN=VALUE",
                     help="Only such images in the gallery; may be repeated."),
        click.option("--identity", metavar="REGEX", help="Who a label is: the pattern's first group, or its match."),
        click.option("--distance", is_flag=True, help="Smaller is better: distances, not similarities."),
        click.option("--labels", multiple=True, type=PATH, metavar="TABLE",
                     help="Labels of rows and columns (twice: of rows, of columns); else what lies beside the matrix."),
    ):  # fmt: skip
        command = option(command)
    return command


def read_matrices(words: Sequence[str | Path], given: dict[str, Any]) -> list[Any]:
    """The matrices, with the gallery and the probes that were asked for.

    A word is a file, or a test that has matrices beside its script: NAME for all of them, NAME/FILE for one.
    """
    from harness.analysis.conditions import parse_condition
    from harness.analysis.matrices.read import read_matrix

    probes, gallery = ([parse_condition(text) for text in given[name]] for name in ("probes", "gallery"))
    read = []
    for path, distance in (found for word in words for found in _found(Path(word))):
        larger = not (given["distance"] or distance)
        read.append(read_matrix(path, given["labels"], larger_is_better=larger, identity=given["identity"]))
    return [matrix.select(probes, gallery) for matrix in read]


def _found(path: Path) -> list[tuple[Path, bool]]:
    """Files, and whether the test that they belong to says that they are distances."""
    from harness.files.strict_toml import read_toml
    from harness.script.library import find_all

    if path.exists() or path.is_absolute() or len(path.parts) > 2:
        return [(path, False)]
    script = next((found.path for found in find_all() if found.name == path.parts[0]), None)
    if script is None:
        return [(path, False)]
    distance = read_toml(script)[0]["test"].get("larger_is_better") is False
    if len(path.parts) == 2:
        return [(script.parent / path.name, distance)]
    beside = sorted(script.parent.glob("*.npy"))
    if not beside:
        raise UsageError(f"{path}: a test without similarity matrices (.npy) beside its script")
    return [(file, distance) for file in beside]
