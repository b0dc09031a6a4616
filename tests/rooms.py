"""Which of the rooms that can be taken away are there; `test_rooms` runs the other tests without each of them."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TypeVar

import pytest

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
