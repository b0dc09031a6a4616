"""Attacks on the server: silence, forged addresses and hosts, wrong tokens, bombs, and other people's names."""

import gzip
import hashlib
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse
from pathlib import Path

import pytest
import requests

import harness.server
from harness.errors import UsageError
from harness.server.connections import ConnectionLimits, address_key, parse_proxies
from harness.server.database import Database
from harness.server.submissions import SubmissionLimits
from harness.site.publish import publish
from harness.site.publish_candidates import read_test_candidate
from harness.site.sites import open_folder
from tests.server.served import Served, serve_here, toy_script, toy_transcript

PLACE = "/transcripts/toy@1.0/mine"
WAIT = 30


class Target:
    """A site with two tests and two people."""

    def __init__(self, folder: Path) -> None:
        self.root, self.tokens = folder / "site", folder / "tokens.db"
        tests = [toy_script(folder / name, name=name) for name in ("toy", "other")]
        publish(self.root, [read_test_candidate(test) for test in tests])
        self.anna, self.ben = Database(self.tokens).add_token("anna"), Database(self.tokens).add_token("ben")

    def owners(self) -> dict[str, str]:
        site = open_folder(self.root)
        tests = [index for entry in site.tests() if (index := site.test(entry.name)) is not None]
        return {f"{index.name}/{entry.name}": entry.by for index in tests for entry in site.transcripts(index)}


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return Target(tmp_path)


@pytest.fixture
def server(target: Target) -> Iterator[Served]:
    with serve_here(target.root, tokens=target.tokens) as running:
        yield running


def connect(server: Served) -> socket.socket:
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=WAIT)


@contextmanager
def silent(server: Served, count: int, sent: bytes = b"") -> Iterator[list[socket.socket]]:
    """Connections that never send a whole request."""
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(server)) for _ in range(count)]
        for connection in connections:
            connection.sendall(sent)
        yield connections


def is_closed(connection: socket.socket) -> bool:
    """Whether the server closes the connection without another word, within the time of a test."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n"], ids=["nothing", "half a request"])
def test_a_connection_without_a_request_is_closed(target: Target, sent: bytes) -> None:
    limits = ConnectionLimits(request_seconds=0.3)
    with serve_here(target.root, connections=limits) as server, silent(server, 3, sent) as connections:
        assert all(map(is_closed, connections))


def test_a_trickle_of_headers_is_not_a_request(target: Target) -> None:
    limits = ConnectionLimits(request_seconds=0.3)
    with serve_here(target.root, connections=limits) as server, connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        for _ in range(WAIT * 20):
            try:
                connection.sendall(b"X-A: b\r\n")
            except OSError:
                return
            time.sleep(0.05)
        pytest.fail("never closed")


def test_silence_after_a_request_ends_too(target: Target) -> None:
    limits = ConnectionLimits(request_seconds=0.3)
    with serve_here(target.root, connections=limits) as server, connect(server) as connection:
        connection.sendall(b"GET /hate-site.json HTTP/1.1\r\nHost: x\r\n\r\n")
        response = HTTPResponse(connection)
        response.begin()
        assert response.status == 200
        assert response.read()
        # One byte stops the clock of a keep-alive connection, but it is not a request.
        connection.sendall(b"G")
        assert is_closed(connection)


def test_a_client_that_does_not_read_is_disconnected(tmp_path: Path) -> None:
    folder = toy_script(tmp_path / "big", name="big")
    (folder / "README.md").write_bytes(bytes(range(256)) * (1 << 16))
    root = tmp_path / "site"
    publish(root, [read_test_candidate(folder)])
    file = max((root / "files").rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else 0)
    with serve_here(root, connections=ConnectionLimits(reading_seconds=0.3)) as server, connect(server) as connection:
        connection.sendall(f"GET /{file.relative_to(root).as_posix()} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        # However late a busy machine answers, the client has read nothing for three times as long as it may.
        assert connection.recv(1, socket.MSG_PEEK)
        time.sleep(1)
        size = 0
        try:
            while block := connection.recv(1 << 20):
                size += len(block)
        except ConnectionResetError:
            pass
        assert size < 1 << 24


def test_silent_connections_make_room_for_requests(target: Target) -> None:
    limits = ConnectionLimits(request_seconds=60, total=20)
    with serve_here(target.root, connections=limits) as server, silent(server, 40):
        assert [server.get("/").status_code for _ in range(3)] == [200] * 3


def test_one_address_has_so_many_connections(target: Target) -> None:
    limits = ConnectionLimits(request_seconds=60, per_address=5)
    with serve_here(target.root, connections=limits) as server, silent(server, 8) as connections:
        # The oldest were closed to make room.
        assert all(map(is_closed, connections[:3]))
        assert server.get("/").status_code == 200
        assert is_closed(connections[3])


def test_busy_connections_are_not_closed_for_new_ones(target: Target) -> None:
    limits = ConnectionLimits(per_address=3)
    head = f"PUT {PLACE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {target.anna}\r\nContent-Length: 50\r\n\r\n"
    with (
        serve_here(target.root, tokens=target.tokens, connections=limits) as server,
        silent(server, 3, head.encode()) as connections,
    ):
        # A request in progress is not idle; the next connection is refused instead.
        for _ in range(WAIT * 50):
            if len(list((target.root / ".incoming").glob("*"))) == 3:
                break
            time.sleep(0.02)
        assert server.raw(b"").startswith(b"HTTP/1.1 503")
        connections[0].sendall(b"x" * 50)
        assert connections[0].recv(1000).startswith(b"HTTP/1.1 422")


def test_proxies_are_not_limited(target: Target) -> None:
    limits = ConnectionLimits(per_address=2)
    with serve_here(target.root, connections=limits, proxies=["127.0.0.0/8"]) as server, silent(server, 6) as all_six:
        assert server.get("/").status_code == 200
        all_six[0].sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert all_six[0].recv(100).startswith(b"HTTP/1.1 200")


def test_an_address_in_ipv6_is_a_network() -> None:
    assert address_key("192.0.2.1") == "192.0.2.1" == address_key("::ffff:192.0.2.1")
    assert address_key("2001:db8::1") == address_key("2001:db8::ffff:2") != address_key("2001:db8:0:1::1")
    with pytest.raises(UsageError, match="--proxy 'nginx'"):
        parse_proxies(["nginx"])


def test_wrong_tokens_do_not_lock_out_right_ones(target: Target, server: Served) -> None:
    codes = {server.put(PLACE, b"", "anna:guess").status_code for _ in range(30)}
    assert codes == {401, 429}
    assert server.put(PLACE, toy_transcript(target.root), target.anna).status_code == 201


def guesses(server: Served) -> list[int]:
    """Wrong tokens, each from another address, or so the client says."""
    return [server.put(PLACE, b"", "x:y", headers={"X-Forwarded-For": f"192.0.2.{n}"}).status_code for n in range(25)]


def test_only_a_proxy_may_say_for_whom_it_asks(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    # The library's own setting, which is not ours.
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    with serve_here(target.root, tokens=target.tokens) as server:
        assert 429 in guesses(server)
    with serve_here(target.root, tokens=target.tokens, proxies=["127.0.0.1"]) as server:
        assert guesses(server) == [401] * 25
    with serve_here(target.root, tokens=target.tokens, proxies=["192.0.2.0/24"]) as server:
        assert 429 in guesses(server)


HOSTS = ["evil.example", "evil.example/tests/other?", "x/../tests/other#", "evil.example:99999", "[", ""]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("host", HOSTS)
def test_no_page_depends_on_the_host(server: Served, host: str) -> None:
    plain = server.get("/tests/toy").content
    request = f"GET /tests/toy HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    assert server.raw(request.encode()).partition(b"\r\n\r\n")[2] == plain
    for path, kind in (("/tests/toy", b"toy 1.0"), ("/tests/other", b"other 1.0")):
        assert kind in server.get(path).content
    for path in ("/tests/toy/", "/tests/", "//evil.example/", "/compare/toy/"):
        request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        answer = server.raw(request.encode())
        assert re.match(rb"HTTP/1.1 4\d\d ", answer), answer
        assert b"location:" not in answer.lower()
        assert b"evil" not in answer


def test_the_server_never_reads_the_address_that_a_client_names() -> None:
    """Older versions of starlette make request.url of the Host header; the path is in the scope."""
    for path in Path(harness.server.__file__).parent.glob("*.py"):
        code = [line.partition("#")[0] for line in path.read_text(encoding="utf-8").splitlines()]
        assert not [line for line in code if "request.url" in line or "base_url" in line], path.name
    text = (Path(harness.server.__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert '"starlette>=1.0.1"' in text


def test_any_version_of_a_page_that_does_not_exist_is_missing(server: Served) -> None:
    star = {"If-None-Match": "*"}
    assert server.get("/tests/toy", headers=star).status_code == 304
    assert server.get("/hate-site.json", headers=star).status_code == 304
    for path in ("/tests/nothing", "/transcripts/toy@1.0/nobody", "/compare/toy", "/tests/toy@9"):
        assert server.get(path, headers=star).status_code in (400, 404), path


@pytest.mark.sampled(5)
@pytest.mark.parametrize("filler", [b"\n", b" \n", b"\r\n", b"{}\n", b'{"id":"c0","outcome":"TP"}\n'])
def test_zipped_lines_are_refused_before_they_are_parsed(
    target: Target, server: Served, filler: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100 kB that unpack to 100 MB of lines; nothing may decode them."""
    monkeypatch.setattr("harness.transcript.read.TranscriptReader.blocks", lambda _: pytest.fail("parsed"))
    header, _, rest = toy_transcript(target.root).partition(b"\n")
    packed = gzip.compress(header + b"\n" + filler * ((99 << 20) // len(filler)) + rest, 1)
    answer = server.put(PLACE, packed, target.anna)
    assert (answer.status_code, answer.text[:23]) == (422, "more lines than records")


@pytest.mark.sampled(7)
@pytest.mark.parametrize("disguise", ["none", "gzip", "header", "spelling"])
def test_nobody_publishes_the_file_of_another_as_their_own(target: Target, server: Served, disguise: str) -> None:
    data = toy_transcript(target.root, wrong=[3], record={"seconds": 0.0012345})
    assert server.put(PLACE, data, target.anna).status_code == 201
    found = re.search(r'href="(/files/[^"]+)"', server.get(PLACE).text)
    assert found is not None
    copy = server.get(found[1]).content
    assert copy == data
    if disguise == "gzip":
        copy = gzip.compress(copy)
    elif disguise == "header":
        copy = toy_transcript(
            target.root, wrong=[3], record={"seconds": 0.0012345}, algorithm={"name": "ben's", "version": "2"}
        )
    elif disguise == "spelling":
        *lines, end = copy.splitlines()
        body = b"".join(json.dumps(json.loads(line), separators=(",", ":")).encode() + b"\n" for line in lines)
        copy = body + json.dumps(json.loads(end) | {"sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n"
    answer = server.put("/transcripts/toy@1.0/bens", copy, target.ben)
    assert (answer.status_code, answer.text) == (409, "anna has published the same records as 'mine'\n")
    assert target.owners() == {"toy/mine": "anna"}
    # Another run of the same quality is welcome, and so is another name for one's own.
    other = toy_transcript(target.root, wrong=[3], record={"seconds": 0.0054321})
    assert server.put("/transcripts/toy@1.0/bens", other, target.ben).status_code == 201
    assert server.put("/transcripts/toy@1.0/mine-too", data, target.anna).status_code == 201


def test_a_name_belongs_to_its_owner_in_all_tests(target: Target, server: Served) -> None:
    assert server.put(PLACE, toy_transcript(target.root), target.anna).status_code == 201
    theirs = toy_transcript(target.root, name="other", wrong=[1])
    refused = server.put("/transcripts/other@1.0/mine", theirs, target.ben)
    assert (refused.status_code, refused.text) == (409, "the name 'mine' belongs to anna; choose another with --name\n")
    assert server.put("/transcripts/other@1.0/mine", theirs, target.anna).status_code == 201
    assert target.owners() == {"toy/mine": "anna", "other/mine": "anna"}


def test_a_quota_is_by_name_and_day_and_survives_a_restart(target: Target) -> None:
    limits = SubmissionLimits(per_day=2)
    runs = [toy_transcript(target.root, wrong=range(n)) for n in range(6)]

    def put(server: Served, number: int, token: str) -> requests.Response:
        return server.put(f"/transcripts/toy@1.0/r{number}", runs[number], token)

    with serve_here(target.root, tokens=target.tokens, limits=limits) as server:
        assert [put(server, n, target.anna).status_code for n in range(2)] == [201, 201]
        assert not list(target.root.rglob(f"{target.tokens.name}*"))
        assert server.get(f"/{target.tokens.name}").status_code == 404
    with serve_here(target.root, tokens=target.tokens, limits=limits) as server:
        refused = put(server, 2, target.anna)
        assert refused.status_code == 429
        assert "2 submissions a day are allowed for anna" in refused.text
        assert 0 < int(refused.headers["Retry-After"]) <= 86_400
        assert put(server, 3, target.ben).status_code == 201
        Database(target.tokens).set_quota("anna", 3)
        assert put(server, 2, target.anna).status_code == 201
        assert put(server, 4, target.anna).status_code == 429
