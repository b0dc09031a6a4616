"""`hate new`: an example interface, test script or similarity matrix to start from."""

from pathlib import Path

import click

from harness.api.new import (
    NewFiles,
    NewInterfaceOptions,
    NewMatrixOptions,
    NewScriptOptions,
    new_interface,
    new_matrix,
    new_script,
)
from harness.cli.options import PATH, CommandGroup, command_options
from harness.cli.output import remark


@click.group("new", cls=CommandGroup, no_args_is_help=False)
def new_command() -> None:
    """Write an example interface, test script or similarity matrix to start from.

    \b
    hate new interface mine
    hate new script my-test --task score
    """


@new_command.command("matrix")
@click.argument("path", required=False, default=Path("synthetic.npy"), type=PATH, metavar="[FILE.npy]")
@command_options(NewMatrixOptions)
def new_matrix_command(path: Path, options: NewMatrixOptions) -> None:
    """Write a similarity matrix, every image against every other, with labels and the recipe it was made from.

    An effect adds to the right comparisons of a probe what was drawn for its level, from a normal distribution of
    standard deviation SD; the noise of a comparison has 1. `day=0.3`: image k of everyone was taken on day k.
    `day=0.3/45`: on one of 45 days, at random.

    \b
    hate new matrix made.npy --subjects 256 --images 4 --effect day=0.3
    hate cmc made.npy --gallery day=1 --probe day=2
    """
    _tell(new_matrix(path, options=options))


@new_command.command("interface")
@click.argument("name", required=False)
@command_options(NewInterfaceOptions)
def new_interface_command(name: str | None, options: NewInterfaceOptions) -> None:
    """Write interface.py (or interface.toml) into the working folder; NAME is the algorithm's.

    \b
    hate new interface mine --kind command
    """
    _tell(new_interface(name, options=options))


@new_command.command("script")
@click.argument("name")
@command_options(NewScriptOptions)
def new_script_command(name: str, options: NewScriptOptions) -> None:
    """Write NAME/NAME.hate.toml and a table of cases.

    \b
    hate new script my-test --task score
    """
    _tell(new_script(name, options=options))


def _tell(written: NewFiles) -> None:
    """What was written, and what to do next."""
    for text in written.remarks:
        remark(text)
