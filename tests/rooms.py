"""Which of the rooms that can be taken away are there; `test_rooms` runs the other tests without each of them."""

import tomllib
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import click
import pytest

from harness.bundled import bundled
from harness.cli.commands import hate
from harness.plugins import ROOMS

T = TypeVar("T")

MISSING = [room for room in ROOMS if (spec := find_spec(f"harness.{room}")) is None or spec.origin is None]
# For what is about the whole package, such as its documentation.
needs_all_rooms = pytest.mark.skipif(bool(MISSING), reason=f"about the whole package, without {', '.join(MISSING)}")


def is_here(words: Sequence[str]) -> bool:
    """Whether a command line has a command and options that are there; with all rooms, every one must be."""
    if not MISSING:
        return True
    found: click.Command | None = hate
    for word in words:
        found = found.get_command(click.Context(found), word) if isinstance(found, click.Group) else found
    flags = set() if found is None else {flag for parameter in found.params for flag in parameter.opts}
    return found is not None and {word for word in words if word.startswith("--")} <= flags


def of_commands_here(table: Mapping[str, T]) -> dict[str, T]:
    """The entries whose key is a command that is there, or a command line of one."""
    return {line: entry for line, entry in table.items() if is_here(line.split())}


def usable_scripts() -> list[Path]:
    """The bundled test scripts, except those with a section of a room that is not there."""
    paths = sorted(bundled("test_scripts").glob("*/*.hate.toml"))
    return [path for path in paths if not tomllib.loads(path.read_text(encoding="utf-8")).keys() & set(MISSING)]
