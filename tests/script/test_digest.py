"""The digest of a test, computed again from its definition in docs/reference/test-scripts.md."""

import hashlib
from pathlib import Path

import pytest

from tests.script.scripts import CASES, HEAD, TABLE, script, script_in

REST = """\
[data.images]
path = "images.bin"
[data.folder]
path = "folder"
[data.far]
url = "https://example.org/far.zip"
sha256 = "{far}"
[train]
table = "train.csv"
[gallery]
table = "sub/gallery.csv"
[design]
stratum = "expect"
weights = "weights.csv"
""".replace("{far}", "0" * 64)
FILES: dict[str, str | bytes] = {
    "cases.csv": CASES,
    "images.bin": b"\0\1\2",
    "folder/a.txt": b"a",
    "folder/b/c.txt": b"c",
    "train.csv": "id,input,expect\n",
    "sub/gallery.csv": "id,input\n",
    "weights.csv": "stratum,weight\nx,1\ny,1\n",
}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def as_bytes(name: str) -> bytes:
    content = FILES[name]
    return content.encode() if isinstance(content, str) else content


def listing(entries: dict[str, str]) -> str:
    """SHA-256 over path, NUL, sha256 in hex, newline, sorted by bytes."""
    return sha256(b"".join(sorted(f"{name}\0{digest}\n".encode() for name, digest in entries.items())))


def test_the_digest_is_over_the_script_each_table_and_each_data_entry(tmp_path: Path) -> None:
    path = script_in(tmp_path, HEAD + TABLE + REST, FILES)
    named = {name: sha256(as_bytes(name)) for name in FILES if not name.startswith("folder/")}
    named["t.hate.toml"] = sha256(path.read_bytes())
    named["folder"] = listing({"a.txt": sha256(b"a"), "b/c.txt": sha256(b"c")})
    named["https://example.org/far.zip"] = "0" * 64
    assert script(path).digest == f"1:{listing(named)}"


def test_files_that_the_script_does_not_name_do_not_count(tmp_path: Path) -> None:
    path = script_in(tmp_path, HEAD + TABLE + REST, FILES)
    before = script(path).digest
    (tmp_path / "README.md").write_text("something else")
    (tmp_path / "sub" / "other.csv").write_text("id\n")
    assert script(path).digest == before


def test_the_folder_of_a_test_does_not_count(tmp_path: Path) -> None:
    here, there = (script_in(tmp_path / name, HEAD + TABLE + REST, FILES) for name in ("here", "there/deep"))
    assert script(here).digest == script(there).digest


@pytest.mark.parametrize("name", [*FILES, "t.hate.toml"])
def test_any_byte_changes_the_digest(tmp_path: Path, name: str) -> None:
    path = script_in(tmp_path, HEAD + TABLE + REST + "# a comment counts too\n", FILES)
    before = script(path).digest
    content = bytearray((tmp_path / name).read_bytes())
    content[-1] ^= 1
    (tmp_path / name).write_bytes(bytes(content))
    if name != "t.hate.toml" or content[-1:] != b"\x0b":
        assert script(path).digest != before


def test_names_count_as_well_as_contents(tmp_path: Path) -> None:
    path = script_in(tmp_path, HEAD + TABLE, {"other.csv": CASES})
    before = script(path).digest
    path.write_text(path.read_text().replace("cases.csv", "other.csv"))
    assert script(path).digest != before
    renamed = path.rename(tmp_path / "u.hate.toml")
    renamed.write_text(HEAD + TABLE)
    assert script(renamed).digest != before
