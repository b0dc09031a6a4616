"""Similarity matrices as arguments: options that several commands share, and reading them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.cli.options import PATH

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


def read_matrices(paths: Sequence[Path], given: dict[str, Any]) -> list[Any]:
    """The matrices, with the gallery and the probes that were asked for."""
    from harness.analysis.conditions import parse_condition
    from harness.analysis.matrices.read import read_matrix

    probes, gallery = ([parse_condition(text) for text in given[name]] for name in ("probes", "gallery"))
    read = [
        read_matrix(path, given["labels"], larger_is_better=not given["distance"], identity=given["identity"])
        for path in paths
    ]
    return [matrix.select(probes, gallery) for matrix in read]
