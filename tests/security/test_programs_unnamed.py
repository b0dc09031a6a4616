"""Code that nobody named is not run: to look at a folder is to read it."""

from pathlib import Path

import pytest

from harness.errors import InterfaceError
from harness.interface.load import bundled_interfaces
from harness.interface.python import load_python
from harness.interface.python_source import read_python
from tests.workshop import ECHO, Workshop

BAIT = "from pathlib import Path\nPath({mark!r}).touch()\nNAME = 'bait'\n" + ECHO


@pytest.fixture
def bait(shop: Workshop) -> Workshop:
    """A test from elsewhere, with interfaces in it that leave a mark when they are imported."""
    shop.script()
    text = BAIT.format(mark=str(shop.folder / "ran"))
    for name in ("toy/interface.py", "toy/examples/deep/interface.py", "interface.py"):
        shop.write(name, text)
    return shop


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["check", "toy"],
        ["check", "."],
        ["list", "--interfaces"],
        ["list"],
        ["describe", "toy"],
        ["check", "toy", "toy"],
    ],
    ids=" ".join,
)
def test_looking_runs_nothing(words: list[str], bait: Workshop) -> None:
    done = bait.hate(*words)
    assert done.status == 0
    assert not (bait.folder / "ran").exists()
    if words[0] == "check":
        assert "interface.py: a valid interface: bait (python); read, not run" in done.out


def test_what_is_named_is_loaded(bait: Workshop) -> None:
    done = bait.hate("check", "toy/interface.py")
    assert done.out == "toy/interface.py: a valid interface: bait (python)\n"
    assert (bait.folder / "ran").exists()


@pytest.mark.parametrize("name", [name for name, path in bundled_interfaces().items() if path.suffix == ".py"])
def test_reading_says_what_loading_says(name: str) -> None:
    """The twin: what Python itself makes of the file."""
    path = bundled_interfaces()[name]
    read, loaded = read_python(path), load_python(path)
    assert (read.name, read.version) == (loaded.name, loaded.version)
    assert read.params == {key: param.default for key, param in loaded.params.items()}
    assert (read.learns, read.enrols) == (loaded.learns, loaded.enrols)


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("NAME: str = 'typed'\n" + ECHO, "typed", {}),
        ("PARAMS = {'a': 1, 'b': [2], 3: 4}\n" + ECHO, "folder", {"a": 1}),
        ("NAME = open('x').read()\nPARAMS = dict(a=1)\n" + ECHO, "folder", {}),
        ("NAME = 'outer'\nclass Interface:\n    NAME = 'inner'\n    def answer(self, c, p): pass\n", "inner", {}),
        ("from other import answer\nNAME = 'imported'\n", "imported", {}),
        ("answer = lambda case, params: None\n", "folder", {}),
        ("NAME = 'a'\nNAME = compute()\n" + ECHO, "folder", {}),
    ],
)
def test_constants_are_read_and_nothing_is_computed(
    text: str, name: str, params: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "folder" / "interface.py"
    path.parent.mkdir()
    path.write_text(text)
    interface = read_python(path)
    assert (interface.name, interface.params) == (name, params)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"def answer(:\n", "interface.py:1: invalid syntax"),
        (b"x = 1\n", "no function answer(case, params)"),
        (b"\0", "interface.py"),
        (b"\xff\xfe", "interface.py"),
        (b"x = " + b"(" * 10_000, "interface.py"),
        (b"x = " + b"-" * 100_000 + b"1\n" + ECHO.encode(), "interface.py"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_of_one_line(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "interface.py"
    path.write_bytes(content)
    with pytest.raises(InterfaceError) as caught:
        read_python(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
