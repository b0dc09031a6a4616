"""TOML files: the lines of keys, and mistakes in terms of the format."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ScriptError
from harness.files.mistakes import MAX_SHOWN, Mistakes, key_lines, line_of
from harness.files.toml import MAX_FILE_BYTES, read_toml
from tests.simulation import examples

quickly = examples(80)

TEXT = '''\
format = 1  # comment
a.b = 2

[test]
name = "x = y"
description = """
[fake]
key = 1
"""
literal = \'\'\'
other = 1
\'\'\'
authors = [
  "one",
]
"quoted key" = 1
after = 1

[data.images]
path = "p"

[[cases.case]]
id = "1"
[[cases.case]]
id = "2"
[ params . threshold ]
type = "float"
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("format",), 1),
        (("a", "b"), 2),
        (("test",), 4),
        (("test", "name"), 5),
        (("test", "description"), 6),
        (("test", "literal"), 10),
        (("test", "quoted key"), 16),
        (("test", "after"), 17),
        (("data", "images", "path"), 20),
        (("cases", "case", 0, "id"), 23),
        (("params", "threshold", "type"), 27),
        (("params", "threshold", "none"), 26),
        (("fake", "key"), None),
        (("test", "other"), 4),
    ],
)
def test_lines_of_keys_are_those_of_an_editor(path: tuple[str | int, ...], line: int | None) -> None:
    assert line_of(key_lines(TEXT), path) == line


def test_only_newlines_end_a_line() -> None:
    """Other Unicode separators are text; editors and the TOML parser do not count them as lines."""
    assert key_lines('a = "x\u2028y\u0085z\x0b"\nb = 1\r\nc = 2\n') == {("a",): 1, ("b",): 2, ("c",): 3}


@quickly
@given(st.text())
def test_any_text_has_lines_or_none(text: str) -> None:
    assert all(1 <= line <= text.count("\n") + 1 for line in key_lines(text).values())


def toml(folder: Path, content: bytes) -> Path:
    path = folder / "t.toml"
    path.write_bytes(content)
    return path


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    parsed, text = read_toml(toml(tmp_path, b"\xef\xbb\xbfformat = 1\r\n"))
    assert parsed == {"format": 1}
    assert key_lines(text) == {("format",): 1}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a = \n", "not TOML: Invalid value (at line 1, column 5)"),
        (b"a = 1\na = 2\n", "not TOML: Cannot overwrite a value (at line 2, column 6)"),
        (b"a = 1\nb = '\xff'\n", "not UTF-8 at line 2; save it as UTF-8"),
        (b"a = '\0'\n", "not TOML"),
        (b"a = " + b"[" * 5000, "not TOML"),
        (b"a = " + b"9" * 5000, "not TOML"),
    ],
)
def test_invalid_toml_is_an_error_with_its_place(tmp_path: Path, content: bytes, said: str) -> None:
    path = toml(tmp_path, content)
    with pytest.raises(ScriptError) as caught:
        read_toml(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_missing_or_absurd_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="No such file or directory"):
        read_toml(tmp_path / "none.toml")
    path = toml(tmp_path, b"")
    with path.open("r+b") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(ScriptError, match="larger than 64 MiB; put the cases into a table"):
        read_toml(path)


def test_one_mistake_is_one_line_and_twenty_are_shown_of_many() -> None:
    one, many = Mistakes("x.toml"), Mistakes("x.toml")
    one.add("wrong", location="line 3")
    assert one.report() == "x.toml: line 3: wrong"
    for number in range(MAX_SHOWN + 5):
        many.add(f"wrong {number}")
    lines = many.report().splitlines()
    assert lines[0] == "x.toml: 25 mistakes"
    assert lines[1:-1] == [f"  wrong {number}" for number in range(20)]
    assert lines[-1] == "  and 5 more"
