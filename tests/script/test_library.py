"""Finding tests by path, or by name in the working folder, in libraries and among the bundled tests."""

import os
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ScriptError, UsageError
from harness.script.library import find_all, find_script, library_folders, scripts_in
from tests.script.scripts import HEAD, TABLE, script_in


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("HATE_LIBRARY", raising=False)
    return folder


def write_script(folder: Path, name: str, version: str = "1.0") -> Path:
    return script_in(folder, (HEAD + TABLE).replace('"t"', f'"{name}"').replace('"1.0"', f'"{version}"'))


def test_bundled_tests_are_found_by_name() -> None:
    assert find_script("hdigits").name == "hdigits.hate.toml"
    assert {"hdigits", "blank"} <= {found.name for found in find_all() if found.site == "bundled"}


def test_the_working_folder_comes_first_then_libraries_then_bundled_tests(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_environment = write_script(tmp_path / "environment" / "x", "hdigits")
    monkeypatch.setenv("HATE_LIBRARY", str(tmp_path / "environment"))
    assert find_script("hdigits") == in_environment
    in_option = write_script(tmp_path / "option" / "x", "hdigits")
    assert find_script("hdigits", [tmp_path / "option"]) == in_option
    mine = write_script(here / "mine", "hdigits")
    assert find_script("hdigits", [tmp_path / "option"]).resolve() == mine


def test_a_version_chooses_among_several(here: Path) -> None:
    one, two = write_script(here / "a", "x", "1.0"), write_script(here / "b", "x", "2.0")
    assert find_script("x").resolve() == one
    assert find_script("x@2.0").resolve() == two
    with pytest.raises(UsageError, match=r"test 'x' has no version 3; there is 1\.0, 2\.0"):
        find_script("x@3")


def test_a_script_is_found_by_file_and_by_folder(here: Path) -> None:
    path = write_script(here / "a", "x")
    for text in ("a", "a/", "./a", "a/t.hate.toml", str(path), str(path.parent)):
        assert find_script(text).resolve() == path


def test_a_byte_order_mark_does_not_hide_a_test(here: Path) -> None:
    path = write_script(here / "a", "marked")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert find_script("marked").resolve() == path


@pytest.mark.parametrize("content", [b"", b"not toml", b"\xff", b"test = 1", b"test = [1]", b"[test]\nname = 1"])
def test_files_that_cannot_be_parsed_are_skipped(here: Path, content: bytes) -> None:
    (here / "bad.hate.toml").write_bytes(content)
    assert all(found.path.name != "bad.hate.toml" for found in find_all())


def test_a_program_with_the_name_of_a_test_does_not_hide_it(here: Path) -> None:
    (here / "hdigits").write_bytes(b"\x7fELF")
    assert find_script("hdigits").name == "hdigits.hate.toml"


def test_a_folder_with_the_name_of_a_test_and_no_script_does_not_hide_it(here: Path) -> None:
    (here / "hdigits").mkdir()
    assert find_script("hdigits").name == "hdigits.hate.toml"


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"no test 'hdigit'; did you mean 'hdigits'\?"):
        find_script("hdigit")
    with pytest.raises(ScriptError, match=r"x/y: no such script"):
        find_script("x/y")
    with pytest.raises(ScriptError, match=r"none\.toml: no such script"):
        find_script("none.toml")


def test_a_folder_with_several_scripts_is_refused(here: Path) -> None:
    write_script(here / "a", "x").rename(here / "a" / "x.hate.toml")
    write_script(here / "a", "y")
    with pytest.raises(ScriptError, match=r"a/: has 2 scripts, t\.hate\.toml, x\.hate\.toml; name one"):
        find_script("a/")


def test_a_missing_library_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder; see --library and HATE_LIBRARY"):
        library_folders([tmp_path / "none"])


def test_a_folder_that_goes_while_tests_are_looked_for_has_none(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As other programs' folders do, where they are shared."""
    for name in ("goes", "stays"):
        write_script(here / name, "toy")
    scan = os.scandir

    def scandir(folder: Path) -> Any:
        if Path(folder).name == "goes":
            Path(folder).rename(here.parent / "gone")
        return scan(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    assert [path.parent.name for path in scripts_in(here)] == ["stays"]
