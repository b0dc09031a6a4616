"""How a user may name a transcript, and which file that means."""

import gzip
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.bundled import bundled
from harness.errors import HateError
from harness.site.download_request import DownloadLimits
from harness.site.find_transcripts import KnownTranscripts, Source
from harness.transcript.read import open_transcript
from tests.site.run_files import open_source
from tests.site.serving import Handler, Page, Server, body, in_turn, serving
from tests.workshop import Workshop

WISARD = bundled("transcripts") / "hdigits" / "wisard.jsonl"
CONTENT = WISARD.read_bytes()
QUICK = DownloadLimits(pause=0.001)
# Half a kilobyte that unpacks to more than the tests allow.
BOMB = gzip.compress(CONTENT.splitlines(keepends=True)[0] + b" " * 5_000_000)


def ids(source: Source) -> list[str]:
    with open_transcript(source.path, name=source.name) as reader:
        return [trial.id for block in reader.blocks() for trial in block]


def refusal(text: str, limits: DownloadLimits = QUICK) -> str:
    with pytest.raises(HateError) as caught:
        ids(open_source(text, limits))
    assert caught.value.exit_code == 2
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


ALL = ids(Source(WISARD, "wisard", "wisard"))


@pytest.mark.parametrize("text", ["wisard", "hdigits/wisard", str(WISARD)])
def test_files_and_published_names(shop: Workshop, text: str) -> None:
    source = open_source(text)
    assert ids(source) == ALL
    assert source.stem == "wisard"
    assert source.path.samefile(WISARD)


def test_a_file_here_comes_before_a_name(shop: Workshop) -> None:
    shop.write("wisard", CONTENT.replace(b'"name":"wisard"', b'"name":"other"'))
    assert open_source("wisard").path == Path("wisard")


def test_own_transcripts_come_before_published_ones(shop: Workshop) -> None:
    path = shop.write("transcripts/hdigits/wisard.jsonl.gz", gzip.compress(CONTENT))
    assert open_source("wisard").path.samefile(path)
    assert len([run for run in KnownTranscripts().bundled if run.stem == "wisard"]) == 1
    assert ids(open_source("hdigits/wisard")) == ALL


def test_incomplete_runs_have_no_name(shop: Workshop) -> None:
    shop.write("transcripts/hdigits/mine.jsonl.gz.part", CONTENT)
    assert "no published transcript" in refusal("mine")


def test_a_name_that_two_tests_have(shop: Workshop) -> None:
    """The header says which test a run is of, not the folder; see test_names.py for the choice."""
    for test in (b"blank", b"hdigits"):
        content = CONTENT.replace(b'"test":{"name":"hdigits"', b'"test":{"name":"' + test + b'"', 1)
        shop.write(f"transcripts/{test.decode()}/own.jsonl", content)
    os.utime("transcripts/blank/own.jsonl", (1, 1))
    source = open_source("own")
    assert source.path == Path("transcripts/hdigits/own.jsonl")
    assert "there are runs on blank too" in source.note


@pytest.mark.parametrize(("text", "expected"), [
    ("wizard", "did you mean wisard"),
    ("hdigits/wich", "did you mean hdigits/witch"),
    # A checkout may have its own runs beside the published ones.
    ("zzz", "known: hdigits/warlock, hdigits/wisard"),
    ("nowhere.jsonl", "nowhere.jsonl: no such file"),
    ("a/b/c", "a/b/c: no such file"),
    (".", "a folder; name a transcript in it"),
    ("ftp://127.0.0.1/x", "only http:// and https://"),
    ("http:///x", "only http:// and https://"),
    ("http://127.0.0.1:port/x", "not an address"),
])  # fmt: skip
def test_what_cannot_be_found(shop: Workshop, text: str, expected: str) -> None:
    assert expected in refusal(text)


@pytest.mark.parametrize(("text", "expected"), [
    ("", "an empty name; give a transcript as a file, URL, TEST/NAME or NAME"),
    ("a\nb", r"a\nb: no such file, no run here"),
    ("a\nb.jsonl", r"a\nb.jsonl: no such file"),
    ("a\r\u2028/b/c", r"a\r\u2028/b/c: no such file"),
])  # fmt: skip
def test_the_message_is_one_line_for_any_name(shop: Workshop, text: str, expected: str) -> None:
    assert expected in refusal(text)
    for command in ("rate", "show"):
        done = shop.call(command, text)
        assert (done.status, done.err.count("\n")) == (2, 1), done.err
        assert expected in done.err


def test_a_file_with_a_line_break_in_its_name(shop: Workshop) -> None:
    shop.write("good\nrun.jsonl", CONTENT)
    assert open_source("good\nrun.jsonl").name == r"good\nrun.jsonl"
    shop.write("half\nrun.jsonl", CONTENT[:3000])
    done = shop.call("rate", "half\nrun.jsonl")
    assert done.err.startswith(r"hate: half\nrun.jsonl: incomplete")
    assert (done.status, done.err.count("\n")) == (2, 1)


def test_standard_input_and_pipes(shop: Workshop) -> None:
    for content in (CONTENT, gzip.compress(CONTENT)):
        (shop.folder / "given").write_bytes(content)
        with (shop.folder / "given").open("rb") as given:
            done = shop.hate("show", "-", "--limit", "1", "--format", "json", stdin=given)
        assert done.status == 0, done.err
        assert done.json["tests"] == len(ALL)


def test_standard_input_once_only(shop: Workshop) -> None:
    with WISARD.open("rb") as given:
        done = shop.hate("diff", "-", "-", stdin=given)
    assert done.status == 2
    assert "`-` can be given once" in done.err


def test_a_named_pipe(shop: Workshop) -> None:
    """As a shell makes one for `hate show <(zcat old.gz)`."""
    pipe = shop.folder / "pipe"
    os.mkfifo(pipe)
    thread = threading.Thread(target=pipe.write_bytes, args=(CONTENT,))
    thread.start()
    assert ids(open_source(str(pipe))) == ALL
    thread.join()


def tagged(handler: Handler) -> None:
    """A server with entity tags."""
    if handler.headers["If-None-Match"] == '"1"':
        handler.answer(status=304)
    else:
        handler.answer(CONTENT, ETag='"1"')


@pytest.fixture
def server(shop: Workshop) -> Iterator[Server]:
    pages: dict[str, Page] = {
        "/runs/wisard.jsonl": tagged,
        "/plain": body(CONTENT),
        "/w.jsonl.gz": body(gzip.compress(CONTENT)),
        "/both.jsonl.gz": body(gzip.compress(gzip.compress(CONTENT)), Content_Encoding="gzip"),
        "/page": body(b"\n<!DOCTYPE html><html>log in</html>", Content_Type="text/html"),
        "/zip": body(b"PK\3\4"),
        "/empty": body(b""),
        "/json": body(b'{"hello": "world"}\n'),
        "/damaged": body(CONTENT.replace(b'"outcome":"TP"', b'"outcome":"FN"', 1)),
        "/bomb.gz": body(BOMB),
        "/torn.gz": body(gzip.compress(CONTENT)[:-20]),
    }
    with serving(pages) as server:
        yield server


@pytest.mark.parametrize("path", ["/runs/wisard.jsonl", "/plain", "/w.jsonl.gz", "/both.jsonl.gz"])
def test_a_url_with_any_compression(server: Server, path: str) -> None:
    source = open_source(server.url(path, user="ann:secret@"), QUICK)
    assert ids(source) == ALL
    assert source.name == server.url(path, user="***@")
    assert source.path.read_bytes() == CONTENT


def test_the_base_name_of_a_url(server: Server) -> None:
    assert open_source(server.url("/runs/wisard.jsonl?raw=1#top"), QUICK).stem == "wisard"
    assert open_source(server.url("/w.jsonl.gz"), QUICK).stem == "w"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("path", "expected"), [
    ("/page", "a web page, not a transcript"),
    ("/zip", "something else, not a transcript"),
    ("/empty", "empty; a transcript begins with a header"),
    ("/json", "not a transcript: it does not begin with a transcript's header"),
    ("/damaged", "its content does not have its sha256"),
    ("/torn.gz", "the compressed data ends early"),
    ("/none", "HTTP 404"),
])  # fmt: skip
def test_what_is_not_a_transcript_is_named_by_its_url(server: Server, path: str, expected: str) -> None:
    text = refusal(server.url(path))
    assert text.startswith(server.url(path))
    assert expected in text


def test_a_bomb_is_stopped(server: Server) -> None:
    assert "larger than 1,000,000 bytes" in refusal(server.url("/bomb.gz"), DownloadLimits(size=1_000_000))


def test_a_refused_download_leaves_nothing(server: Server, tmp_path: Path) -> None:
    for path in ("/page", "/json", "/torn.gz", "/none"):
        refusal(server.url(path))
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_an_unchanged_transcript_comes_from_the_cache(server: Server) -> None:
    url = server.url("/runs/wisard.jsonl")
    first, second = open_source(url, QUICK), open_source(url, QUICK)
    assert first == second
    assert [headers.get("If-None-Match") for headers in server.requests_for("/runs/wisard.jsonl")] == [None, '"1"']


def test_the_same_content_is_stored_once(server: Server) -> None:
    paths = {open_source(server.url(path), QUICK).path for path in ("/plain", "/w.jsonl.gz", "/runs/wisard.jsonl")}
    assert len(paths) == 1


def test_a_damaged_copy_is_fetched_again(server: Server) -> None:
    url = server.url("/runs/wisard.jsonl")
    open_source(url, QUICK).path.write_bytes(CONTENT[:1000])
    assert ids(open_source(url, QUICK)) == ALL
    assert server.requests_for("/runs/wisard.jsonl")[1].get("If-None-Match") is None


def test_a_changed_transcript_is_fetched_again(server: Server) -> None:
    witch = (WISARD.parent / "witch.jsonl").read_bytes()
    server.pages["/changing"] = in_turn(body(CONTENT, ETag='"1"'), body(witch, ETag='"2"'))
    read = [open_source(server.url("/changing"), QUICK).path.read_bytes() for _ in range(2)]
    assert read == [CONTENT, witch]


def test_the_copy_is_used_while_the_server_is_down(server: Server) -> None:
    url = server.url("/runs/wisard.jsonl", user="ann:secret@")
    open_source(url, QUICK)
    server.pages["/runs/wisard.jsonl"] = lambda handler: handler.answer(status=503)
    source = open_source(url, QUICK)
    assert ids(source) == ALL
    assert "HTTP 503 Service Unavailable; using the copy in the cache" in source.note
    assert "secret" not in source.note


def test_the_copy_is_not_used_if_the_transcript_is_gone(server: Server) -> None:
    open_source(server.url("/runs/wisard.jsonl"), QUICK)
    del server.pages["/runs/wisard.jsonl"]
    assert "HTTP 404" in refusal(server.url("/runs/wisard.jsonl"))


def test_no_credentials_in_the_cache(server: Server, tmp_path: Path) -> None:
    open_source(server.url("/plain?token=hidden", user="ann:secret@"), QUICK)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert b"secret" not in kept
    assert b"hidden" not in kept


def test_an_offline_command_says_so_and_continues(shop: Workshop) -> None:
    with serving({"/w.jsonl": tagged}) as server:
        url = server.url("/w.jsonl")
        assert shop.call("show", url, "--limit", "1").status == 0
    done = shop.call("show", url, "--limit", "1")
    assert done.status == 0
    assert "Connection refused; using the copy in the cache" in done.err
    assert "0001a" in done.out


@pytest.mark.parametrize(("option", "value", "expected"), [
    ("--http-limit", "10K", "larger than 10,240 bytes; allow more with --http-limit"),
    ("--http-limit", "lots", "'lots' is not a size"),
    ("--http-limit", "0", "'0' is not a size"),
    ("--http-timeout", "0", "0 is not a number of seconds above 0"),
    ("--http-timeout", "nan", "nan is not a number of seconds above 0"),
])  # fmt: skip
def test_limits_on_the_command_line(server: Server, shop: Workshop, option: str, value: str, expected: str) -> None:
    done = shop.call("show", server.url("/plain"), option, value)
    assert done.status == 2
    assert expected in done.err
