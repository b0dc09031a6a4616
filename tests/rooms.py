"""What the tests of a room add to tables that other tests are made of, in `tests/ROOM/tables.py`.

So the tests of a room go with its folder, and those of what is left need not know that it was there.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from harness.plugins import ROOMS


def added(table: str) -> dict[Any, Any]:
    """The entries of a table in all rooms that are there."""
    entries: dict[Any, Any] = {}
    for room in ROOMS:
        if find_spec(f"tests.{room}") is not None and find_spec(f"tests.{room}.tables") is not None:
            entries |= getattr(import_module(f"tests.{room}.tables"), table, {})
    return entries
