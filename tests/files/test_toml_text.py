"""TOML that is written reads back as it was: tomllib, another implementation, is the truth."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.bundled import bundled
from harness.files.toml_text import toml_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)


@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_whatever_is_written_reads_back(tables: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(tables)) == tables


@pytest.mark.parametrize("name", ["hdigits", "blank", "faces"])
def test_the_bundled_scripts_survive(name: str) -> None:
    text = (bundled("test_scripts") / name / f"{name}.hate.toml").read_text(encoding="utf-8")
    assert tomllib.loads(toml_text(tomllib.loads(text))) == tomllib.loads(text)
