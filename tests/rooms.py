"""Which of the rooms that can be taken away are there; `test_rooms` runs the other tests without each of them."""

from importlib.util import find_spec

import pytest

from harness.plugins import ROOMS

MISSING = [room for room in ROOMS if (spec := find_spec(f"harness.{room}")) is None or spec.origin is None]
# For what is about the whole package, such as its documentation.
needs_all_rooms = pytest.mark.skipif(bool(MISSING), reason=f"about the whole package, without {', '.join(MISSING)}")
