"""Tests and transcripts at sites, over real sockets: found, fetched once, run offline; what goes wrong is a line."""

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.script.load import load_script
from harness.site.cache import cache_folder
from harness.site.candidates import read_candidates
from harness.site.config import config_path
from harness.site.layout import file_path
from harness.site.publish import publish
from tests.site.published_site import cut, make_site, put_top, ran, served, tiny
from tests.site.serving import Handler, Server, body, in_turn, redirect
from tests.workshop import Workshop, command


@pytest.fixture
def away(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """Somebody else's machine: a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "away-cache"))
    shop.env["XDG_CACHE_HOME"] = str(tmp_path / "away-cache")
    return shop


@pytest.fixture
def root(away: Workshop, tmp_path: Path) -> Path:
    return make_site(away, tmp_path / "site")


@pytest.fixture
def server(root: Path, away: Workshop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with served(root) as server:
        monkeypatch.setenv("HATE_SITES", server.url(""))
        away.env["HATE_SITES"] = server.url("")
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


def test_a_test_is_listed_described_and_run_by_name(away: Workshop, server: Server) -> None:
    listed = {(one["name"], one["site"]) for one in away.call("list", "--format", "json").json["tests"]}
    assert ("tiny", server.url("")) in listed
    assert ("hdigits", "bundled") in listed
    assert run_tiny(away) == {"tests": 6, "TP": 6}
    assert away.call("describe", "tiny@1.0.0").status == 0
    assert away.call("run", server.url("/tests/tiny"), "-o", "b.jsonl").status == 0
    assert away.call("run", server.url("/tests/tiny@1.0.0/?x#y"), "-o", "c.jsonl").status == 0


def test_what_is_here_comes_before_what_is_elsewhere(away: Workshop, server: Server) -> None:
    tiny(away.folder / "own", count=3)
    assert run_tiny(away)["tests"] == 3
    assert server.seen == []


def test_transcripts_are_found_by_name(away: Workshop, server: Server) -> None:
    run_tiny(away)
    for name in ("tiny/poor", "poor", "tiny@1.0.0/poor"):
        pair = away.call("compare", "out.jsonl", name, "--format", "json").json["pairs"][0]
        assert (pair["n_sf"], pair["n_fs"]) == (1, 0)
    assert "no published transcript of that name" in refusal(away, "compare", "out.jsonl", "tiny/absent")
    assert "no published transcript of that name" in refusal(away, "compare", "out.jsonl", "tiny@2/poor")


def test_transcripts_are_listed_by_the_names_that_find_them(
    away: Workshop, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = away.call("list", "--transcripts", "--format", "json").json["transcripts"]
    ours = [one for one in entries if one["site"] == server.url("")]
    assert {(one["algorithm"], one["path"]) for one in ours} == {
        ("good", "tiny@1.0.0/good"),
        ("poor", "tiny@1.0.0/poor"),
    }
    assert away.call("show", ours[0]["path"], "--limit", "1").status == 0
    monkeypatch.setattr("harness.cli.list.MOST_TRANSCRIPTS", 1)
    assert "only the first 1 transcripts" in away.call("list", "--transcripts").err


def test_a_name_of_two_tests_is_asked_about(away: Workshop, server: Server, root: Path) -> None:
    other = tiny(away.folder.parent / "other", name="other")
    publish(root, read_candidates([other, ran(away, other, "poor", "None")]))
    (away.folder / "poor.jsonl").unlink()
    text = refusal(away, "show", "poor")
    assert "several tests have a transcript of that name; say which: tiny/poor, other/poor" in text


def test_everything_is_downloaded_once(away: Workshop, server: Server) -> None:
    run_tiny(away)
    server.seen.clear()
    run_tiny(away)
    assert [path for path, _ in server.seen] == ["/hate-site.json"]
    assert server.seen[0][1]["If-None-Match"]


@pytest.mark.parametrize("count", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_many_runs_at_once_download_once(away: Workshop, server: Server, count: int) -> None:
    started = [
        subprocess.Popen(command(["fetch", "tiny"]), cwd=away.folder, env=away.env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        for _ in range(count)
    ]  # fmt: skip
    ended = [process.communicate(timeout=120) for process in started]
    assert [process.returncode for process in started] == [0] * count, ended
    asked = [path for path, _ in server.seen if path != "/hate-site.json"]
    assert len(asked) == len(set(asked))


def test_offline_it_runs_from_the_cache(away: Workshop, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no test 'tiny'" in refusal(away, "run", "tiny", "--offline")
    assert server.seen == []
    assert away.call("fetch", "tiny", "--transcripts").status == 0
    server.seen.clear()
    assert run_tiny(away, "--offline")["TP"] == 6
    assert away.call("compare", "out.jsonl", "tiny/poor", "--offline").err.count("cache") == 0
    assert "tiny" in away.call("list", "--offline").out
    monkeypatch.setenv("HATE_OFFLINE", "1")
    assert run_tiny(away)["TP"] == 6
    assert server.seen == []


def test_a_site_that_is_away_is_a_remark(away: Workshop, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(root) as server:
        monkeypatch.setenv("HATE_SITES", server.url(""))
        assert run_tiny(away)["TP"] == 6
    done = away.call("list")
    assert done.status == 0
    assert "tiny" in done.out
    assert "Connection refused; using the copy in the cache" in done.err
    assert run_tiny(away)["TP"] == 6
    monkeypatch.setenv("HATE_SITES", f"{server.url('')}/never-seen")
    done = away.call("list")
    assert done.status == 0
    assert "site skipped" in done.err
    assert "hdigits" in done.out


def test_what_was_published_since_is_seen(away: Workshop, server: Server, root: Path) -> None:
    run_tiny(away)
    publish(root, read_candidates([tiny(away.folder.parent / "v2", version="2.0.0", count=4)]))
    assert run_tiny(away)["tests"] == 4
    away.interface("def answer(case, params):\n    return None\n")
    assert away.call("run", "tiny@1.0.0", "-o", "old.jsonl", "--format", "json").row["tests"] == 6
    assert "has no version 3; there is 1.0.0, 2.0.0" in refusal(away, "run", "tiny@3")


def test_a_folder_is_a_site_too(away: Workshop, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATE_SITES", str(root))
    assert run_tiny(away)["TP"] == 6
    assert away.call("show", "tiny/poor", "--limit", "1").status == 0
    # What is in the cache is a copy: nobody writes through it into the site.
    before = content_path(root, b"x3").stat().st_nlink
    assert before == 1


def test_sites_are_configured_in_a_file(away: Workshop, root: Path, tmp_path: Path) -> None:
    path = config_path()
    path.parent.mkdir(parents=True)
    with served(root) as server:
        path.write_text(f'sites = ["{server.url("/")}", "{tmp_path / "nowhere"}"]\n')
        assert run_tiny(away)["TP"] == 6
        assert "not a site, it has no hate-site.json" in away.call("list").err
    path.write_text('site = ["x"]\n')
    assert "line 1: site: unknown key; did you mean 'sites'?" in refusal(away, "list")
    path.write_text('sites = ["ftp://x/"]\n')
    assert "only http:// and https:// addresses" in refusal(away, "list")


def test_a_script_on_any_web_server(away: Workshop, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "cases.csv").write_text("id,input,expect\n1,{d},x\n2,b,y\n")
    (folder / "data.bin").write_bytes(b"x")
    script = folder / "plain.hate.toml"
    script.write_text(
        'format = 1\n[test]\nname = "plain"\nversion = "1"\nsynopsis = "s"\ntask = "label"\n'
        '[cases]\ntable = "cases.csv"\n[data.d]\npath = "data.bin"\n'
    )
    away.interface("def answer(case, params):\n    return 'x'\n")
    with served(folder) as server:
        url = server.url("/plain.hate.toml")
        assert away.call("run", url, "-o", "a.jsonl", "--format", "json").row["TP"] == 1
        assert away.call("describe", url, "--format", "json").json["digest"] == load_script(script).digest
        (folder / "cases.csv").write_text("id,input,expect\n1,a,x\n")
        assert away.call("run", url, "-o", "b.jsonl", "--format", "json").row["tests"] == 1
        assert away.call("run", url, "-o", "c.jsonl", "--offline", "--format", "json").row["tests"] == 1
        (folder / "data.bin").unlink()
        assert "data.bin: HTTP 404" in refusal(away, "run", url)
        script.write_text(script.read_text().replace("data.bin", "../data.bin"))
        assert "is not the name of a file inside its folder" in refusal(away, "run", url)
        script.write_text("format = 7")
        assert "format 7 is not known here" in refusal(away, "run", url)
        assert "not the address of a test" in refusal(away, "run", server.url("/other"))


def test_mirrors_have_what_a_site_has_not(away: Workshop, server: Server, root: Path) -> None:
    with served(root) as mirror:
        publish(root, [], mirrors=[mirror.url("")])
        data = content_path(root, b"x3")
        server.pages[f"/{file_path(data.name)}"] = body(b"?3")
        assert run_tiny(away)["TP"] == 6
        assert mirror.asked(f"/{file_path(data.name)}")


def test_a_mirror_in_the_configuration_stands_in_for_the_site(
    away: Workshop, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(root) as gone:
        address = gone.url("")
    monkeypatch.setenv("HATE_SITES", address)
    with served(root) as mirror:
        config_path().parent.mkdir(parents=True)
        config_path().write_text(f'[mirrors]\n"{address}/" = ["{mirror.url("/")}"]\n')
        assert run_tiny(away)["TP"] == 6


def test_a_connection_cut_again_and_again_ends_well(away: Workshop, server: Server, root: Path) -> None:
    """A kilobyte at a time: every attempt goes on where the last one ended."""
    big = tiny(away.folder.parent / "big", name="big")
    (big / "images" / "deep" / "big.bin").write_bytes(bytes(range(256)) * 20)
    publish(root, read_candidates([big]))
    data = content_path(root, bytes(range(256)) * 20)
    server.pages[f"/{file_path(data.name)}"] = cut(data, 1024)
    assert away.call("fetch", "big").status == 0
    ranges = [headers.get("Range") for headers in server.asked(f"/{file_path(data.name)}")]
    assert ranges == [None, "bytes=1024-", "bytes=2048-", "bytes=3072-", "bytes=4096-"]


def test_a_download_goes_on_in_another_run(away: Workshop, server: Server, root: Path) -> None:
    data = content_path(root, b"x3")
    partial = cache_folder() / "partial" / data.name
    partial.parent.mkdir(parents=True)
    for begun, asked in ((b"x", ["bytes=1-"]), (b"?", ["bytes=1-", None]), (b"x3", []), (b"too much", [None])):
        assert away.call("cache", "clear", "files", "releases").status == 0
        partial.write_bytes(begun)
        server.seen.clear()
        assert run_tiny(away)["TP"] == 6
        assert [headers.get("Range") for headers in server.asked(f"/{file_path(data.name)}")] == asked
        assert not partial.exists()


def hang(handler: Handler) -> None:
    threading.Event().wait(0.05)
    handler.close_connection = True


def test_what_a_server_can_do_wrong_is_a_line(away: Workshop, server: Server, root: Path) -> None:
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
        text_said = refusal(away)
        assert text in text_said
        assert path in text_said
        assert text_said.count("\n") == 1
    server.pages[path] = in_turn(lambda handler: handler.answer(status=503), hang, body(b"x3"))
    assert run_tiny(away)["TP"] == 6


def test_a_damaged_copy_in_the_cache_is_fetched_again(away: Workshop, server: Server) -> None:
    run_tiny(away)
    victims = [p for p in cache_folder().rglob("*") if p.is_file() and p.read_bytes() == b"x3"]
    assert len(victims) == 2
    for victim in victims:
        victim.write_bytes(b"y3")
    assert run_tiny(away)["TP"] == 6
    for victim in cache_folder().glob("files/*/content"):
        victim.write_bytes(b"damaged")
    assert run_tiny(away)["TP"] == 6


def test_the_cache_is_listed_verified_and_cleared(away: Workshop, server: Server) -> None:
    run_tiny(away)
    entries = {one["kind"]: one for one in away.call("cache", "list", "--format", "json").json["entries"]}
    assert entries["releases"]["what"] == "tiny 1.0.0"
    assert len(away.call("cache", "list", "--all").out.splitlines()) > 5
    assert away.call("cache", "verify").status == 0
    next(p for p in cache_folder().rglob("*.txt") if p.read_bytes() == b"x3").write_bytes(b"y3")
    done = away.call("cache", "verify", "--format", "json")
    assert done.status == 1
    assert {one["kind"] for one in done.json["damaged"]} == {"releases", "files"}
    assert away.call("cache", "verify").status == 0
    assert run_tiny(away)["TP"] == 6
    assert "0 entries removed" in away.call("cache", "clear", "--older-than", "1").err
    assert away.call("cache", "clear").status == 0
    assert [path for path in cache_folder().rglob("*") if path.is_file()] == []
    assert "'fles' is not a kind" in refusal(away, "cache", "clear", "fles")


def test_a_full_disk_is_a_line(away: Workshop, server: Server, root: Path) -> None:
    import resource

    big = tiny(away.folder.parent / "big", name="big")
    (big / "images" / "deep" / "big.bin").write_bytes(bytes(300_000))
    publish(root, read_candidates([big]))
    done = away.hate("fetch", "big", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)))
    assert done.status == 2
    assert "File too large; free some space or set XDG_CACHE_HOME" in done.err
    assert away.call("fetch", "big").status == 0


def test_more_than_the_disk_has_is_refused_at_once(away: Workshop, server: Server, root: Path) -> None:
    def huge(top: dict[str, dict[str, int]]) -> None:
        top["tests"]["bytes"] = 1 << 49

    put_top(root, huge)
    assert "refused" in refusal(away)
    assert [path for path, _ in server.seen] == ["/hate-site.json"]


def test_passwords_stay_with_the_site(away: Workshop, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATE_SITES", server.url("", user="ann:secret@"))
    done = away.call("list", "--format", "json")
    assert "secret" not in done.out + done.err
    assert run_tiny(away)["TP"] == 6
    assert all("Authorization" in headers for _, headers in server.seen)
    kept = b"".join(path.read_bytes() for path in cache_folder().rglob("*") if path.is_file())
    assert b"secret" not in kept


def test_roc_and_its_kin_take_a_test_of_a_site(away: Workshop, server: Server) -> None:
    away.interface(
        "from pathlib import Path\ndef answer(case, params):\n    return Path(case.input).read_text(), 1.0\n"
    )
    done = away.call("confusion", "tiny", "-o", "run.jsonl", "--format", "json")
    assert done.status == 0, done.err
    assert json.loads((away.folder / "run.jsonl").read_bytes().splitlines()[0])["test"]["name"] == "tiny"
