"""Runs that are kept for later would be known to the next test."""

from pathlib import Path

import pytest

from harness.site.cache import UNPACKED


@pytest.fixture
def cache(tmp_path: Path, common_cache: Path) -> Path:
    """A cache of its own for every test, but for what was unpacked, which takes long and knows of no run."""
    unpacked = common_cache / "hate" / UNPACKED
    unpacked.mkdir(parents=True, exist_ok=True)
    (tmp_path / "cache" / "hate").mkdir(parents=True)
    (tmp_path / "cache" / "hate" / UNPACKED).symlink_to(unpacked)
    return tmp_path / "cache"
