"""The files of a site over HTTP: `hate serve` and nginx behave the same."""

import hashlib
import json
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from harness.server.files import MAX_CACHED_BYTES, Unsatisfiable, accepts_gzip, is_unchanged, requested_range
from harness.site.layout import TOP, Ref, file_path, index_path
from harness.site.sites import open_folder
from tests.server.served import Served

PLAIN = {"Accept-Encoding": "identity"}


def all_files(site: Path) -> list[str]:
    return sorted(path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file() and not hidden(path))


def hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def transcript_file(site: Path) -> tuple[str, Ref]:
    site_now = open_folder(site)
    index = site_now.test("hdigits")
    assert index is not None
    entry = site_now.transcript(index, "wisard")
    assert entry is not None
    return "/" + file_path(entry.file.sha256), entry.file


def archive_file(site: Path) -> tuple[str, Ref]:
    """A file large enough to be streamed from the disk."""
    site_now = open_folder(site)
    index = site_now.test("hdigits")
    assert index is not None
    largest = max(site_now.release(index, index.latest).files, key=lambda file: file.bytes)
    assert largest.bytes > MAX_CACHED_BYTES
    return "/" + file_path(largest.sha256), largest.ref


FILES = pytest.mark.parametrize("find", [transcript_file, archive_file], ids=["in memory", "streamed"])
Find = Callable[[Path], tuple[str, Ref]]


def test_every_file_is_served_unchanged(server: Served, site: Path) -> None:
    with requests.Session() as session:
        for name in all_files(site):
            for headers in (PLAIN, {"Accept-Encoding": "gzip"}):
                answer = session.get(f"{server.url}/{name}", headers=headers, timeout=60)
                assert answer.status_code == 200, name
                assert answer.content == (site / name).read_bytes(), name


def test_immutable_files_are_cached_forever_and_the_index_is_revalidated(server: Served, site: Path) -> None:
    path, _ = transcript_file(site)
    top = open_folder(site).top
    assert top.tests is not None
    for name in (path, "/" + index_path(top.tests.sha256)):
        assert server.get(name).headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert server.get(f"/{TOP}").headers["Cache-Control"] == "no-cache"


def test_a_current_copy_gets_304(server: Served, site: Path) -> None:
    path, _ = transcript_file(site)
    for name in (path, f"/{TOP}"):
        for encoding in ("identity", "gzip"):
            headers = {"Accept-Encoding": encoding}
            first = server.get(name, headers=headers)
            same = server.get(name, headers=headers | {"If-None-Match": first.headers["ETag"]})
            assert (same.status_code, same.content) == (304, b"")
            # Weak if it was compressed for the transfer; both are compared as weak ones.
            assert same.headers["ETag"].removeprefix("W/") == first.headers["ETag"].removeprefix("W/")
            assert server.get(name, headers=headers | {"If-None-Match": '"other"'}).status_code == 200
        since = {"If-Modified-Since": server.get(name).headers["Last-Modified"]}
        assert server.get(name, headers=since).status_code == 304
        assert server.get(name, headers={"If-Modified-Since": "Mon, 01 Jan 1990 00:00:00 GMT"}).status_code == 200


@FILES
def test_ranges_are_served(server: Served, site: Path, find: Find) -> None:
    path, ref = find(site)
    data = (site / path[1:]).read_bytes()
    for text, part in {"0-9": data[:10], "100-": data[100:], "-7": data[-7:], "5-999999999": data[5:]}.items():
        answer = server.get(path, headers=PLAIN | {"Range": f"bytes={text}"})
        assert (answer.status_code, answer.content) == (206, part)
        assert answer.headers["Content-Range"].endswith(f"/{ref.bytes}")
    beyond = server.get(path, headers=PLAIN | {"Range": f"bytes={ref.bytes}-"})
    assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, f"bytes */{ref.bytes}")


@FILES
def test_a_meaningless_range_is_ignored(served: Served, site: Path, find: Find) -> None:
    """RFC 9110, 14.2: an unknown unit, and any range with a method other than GET."""
    path, ref = find(site)
    for text in ("lines=0-1", "bytes=5-2", "bytes=a-b", "bytes=-", "bytes=0-1,4-5"):
        answer = served.get(path, headers=PLAIN | {"Range": text})
        assert (answer.status_code, len(answer.content)) == (200, ref.bytes), text
    head = served.head(path, headers=PLAIN | {"Range": "bytes=0-9"})
    assert (head.status_code, int(head.headers["Content-Length"])) == (200, ref.bytes)


@FILES
def test_a_download_is_resumed_only_with_the_same_file(server: Served, site: Path, find: Find) -> None:
    path, ref = find(site)
    etag = server.get(path, headers=PLAIN).headers["ETag"]
    resumed = server.get(path, headers=PLAIN | {"Range": "bytes=10-", "If-Range": etag})
    assert (resumed.status_code, len(resumed.content)) == (206, ref.bytes - 10)
    anew = server.get(path, headers=PLAIN | {"Range": "bytes=10-", "If-Range": '"other"'})
    assert (anew.status_code, len(anew.content)) == (200, ref.bytes)


def test_head_has_everything_but_the_body(server: Served, site: Path) -> None:
    files = [(path, ref.bytes) for path, ref in (transcript_file(site), archive_file(site))]
    for name, size in [*files, (f"/{TOP}", (site / TOP).stat().st_size)]:
        answer = server.head(name, headers=PLAIN)
        assert (answer.status_code, answer.content) == (200, b"")
        assert int(answer.headers["Content-Length"]) == size
        assert answer.headers["Accept-Ranges"] == "bytes"
        assert answer.headers["ETag"] == server.get(name, headers=PLAIN).headers["ETag"]


def test_indexes_are_compressed_in_transfer(server: Served, site: Path) -> None:
    large = max((site / "index").rglob("*.json"), key=lambda path: path.stat().st_size)
    name = "/" + large.relative_to(site).as_posix()
    answer = server.get(name, headers={"Accept-Encoding": "gzip"}, stream=True)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == json.loads(large.read_bytes())
    assert "Content-Encoding" not in server.get(name, headers=PLAIN).headers


@pytest.mark.parametrize(
    "path",
    [
        "/../secret", "/files/../../secret", "/files/%2e%2e/%2e%2e/secret", "/..%2fsecret", "/files/..%5c..%5csecret",
        "/.publishing/lock", "/.hidden", "/files/.hidden", "/%2ehidden", "/files/00/" + "0" * 64,
        "/index/" + "../" * 8 + "etc/passwd", "/files/aa/%00", "/secret.txt%00.json",
    ],
)  # fmt: skip
def test_nothing_else_is_served(server: Served, site: Path, path: str) -> None:
    for file in (site.parent / "secret", site / ".hidden", site / "files" / ".hidden"):
        file.write_text("secret")
    answer = server.raw(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert answer.split(b" ", 2)[1] in (b"400", b"403", b"404")
    assert b"secret" not in answer.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(server: Served, site: Path, method: str) -> None:
    before = hashlib.sha256((site / TOP).read_bytes()).hexdigest()
    for path in (f"/{TOP}", transcript_file(site)[0]):
        answer = requests.request(method, server.url + path, data=b"x", timeout=60)
        assert answer.status_code in (403, 405)
    assert hashlib.sha256((site / TOP).read_bytes()).hexdigest() == before


def test_only_what_the_layout_names_is_served(served: Served, site: Path) -> None:
    """Stricter than a plain server: a stray file in the folder is private."""
    (site / "notes.txt").write_text("mine")
    (site / "files" / "ab").mkdir(exist_ok=True)
    stray = site / "files" / "ab" / ("cd" + "0" * 62)
    stray.write_text("in the wrong folder")
    try:
        assert served.get("/notes.txt").status_code == 404
        assert served.get("/" + stray.relative_to(site).as_posix()).status_code == 404
        assert served.get("/files/ab").status_code == 404
    finally:
        stray.unlink()
        (site / "notes.txt").unlink()


def test_large_files_are_streamed_and_large_texts_compressed(served: Served, site: Path) -> None:
    path, ref = transcript_file(site)
    whole = served.get(path, headers={"Accept-Encoding": "gzip"}, stream=True)
    assert whole.headers["Content-Encoding"] == "gzip"
    assert int(whole.headers["Content-Length"]) < ref.bytes / 3
    path, ref = archive_file(site)
    packed = served.get(path, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in packed.headers
    assert hashlib.sha256(packed.content).hexdigest() == ref.sha256


def test_foreign_files_are_never_pages(served: Served, site: Path) -> None:
    answer = served.get(transcript_file(site)[0])
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


ETAG, MODIFIED = '"abc"', 1_700_000_000.7
DATE = formatdate(MODIFIED, usegmt=True)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"if-none-match": '"abc"'}, True),
        ({"if-none-match": 'W/"abc"'}, True),
        ({"if-none-match": '"x", "abc" , "y"'}, True),
        ({"if-none-match": "*"}, True),
        ({"if-none-match": '"x"'}, False),
        ({"if-none-match": "abc"}, False),
        ({"if-none-match": '"x"', "if-modified-since": DATE}, False),
        ({"if-modified-since": DATE}, True),
        ({"if-modified-since": formatdate(MODIFIED + 9, usegmt=True)}, True),
        ({"if-modified-since": formatdate(MODIFIED - 9, usegmt=True)}, False),
        ({"if-modified-since": "yesterday"}, False),
        ({"if-modified-since": "Mon, 99 Nov 99999 00:00:00 GMT"}, False),
    ],
)
def test_whether_a_copy_is_current(headers: dict[str, str], expected: bool) -> None:
    assert is_unchanged(headers, ETAG, MODIFIED) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bytes=0-0", (0, 1)),
        ("bytes=2-5", (2, 6)),
        ("bytes=5-", (5, 10)),
        ("bytes=-3", (7, 10)),
        ("bytes=-99", (0, 10)),
        ("bytes=3-99", (3, 10)),
        ("BYTES=1-2", (1, 3)),
        ("", None),
        ("bytes=-", None),
        ("bytes=5-2", None),
        ("bytes=0-1,4-5", None),
        ("lines=0-1", None),
        ("bytes=a-b", None),
        ("bytes=0-" + "9" * 5000, None),
        ("bytes=²-³", None),
    ],
)
def test_ranges_of_ten_bytes(text: str, expected: tuple[int, int] | None) -> None:
    assert requested_range({"range": text}, 10, ETAG, MODIFIED) == expected


@pytest.mark.parametrize("text", ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=999999-"])
def test_ranges_after_the_end(text: str) -> None:
    with pytest.raises(Unsatisfiable):
        requested_range({"range": text}, 10, ETAG, MODIFIED)


@given(st.text(alphabet="bytes=-,0123456789 ", max_size=30), st.integers(0, 50))
def test_a_range_is_inside_the_file_or_none(text: str, size: int) -> None:
    try:
        bounds = requested_range({"range": text}, size, ETAG, MODIFIED)
    except Unsatisfiable:
        return
    assert bounds is None or 0 <= bounds[0] < bounds[1] <= size


@pytest.mark.parametrize(
    ("condition", "matches"),
    [(ETAG, True), (DATE, True), ('W/"abc"', False), ('"x"', False), (formatdate(0, usegmt=True), False), ("?", False)],
)
def test_if_range_with_another_file_gets_the_whole_file(condition: str, matches: bool) -> None:
    bounds = requested_range({"range": "bytes=0-1", "if-range": condition}, 10, ETAG, MODIFIED)
    assert (bounds is not None) is matches


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False), ("gzip", True), ("GZIP", True), ("br, gzip;q=0.5", True), ("gzip;q=0", False),
        ("gzip; q=0.000", False), ("*", True), ("*;q=0", False), ("identity", False), ("br;q=1, *;q=0.1", True),
        ("gzip;q=0, *", False),
    ],
)  # fmt: skip
def test_who_accepts_gzip(text: str, expected: bool) -> None:
    assert accepts_gzip({"accept-encoding": text}) is expected
