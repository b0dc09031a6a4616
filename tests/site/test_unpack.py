"""Archives, honest and hostile: nothing is written outside the folder, and every error names the archive."""

import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import DataError
from harness.site import fetch as unpacking
from harness.site.fetch import unpack

FILES = {"a.txt": b"one", "sub/b.bin": b"\0\1" * 5000, "sub/deep/c.txt": b"", "ü.txt": b"x"}
TARS = ["", ":gz", ":bz2", ":xz"]


def zipped(folder: Path, files: dict[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> Path:
    path = folder / "a.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tarred(folder: Path, files: dict[str, bytes], *, mode: str = "") -> Path:
    path = folder / "a.tar"
    with tarfile.open(path, f"w{mode}") as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def into(tmp_path: Path) -> Path:
    folder = tmp_path / "in" / "side"
    folder.mkdir(parents=True)
    return folder


def refused(archive: Path, tmp_path: Path) -> str:
    before = contents(tmp_path)
    with pytest.raises(DataError) as caught:
        unpack(archive, into(tmp_path))
    outside = {name: data for name, data in contents(tmp_path).items() if not name.startswith("in/side/")}
    assert outside == before
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{archive.name}: ")
    return str(caught.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_is_unpacked(tmp_path: Path, method: int) -> None:
    folder = into(tmp_path)
    unpack(zipped(tmp_path, FILES, method=method), folder)
    assert contents(folder) == FILES


@pytest.mark.parametrize("mode", TARS)
def test_a_tar_is_unpacked(tmp_path: Path, mode: str) -> None:
    folder = into(tmp_path)
    unpack(tarred(tmp_path, FILES, mode=mode), folder)
    assert contents(folder) == FILES


def test_empty_archives_and_empty_folders_are_fine(tmp_path: Path) -> None:
    folder = into(tmp_path)
    unpack(zipped(tmp_path, {}), folder)
    unpack(tarred(tmp_path, {}), folder)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("empty/", b"")
    unpack(tmp_path / "a.zip", folder)
    assert contents(folder) == {}


OUTSIDE = ["../x", "a/../../x", "/tmp/x", "..", "a\\..\\x", "C:/x", "//host/x"]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_names_that_lead_outside_are_refused(
    tmp_path: Path, pack: Callable[[Path, dict[str, bytes]], Path], name: str
) -> None:
    assert "would be unpacked outside its folder" in refused(pack(tmp_path, {"good": b"", name: b"bad"}), tmp_path)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("innocent")
        info.type, info.linkname = kind, "../../outside"
        archive.addfile(info)
    assert "'innocent' is a link or device; pack plain files only" in refused(path, tmp_path)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip_are_refused(tmp_path: Path, kind: int) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("innocent")
        info.external_attr = (kind | 0o777) << 16
        archive.writestr(info, b"../../outside")
    assert "'innocent' is a link or device; pack plain files only" in refused(path, tmp_path)


@pytest.mark.parametrize("pair", [("x", "x"), ("x", "./x"), ("a/x", "a//x"), ("x", "x/y"), ("x/y", "x")])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_with_the_same_path_are_refused(tmp_path: Path, pair: tuple[str, str]) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in pair:
            archive.writestr(name, b"content")
    assert f"member '{pair[1]}' appears twice" in refused(path, tmp_path)


def test_a_bomb_is_refused_by_its_actual_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is a ratio, above a minimum that is lowered here; the sizes in the index do not count."""
    monkeypatch.setattr(unpacking, "MIN_LIMIT", 1000)
    monkeypatch.setattr(unpacking, "MAX_RATIO", 100)
    bomb = zipped(tmp_path, {f"{number}.txt": b"\0" * 1_000_000 for number in range(3)})
    assert "unpacks to more than 100 times its size; refused" in refused(bomb, tmp_path)
    assert sum(map(len, contents(tmp_path / "in").values())) <= 100 * bomb.stat().st_size


def test_a_lying_index_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path, {"a.txt": b"x" * 1000}, method=zipfile.ZIP_STORED)
    content = path.read_bytes()
    central = content.rindex(b"PK\x01\x02")
    lying = content[: central + 24] + (10).to_bytes(4, "little") + content[central + 28 :]
    path.write_bytes(lying)
    assert "damaged" in refused(path, tmp_path)


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MAX_MEMBERS", 2)
    assert "more than 2 files" in refused(zipped(tmp_path, FILES), tmp_path)


@pytest.mark.parametrize("pack", ["zip", *TARS])
def test_a_torn_archive_is_refused_wherever_it_is_torn(tmp_path: Path, pack: str) -> None:
    """Also at the end of a member, where a tar archive looks complete: fewer files would be fewer cases."""
    files = {name: content + bytes(range(256)) * 8 for name, content in FILES.items()}
    whole = (zipped(tmp_path, files) if pack == "zip" else tarred(tmp_path, files, mode=pack)).read_bytes()
    needed = len(whole.rstrip(b"\0")) if pack == "" else len(whole)
    for number, cut in enumerate(sorted({*range(0, needed, max(1, needed // 40) // 512 * 512 or 97), needed - 1})):
        torn = tmp_path / f"torn-{number}"
        torn.write_bytes(whole[:cut])
        with pytest.raises(DataError, match=rf"^{torn.name}: "):
            unpack(torn, into(tmp_path / str(number)))


@pytest.mark.parametrize("pack", ["zip", *TARS])
def test_a_damaged_archive_is_unpacked_or_refused_and_nothing_else(tmp_path: Path, pack: str) -> None:
    """Whichever byte is changed, there is no traceback and no message about the disk."""
    whole = (zipped(tmp_path, FILES) if pack == "zip" else tarred(tmp_path, FILES, mode=pack)).read_bytes()
    refusals = 0
    for number in range(60):
        damaged = bytearray(whole)
        damaged[number * (len(whole) - 1) // 59] ^= 0x55
        path = tmp_path / f"damaged-{number}"
        path.write_bytes(damaged)
        try:
            unpack(path, into(tmp_path / str(number)))
        except DataError:
            refusals += 1
    assert refusals > 0


@pytest.mark.parametrize(
    "content", [b"", b"just text", b"PK\x03\x04 and nothing", lzma.compress(b"no tar"), b"\x1f\x8b"]
)
def test_a_file_that_is_not_an_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    assert "not a zip or tar archive" in refused(path, tmp_path)


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path, {"a.txt": b"x"})
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    assert "encrypted" in refused(path, tmp_path)


def test_names_that_the_file_system_cannot_hold_are_not_a_full_disk(tmp_path: Path) -> None:
    assert "File name too long" in refused(zipped(tmp_path, {"x" * 300: b""}), tmp_path)
