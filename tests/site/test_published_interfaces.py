"""Interfaces that are published with a test: files to read and to try, which nothing runs by itself."""

import json
import os
from pathlib import Path

import pytest

from harness.site.publish import tidy
from harness.site.sites import open_folder
from tests.site.published_site import make_site, served, tiny
from tests.workshop import Workshop

# Whoever imports it leaves a mark.
MARKED = """\
import pathlib
pathlib.Path({mark!r}).write_text("run")
def answer(case, params):
    return None
"""


class Strawman:
    """A folder with an interface, and a site whose test it is for."""

    def __init__(self, shop: Workshop, folder: Path) -> None:
        self.shop, self.mark = shop, folder / "mark"
        self.folder = folder / "straw"
        (self.folder / "__pycache__").mkdir(parents=True)
        (self.folder / "interface.py").write_text(MARKED.format(mark=str(self.mark)))
        (self.folder / "weights.txt").write_text("1 2 3\n")
        (self.folder / "__pycache__" / "x.pyc").write_bytes(b"x")
        self.site = make_site(shop, folder / "site")

    def publish(self, *words: str | Path, status: int = 0) -> str:
        done = self.shop.call("publish", *words, "--to", self.site, "--format", "json")
        assert done.status == status, done.err
        return done.out if status == 0 else done.err


@pytest.fixture
def straw(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Strawman:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Strawman(shop, tmp_path / "owner")


def test_a_test_comes_with_its_strawman(straw: Strawman, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = json.loads(straw.publish(straw.folder, "--for", "tiny"))["published"]
    assert [(entry["name"], entry["result"], entry["files"]) for entry in said] == [
        ("interface straw for tiny", "published", 2)
    ]
    with served(straw.site) as server:
        monkeypatch.setenv("HATE_SITES", server.url(""))
        target = tmp_path / "got"
        done = straw.shop.call("fetch", "tiny", "--interfaces", target, "--format", "json")
        assert done.status == 0, done.err
        assert done.json["fetched"][-1]["part"] == "interface straw"
        files = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
        assert files == {"straw/interface.py", "straw/weights.txt"}
        for name in ("interface.py", "weights.txt"):
            assert (target / "straw" / name).read_bytes() == (straw.folder / name).read_bytes()
            assert not os.access(target / "straw" / name, os.X_OK)
        again = straw.shop.call("fetch", "tiny", "--interfaces", target)
        assert (again.status, "nothing is overwritten" in again.err) == (2, True)
        # Neither publishing, nor listing, nor fetching has run it; naming it does.
        for words in (["list"], ["list", "--interfaces"], ["describe", "tiny"]):
            assert straw.shop.call(*words).status == 0
        assert not straw.mark.exists()
        assert straw.shop.call("run", "tiny", "--interface", target / "straw").status == 0
        assert straw.mark.exists()


def test_with_the_test_itself_no_name_is_needed(straw: Strawman, tmp_path: Path) -> None:
    straw.publish(tiny(tmp_path / "other", name="other"), straw.folder / "interface.py", "--dry-run")
    straw.publish(tiny(tmp_path / "other", name="other"), straw.folder / "interface.py")
    index = open_folder(straw.site).test("other")
    assert index is not None
    assert [(entry.name, [file.path for file in entry.files]) for entry in index.interfaces] == [
        ("straw", ["interface.py"])
    ]
    # A new version of the test keeps them, and so does tidying.
    straw.publish(tiny(tmp_path / "other2", name="other", version="2.0.0"))
    tidy(straw.site, grace=-1)
    site = open_folder(straw.site)
    index = site.test("other")
    assert index is not None
    assert len(index.versions) == 2
    assert site.store.file(index.interfaces[0].files[0].ref).read_text().startswith("import pathlib")


def test_what_is_published_never_changes(straw: Strawman) -> None:
    straw.publish(straw.folder, "--for", "tiny")
    assert json.loads(straw.publish(straw.folder, "--for", "tiny"))["published"][0]["result"] == "already there"
    (straw.folder / "weights.txt").write_text("4\n")
    assert "already has another interface with the name 'straw'" in straw.publish(
        straw.folder, "--for", "tiny", status=2
    )
    straw.publish(straw.folder, "--for", "tiny", "--name", "straw-2")
    assert not straw.mark.exists()


def test_mistakes_are_one_line(straw: Strawman, tmp_path: Path) -> None:
    broken = tmp_path / "broken" / "interface.py"
    broken.parent.mkdir()
    broken.write_text("def answer(:\n")
    table = tmp_path / "table" / "interface.toml"
    table.parent.mkdir()
    table.write_text("[command\n")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "interface.py").write_text("x = 1\n")
    (linked / "passwords").symlink_to("/etc/passwd")
    for words, text in (
        ([straw.folder], "an interface; say for which test with --for TEST"),
        ([straw.folder, "--for", "nothing"], "its test 'nothing' is not published"),
        ([broken, "--for", "tiny"], "not an interface: invalid syntax"),
        ([table, "--for", "tiny"], "not an interface:"),
        ([linked, "--for", "tiny"], "passwords: a link"),
        ([straw.folder, "--for", "tiny", "--name", "a b"], "cannot be a transcript's name"),
    ):
        err = straw.publish(*words, status=2)
        assert (err.count("\n"), text in err) == (1, True), err
