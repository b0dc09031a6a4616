"""Tables of tests without what belongs to a room that was taken away."""

from collections.abc import Mapping
from typing import TypeVar

from harness.cli.commands import commands_here

T = TypeVar("T")


def of_commands_here(table: Mapping[str, T]) -> dict[str, T]:
    """The entries whose key is a command that is there, or a line that begins with one."""
    here = commands_here()
    return {line: entry for line, entry in table.items() if line.split()[0] in here}
