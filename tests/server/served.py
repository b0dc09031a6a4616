"""Serve sites: in this process, by `hate serve` in a separate process, and by nginx."""

import hashlib
import json
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from harness.bundled import bundled
from harness.server.app import ServeOptions, SiteServer, listen, make_server
from harness.site.changes import SiteDraft, plan_change
from harness.site.layout import encode
from harness.site.publish import SiteSettings, current_top, lock_site, publish
from harness.site.publish_candidates import Candidate, read_test_candidate, read_transcript_candidate
from harness.site.sites import FolderStore, open_folder

WAIT = 60
DIGITS = ("wisard", "warlock", "witch")

NGINX = """\
daemon off;
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  types {{ application/json json; text/html html; text/css css; text/javascript js; image/svg+xml svg; text/csv csv; }}
  default_type application/octet-stream;
  sendfile on;
  gzip on; gzip_types application/json; gzip_min_length 512; gzip_vary on;
  server {{
    listen 127.0.0.1:{port};
    root {root};
    add_header X-Content-Type-Options nosniff;
    location ~ /\\. {{ return 404; }}
    location = /hate-site.json {{ add_header Cache-Control no-cache; }}
    location ~ ^/(index|files|signatures)/ {{ add_header Cache-Control "public, max-age=31536000, immutable"; }}
  }}
}}
"""


@dataclass
class Served:
    """A running server, and how to send it requests."""

    url: str
    # The lines of its log.
    log: list[str] = field(default_factory=list)
    # If the server is in another process.
    process: "subprocess.Popen[str] | None" = None

    def get(self, path: str, **more: Any) -> requests.Response:
        return requests.get(self.url + path, timeout=WAIT, allow_redirects=False, **more)

    def head(self, path: str, **more: Any) -> requests.Response:
        return requests.head(self.url + path, timeout=WAIT, **more)

    def put(self, path: str, data: Any, token: str = "", **more: Any) -> requests.Response:
        headers = {"Authorization": f"Bearer {token}"} | more.pop("headers", {})
        return requests.put(self.url + path, data=data, headers=headers, timeout=WAIT, **more)

    def raw(self, request: bytes) -> bytes:
        """The answer to bytes that no client would send."""
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        with socket.create_connection((host, int(port)), timeout=WAIT) as connection:
            connection.sendall(request)
            answer = b""
            while block := connection.recv(65536):
                answer += block
            return answer


def published_site(root: Path) -> Path:
    """The bundled digits with their three transcripts, and the blanks without any."""
    scripts, runs = bundled("test_scripts"), bundled("transcripts") / "hdigits"
    tests = [read_test_candidate(scripts / name) for name in ("hdigits", "blank")]
    publish(root, tests, settings=SiteSettings(title="Some tests"))
    publish(root, [read_transcript_candidate(runs / f"{name}.jsonl") for name in DIGITS])
    return root


def publish_unjudged(root: Path, candidates: Sequence[Candidate]) -> None:
    """As older versions of the harness did, whose sites must be shown safely too: whatever the records say."""
    with lock_site(root) as writer:
        change = plan_change(SiteDraft(FolderStore(root)), current_top(root), candidates, "2026-11-16T00:00:00Z")
        writer.put(change.draft)
        assert change.top is not None
        writer.put_top(encode(change.top), None)


def toy_script(folder: Path, *, name: str = "toy", cases: int = 20, **keys: str) -> Path:
    """A small test; every second case is a false claim."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"c{n},x{n},{'y' if n % 2 else 'x'}{n % 3},{'false' if n % 2 else 'true'}" for n in range(cases)]
    (folder / "cases.csv").write_text("\n".join(["id,input,expect,positive", *rows, ""]), encoding="utf-8")
    known = {"synopsis": "a toy", "version": "1.0", "description": "", "license": ""} | keys
    lines = [f"{key} = {json.dumps(value)}" for key, value in known.items()]
    text = "\n".join(
        ["format = 1", "[test]", f'name = "{name}"', 'task = "label"', *lines, "[cases]", 'table = "cases.csv"']
    )
    (folder / f"{name}.hate.toml").write_text(text + "\n", encoding="utf-8")
    return folder


def toy_transcript(site: Path, *, name: str = "toy", wrong: Sequence[int] = (), ids: str = "c", **more: Any) -> bytes:
    """A run of a published toy test, wrong on some cases; `more` are keys of its header, or of all records."""
    index = open_folder(site).test(name)
    assert index is not None
    version = index.latest
    test = {"name": name, "version": version.version, "digest": version.digest, "task": "label", "cases": version.cases}
    record = more.pop("record", {})
    header = {"hate": "transcript", "format": 1, "test": test, "algorithm": {"name": "a", "version": "1"}}
    header |= {"params": {"threshold": 0.0}} | more
    lines, counts = [json.dumps(header)], dict.fromkeys(("TP", "TN", "FP", "FN", "ER"), 0)
    for n in range(version.cases or 0):
        positive, good = n % 2 == 0, n not in wrong
        outcome = ("TP" if good else "FN") if positive else ("TN" if good else "FP")
        counts[outcome] += 1
        claim = f"{'x' if positive else 'y'}{n % 3}"
        answer = f"x{n % 3}" if good else "?" if positive else claim
        said = {"actual": answer, "expect": claim, "score": 1.0}
        lines.append(json.dumps({"id": f"{ids}{n}", "outcome": outcome, "positive": positive} | said | record))
    body = "\n".join(lines) + "\n"
    end = {"end": True, "tests": len(lines) - 1, **counts, "sha256": hashlib.sha256(body.encode()).hexdigest()}
    return (body + json.dumps(end) + "\n").encode()


def repeated(transcript: bytes, answers: int, wrong: Sequence[tuple[int, int]] = ()) -> bytes:
    """The same with several answers per case, all alike except `wrong`: (place, answer) that become failures."""
    header, *records, _ = map(json.loads, transcript.splitlines())
    lines, counts = [json.dumps(header | {"repeat": answers})], dict.fromkeys(("TP", "TN", "FP", "FN", "ER"), 0)
    for index, record in enumerate(records):
        for answer in range(1, answers + 1):
            bad = "FN" if record["positive"] else "FP"
            outcome = bad if (index, answer) in wrong else record["outcome"]
            said = {} if outcome != bad else {"actual": "?" if record["positive"] else record["expect"]}
            counts[outcome] += 1
            lines.append(json.dumps(record | said | {"outcome": outcome, "repeat": answer}))
    body = "\n".join(lines) + "\n"
    end = {"end": True, "tests": len(lines) - 1, **counts, "sha256": hashlib.sha256(body.encode()).hexdigest()}
    return (body + json.dumps(end) + "\n").encode()


class _Log(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self.lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@contextmanager
def serve_here(root: Path, **options: Any) -> Iterator[Served]:
    """The server of `hate serve` on a free port, in a thread of this process, which is fast."""
    server = make_server(ServeOptions(root, **options))
    with listen("127.0.0.1", 0) as listening:
        served = Served(f"http://127.0.0.1:{listening.getsockname()[1]}")
        log = _Log(served.log)
        logging.getLogger().addHandler(log)
        try:
            with SiteServer(root, served.url, server, listening).start():
                yield served
        finally:
            logging.getLogger().removeHandler(log)


@contextmanager
def hate_serve(
    root: Path, *words: str | Path, env: dict[str, str] | None = None, before: Callable[[], None] | None = None
) -> Iterator[Served]:
    """`hate serve` on a free port, stopped by a signal."""
    command = [sys.executable, "-P", "-m", "harness.cli.main", "serve", str(root), "--port", "0", *map(str, words)]
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=before
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    found = re.search(r"at (http://\S+:\d+)/", first)
    if found is None:
        pytest.fail(f"no server: {first}{process.stderr.read()}")
    served = Served(found[1], process=process)
    reader = threading.Thread(target=lambda: served.log.extend(process.stderr or ()))
    reader.start()
    try:
        yield served
    finally:
        process.terminate()
        process.wait(WAIT)
        reader.join()
        process.stderr.close()


def nginx_program() -> str | None:
    """Where nginx is; on Debian, it is only on root's path."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def nginx(root: Path, folder: Path) -> Iterator[Served]:
    """nginx, configured as in docs/how-to/serving.md."""
    program = nginx_program()
    if program is None:
        pytest.skip("nginx is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    user = "user root;" if os.geteuid() == 0 else ""
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, root=root, port=port, user=user), encoding="utf-8")
    process = subprocess.Popen(
        [program, "-c", str(config), "-e", str(folder / "error.log")], stderr=subprocess.DEVNULL, text=True
    )
    try:
        wait_for_port(port, process)
        yield Served(f"http://127.0.0.1:{port}", process=process)
    finally:
        process.terminate()
        process.wait(WAIT)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for_port(port: int, process: "subprocess.Popen[str] | None" = None) -> None:
    for _ in range(WAIT * 50):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if process is not None and process.poll() is not None:
                pytest.fail(f"the server ended: {process.returncode}")
            time.sleep(0.02)
        else:
            return
    pytest.fail("the server never came")
