"""What tests say of options that come from rooms, any of which may have been taken away."""

from collections.abc import Sequence
from pathlib import Path

import click

import harness
from harness.cli.commands import hate
from harness.plugins import ROOMS

ALL_ROOMS = all(Path(harness.__file__).with_name(room).joinpath("__init__.py").exists() for room in ROOMS)


def is_here(words: Sequence[str]) -> bool:
    """Whether a command line has a command and options that are there; while all rooms are, every one must be."""
    if ALL_ROOMS:
        return True
    found = hate.get_command(click.Context(hate), words[0])
    flags = set() if found is None else {flag for parameter in found.params for flag in parameter.opts}
    return found is not None and {word for word in words if word.startswith("--")} <= flags
