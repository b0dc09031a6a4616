"""Which of the rooms that can be taken away are there; `test_rooms` runs the other tests without each of them."""

import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.bundled import bundled
from harness.plugins import ROOMS

MISSING = [room for room in ROOMS if (spec := find_spec(f"harness.{room}")) is None or spec.origin is None]
# For what is about the whole package, such as its documentation.
needs_all_rooms = pytest.mark.skipif(bool(MISSING), reason=f"about the whole package, without {', '.join(MISSING)}")


def usable_scripts() -> list[Path]:
    """The bundled test scripts, except those with a section of a room that is not there."""
    paths = sorted(bundled("test_scripts").glob("*/*.hate.toml"))
    return [path for path in paths if not tomllib.loads(path.read_text(encoding="utf-8")).keys() & set(MISSING)]
