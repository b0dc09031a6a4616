"""A file that is not here, but whose name without its ending is published: the tutorial's `warlock.out`."""

from pathlib import Path

import pytest

from tests.site.published_site import make_site, run_transcript, served, tiny
from tests.workshop import Workshop

ENDINGS = ["good.out", "good.jsonl", "good.jsonl.gz", "good.parquet"]


@pytest.fixture
def away(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """Another user's machine with a run of its own in mine.out, and a site that has good and poor."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "away-cache"))
    make_site(shop, tmp_path / "site")
    run_transcript(shop, tiny(tmp_path / "source" / "tiny"), "mine").rename(shop.folder / "mine.out")
    return shop


def check_found(shop: Workshop, name: str) -> None:
    done = shop.call("-mode", "compare", "mine.out", name, "-format", "json")
    assert done.status == 0, done.err
    assert [one["name"] for one in done.json["transcripts"]] == ["mine", "good"]
    assert f"{name} is not here: tiny/good is the published transcript" in done.err


@pytest.mark.parametrize("name", ENDINGS)
def test_it_is_found_at_a_site_over_http(
    name: str, away: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path / "site") as server:
        monkeypatch.setenv("HATE_SITES", server.url(""))
        check_found(away, name)


@pytest.mark.parametrize("name", ENDINGS)
def test_it_is_found_in_a_folder(name: str, away: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATE_SITES", str(tmp_path / "site"))
    check_found(away, name)


def test_a_bundled_one_is_found(shop: Workshop) -> None:
    done = shop.call("-mode", "compare", "hdigits/witch", "warlock.out", "-format", "json")
    assert done.status == 0, done.err
    assert [one["name"] for one in done.json["transcripts"]] == ["witch", "warlock"]
    assert shop.call("rate", "warlock.out", "--format", "json").json["transcripts"][0]["name"] == "warlock"


def test_it_is_of_the_test_of_the_others(away: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """hdigits/warlock is bundled, but mine.out is of another test."""
    monkeypatch.setenv("HATE_SITES", str(tmp_path / "site"))
    done = away.call("compare", "mine.out", "warlock.out")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "warlock.out: no such file" in done.err


@pytest.mark.parametrize(("name", "said"), [
    ("gone.jsonl", "gone.jsonl: no such file\n"), ("gone.out", "gone.out: no such file, no run here and no published"),
])  # fmt: skip
def test_what_is_nowhere_is_said(name: str, said: str, away: Workshop) -> None:
    done = away.call("compare", "mine.out", name)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert said in done.err


def test_a_file_that_is_here_is_taken(away: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATE_SITES", str(tmp_path / "site"))
    run_transcript(away, tmp_path / "source" / "tiny", "poor").rename(away.folder / "good.out")
    done = away.call("compare", "mine.out", "good.out", "--format", "json")
    assert [one["name"] for one in done.json["transcripts"]] == ["mine", "poor"]
