"""`hate submit`: checked here with the server's own code, sent with a token, tried again, and what the server said."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness.server.database import Database
from harness.server.submissions import SubmissionLimits
from harness.site.publish import publish
from harness.site.publish_candidates import read_test_candidate
from harness.site.sites import open_folder
from harness.site.urls import is_exposed
from tests.server.served import Served, serve_here, toy_script
from tests.workshop import Workshop

ECHO = 'NAME = "echo"\ndef answer(case, params):\n    return "x" + str(int(case.input[1:]) % 2)\n'


class Desk:
    """A site with a toy test, a submitter's working folder with a run of it, and a token."""

    def __init__(self, shop: Workshop, folder: Path) -> None:
        self.shop, self.root, self.tokens = shop, folder / "site", folder / "tokens.db"
        self.test = toy_script(folder / "toy")
        publish(self.root, [read_test_candidate(self.test)])
        self.anna = Database(self.tokens).add_token("anna")
        shop.interface(ECHO)
        self.run("mine.jsonl")

    def run(self, output: str, *words: str) -> None:
        done = self.shop.call("run", str(self.test), "-o", output, "--force", *words)
        assert done.status == 0, done.err

    def published(self) -> dict[str, str]:
        site = open_folder(self.root)
        index = site.test("toy")
        assert index is not None
        return {entry.name: entry.by for entry in site.transcripts(index)}

    def sent(self, name: str = "anna") -> int:
        """How many submissions have reached the server."""
        return Database(self.tokens).used(str(self.root.resolve()), name, datetime.now(UTC))

    def forge(self, name: str) -> None:
        """Every outcome of `mine.jsonl` a success, with correct counts and digest."""
        import hashlib

        header, *records, end = self.shop.lines("mine.jsonl")
        records = [record | {"outcome": "TP" if record["positive"] else "TN"} for record in records]
        body = "".join(json.dumps(line) + "\n" for line in (header, *records)).encode()
        counts = {"TP": 10, "TN": 10, "FP": 0, "FN": 0, "sha256": hashlib.sha256(body).hexdigest()}
        self.shop.write(name, body + json.dumps(end | counts).encode() + b"\n")


@pytest.fixture
def desk(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    new = Desk(shop, tmp_path / "desk")
    monkeypatch.setenv("HATE_TOKEN", new.anna)
    return new


@pytest.fixture
def server(desk: Desk) -> Iterator[Served]:
    with serve_here(desk.root, tokens=desk.tokens) as running:
        yield running


def test_a_transcript_is_handed_in(desk: Desk, server: Served) -> None:
    done = desk.shop.call("submit", "mine.jsonl", "--to", server.url, "--format", "json")
    assert done.status == 0, done.err
    page = f"{server.url}/transcripts/toy@1.0/mine"
    assert done.json == {
        "site": server.url,
        "submitted": [{"name": "toy@1.0/mine", "result": "published", "page": page}],
    }
    assert desk.published() == {"mine": "anna"}
    again = desk.shop.call("submit", "mine.jsonl", "--to", f"{server.url}/", "--format", "json")
    assert again.json["submitted"][0]["result"] == "already there"


def test_a_transcript_in_parquet_is_handed_in(desk: Desk, server: Served) -> None:
    assert desk.shop.call("convert", "mine.jsonl", "table.parquet").status == 0
    done = desk.shop.call("submit", "table.parquet", "--to", server.url, "--format", "json")
    assert done.status == 0, done.err
    assert desk.published() == {"table": "anna"}
    again = desk.shop.call("submit", "table.parquet", "--to", server.url, "--format", "json")
    assert again.json["submitted"][0]["result"] == "already there"
    refused = desk.shop.call("submit", "mine.jsonl", "--name", "table", "--to", server.url)
    assert (refused.status, refused.err.count("\n")) == (2, 1)


def test_runs_are_named_as_everywhere(desk: Desk, server: Served) -> None:
    """By the name of a run, under another name, and several at once."""
    assert desk.shop.call("run", str(desk.test)).status == 0
    desk.shop.interface(ECHO.replace("% 2", "% 3"))
    desk.run("other.jsonl.gz")
    done = desk.shop.call("submit", "echo", "other.jsonl.gz", "--to", server.url)
    assert done.status == 0, done.err
    renamed = desk.shop.call("submit", "mine.jsonl", "--name", "third", "--to", server.url)
    assert renamed.status == 0, renamed.err
    assert desk.published() == {"echo": "anna", "other": "anna", "third": "anna"}


def test_the_token_may_be_in_a_file(desk: Desk, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HATE_TOKEN")
    desk.shop.write("token", f"{desk.anna}\n")
    assert desk.shop.call("submit", "mine.jsonl", "--to", server.url, "--token-file", "token").status == 0
    for words, text in (
        ((), "no token in HATE_TOKEN; the site's owner makes one with `hate token add NAME --tokens FILE`"),
        (("--token-file", "nowhere"), "--token-file nowhere: No such file or directory"),
        (("--token-file", "mine.jsonl"), "--token-file mine.jsonl: not a token"),
    ):
        done = desk.shop.call("submit", "mine.jsonl", "--to", server.url, *words)
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert text in done.err


def test_what_the_server_would_refuse_is_not_sent(desk: Desk, server: Served) -> None:
    desk.forge("forged.jsonl")
    desk.run("part.jsonl", "--limit", "5")
    lines = (desk.shop.folder / "mine.jsonl").read_bytes().splitlines(keepends=True)
    desk.shop.write("torn.jsonl", b"".join(lines[:3]))
    for name, text in (("forged", "forged.jsonl:"), ("part", "--limit"), ("torn", "incomplete")):
        done = desk.shop.call("submit", f"{name}.jsonl", "--to", server.url)
        assert done.status == 2
        assert text in done.err
    several = desk.shop.call("submit", "mine.jsonl", "part.jsonl", "torn.jsonl", "--to", server.url)
    assert several.status == 2
    assert "2 of 3 cannot be submitted" in several.err
    assert (desk.sent(), desk.published()) == (0, {})
    dry = desk.shop.call("submit", "mine.jsonl", "--to", server.url, "--dry-run", "--format", "json")
    assert (dry.status, "would be sent" in dry.out) == (0, True)
    assert desk.sent() == 0


def test_a_name_that_is_taken_is_noticed_here(desk: Desk, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    assert desk.shop.call("submit", "mine.jsonl", "--to", server.url).status == 0
    monkeypatch.setenv("HATE_TOKEN", Database(desk.tokens).add_token("ben"))
    copy = desk.shop.call("submit", "mine.jsonl", "--name", "bens", "--to", server.url)
    assert (copy.status, "anna has published the same records as 'mine'" in copy.err) == (2, True)
    desk.shop.interface(ECHO.replace("% 2", "% 3"))
    desk.run("mine.jsonl")
    taken = desk.shop.call("submit", "mine.jsonl", "--to", server.url)
    assert (taken.status, "already has another transcript with the name 'mine'" in taken.err) == (2, True)
    assert desk.sent("ben") == 0


def test_the_server_has_the_last_word(desk: Desk, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATE_TOKEN", "anna:wrong")
    refused = desk.shop.call("submit", "mine.jsonl", "--to", server.url)
    assert refused.status == 2
    assert "refused, HTTP 401: A token is needed" in refused.err.splitlines()[-1]
    monkeypatch.setenv("HATE_TOKEN", desk.anna)
    with serve_here(desk.root, tokens=desk.tokens, limits=SubmissionLimits(max_bytes=200)) as small:
        done = desk.shop.call("submit", "mine.jsonl", "--to", small.url)
        assert "refused, HTTP 413: More than 200 bytes" in done.err
    with serve_here(desk.root) as closed:
        done = desk.shop.call("submit", "mine.jsonl", "--to", closed.url)
        assert "this site takes no transcripts" in done.err
    with serve_here(desk.root, tokens=desk.tokens, limits=SubmissionLimits(per_day=1)) as strict:
        desk.shop.interface(ECHO.replace("% 2", "% 3"))
        desk.run("second.jsonl")
        done = desk.shop.call("submit", "mine.jsonl", "second.jsonl", "--to", strict.url)
        # The first is in; the second has to wait until tomorrow, which nobody does on a command line.
        assert (done.status, list(desk.published())) == (2, ["mine"])
        assert "HTTP 429: Try again in" in done.err
        assert "1 submissions a day are allowed for anna" in done.err
        assert "toy@1.0/mine" in done.out


# Status, headers and body; status 0 breaks the connection.
PutAnswer = tuple[int, dict[str, str], bytes]


class Flaky(SimpleHTTPRequestHandler):
    """The files of a site, and answers to PUT from a list."""

    answers: list[PutAnswer]
    seen: list[tuple[str, str | None, int]]

    def do_PUT(self) -> None:
        size = int(self.headers["Content-Length"])
        self.seen.append((self.path, self.headers["Authorization"], len(self.rfile.read(size))))
        status, headers, body = self.answers.pop(0)
        if not status:
            self.connection.close()
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def flaky(root: Path, *answers: PutAnswer) -> Iterator[tuple[str, list[Any]]]:
    seen: list[Any] = []
    handler = type("Handler", (Flaky,), {"answers": list(answers), "seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(root))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", seen
        finally:
            server.shutdown()
            thread.join()


DONE: PutAnswer = (201, {}, b'{"result": "published", "page": "/p"}')


def test_it_is_tried_again(desk: Desk) -> None:
    busy: PutAnswer = (503, {"Retry-After": "0"}, b"busy\n")
    broken: PutAnswer = (0, {}, b"")
    with flaky(desk.root, busy, broken, DONE) as (url, seen):
        done = desk.shop.call("submit", "mine.jsonl", "--to", url)
        assert done.status == 0, done.err
    size = (desk.shop.folder / "mine.jsonl").stat().st_size
    assert seen == [("/transcripts/toy@1.0/mine", f"Bearer {desk.anna}", size)] * 3


def test_the_token_goes_nowhere_else(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not to where a redirect leads; and a password in ~/.netrc does not take its place."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("HOME", str(home))
    with flaky(desk.root, DONE) as (elsewhere, others):
        with flaky(desk.root, (307, {"Location": f"{elsewhere}/x"}, b"")) as (url, seen):
            done = desk.shop.call("submit", "mine.jsonl", "--to", url)
        assert (done.status, others) == (2, [])
        assert "tokens are not sent on, give that address with --to" in done.err
        assert [authorization for _, authorization, _ in seen] == [f"Bearer {desk.anna}"]


def test_a_token_on_the_open_wire_is_remarked(desk: Desk) -> None:
    done = desk.shop.call("submit", "mine.jsonl", "--to", "http://tests.invalid/", "--offline")
    assert done.status == 2
    assert "your token goes to http://tests.invalid/ unencrypted" in done.err
    assert is_exposed("http://192.0.2.1/")
    assert not any(map(is_exposed, ["https://tests.invalid", "http://127.0.0.1:8000", "http://[::1]:8000"]))


def test_publish_to_an_address_hands_in(desk: Desk, server: Served) -> None:
    done = desk.shop.call("publish", "mine.jsonl", "--to", server.url)
    assert done.status == 0, done.err
    assert desk.published() == {"mine": "anna"}
    for words in ([str(desk.test)], ["mine.jsonl", "--title", "x"], []):
        refused = desk.shop.call("publish", *words, "--to", server.url)
        assert (refused.status, refused.err.count("\n")) == (2, 1)
        assert "is published in the site's folder, by its owner: --to FOLDER" in refused.err
    assert not (desk.shop.folder / "http:").exists()
    folder = desk.shop.call("submit", "mine.jsonl", "--to", "site")
    assert "`hate publish T... --to FOLDER` writes to a folder" in folder.err


def test_quotas_are_by_name(desk: Desk) -> None:
    shop, tokens = desk.shop, ("--tokens", str(desk.tokens))
    assert shop.call("token", "add", "cleo", "--per-day", "3", *tokens).status == 0
    assert shop.call("token", "quota", "anna", "7", *tokens).status == 0
    listed = shop.call("token", "list", "--format", "json", *tokens).json["tokens"]
    assert {entry["name"]: entry["per_day"] for entry in listed} == {"anna": 7, "cleo": 3}
    assert shop.call("token", "remove", "cleo", *tokens).status == 0
    assert [token.name for token in Database(desk.tokens).tokens()] == ["anna"]
    missing = shop.call("token", "quota", "cleo", "7", *tokens)
    assert (missing.status, "cleo has no token; known: anna" in missing.err) == (2, True)
