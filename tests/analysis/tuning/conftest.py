"""A separate cache for each test: cached runs would otherwise be reused by the next one."""

from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache of its own for every test."""
    return tmp_path / "cache"
