"""Tests and transcripts at sites, over real sockets: found, fetched once, run offline; every error is one line."""

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.script.load import load_script
from harness.site.cache import cache_folder
from harness.site.config import config_path
from harness.site.layout import file_path
from harness.site.publish import SiteSettings, publish
from harness.site.publish_candidates import read_candidates
from tests.site.published_site import interrupted, make_site, put_top, run_transcript, served, tiny
from tests.site.serving import Handler, Server, body, in_turn, redirect
from tests.workshop import Workshop, command


@pytest.fixture
def client(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """Another user's machine, with its own cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "away-cache"))
    shop.env["XDG_CACHE_HOME"] = str(tmp_path / "away-cache")
    return shop


@pytest.fixture
def root(client: Workshop, tmp_path: Path) -> Path:
    return make_site(client, tmp_path / "site")


@pytest.fixture
def server(root: Path, client: Workshop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with served(root) as server:
        monkeypatch.setenv("HATE_SITES", server.url(""))
        client.env["HATE_SITES"] = server.url("")
        yield server


def run_tiny(shop: Workshop, *words: str) -> dict[str, int]:
    shop.interface("from pathlib import Path\ndef answer(case, params):\n    return Path(case.input).read_text()\n")
    done = shop.call("run", "tiny", "-o", "out.jsonl", "--force", "--format", "json", *words)
    assert done.status == 0, done.err
    row = done.row
    return {name: row[name] for name in ("tests", "TP")}


def refusal(shop: Workshop, *words: str) -> str:
    shop.interface()
    done = shop.call(*(words or ("run", "tiny", "-o", "out.jsonl", "--force")))
    assert done.status == 2
    return done.err


def content_path(root: Path, content: bytes) -> Path:
    return next(path for path in (root / "files").rglob("*") if path.is_file() and path.read_bytes() == content)


def test_a_test_is_listed_described_and_run_by_name(client: Workshop, server: Server) -> None:
    listed = {(entry["name"], entry["site"]) for entry in client.call("list", "--format", "json").json["tests"]}
    assert ("tiny", server.url("")) in listed
    assert ("hdigits", "bundled") in listed
    assert run_tiny(client) == {"tests": 6, "TP": 6}
    assert client.call("describe", "tiny@1.0.0").status == 0
    assert client.call("run", server.url("/tests/tiny"), "-o", "b.jsonl").status == 0
    assert client.call("run", server.url("/tests/tiny@1.0.0/?x#y"), "-o", "c.jsonl").status == 0


def test_local_tests_come_before_sites(client: Workshop, server: Server) -> None:
    tiny(client.folder / "own", count=3)
    assert run_tiny(client)["tests"] == 3
    assert server.seen == []


def test_transcripts_are_found_by_name(client: Workshop, server: Server) -> None:
    run_tiny(client)
    for name in ("tiny/poor", "poor", "tiny@1.0.0/poor"):
        pair = client.call("compare", "out.jsonl", name, "--format", "json").json["pairs"][0]
        assert (pair["n_sf"], pair["n_fs"]) == (1, 0)
    assert "no published transcript of that name" in refusal(client, "compare", "out.jsonl", "tiny/absent")
    assert "no published transcript of that name" in refusal(client, "compare", "out.jsonl", "tiny@2/poor")


def test_transcripts_are_listed_by_the_names_that_find_them(
    client: Workshop, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = client.call("list", "--transcripts", "--format", "json").json["transcripts"]
    ours = [entry for entry in entries if entry["site"] == server.url("")]
    assert {(entry["algorithm"], entry["path"]) for entry in ours} == {
        ("good", "tiny@1.0.0/good"),
        ("poor", "tiny@1.0.0/poor"),
    }
    assert client.call("show", ours[0]["path"], "--limit", "1").status == 0
    monkeypatch.setattr("harness.api.listing.MAX_TRANSCRIPTS", 1)
    assert "only the first 1 transcripts" in client.call("list", "--transcripts").err


def test_an_ambiguous_name_is_an_error(client: Workshop, server: Server, root: Path) -> None:
    other = tiny(client.folder.parent / "other", name="other")
    publish(root, read_candidates([other, run_transcript(client, other, "poor", "None")]))
    (client.folder / "poor.jsonl").unlink()
    text = refusal(client, "show", "poor")
    assert "several tests have a transcript of that name; say which: tiny/poor, other/poor" in text


def test_everything_is_downloaded_once(client: Workshop, server: Server) -> None:
    run_tiny(client)
    server.seen.clear()
    run_tiny(client)
    assert [path for path, _ in server.seen] == ["/hate-site.json"]
    assert server.seen[0][1]["If-None-Match"]


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_many_runs_at_once_download_once(client: Workshop, server: Server, count: int) -> None:
    started = [
        subprocess.Popen(command(["fetch", "tiny"]), cwd=client.folder, env=client.env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        for _ in range(count)
    ]  # fmt: skip
    ended = [process.communicate(timeout=120) for process in started]
    assert [process.returncode for process in started] == [0] * count, ended
    requests_for = [path for path, _ in server.seen if path != "/hate-site.json"]
    assert len(requests_for) == len(set(requests_for))


def test_offline_runs_use_the_cache(client: Workshop, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no test 'tiny'" in refusal(client, "run", "tiny", "--offline")
    assert server.seen == []
    assert client.call("fetch", "tiny", "--transcripts").status == 0
    server.seen.clear()
    assert run_tiny(client, "--offline")["TP"] == 6
    assert client.call("compare", "out.jsonl", "tiny/poor", "--offline").err.count("cache") == 0
    assert "tiny" in client.call("list", "--offline").out
    monkeypatch.setenv("HATE_OFFLINE", "1")
    assert run_tiny(client)["TP"] == 6
    assert server.seen == []


@pytest.mark.sampled(3)
def test_an_unreachable_site_is_noted(client: Workshop, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(root) as server:
        monkeypatch.setenv("HATE_SITES", server.url(""))
        assert run_tiny(client)["TP"] == 6
    done = client.call("list")
    assert done.status == 0
    assert "tiny" in done.out
    assert "Connection refused; using the copy in the cache" in done.err
    assert run_tiny(client)["TP"] == 6
    monkeypatch.setenv("HATE_SITES", f"{server.url('')}/never-seen")
    done = client.call("list")
    assert done.status == 0
    assert "site skipped" in done.err
    assert "hdigits" in done.out


def test_new_versions_are_seen(client: Workshop, server: Server, root: Path) -> None:
    run_tiny(client)
    publish(root, read_candidates([tiny(client.folder.parent / "v2", version="2.0.0", count=4)]))
    assert run_tiny(client)["tests"] == 4
    client.interface("def answer(case, params):\n    return None\n")
    assert client.call("run", "tiny@1.0.0", "-o", "old.jsonl", "--format", "json").row["tests"] == 6
    assert "has no version 3, only 1.0.0, 2.0.0" in refusal(client, "run", "tiny@3")


def test_a_folder_is_a_site_too(client: Workshop, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATE_SITES", str(root))
    assert run_tiny(client)["TP"] == 6
    assert client.call("show", "tiny/poor", "--limit", "1").status == 0
    # The cache has a copy, so writing to it does not change the site.
    before = content_path(root, b"x3").stat().st_nlink
    assert before == 1


def test_sites_are_configured_in_a_file(client: Workshop, root: Path, tmp_path: Path) -> None:
    path = config_path()
    path.parent.mkdir(parents=True)
    with served(root) as server:
        path.write_text(f'sites = ["{server.url("/")}", "{tmp_path / "nowhere"}"]\n')
        assert run_tiny(client)["TP"] == 6
        assert "not a site, it has no hate-site.json" in client.call("list").err
    path.write_text('site = ["x"]\n')
    assert "line 1: site: unknown key; did you mean 'sites'?" in refusal(client, "list")
    path.write_text('sites = ["ftp://x/"]\n')
    assert "only http:// and https:// addresses" in refusal(client, "list")


def test_a_script_on_any_web_server(client: Workshop, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "cases.csv").write_text("id,input,expect\n1,{d},x\n2,b,y\n")
    (folder / "data.bin").write_bytes(b"x")
    script = folder / "plain.hate.toml"
    script.write_text(
        'format = 1\n[test]\nname = "plain"\nversion = "1"\nsynopsis = "s"\ntask = "label"\n'
        '[cases]\ntable = "cases.csv"\n[data.d]\npath = "data.bin"\n'
    )
    client.interface("def answer(case, params):\n    return 'x'\n")
    with served(folder) as server:
        url = server.url("/plain.hate.toml")
        assert client.call("run", url, "-o", "a.jsonl", "--format", "json").row["TP"] == 1
        assert client.call("describe", url, "--format", "json").json["digest"] == load_script(script).digest
        (folder / "cases.csv").write_text("id,input,expect\n1,a,x\n")
        assert client.call("run", url, "-o", "b.jsonl", "--format", "json").row["tests"] == 1
        assert client.call("run", url, "-o", "c.jsonl", "--offline", "--format", "json").row["tests"] == 1
        (folder / "data.bin").unlink()
        assert "data.bin: HTTP 404" in refusal(client, "run", url)
        script.write_text(script.read_text().replace("data.bin", "../data.bin"))
        assert "is not the name of a file inside its folder" in refusal(client, "run", url)
        script.write_text("format = 7")
        assert "format 7 is not known here" in refusal(client, "run", url)
        assert "not the address of a test" in refusal(client, "run", server.url("/other"))


def test_a_script_with_keys_of_its_task_on_a_web_server(client: Workshop, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "cases.csv").write_text("id,input,expect\n1,{one},{one}\n")
    (folder / "one.pgm").write_bytes(b"P5\n2 1\n255\n\x00\xff")
    (folder / "plain.hate.toml").write_text(
        'format = 1\n[test]\nname = "plain"\nversion = "1"\nsynopsis = "s"\ntask = "mask"\n'
        '[cases]\ntable = "cases.csv"\n[data.one]\npath = "one.pgm"\n[mask]\nignore = 7\n'
    )
    client.interface("def answer(case, params):\n    return case.input\n")
    with served(folder) as server:
        assert client.call("run", server.url("/plain.hate.toml"), "-o", "a.jsonl", "--format", "json").row["TP"] == 1


def test_mirrors_provide_what_the_site_lacks(client: Workshop, server: Server, root: Path) -> None:
    with served(root) as mirror:
        publish(root, [], settings=SiteSettings(mirrors=[mirror.url("")]))
        data = content_path(root, b"x3")
        server.pages[f"/{file_path(data.name)}"] = body(b"?3")
        assert run_tiny(client)["TP"] == 6
        assert mirror.requests_for(f"/{file_path(data.name)}")


def test_a_configured_mirror_replaces_the_site(client: Workshop, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(root) as gone:
        address = gone.url("")
    monkeypatch.setenv("HATE_SITES", address)
    with served(root) as mirror:
        config_path().parent.mkdir(parents=True)
        config_path().write_text(f'[mirrors]\n"{address}/" = ["{mirror.url("/")}"]\n')
        assert run_tiny(client)["TP"] == 6


def test_a_connection_that_breaks_repeatedly_succeeds_in_the_end(client: Workshop, server: Server, root: Path) -> None:
    """A kilobyte at a time: every attempt continues where the last one ended."""
    big = tiny(client.folder.parent / "big", name="big")
    (big / "images" / "deep" / "big.bin").write_bytes(bytes(range(256)) * 20)
    publish(root, read_candidates([big]))
    data = content_path(root, bytes(range(256)) * 20)
    server.pages[f"/{file_path(data.name)}"] = interrupted(data, 1024)
    assert client.call("fetch", "big").status == 0
    ranges = [headers.get("Range") for headers in server.requests_for(f"/{file_path(data.name)}")]
    assert ranges == [None, "bytes=1024-", "bytes=2048-", "bytes=3072-", "bytes=4096-"]


def test_a_download_is_resumed_in_another_run(client: Workshop, server: Server, root: Path) -> None:
    data = content_path(root, b"x3")
    partial = cache_folder() / "partial" / data.name
    partial.parent.mkdir(parents=True)
    for begun, requests_for in ((b"x", ["bytes=1-"]), (b"?", ["bytes=1-", None]), (b"x3", []), (b"too much", [None])):
        assert client.call("cache", "clear", "files", "releases").status == 0
        partial.write_bytes(begun)
        server.seen.clear()
        assert run_tiny(client)["TP"] == 6
        assert [headers.get("Range") for headers in server.requests_for(f"/{file_path(data.name)}")] == requests_for
        assert not partial.exists()


def hang(handler: Handler) -> None:
    threading.Event().wait(0.05)
    handler.close_connection = True


@pytest.mark.sampled(3)
def test_every_server_error_is_one_line(client: Workshop, server: Server, root: Path) -> None:
    data = content_path(root, b"x3")
    path = f"/{file_path(data.name)}"
    for page, text in (
        (body(b"y3"), "sha256 is"),
        (body(b"x3 and more"), "larger than 2 bytes; the site's index says so; refused"),
        (body(b"x"), "1 bytes, the site's index says 2"),
        (lambda handler: handler.answer(status=404), "HTTP 404"),
        (lambda handler: handler.answer(status=500, Retry_After="999"), "HTTP 500"),
        (redirect(path), "more than 5 redirects"),
        (redirect("file:///etc/passwd"), "not an http or https address"),
        (body(b"x3", Content_Encoding="br"), "sent as 'br'"),
    ):
        server.pages[path] = page
        text_said = refusal(client)
        assert text in text_said
        assert path in text_said
        assert text_said.count("\n") == 1
    server.pages[path] = in_turn(lambda handler: handler.answer(status=503), hang, body(b"x3"))
    assert run_tiny(client)["TP"] == 6


def test_a_damaged_copy_in_the_cache_is_fetched_again(client: Workshop, server: Server) -> None:
    run_tiny(client)
    victims = [p for p in cache_folder().rglob("*") if p.is_file() and p.read_bytes() == b"x3"]
    assert len(victims) == 2
    for victim in victims:
        victim.write_bytes(b"y3")
    assert run_tiny(client)["TP"] == 6
    for victim in cache_folder().glob("files/*/content"):
        victim.write_bytes(b"damaged")
    assert run_tiny(client)["TP"] == 6


def test_the_cache_is_listed_verified_and_cleared(client: Workshop, server: Server) -> None:
    run_tiny(client)
    entries = {entry["kind"]: entry for entry in client.call("cache", "list", "--format", "json").json["entries"]}
    assert entries["releases"]["what"] == "tiny 1.0.0"
    assert len(client.call("cache", "list", "--all").out.splitlines()) > 5
    assert client.call("cache", "verify").status == 0
    next(p for p in cache_folder().rglob("*.txt") if p.read_bytes() == b"x3").write_bytes(b"y3")
    done = client.call("cache", "verify", "--format", "json")
    assert done.status == 1
    assert {entry["kind"] for entry in done.json["damaged"]} == {"releases", "files"}
    assert client.call("cache", "verify").status == 0
    assert run_tiny(client)["TP"] == 6
    assert "0 entries removed" in client.call("cache", "clear", "--older-than", "1").err
    assert client.call("cache", "clear").status == 0
    assert [path for path in cache_folder().rglob("*") if path.is_file()] == []
    assert "'fles' is not a kind" in refusal(client, "cache", "clear", "fles")


@pytest.mark.slow
def test_a_full_disk_is_one_line(client: Workshop, server: Server, root: Path) -> None:
    import resource

    big = tiny(client.folder.parent / "big", name="big")
    (big / "images" / "deep" / "big.bin").write_bytes(bytes(300_000))
    publish(root, read_candidates([big]))
    done = client.hate("fetch", "big", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)))
    assert done.status == 2
    assert "File too large; free some space or set XDG_CACHE_HOME" in done.err
    assert client.call("fetch", "big").status == 0


def test_a_download_larger_than_the_free_space_is_refused_at_once(client: Workshop, server: Server, root: Path) -> None:
    def huge(top: dict[str, dict[str, int]]) -> None:
        top["tests"]["bytes"] = 1 << 49

    put_top(root, huge)
    assert "refused" in refusal(client)
    assert [path for path, _ in server.seen] == ["/hate-site.json"]


def test_passwords_stay_with_the_site(client: Workshop, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATE_SITES", server.url("", user="ann:secret@"))
    done = client.call("list", "--format", "json")
    assert "secret" not in done.out + done.err
    assert run_tiny(client)["TP"] == 6
    assert all("Authorization" in headers for _, headers in server.seen)
    kept = b"".join(path.read_bytes() for path in cache_folder().rglob("*") if path.is_file())
    assert b"secret" not in kept


def test_curve_commands_accept_a_test_at_a_site(client: Workshop, server: Server) -> None:
    client.interface(
        "from pathlib import Path\ndef answer(case, params):\n    return Path(case.input).read_text(), 1.0\n"
    )
    done = client.call("confusion", "tiny", "-o", "run.jsonl", "--format", "json")
    assert done.status == 0, done.err
    assert json.loads((client.folder / "run.jsonl").read_bytes().splitlines()[0])["test"]["name"] == "tiny"
