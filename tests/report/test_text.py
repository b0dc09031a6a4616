"""Text in lines: broken between words, and never between a number and its unit."""

from hypothesis import given
from hypothesis import strategies as st

from harness.report.text import width, wrapped, wrapped_lines

words = st.sampled_from(["a", "interval", "95 %", "p = 0.0123", "p < 0.0001", "these", "--psu COLUMN", "x-y"])


@given(st.lists(words, min_size=1, max_size=30), st.integers(20, 60))
def test_numbers_keep_their_units(parts: list[str], size: int) -> None:
    text = " ".join(parts)
    lines = wrapped_lines(text, size)
    assert " ".join(lines) == text
    assert all(width(line) <= size for line in lines)
    assert not any(line.startswith(("%", "=", "<", "0.0")) for line in lines)


def test_options_and_paths_are_not_broken() -> None:
    assert wrapped_lines("see --fail-if-worse in some/rather-long-path.jsonl", 16) == [
        "see", "--fail-if-worse", "in", "some/rather-long-path.jsonl",
    ]  # fmt: skip
    assert wrapped_lines("abcdef", 4, cut=True) == ["abcd", "ef"]


def test_an_indent_counts() -> None:
    assert wrapped("one two three", 9, indent="  ") == "  one two\n  three"
    assert wrapped("", 9) == ""
