"""Publishing: checked first, once, all or nothing, and never changed afterwards."""

import errno
import gzip
import json
import os
import random
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness.errors import DataError, OutputError, UsageError
from harness.script.load import load_script
from harness.site import publish as publishing
from harness.site.catalogue import Catalogue
from harness.site.publish import publish, tidy
from harness.site.publish_candidates import read_candidates
from harness.site.sites import open_folder
from tests.site.published_site import make_site, run_transcript, tiny, top_of, tree
from tests.workshop import Workshop, command


@pytest.fixture
def site(shop: Workshop, tmp_path: Path) -> Path:
    return make_site(shop, tmp_path / "site")


def source(site: Path) -> Path:
    return site.parent / "source" / "tiny"


def checked_site(site: Path) -> Catalogue:
    """The site, with every file that its top index leads to read and checked."""
    catalogue = open_folder(site)
    for entry in catalogue.tests():
        index = catalogue.index_of(entry)
        assert [version.version for version in index.versions]
        for version in index.versions:
            for file in catalogue.release(index, version).files:
                catalogue.store.file(file.ref)
        for transcript in catalogue.transcripts(index):
            catalogue.store.file(transcript.file)
            named = catalogue.tests_with(transcript.name)
            assert named is not None
            assert entry.name in named.tests
    return catalogue


def test_what_is_published_can_be_found(site: Path) -> None:
    catalogue = checked_site(site)
    index = catalogue.test("tiny")
    assert index is not None
    entry = catalogue.entry("tiny")
    assert entry is not None
    assert (entry.version, entry.synopsis, entry.cases, entry.transcripts) == ("1.0.0", "the tiny one", 6, 2)
    assert entry.digest == load_script(source(site) / "tiny.hate.toml").digest
    poor = catalogue.transcript(index, "poor")
    assert poor is not None
    assert (poor.algorithm, poor.tests, poor.TP, poor.FN) == ("poor", 6, 5, 1)
    release = catalogue.release(index, index.latest)
    assert {file.path for file in release.files} >= {"tiny.hate.toml", "cases.csv", "images/deep/0.txt"}
    assert catalogue.test("absent") is None


def test_publishing_twice_changes_nothing(site: Path, shop: Workshop) -> None:
    before = tree(site)
    done = shop.call("publish", source(site), "--to", site, "--format", "json")
    assert done.status == 0
    assert done.json["published"][0]["result"] == "already there"
    assert done.json["serial"] is None
    assert tree(site) == before


def test_a_dry_run_reports_and_writes_nothing(site: Path, shop: Workshop) -> None:
    before = tree(site)
    folder = tiny(shop.folder / "new", version="2.0.0")
    done = shop.call("publish", folder, "--to", site, "--dry-run")
    assert done.status == 0
    assert "published" in done.out
    assert "nothing was written" in done.err
    assert tree(site) == before
    assert shop.call("publish", folder, "--to", shop.folder / "nowhere", "--dry-run").status == 0
    assert not (shop.folder / "nowhere").exists()


def test_published_tests_never_change(site: Path, shop: Workshop) -> None:
    before = tree(site)
    (source(site) / "images" / "deep" / "3.txt").write_text("changed")
    done = shop.call("publish", source(site), "--to", site)
    assert done.status == 2
    assert "tiny 1.0.0 is already published, and differs in images/deep/3.txt" in done.err
    assert "new version" in done.err
    assert tree(site) == before


def test_a_new_version_is_added_to_the_old(site: Path, shop: Workshop) -> None:
    old = set(tree(site))
    for version in ("1.10.0", "1.9.0"):
        assert shop.call("publish", tiny(shop.folder / version, version=version), "--to", site).status == 0
    catalogue = checked_site(site)
    index = catalogue.test("tiny")
    assert index is not None
    assert [version.version for version in index.versions] == ["1.0.0", "1.9.0", "1.10.0"]
    assert old <= set(tree(site))
    entry = catalogue.transcript(index, "good")
    assert entry is not None
    assert entry.version == "1.0.0"


def test_names_of_transcripts_lead_to_their_tests(site: Path, shop: Workshop) -> None:
    other = tiny(shop.folder / "other", name="other")
    run = run_transcript(shop, other, "good")
    assert shop.call("publish", other, run, "--to", site).status == 0
    named = checked_site(site).tests_with("good")
    assert named is not None
    assert (named.count, named.tests) == (2, ["tiny", "other"])


def test_publishing_again_repairs_damage(site: Path, shop: Workshop) -> None:
    before = tree(site)
    victim = next(path for path in (site / "files").rglob("*") if path.is_file() and path.read_bytes() == b"x3")
    victim.write_bytes(b"y3")
    assert shop.call("publish", source(site), "--to", site).status == 0
    assert tree(site) == before


def refusal(shop: Workshop, site: Path, *words: str | Path) -> str:
    before = tree(site)
    done = shop.call("publish", *words, "--to", site)
    assert done.status == 2
    assert tree(site) == before
    return done.err


def test_invalid_input_is_refused_first(site: Path, shop: Workshop) -> None:
    good = run_transcript(shop, source(site), "third")
    lines = good.read_bytes().splitlines(keepends=True)
    head = json.loads(lines[0])
    cases = {
        "torn.jsonl": (b"".join(lines[:-1]), "incomplete"),
        "changed.jsonl": (good.read_bytes().replace(b'"TP"', b'"FN"', 1), "its content does not have its sha256"),
        "page.jsonl": (b"<html>", "not a transcript"),
        "empty.jsonl": (b"", "empty"),
        "odd name.jsonl": (good.read_bytes(), "cannot be a transcript's name"),
    }
    for key, value, text in (
        ("name", "unknown", "its test 'unknown' is not published at"),
        ("version", "7", "its test tiny '7' is not published, only 1.0.0"),
        ("digest", f"1:{'0' * 64}", "not of the published tiny 1.0.0: its digest"),
    ):
        header = head | {"test": head["test"] | {key: value}}
        body = json.dumps(header).encode() + b"\n" + b"".join(lines[1:-1])
        cases[f"{key}.jsonl"] = (body + b'{"end":true,"tests":6,"TP":6}\n', text)
    for name, (content, text) in cases.items():
        assert text in refusal(shop, site, shop.write(name, content)), name
    assert "no such file" in refusal(shop, site, "nowhere.jsonl")
    assert "no script" in refusal(shop, site, shop.write("folder/x", "").parent)
    both = refusal(shop, site, shop.folder / "torn.jsonl", shop.folder / "page.jsonl", good)
    assert "2 of 3 cannot be published" in both


def test_a_partial_run_is_refused(site: Path, shop: Workshop) -> None:
    shop.interface()
    assert shop.call("run", f"{source(site)}/", "--limit", "2", "-o", "part.jsonl").status == 0
    assert "2 records, but a complete run of tiny 1.0.0 has 6" in refusal(shop, site, "part.jsonl")


def test_a_name_has_one_transcript(site: Path, shop: Workshop) -> None:
    other = run_transcript(shop, source(site), "other", "None")
    text = refusal(shop, site, other, "--name", "good")
    assert "tiny 1.0.0 already has another transcript with the name 'good'" in text
    packed = shop.write("packed.jsonl.gz", gzip.compress(other.read_bytes()))
    assert shop.call("publish", packed, "--to", site).status == 0
    index = checked_site(site).test("tiny")
    assert index is not None
    assert {entry.name for entry in open_folder(site).transcripts(index)} == {"good", "poor", "packed"}


def test_a_site_is_made_only_in_an_empty_folder(shop: Workshop, site: Path) -> None:
    shop.write("full/notes.txt", "mine")
    done = shop.call("publish", source(site), "--to", "full")
    assert done.status == 2
    assert "not empty (it has notes.txt)" in done.err
    assert shop.call("publish", source(site)).status == 2
    assert shop.call("publish", "--to", site).status == 2


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_several_publishers_at_once_all_succeed(site: Path, shop: Workshop, count: int) -> None:
    folders = [tiny(shop.folder / f"t{n}", name=f"t{n}") for n in range(count)]
    started = [shop.start("publish", folder, "--to", site) for folder in folders]
    assert [process.wait(60) for process in started] == [0] * count
    for process in started:
        process.communicate()
    assert {entry.name for entry in checked_site(site).tests()} == {"tiny", *(f"t{n}" for n in range(count))}
    assert top_of(site).serial == 1 + count


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_a_killed_publisher_leaves_nothing_visible(shop: Workshop, tmp_path: Path, count: int) -> None:
    """Killed at any moment: readers see the complete site from before or after; the next publisher succeeds."""
    site = tmp_path / "site"
    publish(site, read_candidates([tiny(tmp_path / "base", name="base")]))
    rng = random.Random(1)
    folders = [tiny(tmp_path / f"n{n}", name=f"n{n}", count=40) for n in range(count)]
    for number, folder in enumerate(folders):
        before = {entry.name for entry in checked_site(site).tests()}
        process = subprocess.Popen(command(["publish", folder, "--to", site]), env=shop.env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)  # fmt: skip
        wait = time.monotonic() + 60
        # Wait until it works in the folder, then for a random time.
        while not any((site / ".publishing").glob("*.part")) and process.poll() is None and time.monotonic() < wait:
            time.sleep(0.0005)
        time.sleep(rng.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert {entry.name for entry in checked_site(site).tests()} in (before, before | {f"n{number}"})
    publish(site, read_candidates(folders))
    assert len(list(checked_site(site).tests())) == 1 + count
    assert not list((site / ".publishing").glob("*.part"))


def test_a_change_that_readers_see_is_said_to_be_published(
    site: Path, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(folder: Path) -> None:
        if folder == site:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(publishing, "sync_folder", broken)
    done = shop.call("publish", tiny(shop.folder / "more", name="more"), "--to", site)
    assert done.status == 2
    assert "published, but not safe from a power cut: Input/output error" in done.err
    assert "nothing was published" not in done.err
    assert {entry.name for entry in checked_site(site).tests()} == {"tiny", "more"}


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_the_site_is_unchanged(site: Path, shop: Workshop) -> None:
    before = tree(site)
    folder = tiny(shop.folder / "big", name="big")
    (folder / "images" / "deep" / "big.bin").write_bytes(bytes(300_000))
    done = shop.hate("publish", folder, "--to", site, preexec_fn=lambda: _limit(200_000))
    assert done.status == 2
    assert "File too large; nothing was published" in done.err
    assert done.err.count("\n") == 1
    visible = {name: data for name, data in tree(site).items() if name in before}
    assert visible == before
    assert {entry.name for entry in checked_site(site).tests()} == {"tiny"}
    assert shop.call("publish", folder, "--to", site).status == 0


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_no_permission_is_one_line(site: Path, shop: Workshop) -> None:
    if os.geteuid() == 0:
        done = shop.call("publish", source(site), "--to", "/proc/nowhere")
        assert done.err.startswith("hate: /proc/nowhere")
    else:
        site.chmod(0o500)
        done = shop.call("publish", source(site), "--to", site / "new")
        site.chmod(0o700)
        assert "Permission denied" in done.err
    assert done.status == 2


def test_a_clock_in_the_past_changes_nothing(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.site import publish as publishing

    monkeypatch.setattr(publishing, "now", lambda: "1970-01-01T00:00:00Z")
    publish(site, read_candidates([tiny(tmp_path / "late", name="late")]))
    assert top_of(site).serial == 2
    assert {entry.name for entry in checked_site(site).tests()} == {"tiny", "late"}


def test_a_file_that_changes_while_it_is_published_is_refused(site: Path, tmp_path: Path) -> None:
    before = tree(site)
    folder = tiny(tmp_path / "moving", name="moving", count=7)
    offered = read_candidates([folder])
    (folder / "cases.csv").write_text("id,input,expect\n1,2,3\n")
    with pytest.raises(OutputError, match="changed while it was being published"):
        publish(site, offered)
    assert (site / "hate-site.json").read_bytes() == before["hate-site.json"]


def test_tidying_removes_unreferenced_files(site: Path, shop: Workshop, tmp_path: Path) -> None:
    publish(site, read_candidates([tiny(tmp_path / "v2", version="2.0.0")]))
    assert tidy(site).files == 0
    (site / "files" / "left.by.somebody").write_bytes(b"1234")
    removed = tidy(site, grace=-60.0)
    # The old leaf of the tests, the old index of the test, and a stray file.
    assert removed.files == 3
    needed = tree(site)
    assert {entry.name for entry in checked_site(site).tests()} == {"tiny"}
    assert tidy(site, grace=-60.0).files == 0
    assert tree(site) == needed
    done = shop.call("publish", "--to", site, "--tidy")
    assert done.status == 0
    assert "0 files removed" in done.err
    assert shop.call("publish", "--to", tmp_path / "v2", "--tidy").status == 2


def test_names_that_are_invalid_on_other_systems_are_refused(site: Path, tmp_path: Path) -> None:
    folder = tiny(tmp_path / "odd", name="odd")
    (folder / "images" / "a:b").write_text("")
    with pytest.raises(DataError, match="is not the name of a file inside its folder"):
        read_candidates([folder])


def test_a_transcript_cannot_name_a_test_outside(site: Path, shop: Workshop) -> None:
    run = run_transcript(shop, source(site), "sly")
    text = run.read_bytes().replace(b'"name":"tiny"', b'"name":"../../x"', 1)
    body = b"".join(text.splitlines(keepends=True)[:-1])
    with pytest.raises(UsageError, match="not published"):
        publish(site, read_candidates([shop.write("sly.jsonl", body + b'{"end":true,"tests":6,"TP":6}\n')]))
