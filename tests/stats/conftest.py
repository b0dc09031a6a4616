"""Property tests must not fail because the machine is busy, and a failure must be the same for everyone."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("reproducible", deadline=None, derandomize=True)
settings.load_profile("reproducible")
