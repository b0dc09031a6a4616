"""Recipes of the documentation, followed and used."""

import pytest

# An assertion that fails says what was compared, as those in files of tests do.
pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in ("judging", "printing", "recipe", "running")))
