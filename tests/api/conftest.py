"""Runs that are kept for later would be known to the next test."""

from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache of its own for every test."""
    return tmp_path / "cache"
