"""Digests: scheme 1 of the design page, computed again from its text."""

import hashlib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from harness.files.digest import digest, digest_without_script, file_sha256, folder_sha256, path_sha256
from tests.simulation import examples

quickly = examples(80)
hexes = st.binary(max_size=4).map(lambda data: hashlib.sha256(data).hexdigest())
names = st.text(st.characters(exclude_characters="\0\n", exclude_categories=["Cs"]), min_size=1, max_size=8)
files = st.dictionaries(names, hexes, max_size=6)


def by_hand(listing: dict[str, str]) -> str:
    """SHA-256 over path, NUL, sha256 in hex, newline, sorted by bytes."""
    content = b""
    for path in sorted(listing, key=str.encode):
        content += path.encode() + b"\0" + listing[path].encode() + b"\n"
    return hashlib.sha256(content).hexdigest()


@quickly
@given(files, st.randoms(use_true_random=False))
def test_the_digest_agrees_with_the_design_page_in_any_order(listing: dict[str, str], random: object) -> None:
    order = list(listing)
    random.shuffle(order)  # type: ignore[attr-defined]
    assert digest({path: listing[path] for path in order}) == f"1:{by_hand(listing)}"


@quickly
@given(files, files)
def test_different_files_have_different_digests(one: dict[str, str], other: dict[str, str]) -> None:
    assert (digest(one) == digest(other)) is (one == other)


def test_known_digests() -> None:
    """For no files, the well-known SHA-256 of the empty string."""
    assert digest({}) == "1:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    expected = hashlib.sha256(b"a\x001\nb\x00\n").hexdigest()
    assert digest_without_script([("b", ""), ("a", "1")]) == f"1:{expected}"


def test_a_folder_has_the_digest_of_its_listing_at_any_depth(tmp_path: Path) -> None:
    contents = {"b.txt": b"1", "a/c.txt": b"2", "a.txt": b"3", "ü/z": b"4"}
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "empty").mkdir()
    listing = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    assert folder_sha256(tmp_path) == path_sha256(tmp_path) == by_hand(listing)
    assert path_sha256(tmp_path / "b.txt") == file_sha256(tmp_path / "b.txt") == listing["b.txt"]
    (tmp_path / "a" / "c.txt").rename(tmp_path / "a" / "d.txt")
    assert folder_sha256(tmp_path) != by_hand(listing)


def test_a_name_that_is_not_utf8_is_hashed_by_its_bytes(tmp_path: Path) -> None:
    name = b"caf\xe9".decode("utf-8", "surrogateescape")
    (tmp_path / name).write_bytes(b"1")
    expected = b"caf\xe9\0" + hashlib.sha256(b"1").hexdigest().encode() + b"\n"
    assert folder_sha256(tmp_path) == hashlib.sha256(expected).hexdigest()
