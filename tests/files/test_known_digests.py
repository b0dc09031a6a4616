"""Digests that are kept: the same as computed anew, whatever happens to the files and to what is kept."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.files import known_digests
from harness.files.caches import KNOWN_DIGESTS, cache_folder
from harness.files.digest import file_sha256, path_sha256
from harness.files.known_digests import hashed_anew, known_sha256
from tests.workshop import Workshop

LONG_AGO = time.time() - 1000
MOMENT_NS = 20_000_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data that is large enough to be kept, and old enough to be believed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(known_digests, "MIN_FILES", 1)
    monkeypatch.setattr(known_digests, "GRANULARITY_NS", MOMENT_NS)
    place = tmp_path / "data"
    (place / "deep").mkdir(parents=True)
    for name in ("a", "b", "deep/c", "deep/ü d"):
        (place / name).write_bytes(name.encode() * 10)
    grow_old()
    return place


def grow_old() -> None:
    """Nobody can set a file's time of change, so a moment must pass; the system counts in steps of 10 ms at most."""
    time.sleep(3 * MOMENT_NS / 1e9)


def kept() -> list[Path]:
    folder = cache_folder() / KNOWN_DIGESTS
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that are hashed from now on."""
    names: list[str] = []

    def counted(path: Path) -> str:
        names.append(path.name)
        return file_sha256(path)

    monkeypatch.setattr(known_digests, "file_sha256", counted)
    return names


def test_what_is_known_is_not_read_again(folder: Path, read: list[str]) -> None:
    expected = path_sha256(folder)
    assert known_sha256(folder) == expected
    assert sorted(read) == ["a", "b", "c", "ü d"]
    assert known_sha256(folder) == expected
    assert len(read) == 4
    with hashed_anew():
        assert known_sha256(folder) == expected
    assert len(read) == 8


def same_times(path: Path) -> None:
    found = path.stat()
    path.write_bytes(bytes(reversed(path.read_bytes())))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda folder: (folder / "a").write_bytes(b"other"),
    "content of the same size, with the old time set again": lambda folder: same_times(folder / "deep/c"),
    "a new file": lambda folder: (folder / "new").write_bytes(b"new"),
    "a file gone": lambda folder: (folder / "b").unlink(),
    "another name": lambda folder: (folder / "b").rename(folder / "z"),
    "two names exchanged": lambda folder: [
        (folder / one).rename(folder / other) for one, other in (("a", "t"), ("b", "a"), ("t", "b"))
    ],
    "a file from elsewhere, with its time": lambda folder: older(folder.parent / "x").replace(folder / "a"),
    "a link to a file": lambda folder: (folder / "link").symlink_to(folder / "a"),
    "an empty folder": lambda folder: (folder / "empty").mkdir(),
}


def older(path: Path) -> Path:
    path.write_bytes(b"a" * 10)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_noticed(change: str, folder: Path) -> None:
    known_sha256(folder)
    CHANGES[change](folder)
    assert known_sha256(folder) == path_sha256(folder)
    assert known_sha256(folder) == path_sha256(folder)


def test_a_file_alone(folder: Path, read: list[str]) -> None:
    assert known_sha256(folder / "a") == known_sha256(folder / "a") == file_sha256(folder / "a")
    assert read == ["a"]
    with pytest.raises(FileNotFoundError):
        known_sha256(folder / "absent")


def test_what_changed_moments_ago_is_not_believed(
    folder: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git does with its index: it could change again without another time."""
    monkeypatch.setattr(known_digests, "GRANULARITY_NS", 3600 * 10**9)
    known_sha256(folder)
    known_sha256(folder)
    assert len(read) == 8


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "torn": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "a bit": lambda data: data[:-20] + bytes([data[-20] ^ 1]) + data[-19:],
    "other": lambda data: b"not digests at all",
    "longer": lambda data: data + b"x",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_damaged_is_not_believed(damage: str, folder: Path, read: list[str]) -> None:
    expected = known_sha256(folder)
    [file] = kept()
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    assert known_sha256(folder) == expected
    assert len(read) == 8
    assert known_sha256(folder) == expected
    assert len(read) == 8, "it was written anew"


def test_another_place_with_the_same_files(folder: Path, tmp_path: Path) -> None:
    known_sha256(folder)
    [file] = kept()
    other = tmp_path / "other"
    folder.rename(other)
    (other / "a").write_bytes(b"changed")
    # Even if somebody gives what is kept of one place to another.
    known_digests._file(other).write_bytes(file.read_bytes())
    assert known_sha256(other) == path_sha256(other)


def test_it_is_bounded_and_can_be_switched_off(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]
) -> None:
    monkeypatch.setattr(known_digests, "MAX_BYTES", 600)
    for number in range(8):
        place = tmp_path / f"data-{number}"
        place.mkdir()
        (place / "file").write_bytes(b"x")
        grow_old()
        known_sha256(place)
    assert 1 <= len(kept()) < 8
    assert sum(path.stat().st_size for path in kept()) <= 600
    monkeypatch.setenv("HATE_DIGESTS", "off")
    before = len(read)
    known_sha256(place)
    assert len(read) == before, "path_sha256 reads it"


def test_a_cache_that_is_no_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_bytes(b"")
    assert known_sha256(folder) == path_sha256(folder)


PROGRAM = """
import sys
from pathlib import Path
from harness.files import known_digests
known_digests.MIN_FILES, known_digests.GRANULARITY_NS = 1, 0
for turn in range(100):
    with known_digests.hashed_anew():
        print(known_digests.known_sha256(Path(sys.argv[1])))
    (Path(sys.argv[1] + "-mine") / "f").write_bytes(b"%d" % turn)
    known_digests.known_sha256(Path(sys.argv[1] + "-mine"))
"""


@pytest.mark.slow
def test_several_processes_at_once(folder: Path, tmp_path: Path) -> None:
    expected = path_sha256(folder)
    (tmp_path / "data-mine").mkdir()
    processes = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for process in processes:
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert set(out.split()) == {expected}
    assert known_sha256(tmp_path / "data-mine") == path_sha256(tmp_path / "data-mine")
    assert not [path for path in kept() if path.name.startswith(".")], "nothing unfinished is left"


def test_commands(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """`list` and `run` believe what is known, `check` and `publish` read everything."""
    monkeypatch.setattr(known_digests, "MIN_FILES", 1)
    monkeypatch.setattr(known_digests, "GRANULARITY_NS", MOMENT_NS)
    shop.script(sections='[data.files]\npath = "files"')
    shop.write("toy/files/one.txt", "1")
    shop.interface()
    grow_old()
    names: list[str] = []

    def counted(path: Path) -> str:
        names.append(path.name)
        return file_sha256(path)

    monkeypatch.setattr(known_digests, "file_sha256", counted)
    monkeypatch.setenv("HATE_LIBRARY", str(shop.folder))
    assert shop.call("list", "--format", "json").status == 0
    assert "one.txt" in names
    names.clear()
    first = shop.call("list", "--format", "json").json
    assert shop.call("run", "toy").status == 0
    assert "one.txt" not in names
    assert shop.call("check", "toy").status == 0
    assert "one.txt" in names
    names.clear()
    assert shop.call("publish", "toy", "--to", "site").status == 0
    assert "one.txt" in names
    shop.write("toy/files/one.txt", "2")
    second = shop.call("list", "--format", "json").json
    digests = [next(t["digest"] for t in found["tests"] if t["name"] == "toy") for found in (first, second)]
    assert digests[0] != digests[1]
    assert "digests" in shop.call("cache", "list").out
