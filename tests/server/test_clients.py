"""`hate` as a client of a site: any server behaves the same, and like a folder."""

import json
from pathlib import Path

import pytest

from harness.server.database import Database
from harness.site.publish import SiteSettings, publish
from harness.site.publish_candidates import read_test_candidate, read_transcript_candidate
from tests.server.served import hate_serve, nginx, serve_here, toy_script, toy_transcript
from tests.workshop import Done, Workshop


def make_site(folder: Path) -> Path:
    root = folder / "site"
    test = read_test_candidate(toy_script(folder / "far", name="far"))
    publish(root, [test], settings=SiteSettings(title="Far away"))
    for name, wrong in {"alpha": [1], "beta": range(0, 20, 2), "gamma": [0, 1, 2, 3]}.items():
        path = folder / f"{name}.jsonl"
        path.write_bytes(toy_transcript(root, name="far", wrong=list(wrong), algorithm={"name": name}))
        publish(root, [read_transcript_candidate(path)])
        path.unlink()
    return root


def configure_site(site: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client's configuration: a site, and an empty cache."""
    monkeypatch.setenv("HATE_SITES", site)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


def use_site(shop: Workshop) -> list[Done]:
    """What a user sees of a site, starting with an empty cache."""
    shop.interface("def answer(case, params):\n    return case.input[0] + '0'\n")
    return [
        shop.call("list", "--format", "json"),
        shop.call("describe", "far", "--format", "json"),
        shop.call("run", "far", "--format", "json", "-o", "mine.jsonl", "--force"),
        shop.call("compare", "far/alpha", "beta", "mine.jsonl", "--format", "json"),
        shop.call("show", "gamma"),
        shop.call("run", "elsewhere"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("by", ["hate serve", "nginx"])
def test_a_site_is_the_same_whoever_serves_it(
    shop: Workshop, tmp_path: Path, clean_env: dict[str, str], by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_site(tmp_path)
    configure_site(str(root), tmp_path / "cache-folder", monkeypatch)
    expected = use_site(shop)
    assert [done.status for done in expected] == [0, 0, 0, 0, 0, 2], [done.err for done in expected]
    with hate_serve(root, env=clean_env) if by == "hate serve" else nginx(root, tmp_path / "nginx") as server:
        configure_site(server.url, tmp_path / "cache-served", monkeypatch)
        check_same(use_site(shop), expected)


def check_same(results: list[Done], expected: list[Done]) -> None:
    for result, other in zip(results, expected, strict=True):
        assert result.status == other.status, result.err
    names = [{entry["name"]: entry["digest"] for entry in done[0].json["tests"]} for done in (results, expected)]
    assert names[0] == names[1]
    assert results[1].json["digest"] == expected[1].json["digest"]
    assert results[2].json["rows"] == expected[2].json["rows"]
    assert _without_costs(results[3]) == _without_costs(expected[3])
    assert results[4].out == expected[4].out


def _without_costs(done: Done) -> object:
    """The output of a comparison without the times of the runs."""
    comparison = json.loads(done.out)
    return [
        comparison["better"],
        comparison["groups"],
        [(pair["a"], pair["b"], pair["z"]) for pair in comparison["pairs"]],
    ]


def test_the_address_of_a_page_names_the_test(shop: Workshop, tmp_path: Path) -> None:
    root = make_site(tmp_path)
    shop.interface("def answer(case, params):\n    return None\n")
    with serve_here(root) as server:
        for page in ("far", "far@1.0", "far.html", "far@1.0.html"):
            address = f"{server.url}/tests/{page}"
            done = shop.call("run", address, "--format", "json", "-o", "mine.jsonl", "--force")
            assert (done.status, done.row["tests"]) == (0, 20), done.err


def test_the_address_of_a_page_names_the_transcript(shop: Workshop, tmp_path: Path) -> None:
    root = make_site(tmp_path)
    with serve_here(root) as server:
        runs = [f"{server.url}/transcripts/{page}" for page in ("far@1.0/alpha", "far/beta.html")]
        done = shop.call("compare", *runs, "--format", "json")
        assert [run["name"] for run in done.json["transcripts"]] == ["alpha", "beta"], done.err
        unknown = shop.call("show", f"{server.url}/transcripts/far/delta")
    assert unknown.status == 2
    assert "no transcript 'delta' of far" in unknown.err


def test_others_find_what_is_submitted(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_site(tmp_path)
    token = Database(tmp_path / "tokens.db").add_token("anna")
    shop.interface('NAME = "anna-1"\ndef answer(case, params):\n    return case.input[0] + "0"\n')
    with serve_here(root, tokens=tmp_path / "tokens.db") as server:
        monkeypatch.setenv("HATE_SITES", server.url)
        assert shop.call("run", "far", "-o", "mine.jsonl").status == 0
        data = (shop.folder / "mine.jsonl").read_bytes()
        answer = server.put("/transcripts/far@1.0/anna-1", data, token)
        assert answer.status_code == 201, answer.text
        compared = shop.call("compare", "anna-1", "far/alpha", "--format", "json")
        assert [run["name"] for run in compared.json["transcripts"]] == ["anna-1", "alpha"], compared.err


@pytest.mark.parametrize("kind", ["files", "index"])
def test_damage_on_the_server_is_noticed_by_the_client(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    root = make_site(tmp_path)
    for path in (root / kind).rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-2] + b"!\n")
    with serve_here(root) as server:
        configure_site(server.url, tmp_path / "cache", monkeypatch)
        shop.interface()
        done = shop.call("run", "far")
        assert done.status == 2
        assert "sha256" in done.err
