"""Requests per second, by `hate serve` and by nginx from the same folder: `python -m benchmarks.bench_serve`.

Eight connections on the loopback, each with one request at a time; the servers take turns, and the best of three
counts. A page is compared with the same page as a file in nginx, which is as fast as a page can be.
"""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import perf_counter
from harness.site.layout import TOP, file_path, index_path
from harness.site.sites import open_folder
from tests.server.served import Served, hate_serve, nginx, nginx_program, published_site

CONNECTIONS = 8
REQUESTS = 3000
TURNS = 3
QUIET = 0.5
PAGES = {"/": "tests.html", "/tests/hdigits": "test.html", "/compare/hdigits@1.0.0?t=wisard&t=witch": "compare.html"}


@dataclass(frozen=True)
class Load:
    """A request that is sent many times."""

    label: str
    path: str
    headers: str = ""
    # The path of the same page in nginx, if it is another.
    copy: str = ""
    requests: int = REQUESTS


class Client(asyncio.Protocol):
    """Sends the request again after each answer; all answers have the same length."""

    def __init__(self, request: bytes, size: int, count: int, done: "asyncio.Future[None]") -> None:
        self.request, self.size, self.left, self.done = request, size, count, done
        self.missing = size

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.missing -= len(data)
        if self.missing:
            return
        self.missing, self.left = self.size, self.left - 1
        if self.left:
            self.transport.write(self.request)
        else:
            self.transport.close()
            self.done.set_result(None)


async def rate(server: Served, path: str, load: Load) -> float:
    """Answers per second."""
    host, port = server.url.removeprefix("http://").split(":")
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\n{load.headers}\r\n".encode()
    size = await length(host, int(port), request)
    loop = asyncio.get_running_loop()
    share = load.requests // CONNECTIONS
    ends = [loop.create_future() for _ in range(CONNECTIONS)]
    start = perf_counter()
    for end in ends:
        await loop.create_connection(lambda end=end: Client(request, size, share, end), host, int(port))  # type: ignore[misc]
    await asyncio.gather(*ends)
    return share * CONNECTIONS / (perf_counter() - start)


async def length(host: str, port: int, request: bytes) -> int:
    """The length of an answer: what arrives until nothing more does."""
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(request)
    size = len(await reader.read(1 << 20))
    with contextlib.suppress(TimeoutError):
        while True:
            size += len(await asyncio.wait_for(reader.read(1 << 20), QUIET))
    writer.close()
    return size


def loads(site: Path) -> Iterator[Load]:
    """Small and large files, ranges, files that have not changed, and pages, compressed or not."""
    now = open_folder(site)
    index = now.test("hdigits")
    assert index is not None
    assert now.top.tests is not None
    entry = now.transcript(index, "wisard")
    assert entry is not None
    transcript = "/" + file_path(entry.file.sha256)
    yield Load("top index", f"/{TOP}")
    yield Load("index of 0.7 kB", "/" + index_path(now.top.tests.sha256))
    yield Load(f"transcript of {entry.file.bytes // 1000} kB", transcript, requests=REQUESTS // 3)
    yield Load("64 kB of a transcript", transcript, "Range: bytes=0-65535\r\n")
    yield Load("nothing new (304)", transcript, "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n")
    for path, copy in PAGES.items():
        yield Load(f"page {path.partition('?')[0]}", path, copy=f"/{copy}")
        yield Load(f"page {path.partition('?')[0]}, gzip", path, "Accept-Encoding: gzip\r\n", f"/{copy}")


def measure(server: Served, load: Load, path: str) -> float:
    return asyncio.run(rate(server, path, load))


def main() -> None:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        os.environ |= {"HOME": name, "XDG_CACHE_HOME": f"{name}/cache"}
        site = published_site(folder / "site")
        ours = stack.enter_context(hate_serve(site))
        for path, copy in PAGES.items():
            (site / copy).write_bytes(ours.get(path).content)
        peer = stack.enter_context(nginx(site, folder / "nginx")) if nginx_program() else None
        print(f"# {'what':34} {'hate serve/s':>13} {'nginx/s':>9} {'ratio':>6}")
        for load in loads(site):
            own = theirs = 0.0
            for _ in range(TURNS):
                own = max(own, measure(ours, load, load.path))
                theirs = max(theirs, measure(peer, load, load.copy or load.path)) if peer else 0.0
            shown = f"{theirs:9.0f} {own / theirs:6.2f}" if peer else "        -      -"
            print(f"{load.label:36} {own:13.0f} {shown}", flush=True)


if __name__ == "__main__":
    main()
