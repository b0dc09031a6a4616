"""Transcripts submitted by PUT: who may, what is accepted, and that nothing is lost or replaced."""

import gzip
import hashlib
import json
import random
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from harness.errors import UsageError
from harness.server.app import ServeOptions, make_server
from harness.server.database import Database
from harness.server.submissions import SubmissionLimits
from harness.site.layout import TOP, TranscriptEntry
from harness.site.publish import SiteSettings, publish
from harness.site.publish_candidates import read_test_candidate
from harness.site.root_keys import RootChange
from harness.site.signing import check_signature
from harness.site.sites import FolderStore, open_folder
from tests.server.served import (
    Served,
    hate_serve,
    published_site,
    serve_here,
    toy_script,
    toy_transcript,
)
from tests.site.published_site import new_key
from tests.workshop import Workshop

PLACE = "/transcripts/toy@1.0/mine"


class TokenSite:
    """A site with a toy test, and a token to submit to it."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.root = folder / "site"
        self.tokens = folder / "tokens.db"
        self.env = env
        publish(self.root, [read_test_candidate(toy_script(folder / "toy"))])
        self.anna = Database(self.tokens).add_token("anna")

    def transcripts(self) -> dict[str, TranscriptEntry]:
        """All transcripts, each file checked."""
        site = open_folder(self.root)
        index = site.test("toy")
        assert index is not None
        entries = list(site.transcripts(index))
        for entry in entries:
            assert site.store.file(entry.file).is_file()
            assert site.tests_with(entry.name) is not None
        return {entry.name: entry for entry in entries}

    def leftovers(self) -> list[Path]:
        incoming = self.root / ".incoming"
        return list(incoming.iterdir()) if incoming.is_dir() else []


@pytest.fixture
def token_site(tmp_path: Path, clean_env: dict[str, str]) -> TokenSite:
    return TokenSite(tmp_path, clean_env)


@pytest.fixture
def server(token_site: TokenSite) -> Iterator[Served]:
    with serve_here(token_site.root, tokens=token_site.tokens, limits=SubmissionLimits(max_bytes=1 << 20)) as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, clean_env: dict[str, str]) -> Iterator[tuple[TokenSite, Served]]:
    """For submissions that are refused and change nothing."""
    token_site = TokenSite(tmp_path_factory.mktemp("shared"), clean_env)
    limits = SubmissionLimits(max_bytes=1 << 20, per_hour=1000)
    with serve_here(token_site.root, tokens=token_site.tokens, limits=limits) as running:
        yield token_site, running


def test_a_submitted_transcript_is_published(token_site: TokenSite, server: Served) -> None:
    data = toy_transcript(token_site.root, wrong=[3])
    answer = server.put(PLACE, data, token_site.anna)
    assert answer.status_code == 201, answer.text
    said = answer.json()
    assert answer.headers["Location"] == said["page"] == PLACE
    assert (said["result"], said["sha256"], said["bytes"]) == ("published", hashlib.sha256(data).hexdigest(), len(data))
    entry = token_site.transcripts()["mine"]
    assert (entry.by, entry.tests, entry.FP) == ("anna", 20, 1)
    assert server.get(said["file"]).content == data
    assert "mine" in server.get("/tests/toy").text
    assert "by anna" in server.get(PLACE).text
    assert token_site.leftovers() == []


def test_resubmitting_is_allowed_and_replacing_is_refused(token_site: TokenSite, server: Served) -> None:
    first, other = toy_transcript(token_site.root), toy_transcript(token_site.root, wrong=[1])
    assert server.put(PLACE, first, token_site.anna).status_code == 201
    again = server.put(PLACE, first, token_site.anna)
    assert (again.status_code, again.json()["result"]) == (200, "already there")
    for token in (token_site.anna, Database(token_site.tokens).add_token("ben")):
        refused = server.put(PLACE, other, token)
        assert refused.status_code == 409
        assert "already has another transcript with the name 'mine'" in refused.text
    assert token_site.transcripts()["mine"].file.sha256 == hashlib.sha256(first).hexdigest()


def test_a_name_belongs_to_its_first_submitter(token_site: TokenSite, server: Served) -> None:
    data = toy_transcript(token_site.root)
    assert server.put(PLACE, data, token_site.anna).status_code == 201
    assert server.put(PLACE, data, Database(token_site.tokens).add_token("ben")).status_code == 409
    assert token_site.transcripts()["mine"].by == "anna"


def test_a_token_is_required(token_site: TokenSite, server: Served) -> None:
    data = toy_transcript(token_site.root)
    bare = requests.put(server.url + PLACE, data=data, timeout=60)
    assert (bare.status_code, bare.headers["WWW-Authenticate"]) == (401, "Bearer")
    for token in ("", "anna", "anna:x", "nobody:" + token_site.anna.partition(":")[2], token_site.anna + "x"):
        assert server.put(PLACE, data, token).status_code == 401
    basic = {"Authorization": f"Basic {token_site.anna}"}
    assert requests.put(server.url + PLACE, data=data, headers=basic, timeout=60).status_code == 401
    assert server.put(PLACE, data, token_site.anna).status_code == 201
    Database(token_site.tokens).remove_token("anna")
    assert server.put("/transcripts/toy@1.0/more", data, token_site.anna).status_code == 401
    assert list(token_site.transcripts()) == ["mine"]


def test_without_tokens_nothing_is_accepted(token_site: TokenSite, served: Served) -> None:
    assert served.put("/transcripts/hdigits@1.0.0/mine", b"x", token_site.anna).status_code == 405


def changed(data: bytes, change: Callable[[dict[str, object]], object], line: int = 0) -> bytes:
    """The transcript with a changed line, and a digest of what it has become."""
    lines = data.splitlines()
    record = json.loads(lines[line])
    change(record)
    lines[line] = json.dumps(record).encode()
    body = b"".join(line + b"\n" for line in lines[:-1])
    end = json.loads(lines[-1]) | {"sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps(end).encode() + b"\n"


def of_test(**keys: object) -> Callable[[bytes], bytes]:
    return lambda data: changed(data, lambda header: header["test"].update(keys))  # type: ignore[attr-defined]


BAD: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "empty"),
    "not a transcript": (lambda data: b"<html>hello</html>\n", "not a transcript"),
    "binary": (lambda data: bytes(range(256)) * 10, "not a transcript"),
    "without an end": (lambda data: data[: data.rindex(b'{"end"')], "incomplete"),
    "torn": (lambda data: data[: len(data) // 2], "incomplete"),
    "damaged": (lambda data: data.replace(b'"score": 1.0', b'"score": 2.0', 1), "changed or damaged"),
    "wrong counts": (lambda data: changed(data, lambda end: end.update(TP=20, TN=0), -1), "its last line says"),
    "no outcome": (lambda data: changed(data, lambda record: record.update(outcome="XP"), 3), "is not one of TP"),
    "another digest": (of_test(digest="1:" + "0" * 64), "digest"),
    "an unknown version": (of_test(version="2.0"), "sent to toy@1.0"),
    "an unknown test": (of_test(name="other"), "sent to toy@1.0"),
    "too few cases": (lambda data: fewer(data), "1 case has no record, such as 'c19'"),
    "with a limit": (lambda data: changed(data, lambda header: header.update(limit=20)), "--limit"),
    "a case twice": (lambda data: changed(data, lambda record: record.update(id="c0"), 2), "'c0' appears twice"),
    "a case of another test": (lambda data: data_of(data, id="z9"), "the test has no case 'z9'"),
    "a claim turned around": (lambda data: data_of(data, outcome="TN"), "mine:2: case 'c0': outcome TN, but"),
    "a group of its own": (lambda data: data_of(data, stratum="s"), "'c0': stratum 's', but the test has nothing"),
    "an answer too many": (lambda data: data_of(data, repeat=2), "'c0': answer 2 in a run with 1 a case"),
    "many columns": (lambda data: changed(data, many_columns, 2), "more than 200 columns"),
    "deep": (lambda data: changed(data, lambda record: record.update(id="c0"), 2).replace(b'"c0"', b"[" * 5000, 1), ""),
    "a long line": (lambda data: changed(data, lambda line: line.update(message="x" * 300_000), 2), "a line of more"),
    "a bomb": (lambda data: gzip.compress(data[:-1] + b" " * 200_000 + (b"\n" + b" " * 200_000) * 9), "when unpacked"),
    "zipped newlines": (lambda data: gzip.compress(data + b" \n" * 400_000), "more lines than records"),
    "torn gzip": (lambda data: gzip.compress(data)[:-20], "ends early"),
}  # fmt: skip


def data_of(data: bytes, **keys: object) -> bytes:
    """The transcript with a changed first record and correct counts."""
    outcome = keys.get("outcome", "TP")
    counted = {"TP": 10, "TN": 10} | ({"TP": 9, "TN": 11} if outcome == "TN" else {})
    return changed(changed(data, lambda record: record.update(keys), 1), lambda end: end.update(counted), -1)


def many_columns(record: dict[str, object]) -> None:
    record["columns"] = {f"k{n}": n for n in range(201)}


def fewer(data: bytes) -> bytes:
    lines = changed(data, lambda end: end.update(tests=19, TN=9), -1).splitlines()
    return changed(b"\n".join([*lines[:-2], lines[-1]]) + b"\n", lambda header: None)


@pytest.mark.parametrize("kind", BAD)
def test_anything_but_a_complete_run_of_the_test_is_refused(shared: tuple[TokenSite, Served], kind: str) -> None:
    token_site, server = shared
    make, text = BAD[kind]
    before = (token_site.root / TOP).read_bytes()
    answer = server.put(PLACE, make(toy_transcript(token_site.root)), token_site.anna)
    assert answer.status_code == 422, answer.text
    assert text in answer.text
    assert answer.text.count("\n") == 1
    assert str(token_site.root) not in answer.text
    assert (token_site.root / TOP).read_bytes() == before
    assert token_site.leftovers() == []


@pytest.mark.parametrize("name", [".hidden", "-x", "a b", "ä", "x" * 101, "a%00b", "%2e%2e"])
def test_an_invalid_name_is_refused(shared: tuple[TokenSite, Served], name: str) -> None:
    token_site, server = shared
    answer = server.put(f"/transcripts/toy@1.0/{name}", toy_transcript(token_site.root), token_site.anna)
    assert answer.status_code in (404, 405, 422)
    assert token_site.transcripts() == {}


def test_a_gzipped_transcript_is_stored_unchanged(token_site: TokenSite, server: Served) -> None:
    data = gzip.compress(toy_transcript(token_site.root))
    assert server.put(PLACE, data, token_site.anna).status_code == 201
    assert server.get(PLACE).status_code == 200
    assert token_site.transcripts()["mine"].file.bytes == len(data)


def test_a_large_submission_is_refused_as_early_as_possible(token_site: TokenSite, server: Served) -> None:
    large = b" " * ((1 << 20) + 1)
    told = server.put(PLACE, large, token_site.anna)
    assert told.status_code == 413
    untold = server.put(PLACE, (large[i : i + 65536] for i in range(0, len(large), 65536)), token_site.anna)
    assert untold.status_code == 413
    assert token_site.leftovers() == []


def test_a_broken_connection_leaves_nothing(token_site: TokenSite, server: Served) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        lines = (f"PUT {PLACE} HTTP/1.1", "Host: x", f"Authorization: Bearer {token_site.anna}", "Content-Length: 5000")
        head = "\r\n".join([*lines, "", ""])
        connection.sendall(head.encode() + toy_transcript(token_site.root)[:1000])
        wait_for(lambda: token_site.leftovers() != [])
    wait_for(lambda: token_site.leftovers() == [])
    assert token_site.transcripts() == {}


def wait_for(is_true: Callable[[], bool]) -> None:
    for _ in range(3000):
        if is_true():
            return
        time.sleep(0.02)
    pytest.fail("never came")


@pytest.mark.parametrize(
    "limits", [SubmissionLimits(silent_seconds=0.2), SubmissionLimits(seconds=0.2)], ids=["silent", "endless"]
)
def test_a_silent_client_is_disconnected(token_site: TokenSite, limits: SubmissionLimits) -> None:
    with serve_here(token_site.root, tokens=token_site.tokens, limits=limits) as server:
        head = (
            f"PUT {PLACE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token_site.anna}\r\nContent-Length: 50\r\n\r\n"
        )
        assert server.raw(head.encode()).startswith(b"HTTP/1.1 408")
        assert token_site.leftovers() == []


def test_submissions_per_hour_are_limited(token_site: TokenSite) -> None:
    with serve_here(token_site.root, tokens=token_site.tokens, limits=SubmissionLimits(per_hour=2)) as server:
        data = toy_transcript(token_site.root)
        answers = [server.put(f"/transcripts/toy@1.0/m{n}", data, token_site.anna) for n in range(3)]
        assert [answer.status_code for answer in answers] == [201, 201, 429]
        assert 0 < int(answers[2].headers["Retry-After"]) <= 1800
        ben = Database(token_site.tokens).add_token("ben")
        other = toy_transcript(token_site.root, wrong=[1])
        assert server.put("/transcripts/toy@1.0/b", other, ben).status_code == 201


def test_guessing_tokens_is_slowed_down(token_site: TokenSite, server: Served) -> None:
    codes = [server.put(PLACE, b"", "anna:guess").status_code for _ in range(25)]
    assert codes[:20] == [401] * 20
    assert 429 in codes[20:]
    assert server.get("/").status_code == 200


def test_many_at_once_are_all_published(token_site: TokenSite, server: Served) -> None:
    def submit(number: int) -> int:
        data = toy_transcript(token_site.root, wrong=range(number))
        return server.put(f"/transcripts/toy@1.0/run{number}", data, token_site.anna).status_code

    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(submit, range(16)))
    assert codes == [201] * 16
    assert len(token_site.transcripts()) == 16
    assert open_folder(token_site.root).top.serial == 17


def test_concurrent_submissions_of_a_name_have_one_winner(token_site: TokenSite, server: Served) -> None:
    with ThreadPoolExecutor(6) as pool:
        answers = pool.map(
            lambda n: server.put(PLACE, toy_transcript(token_site.root, wrong=range(n)), token_site.anna).status_code,
            range(6),
        )
        assert sorted(answers) == [201] + [409] * 5
    assert list(token_site.transcripts()) == ["mine"]


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_a_killed_server_loses_nothing_that_it_confirmed(token_site: TokenSite, kills: int) -> None:
    """kill -9 at random moments: whatever was answered with 201 is there, and the site is intact."""
    chance = random.Random(1)
    promised: list[str] = []
    for turn in range(kills):
        limit = ("--rate-limit", "1000")
        with hate_serve(token_site.root, "--tokens", token_site.tokens, *limit, env=token_site.env) as server:

            def submit(server: Served = server, turn: int = turn) -> None:
                for number in range(1000):
                    name = f"t{turn}n{number}"
                    data = toy_transcript(token_site.root, wrong=range(number % 20), platform=name)
                    try:
                        if server.put(f"/transcripts/toy@1.0/{name}", data, token_site.anna).status_code == 201:
                            promised.append(name)
                    except requests.RequestException:
                        return

            putting = threading.Thread(target=submit)
            enough = len(promised) + 2
            putting.start()
            wait_for(lambda enough=enough: len(promised) >= enough)  # type: ignore[misc]
            time.sleep(chance.random() * 0.05)
            assert server.process is not None
            server.process.kill()
            putting.join()
        assert set(promised) <= set(token_site.transcripts())
    with serve_here(token_site.root, tokens=token_site.tokens) as server:
        assert server.put(PLACE, toy_transcript(token_site.root), token_site.anna).status_code == 201
        assert server.get("/tests/toy").status_code == 200


@pytest.mark.slow
def test_a_full_disk_is_reported_and_changes_nothing(token_site: TokenSite) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    data = toy_transcript(token_site.root, platform="x" * 20_000)
    before = (token_site.root / TOP).read_bytes()
    with hate_serve(token_site.root, "--tokens", token_site.tokens, env=token_site.env, before=small_files) as server:
        answer = server.put(PLACE, data, token_site.anna)
        assert answer.status_code == 507
        assert "nothing was published" in answer.text
        assert server.get("/").status_code == 200
    assert (token_site.root / TOP).read_bytes() == before
    assert token_site.leftovers() == []


def test_a_signed_site_stays_signed(token_site: TokenSite, tmp_path: Path) -> None:
    signer = new_key(tmp_path / "key.pem")
    publish(token_site.root, [read_test_candidate(toy_script(tmp_path / "more", name="more"))], signer=signer)
    with serve_here(token_site.root, tokens=token_site.tokens, key=tmp_path / "key.pem") as server:
        assert server.put(PLACE, toy_transcript(token_site.root), token_site.anna).status_code == 201
    folder = FolderStore(token_site.root)
    top = folder.top()
    assert top is not None
    check_signature(top, folder.signature(hashlib.sha256(top).hexdigest()), signer.key, "site")


def test_a_server_signs_with_any_key_that_the_root_key_allows(token_site: TokenSite, tmp_path: Path) -> None:
    root, first, second = (new_key(tmp_path / f"{name}.pem") for name in ("root", "first", "second"))
    allowed = RootChange(root, allow=[first.key, second.key])
    publish(token_site.root, [], signer=first, settings=SiteSettings(root=allowed))
    with serve_here(token_site.root, tokens=token_site.tokens, key=tmp_path / "second.pem") as server:
        assert server.put(PLACE, toy_transcript(token_site.root), token_site.anna).status_code == 201
    folder = FolderStore(token_site.root)
    data, top = folder.read_top()
    assert top.key == second.key
    check_signature(data, folder.signature(hashlib.sha256(data).hexdigest()), second.key, "site")
    publish(token_site.root, [], signer=first, settings=SiteSettings(root=RootChange(root, revoke=[second.key])))
    with pytest.raises(UsageError, match="give the same key with --key"):
        make_server(ServeOptions(token_site.root, tokens=token_site.tokens, key=tmp_path / "second.pem"))


def test_a_site_that_cannot_be_served_is_one_line(shop: Workshop) -> None:
    published_site(shop.folder / "site")
    signer = shop.folder / "key.pem"
    new_key(signer)
    shop.write("broken.json", "[")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for words, text in (
            (["nowhere"], "not a site"),
            (["site", "--tokens", "broken.json"], "not a file of tokens"),
            (["site", "--tokens", "t.json", "--key", str(signer)], "is not signed"),
            (["site", "--port", port], "Address already in use"),
            (["site", "--host", "192.0.2.1"], "--host 192.0.2.1"),
            (["site", "--proxy", "nginx"], "--proxy 'nginx'"),
            (["site", "--private", "site/truth"], "inside the site's folder"),
        ):
            done = shop.call("serve", *words)
            assert (done.status, done.err.count("\n")) == (2, 1), done.err
            assert text in done.err


@pytest.mark.slow
def test_ctrl_c_stops_it(token_site: TokenSite) -> None:
    with hate_serve(token_site.root, env=token_site.env) as server:
        assert server.get("/").status_code == 200
        assert server.process is not None
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) in (0, 130, -2)
    assert not any("Traceback" in line for line in server.log)


@pytest.mark.parametrize("library", ["starlette", "uvicorn", "jinja2", "markdown_it"])
def test_a_missing_library_is_named_with_the_remedy(
    token_site: TokenSite, shop: Workshop, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith(("harness.server", library))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    done = shop.call("serve", str(token_site.root))
    assert done.status == 2
    assert done.err == f"hate: serving needs {library}: pip install 'hate-harness[serve]'\n"
