"""Fetching a script's data: folders, files, archives, URLs; checked, and only once."""

import hashlib
import io
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness.errors import DataError, HateError
from harness.script.load import load_script
from harness.site.cache import cache_folder, cached
from harness.site.fetch import fetch_data

SCRIPT = """\
format = 1
[test]
name = "t"
version = "1"
synopsis = "s"
task = "label"
[[cases.case]]
id = "1"
input = "a"
expect = "x"
[data.images]
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_folder()


def zip_bytes(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # with a fixed date: the digest is in test ids
    return out.getvalue()


ARCHIVE = zip_bytes({"test/1.pgm": b"P5"})
SHA256 = hashlib.sha256(ARCHIVE).hexdigest()


def fetched(folder: Path, data: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "t.hate.toml"
    path.write_text(SCRIPT + data)
    return fetch_data(load_script(path))["images"]


def refusal(folder: Path, data: str) -> str:
    with pytest.raises(HateError) as caught:
        fetched(folder, data)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{folder / 't.hate.toml'}: ")


class Site(ThreadingHTTPServer):
    """Counts its requests."""

    daemon_threads = True
    asked: list[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        good = self.path == "/digits.zip"
        self.send_response(200 if good else 404)
        self.send_header("Content-Length", str(len(ARCHIVE) if good else 0))
        self.end_headers()
        self.wfile.write(ARCHIVE if good else b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing."""


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(("127.0.0.1", 0), Handler) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_file_and_a_folder_beside_the_script_stay_where_they_are(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").write_bytes(b"1")
    assert fetched(tmp_path, 'path = "folder"\n') == tmp_path / "folder"
    assert fetched(tmp_path, 'path = "folder/x"\nbytes = 1\n') == tmp_path / "folder" / "x"
    assert not cache.exists()


def test_an_archive_is_unpacked_into_the_cache_once(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "digits.zip").write_bytes(ARCHIVE)
    data = f'path = "digits.zip"\nunpack = true\nbytes = {len(ARCHIVE)}\nsha256 = "{SHA256}"\n'
    folder = fetched(tmp_path, data)
    assert (folder / "test" / "1.pgm").read_bytes() == b"P5"
    assert folder == cache / "unpacked" / SHA256
    made = folder.stat().st_ctime_ns
    assert fetched(tmp_path, data) == fetched(tmp_path, 'path = "digits.zip"\nunpack = true\n') == folder
    assert folder.stat().st_ctime_ns == made


def test_a_changed_archive_is_another_entry(tmp_path: Path) -> None:
    (tmp_path / "digits.zip").write_bytes(ARCHIVE)
    before = fetched(tmp_path, 'path = "digits.zip"\nunpack = true\n')
    (tmp_path / "digits.zip").write_bytes(zip_bytes({"test/1.pgm": b"other"}))
    after = fetched(tmp_path, 'path = "digits.zip"\nunpack = true\n')
    assert (after / "test" / "1.pgm").read_bytes() == b"other"
    assert after != before


def test_data_that_is_not_what_the_script_says_is_refused(tmp_path: Path) -> None:
    (tmp_path / "digits.zip").write_bytes(ARCHIVE + b"!")
    assert refusal(tmp_path, f'path = "digits.zip"\nbytes = {len(ARCHIVE)}\n') == (
        f"data.images: 'digits.zip' has {len(ARCHIVE) + 1:,} bytes, the script says {len(ARCHIVE):,}"
    )
    said = refusal(tmp_path, f'path = "digits.zip"\nsha256 = "{SHA256}"\n')
    assert said.startswith("data.images: 'digits.zip' has sha256 ")
    assert said.endswith(f"the script says {SHA256}; restore the file")
    (tmp_path / "folder").mkdir()
    assert "is a folder; remove unpack = true" in refusal(tmp_path, 'path = "folder"\nunpack = true\n')


def test_an_archive_that_cannot_be_unpacked_leaves_nothing_behind(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "bad.zip").write_bytes(zip_bytes({"good": b"1", "../bad": b"2"}))
    assert "data.images: bad.zip: member '../bad'" in refusal(tmp_path, 'path = "bad.zip"\nunpack = true\n')
    assert [path.name for path in (cache / "unpacked").iterdir() if path.suffix != ".lock"] == []


def test_a_url_is_downloaded_and_unpacked_once(tmp_path: Path, site: Site) -> None:
    data = f'url = "{site.url}/digits.zip"\nsha256 = "{SHA256}"\nbytes = {len(ARCHIVE)}\n'
    assert fetched(tmp_path, data).read_bytes() == ARCHIVE
    assert (fetched(tmp_path, data + "unpack = true\n") / "test" / "1.pgm").read_bytes() == b"P5"
    assert site.asked == ["/digits.zip"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("page", "sha256", "size", "said"),
    [
        ("digits.zip", "0" * 64, len(ARCHIVE), f"sha256 is {SHA256}, the script says {'0' * 64}"),
        ("digits.zip", SHA256, len(ARCHIVE) + 1, "bytes, the script says"),
        ("digits.zip", SHA256, len(ARCHIVE) - 1, "the script says so"),
        ("none.zip", SHA256, len(ARCHIVE), "404"),
    ],
)
def test_a_wrong_download_is_refused_and_not_kept(
    tmp_path: Path, cache: Path, site: Site, page: str, sha256: str, size: int, said: str
) -> None:
    message = refusal(tmp_path, f'url = "{site.url}/{page}"\nsha256 = "{sha256}"\nbytes = {size}\n')
    assert message.startswith(f"data.images: {site.url}/{page}: ")
    assert said in message
    assert [path.name for path in (cache / "files").iterdir() if path.suffix != ".lock"] == []


def test_an_unwritable_cache_is_an_error_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(DataError, match="set XDG_CACHE_HOME"):
        cached("kind", "key", lambda folder: None)


def test_a_failed_entry_is_made_again_the_next_time(cache: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("")
        raise DataError("half way")

    with pytest.raises(DataError, match="half way"):
        cached("kind", "key", fail)
    entry = cached("kind", "key", lambda folder: (folder / "whole").touch())
    assert [path.name for path in entry.iterdir()] == ["whole"]
    assert sorted(path.name for path in (cache / "kind").iterdir()) == ["key", "key.lock"]


RACE = """
import sys, time
from pathlib import Path
from harness.site.cache import cached

def make(folder):
    with Path(sys.argv[1]).open("a") as log:
        log.write("made\\n")
    for number in range(50):
        (folder / str(number)).write_text(str(number))
        time.sleep(0.002)

print(len(list(cached("kind", "key", make).iterdir())))
"""


@pytest.mark.slow
def test_several_processes_make_an_entry_once_and_all_see_it_complete(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-c", RACE, str(log)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate()[0].strip() for process in running]
    assert said == ["50"] * 4
    assert log.read_text() == "made\n"
