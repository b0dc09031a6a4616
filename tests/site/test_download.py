"""Downloads over real sockets: files arrive complete, and every error is one line that names the URL."""

import gzip
import hashlib
import os
import pty
import shutil
import socket
import subprocess
import threading
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from harness.errors import DataError, Unreachable
from harness.report.progress import PATIENCE, BarRow, DownloadBars
from harness.site.download import download
from harness.site.download_request import DownloadLimits, DownloadRequest, content_request
from tests.site.published_site import make_site, served
from tests.site.serving import Handler, Page, body, in_turn, redirect, self_signed, serving
from tests.workshop import WAIT, Workshop, command

CONTENT = b"all of it\n" * 5000
QUICK = DownloadLimits(pause=0.001)


def downloaded(tmp_path: Path, url: str, limits: DownloadLimits = QUICK) -> bytes:
    target = tmp_path / "target"
    result = download(DownloadRequest(url, limits), target)
    assert result.path == target
    assert result.size == target.stat().st_size
    assert result.sha256 == hashlib.sha256(target.read_bytes()).hexdigest()
    return target.read_bytes()


def refusal(tmp_path: Path, url: str, limits: DownloadLimits = QUICK) -> str:
    with pytest.raises(DataError) as caught:
        downloaded(tmp_path, url, limits)
    text = str(caught.value)
    assert len(text.splitlines()) == 1
    return text


@pytest.mark.parametrize("page", [
    body(CONTENT),
    body(gzip.compress(CONTENT), Content_Encoding="gzip"),
    body(gzip.compress(CONTENT[:7]) + gzip.compress(CONTENT[7:]), Content_Encoding="x-gzip"),
    lambda handler: chunked(handler, CONTENT),
], ids=["plain", "gzip", "two members", "chunked"])  # fmt: skip
def test_what_arrives_is_what_was_served(tmp_path: Path, page: Page) -> None:
    with serving({"/f": page}) as server:
        assert downloaded(tmp_path, server.url("/f")) == CONTENT


def chunked(handler: Handler, content: bytes, *, whole: bool = True) -> None:
    handler.protocol_version = "HTTP/1.1"
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
    if whole:
        handler.wfile.write(b"0\r\n\r\n")


def torn(handler: Handler) -> None:
    handler.answer(CONTENT[:100], Content_Length=str(len(CONTENT)))


BAD_PAGES: dict[str, tuple[Page, str]] = {
    "gone": (lambda handler: handler.answer(status=404), "HTTP 404 Not Found"),
    "forbidden": (lambda handler: handler.answer(status=403), "HTTP 403 Forbidden"),
    "no content": (lambda handler: handler.answer(status=204), "HTTP 204"),
    "not asked": (lambda handler: handler.answer(status=304), "HTTP 304"),
    "torn": (torn, f"the body ends after 100 of {len(CONTENT):,} bytes"),
    "torn chunks": (lambda handler: chunked(handler, b"x" * 100, whole=False), "the connection broke after"),
    "torn gzip": (body(gzip.compress(CONTENT)[:-9], Content_Encoding="gzip"), "the compressed data ends early"),
    "not gzip": (body(CONTENT, Content_Encoding="gzip"), "damaged compressed data"),
    "other coding": (body(CONTENT, Content_Encoding="br"), "sent as 'br', which was not requested"),
    "broken server": (lambda handler: handler.answer(status=500), "HTTP 500 Internal Server Error"),
    "to a file": (redirect("file:///etc/passwd"), "redirected to file:///etc/passwd, which is not an http"),
    "to nonsense": (redirect("http://[/"), "which is not an http or https address"),
    "loop": (redirect("/f"), "more than 5 redirects"),
}


@pytest.mark.parametrize("kind", BAD_PAGES)
def test_a_bad_answer_is_one_line_with_the_url(tmp_path: Path, kind: str) -> None:
    page, expected = BAD_PAGES[kind]
    with serving({"/f": page}) as server:
        text = refusal(tmp_path, server.url("/f"))
        assert text.startswith(server.url("/f"))
    assert expected in text


def test_a_refused_connection_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert "cannot connect: Connection refused" in refusal(tmp_path, f"http://127.0.0.1:{port}/f")


def test_a_server_that_does_not_speak_http(tmp_path: Path) -> None:
    def other(handler: Handler) -> None:
        handler.wfile.write(b"220 ready\r\n")

    with serving({"/f": other}) as server:
        assert "cannot connect" in refusal(tmp_path, server.url("/f"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("trickle", ["body", "head", "nothing"])
def test_a_slow_server_times_out(tmp_path: Path, trickle: str) -> None:
    """Single bytes, each within the timeout of a socket: only a limit on the total time ends that."""
    over = threading.Event()

    def slow(handler: Handler) -> None:
        if trickle == "body":
            handler.answer(b"", Content_Length="1000000")
        while trickle != "nothing" and not over.wait(0.02):
            handler.wfile.write(b"H")
        over.wait(60)

    with serving({"/f": slow}) as server:
        text = refusal(tmp_path, server.url("/f"), DownloadLimits(seconds=0.5))
        over.set()
    assert text == f"{server.url('/f')}: not finished after 0.5 s; allow more time with --http-timeout"


def test_a_silent_server_times_out(tmp_path: Path) -> None:
    over = threading.Event()

    def silent(handler: Handler) -> None:
        over.wait(60)

    with serving({"/f": silent}) as server:
        text = refusal(tmp_path, server.url("/f"), DownloadLimits(silent_seconds=0.1, attempts=2, pause=0.001))
        over.set()
    assert text.endswith("no answer in time")


@pytest.mark.parametrize("page", [
    body(CONTENT),
    lambda handler: chunked(handler, CONTENT),
    body(gzip.compress(bytes(10_000_000)), Content_Encoding="gzip"),
], ids=["announced", "not announced", "bomb"])  # fmt: skip
def test_a_large_file_is_refused_before_it_has_arrived(tmp_path: Path, page: Page) -> None:
    with serving({"/f": page}) as server:
        text = refusal(tmp_path, server.url("/f"), DownloadLimits(size=20_000))
    assert "larger than 20,000 bytes" in text
    target = tmp_path / "target"
    assert not target.exists() or target.stat().st_size <= 20_000


def test_temporary_errors_are_retried(tmp_path: Path) -> None:
    failures: list[Page] = [
        lambda handler: handler.answer(status=503),
        torn,
        lambda handler: handler.answer(status=429),
    ]
    with serving({"/f": in_turn(*failures, body(CONTENT))}) as server:
        assert downloaded(tmp_path, server.url("/f")) == CONTENT
        assert len(server.seen) == 4


@pytest.mark.parametrize(("status", "times"), [(404, 1), (403, 1), (500, 4), (503, 4), (429, 4)])
def test_permanent_errors_are_not_retried(tmp_path: Path, status: int, times: int) -> None:
    with serving({"/f": lambda handler: handler.answer(status=status)}) as server:
        refusal(tmp_path, server.url("/f"))
        assert len(server.seen) == times


def test_a_retry_after_of_hours_is_an_error(tmp_path: Path) -> None:
    with serving({"/f": lambda handler: handler.answer(status=503, Retry_After="7200")}) as server:
        assert "HTTP 503" in refusal(tmp_path, server.url("/f"))
        assert len(server.seen) == 1


def test_redirects_are_followed(tmp_path: Path) -> None:
    hops: dict[str, Page] = {
        f"/{n}": redirect(f"/{n + 1}", status) for n, status in enumerate((301, 302, 303, 307, 308))
    }
    with serving(hops | {"/5": body(CONTENT)}) as server:
        assert downloaded(tmp_path, server.url("/0")) == CONTENT


def test_the_body_of_a_redirect_is_not_read(tmp_path: Path) -> None:
    over = threading.Event()

    def endless(handler: Handler) -> None:
        handler.answer(status=302, Location="/g", Content_Length=str(1 << 40))
        over.wait(60)

    with serving({"/f": endless, "/g": body(CONTENT)}) as server:
        assert downloaded(tmp_path, server.url("/f"), DownloadLimits(seconds=30)) == CONTENT
        over.set()


def test_credentials_go_to_their_own_host_and_to_no_message(tmp_path: Path) -> None:
    with serving({"/f": body(CONTENT), "/missing": redirect("/404")}) as other:
        pages: dict[str, Page] = {"/f": redirect("/g"), "/g": redirect(other.url("/f"))}
        with serving(pages) as server:
            assert downloaded(tmp_path, server.url("/f", user="ann:s%20cret@")) == CONTENT
            # RFC 7617: base64 of "ann:s cret".
            assert [h["Authorization"] for _, h in server.seen] == ["Basic YW5uOnMgY3JldA=="] * 2
        assert ["Authorization" in headers for _, headers in other.seen] == [False]
        text = refusal(tmp_path, other.url("/missing?token=abc&page=2", user="ann:s%20cret@"))
    assert "***@127.0.0.1" in text
    assert "token=***&page=2" in text
    assert "cret" not in text


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here to make a certificate with")
    return self_signed(tmp_path)


def test_a_self_signed_certificate_is_refused(tmp_path: Path, certificate: Path) -> None:
    with serving({"/f": body(CONTENT)}, certificate) as server:
        text = refusal(tmp_path, server.url("/f"))
    assert text == f"{server.url('/f')}: the server's certificate is not valid: self-signed certificate"


def test_https_to_an_http_server(tmp_path: Path) -> None:
    with serving({"/f": body(CONTENT)}) as server:
        assert "no encrypted connection" in refusal(tmp_path, server.url("/f").replace("http:", "https:"))


def test_no_redirect_from_https_to_http(tmp_path: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "cert.pem"))
    with serving({"/f": body(CONTENT)}) as plain:
        pages = {"/f": redirect(plain.url("/f")), "/g": redirect("/h"), "/h": body(CONTENT)}
        with serving(pages, certificate) as server:
            assert downloaded(tmp_path, server.url("/g")) == CONTENT
            text = refusal(tmp_path, server.url("/f"))
        assert plain.seen == []
    assert text == f"{server.url('/f')}: redirected to {plain.url('/f')}, which is not encrypted; refused"


def test_unreachable_differs_from_refused(tmp_path: Path) -> None:
    """An older copy may be used if the server is down, but not if the file is gone."""
    pages: dict[str, Page] = {"/away": lambda handler: handler.answer(status=502)}
    with serving(pages) as server:
        with pytest.raises(Unreachable):
            downloaded(tmp_path, server.url("/away"))
        with pytest.raises(DataError) as caught:
            downloaded(tmp_path, server.url("/gone"))
    assert not isinstance(caught.value, Unreachable)


def known_download(page: Page, tmp_path: Path, size: int | None) -> Callable[[], None]:
    def run() -> None:
        with serving({"/f": page}) as server:
            sha256 = hashlib.sha256(CONTENT).hexdigest()
            download(content_request([server.url("/f")], sha256, size), tmp_path / "data")

    return run


def test_data_is_what_the_script_says(tmp_path: Path) -> None:
    known_download(body(CONTENT), tmp_path, len(CONTENT))()
    assert (tmp_path / "data").read_bytes() == CONTENT
    for page, size, expected in (
        (body(CONTENT), len(CONTENT) - 1, "the script says so; refused"),
        (body(CONTENT), len(CONTENT) + 1, "the script says"),
        (body(zlib.compress(CONTENT)), None, "not the expected content"),
    ):
        with pytest.raises(DataError, match=expected):
            known_download(page, tmp_path, size)()


def test_an_unchanged_file_is_not_sent(tmp_path: Path) -> None:
    def page(handler: Handler) -> None:
        fresh = handler.headers["If-None-Match"] == '"one"' and handler.headers["If-Modified-Since"] == "then"
        handler.answer(status=304) if fresh else handler.answer(CONTENT, ETag='"one"', Last_Modified="then")

    with serving({"/f": page}) as server:
        first = download(DownloadRequest(server.url("/f"), QUICK), tmp_path / "a")
        assert download(DownloadRequest(server.url("/f"), QUICK, known=first), tmp_path / "b") is first
    assert not (tmp_path / "b").exists()


@pytest.mark.slow
def test_a_long_download_is_shown_on_a_terminal_by_the_name_of_its_file(shop: Workshop, tmp_path: Path) -> None:
    root = make_site(shop, tmp_path / "site")
    data = next(path for path in (root / "files").rglob("*") if path.is_file() and path.read_bytes() == b"x3")

    def slow(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "2")
        handler.end_headers()
        threading.Event().wait(PATIENCE + 0.5)
        handler.wfile.write(b"x3")

    with served(root) as server:
        server.pages[f"/files/{data.name[:2]}/{data.name}"] = slow
        screen = on_terminal(shop, "fetch", server.url("/tests/tiny"))
    assert "3.txt" in screen
    assert "2 bytes of 2 bytes" in screen


def on_terminal(shop: Workshop, *words: str) -> str:
    ours, theirs = pty.openpty()
    env = {**shop.env, "TERM": "xterm", "COLUMNS": "100", "XDG_CACHE_HOME": str(shop.folder / "cache")}
    process = subprocess.Popen(command(words), cwd=shop.folder, env=env, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 4096):
            shown += block
    except OSError:  # how a terminal ends on Linux
        pass
    os.close(ours)
    assert process.wait(WAIT) == 0, shown
    return shown.decode()


def test_no_bar_for_quick_or_abandoned_downloads() -> None:
    shown: list[str] = []

    class Display:
        def prepare(self) -> None:
            pass

        def show(self, rows: Mapping[str, BarRow]) -> None:
            shown.extend(row.line for row in rows.values())

        def close(self, line: str) -> None:
            shown.append(f"closed {line}")

    bars = DownloadBars(Display())
    bars.begin("a", 10, 0)
    bars.advance("a", 10)
    bars.end("a")
    bars = DownloadBars(Display(), patience=0)
    bars.close()
    bars.begin("b", None, 0)
    bars.advance("b", 1)
    bars.end("b")
    assert not shown
    bars = DownloadBars(Display(), patience=0)
    bars.begin("http://here/c", 2000, 0)
    bars.advance("http://here/c", 1500)
    bars.end("http://here/c")
    assert shown == ["c: 1.5 kB of 2.0 kB", "closed c: 1.5 kB of 2.0 kB"]
