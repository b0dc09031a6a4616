"""[http]: a real server in a thread, with good and bad replies."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from harness.interface.http import Connection
from tests.workshop import WAIT, Record, Workshop, errors

Handler = BaseHTTPRequestHandler


class Server(ThreadingHTTPServer):
    """Answers case c0 by calling `act`, and all others well; remembers the requests."""

    daemon_threads = True

    def __init__(self, act: Callable[[Handler], None]) -> None:
        self.asked: list[tuple[dict[str, str], Any]] = []
        self.clients: list[Any] = []
        self.over = threading.Event()
        server = self

        class Service(Handler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # noqa: N802 (the library's name)
                case = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.asked.append((dict(self.headers) | {"target": self.path}, case))
                server.clients.append(self.client_address)
                if case["id"] == "c0":
                    act(self)
                else:
                    reply(self, json.dumps({"label": case["input"]}).encode())

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Service)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/answer"

    def handle_error(self, *_: Any) -> None:
        """Do not report clients that have gone away: some tests do that on purpose."""


def reply(to: Handler, body: bytes, status: int = 200, **headers: str) -> None:
    to.send_response(status)
    to.send_header("Content-Length", str(len(body)))
    for name, value in headers.items():
        to.send_header(name, value)
    to.end_headers()
    to.wfile.write(body)


@pytest.fixture
def serve(shop: Workshop) -> Iterator[Callable[[Callable[[Handler], None]], Server]]:
    servers: list[Server] = []

    def begin(act: Callable[[Handler], None]) -> Server:
        server = Server(act)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        shop.script(4)
        shop.toml(f'[http]\nurl = "{server.url}"\nheaders = {{X-Key = "k-{{env:TOY_KEY}}"}}\n')
        return server

    yield begin
    for server in servers:
        server.over.set()
        server.shutdown()
        server.server_close()


Serve = Callable[[Callable[[Handler], None]], Server]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_KEY", "secret")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def all_good(others: list[Record]) -> bool:
    return [record["outcome"] for record in others] == ["TN", "TP", "TN"]


def chunked(to: Handler) -> None:
    to.send_response(200)
    to.send_header("Transfer-Encoding", "chunked")
    to.end_headers()
    to.wfile.write(b'2\r\n"x\r\n2\r\n0"\r\n0\r\n\r\n')


def closing(to: Handler) -> None:
    """Says so, as it should."""
    reply(to, b'"x0"', Connection="close")


def old(to: Handler) -> None:
    to.wfile.write(b'HTTP/1.0 200 OK\r\n\r\n"x0"')
    to.close_connection = True


def continuing(to: Handler) -> None:
    to.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    reply(to, b'"x0"')


@pytest.mark.sampled(3)
@pytest.mark.parametrize("words", [(), ("--timeout", "30"), ("-j", "2")], ids=["", "limited", "two"])
@pytest.mark.parametrize("act", [chunked, closing, old, continuing])
def test_ways_to_send_an_answer(
    act: Callable[[Handler], None], words: tuple[str, ...], shop: Workshop, serve: Serve
) -> None:
    serve(act)
    records = shop.run(*words)
    assert errors(records) == {}
    assert records[0]["outcome"] == "TP"
    assert all_good(records[1:])


def test_a_connection_that_was_closed_while_it_was_idle_is_opened_again(serve: Serve) -> None:
    """As many services do after some seconds."""

    def answer_and_hang_up(to: Handler) -> None:
        reply(to, b'"x0"')
        to.connection.shutdown(socket.SHUT_RDWR)
        hung_up.set()

    hung_up = threading.Event()
    server = serve(answer_and_hang_up)
    connection = Connection(server.url, {}, None)
    for _ in range(3):
        assert connection.post(b'{"id": "c0"}').content == b'"x0"'
        assert hung_up.wait(WAIT)
        hung_up.clear()
    connection.end()
    assert len(set(server.clients)) == 3


def test_one_connection_is_kept(shop: Workshop, serve: Serve) -> None:
    server = serve(lambda to: reply(to, b'"x0"'))
    shop.run("--timeout", "30")
    assert len({port for _, port in server.clients}) == 1


GOOD = {
    "object": b'{"label": "x0"}',
    "bare": b'"x0"',
    "scores": b'{"scores": {"x0": 2, "b": 1}}',
    "wrapped": b'{"answer": ["x0", 2]}',
}


@pytest.mark.parametrize("body", GOOD)
def test_answers(body: str, shop: Workshop, serve: Serve) -> None:
    serve(lambda to: reply(to, GOOD[body]))
    records = shop.run()
    assert errors(records) == {}
    assert records[0]["outcome"] == "TP"
    assert all_good(records[1:])


@pytest.mark.parametrize("body", [b"", b"null", b'{"label": null}'])
def test_refusals(body: bytes, shop: Workshop, serve: Serve) -> None:
    serve(lambda to: reply(to, body))
    records = shop.run()
    assert errors(records) == {}
    assert "actual" not in records[0]


def test_what_the_service_is_told(shop: Workshop, serve: Serve) -> None:
    server = serve(lambda to: reply(to, b'"x0"'))
    shop.run("--param", "threshold=0.5", "--repeat", "2", "-j", "2")
    seen = sorted((case for _, case in server.asked if case["id"] == "c0"), key=lambda case: case.get("repeat", 1))
    assert seen == [
        {"id": "c0", "input": "x0", "params": {"threshold": 0.5}},
        {"id": "c0", "input": "x0", "params": {"threshold": 0.5}, "repeat": 2},
    ]
    headers, _ = server.asked[0]
    assert headers["X-Key"] == "k-secret"
    assert headers["Content-Type"] == "application/json"
    assert "secret" not in (shop.folder / "out.jsonl").read_text()


def crashing(to: Handler) -> None:
    reply(to, b"model\nnot loaded", 500)


def redirecting(to: Handler) -> None:
    reply(to, b"", 302, Location="http://127.0.0.1:9/")


def hanging_up(to: Handler) -> None:
    to.connection.shutdown(socket.SHUT_RDWR)


def short(to: Handler) -> None:
    to.send_response(200)
    to.send_header("Content-Length", "100")
    to.end_headers()
    to.wfile.write(b'"x')
    to.close_connection = True


def endless(to: Handler) -> None:
    to.send_response(200)
    to.end_headers()
    to.close_connection = True
    for _ in range(17 << 4):
        to.wfile.write(b"x" * (1 << 16))


FAILURES: dict[str, tuple[Callable[[Handler], None], str, str]] = {
    "500": (crashing, "crash", "HTTP 500 Internal Server Error: model not loaded"),
    "404": (lambda to: reply(to, b"", 404), "crash", "HTTP 404"),
    "redirect": (redirecting, "crash", "HTTP 302"),
    "not JSON": (lambda to: reply(to, b"<html>hello</html>"), "answer", "'<html>hello</html>', which is not JSON"),
    "NaN": (lambda to: reply(to, b'{"label": "a", "score": NaN}'), "answer", "not JSON"),
    "not UTF-8": (lambda to: reply(to, b'"\xff"'), "answer", "not JSON"),
    "an error": (lambda to: reply(to, b'{"error": "too dark"}'), "crash", "too dark"),
    "hangs up": (hanging_up, "interface", "127.0.0.1"),
    "too short": (short, "interface", "127.0.0.1"),
    "endless": (endless, "answer", "more than 16 MiB"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("words", [(), ("--timeout", "30")], ids=["", "limited"])
@pytest.mark.parametrize("what", FAILURES)
def test_a_failure_is_an_error_of_its_case_only(
    what: str, words: tuple[str, ...], shop: Workshop, serve: Serve
) -> None:
    act, kind, word = FAILURES[what]
    serve(act)
    records = shop.run(*words)
    assert errors(records) == {"c0": kind}
    assert word in records[0]["message"]
    assert all_good(records[1:])


def silent(to: Handler) -> None:
    to.server.over.wait(30)  # type: ignore[attr-defined]


def stalling(to: Handler) -> None:
    to.send_response(200)
    to.send_header("Content-Length", "4")
    to.end_headers()
    to.wfile.write(b'"x')
    silent(to)


def dribbling(to: Handler) -> None:
    to.send_response(200)
    to.send_header("Content-Length", "100000")
    to.end_headers()
    dribble(to, b" ")


def dribbling_headers(to: Handler) -> None:
    to.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    dribble(to, b"x")


def dribble(to: Handler, byte: bytes) -> None:
    while not to.server.over.is_set():  # type: ignore[attr-defined]
        to.wfile.write(byte)
        time.sleep(0.02)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("act", [silent, stalling, dribbling, dribbling_headers])
def test_the_time_limit_is_for_the_whole_answer(act: Callable[[Handler], None], shop: Workshop, serve: Serve) -> None:
    serve(act)
    records = shop.run("--timeout", "0.5")
    assert errors(records) == {"c0": "timeout"}
    assert records[0]["message"] == "no answer in 0.5 s"
    assert all_good(records[1:])


def test_no_service(shop: Workshop) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        shop.script(4)
        shop.toml(f'[http]\nurl = "{url}"\n')
        done = shop.call("run", "toy")
    assert done.status == 2
    assert done.err == f"hate: {url}: Connection refused; is the service running?\n"


def test_a_secret_that_is_not_set(shop: Workshop, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(lambda to: reply(to, b'"x0"'))
    monkeypatch.delenv("TOY_KEY")
    done = shop.call("run", "toy")
    assert done.status == 2
    assert "X-Key: environment variable TOY_KEY is not set" in done.err


def test_a_secret_that_is_no_header(shop: Workshop, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line break would begin another header."""
    server = serve(lambda to: reply(to, b'"x0"'))
    monkeypatch.setenv("TOY_KEY", "a\r\nX-Admin: yes")
    done = shop.call("run", "toy")
    assert done.status == 2
    assert "http.headers.X-Key: not a header" in done.err
    assert "X-Admin" not in done.err
    assert server.asked == []


def test_the_proxy_of_the_environment(shop: Workshop, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 9112, 3.2.2: a proxy is asked with the whole address; RFC 7617: its name and password are in a header."""
    proxy = serve(lambda to: reply(to, b'"x0"'))
    shop.toml('[http]\nurl = "http://service.invalid:81/a b?q=\\u00e9"\n')
    monkeypatch.setenv("http_proxy", f"http://Aladdin:open%20sesame@127.0.0.1:{proxy.server_port}")
    assert errors(shop.run()) == {}
    headers, _ = proxy.asked[0]
    assert headers["target"] == "http://service.invalid:81/a%20b?q=%C3%A9"
    assert headers["Host"] == "service.invalid:81"
    assert headers["Proxy-Authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    monkeypatch.setenv("no_proxy", "service.invalid")
    assert shop.call("run", "toy").status == 2


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(1), now + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *private))
    return folder / "cert.pem", folder / "key.pem"


@pytest.mark.parametrize("words", [(), ("--timeout", "30")], ids=["", "limited"])
def test_a_secure_service(
    words: tuple[str, ...], shop: Workshop, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(lambda to: reply(to, b'"x0"'))
    cert, key = certificate(shop.folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    shop.toml(f'[http]\nurl = "{server.url.replace("http", "https")}"\n')
    done = shop.call("run", "toy", *words)
    assert done.status == 2
    assert "certificate verify failed" in done.err.lower()
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(cert))
    assert errors(shop.run(*words)) == {}


def test_values_beside_an_answer(serve: Serve, shop: Workshop) -> None:
    """Further numbers, beside the keys of a task and beside `answer`."""
    for body in (b'{"label": "x0", "values": {"f1": 0.5}}', b'{"answer": "x0", "values": {"f1": 0.5}}'):
        serve(lambda to, body=body: reply(to, body))  # type: ignore[misc]
        records = shop.run("--force")
        assert records[0]["outcome"] == "TP"
        assert records[0]["values"] == {"f1": 0.5}
