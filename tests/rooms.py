"""Which of the rooms that can be taken away are there; `test_rooms` runs the other tests without each of them."""

import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import pytest

from harness.bundled import bundled
from harness.cli.commands import commands_here
from harness.plugins import ROOMS

T = TypeVar("T")

MISSING = [room for room in ROOMS if (spec := find_spec(f"harness.{room}")) is None or spec.origin is None]
# For what is about the whole package, such as its documentation.
needs_all_rooms = pytest.mark.skipif(bool(MISSING), reason=f"about the whole package, without {', '.join(MISSING)}")


def of_commands_here(table: Mapping[str, T]) -> dict[str, T]:
    """The entries whose key is a command that is there, or a line that begins with one."""
    here = commands_here()
    return {line: entry for line, entry in table.items() if line.split()[0] in here}


def usable_scripts() -> list[Path]:
    """The bundled test scripts, except those with a section of a room that is not there."""
    paths = sorted(bundled("test_scripts").glob("*/*.hate.toml"))
    return [path for path in paths if not tomllib.loads(path.read_text(encoding="utf-8")).keys() & set(MISSING)]
