"""An algorithm that writes where it should read: it is found out, and no later run suffers."""

import io
import os
import signal
import stat
import zipfile
from pathlib import Path

import pytest

from harness.site.cache import FILES, UNPACKED, cache_folder, is_intact, read_listing, verified
from tests.site.published_site import served as serving_folder
from tests.workshop import Workshop, wait_until

READS = "from pathlib import Path\ndef answer(case, params):\n    return Path(case.input).read_text()\n"
# The ways to spoil a file, with `path` as its name.
SPOILS = {
    "overwrites": "os.chmod(path, 0o666); Path(path).write_text('y')",
    "replaces": "os.chmod(folder, 0o777); Path(path + '~').write_text('x9'); os.replace(path + '~', path)",
    "removes": "os.chmod(folder, 0o777); os.remove(path)",
    "adds": "os.chmod(folder, 0o777); Path(path + '.new').write_text('x9')",
    "links": "os.chmod(folder, 0o777); os.remove(path); os.symlink('/etc/hostname', path)",
    "rewrites the listing": (
        "from harness.site.cache import make_listing, write_listing; entry = Path(folder).parent; "
        "os.chmod(path, 0o666); Path(path).write_text('yy'); write_listing(entry, make_listing(entry))"
    ),
    "restores the time": (
        "old = os.stat(path); os.chmod(path, 0o666); Path(path).write_text('yy'); "
        "os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))"
    ),
}


def evil(act: str) -> str:
    return (
        "import os\nfrom pathlib import Path\nNAME = 'evil'\ndef answer(case, params):\n"
        f"    path, folder = case.input, os.path.dirname(case.input)\n    {act}\n    return 'x0'\n"
    )


@pytest.fixture
def packed(shop: Workshop) -> Workshop:
    """A test whose inputs are the files of an archive, each with its right answer as its content."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for number in range(6):
            archive.writestr(f"in/{number}.txt", f"x{number}")
        # So that each test has an entry of its own in the cache.
        archive.writestr("salt", str(shop.folder))
    shop.write("toy/data.zip", content.getvalue())
    rows = [f"c{n},{{data}}/in/{n}.txt,{'y' if n % 2 else 'x'}{n},{'false' if n % 2 else 'true'}" for n in range(6)]
    shop.script(
        sections='[data.data]\npath = "data.zip"\nunpack = true\n',
        rows="\n".join(["id,input,expect,positive", *rows, ""]),
    )
    shop.interface(READS)
    return shop


def entry_of(shop: Workshop) -> Path:
    """The unpacked archive of this test."""
    salted = [path for path in (cache_folder() / UNPACKED).glob("*/salt") if path.read_text() == str(shop.folder)]
    (path,) = salted
    return path.parent


@pytest.mark.parametrize("how", SPOILS)
def test_spoilt_data_ends_the_run_and_is_mended(how: str, packed: Workshop) -> None:
    before = packed.run(output="before.jsonl")
    packed.write("evil/interface.py", evil(SPOILS[how]))
    done = packed.call("run", "toy", "--interface", "evil", "--limit", "2", "-o", "evil.jsonl")
    assert done.status == 1
    first, second = done.err.splitlines()[-2:]
    assert first.startswith("hate: data.data: 2 files were changed during the run, such as 'in/0.txt")
    assert "the cache has been mended" in first
    assert second == "hate: 2 records, which count for nothing, are in evil.jsonl.spoilt"
    assert not (packed.folder / "evil.jsonl").exists()
    assert (packed.folder / "evil.jsonl.spoilt").read_text().count('"end"') == 0
    assert packed.run(output="after.jsonl") == before


def test_a_link_in_the_place_of_the_data_is_removed_and_not_followed(packed: Workshop) -> None:
    before = packed.run(output="before.jsonl")
    mine = packed.write("mine/in/0.txt", "mine").parent
    mine.chmod(0o700)
    act = f"root = Path(folder).parent; case.id == 'c0' and (root.rename({str(packed.folder / 'moved')!r}), "
    packed.write("evil/interface.py", evil(f"{act}os.symlink({str(mine.parent)!r}, root))"))
    done = packed.call("run", "toy", "--interface", "evil", "-o", "evil.jsonl")
    assert done.status == 1
    assert "7 files were changed during the run" in done.err
    assert packed.run(output="after.jsonl") == before
    assert stat.S_IMODE(mine.stat().st_mode) == 0o700
    assert (mine / "0.txt").read_text() == "mine"


def test_what_a_killed_run_spoilt_is_mended_before_the_next(packed: Workshop) -> None:
    before = packed.run(output="before.jsonl")
    path = entry_of(packed) / "in/2.txt"
    path.chmod(0o666)
    path.write_text("y")
    assert packed.run(output="after.jsonl") == before
    assert path.read_text() == "x2"


@pytest.mark.slow
def test_an_interrupted_run_tells_of_spoilt_data(packed: Workshop) -> None:
    packed.run(output="before.jsonl")
    act = "if case.id == 'c1':\n        Path('waiting').touch()\n        import time; time.sleep(1000)\n    "
    packed.write("evil/interface.py", evil(act + SPOILS["overwrites"]))
    with packed.start("run", "toy", "--interface", "evil", "-o", "evil.jsonl") as process:
        wait_until("the second case", (packed.folder / "waiting").exists, process)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate()
    assert process.returncode == 143
    assert "1 file was changed during the run, such as 'in/0.txt'" in err
    assert "are in evil.jsonl.spoilt" in err
    assert (entry_of(packed) / "in/0.txt").read_text() == "x0"


def test_data_beside_the_script_is_verified_and_never_changed(shop: Workshop) -> None:
    rows = [f"c{number},{{data}}/{number}.txt,x{number},true" for number in range(3)]
    shop.script(sections='[data.data]\npath = "own"\n', rows="\n".join(["id,input,expect,positive", *rows, ""]))
    for number in range(3):
        shop.write(f"toy/own/{number}.txt", f"x{number}")
    shop.interface(READS)
    shop.run(output="before.jsonl")
    shop.interface(evil("path.endswith('1.txt') and Path(path).write_text('spoilt')"))
    done = shop.call("run", "toy", "-o", "evil.jsonl")
    assert done.status == 1
    assert "hate: 'own': 1 file was changed during the run, such as '1.txt'; an algorithm may only read" in done.err
    assert (shop.folder / "toy/own/1.txt").read_text() == "spoilt"
    assert not (shop.folder / "evil.jsonl").exists()


def test_the_tables_of_a_test_are_verified_too(toy: Workshop) -> None:
    """An algorithm that adds a row for each that it is asked would also never come to an end."""
    toy.interface(
        "def answer(case, params):\n    with open('toy/cases.csv', 'a') as file:\n"
        "        print(f'c9{case.id},x9,x9,true', file=file)\n    return 'x0'\n"
    )
    done = toy.call("run", "toy", "-o", "evil.jsonl")
    assert done.status == 1
    assert "'cases.csv': 1 file was changed during the run" in done.err


def test_a_file_that_was_only_touched_is_no_harm(toy: Workshop) -> None:
    toy.interface("import os\ndef answer(case, params):\n    os.utime('toy/cases.csv')\n    return case.input\n")
    assert len(toy.run()) == 6


def test_other_commands_that_run_an_algorithm_find_out_too(packed: Workshop) -> None:
    packed.interface(evil(SPOILS["overwrites"]))
    for words in (["test", "toy"], ["run", "toy", "--case", "c0"]):
        done = packed.call(*words)
        assert done.status == 1
        assert "file was changed during the run" in done.err or "files were changed during the run" in done.err


def test_unpacked_data_is_read_only(packed: Workshop) -> None:
    packed.run()
    entry = entry_of(packed)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (entry / "salt", entry / "in/0.txt")}
    assert modes == {0o444}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (entry, entry / "in")} == {0o555}


def test_cache_verify_reads_unpacked_data_and_removes_what_is_damaged(packed: Workshop) -> None:
    before = packed.run(output="before.jsonl")
    entry = entry_of(packed)
    done = packed.call("cache", "verify", "--format", "json")
    assert done.status == 0
    assert done.json["checked"] >= 1
    path = entry / "in/3.txt"
    path.chmod(0o666)
    path.write_text("zz")
    done = packed.call("cache", "verify", "--format", "json")
    assert done.status == 1
    assert done.json["damaged"] == [{"kind": "unpacked", "what": entry.name}]
    assert not entry.exists()
    assert packed.run(output="after.jsonl") == before


def test_a_clean_cache_can_be_cleared(packed: Workshop) -> None:
    packed.run()
    entry = entry_of(packed)
    assert packed.call("cache", "clear", "unpacked").status == 0
    assert not entry.exists()
    assert not entry.with_name(f"{entry.name}.list").exists()


def test_an_unpacked_entry_without_a_listing_is_unpacked_again(packed: Workshop) -> None:
    """As caches of older versions have it: nobody knows what it held."""
    before = packed.run(output="before.jsonl")
    entry = entry_of(packed)
    path = entry / "in/2.txt"
    path.chmod(0o666)
    path.write_text("y")
    entry.with_name(f"{entry.name}.list").unlink()
    assert packed.run(output="after.jsonl") == before
    assert read_listing(entry) is not None


def test_a_downloaded_file_that_was_changed_is_downloaded_again(shop: Workshop) -> None:
    """Content-addressed: `hello` has this SHA-256, by sha256sum."""
    key, made = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "content").write_text("hello")

    path = verified(FILES, key, make) / "content"
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert verified(FILES, key, make) / "content" == path
    assert len(made) == 1
    # A link changes a time of the file and nothing else.
    os.link(path, shop.folder / "linked")
    assert is_intact(path.parent)
    path.parent.with_name(f"{key}.list").unlink()
    assert is_intact(path.parent)
    path.chmod(0o666)
    path.write_text("hullo")
    assert not is_intact(path.parent)
    assert (verified(FILES, key, make) / "content").read_text() == "hello"
    assert len(made) == 2


def test_data_that_cannot_be_made_again_is_said(packed: Workshop) -> None:
    """The archive is gone too: the entry is removed rather than left spoilt."""
    packed.run(output="before.jsonl")
    entry = entry_of(packed)
    packed.write("evil/interface.py", evil(f"os.remove('toy/data.zip'); {SPOILS['overwrites']}"))
    done = packed.call("run", "toy", "--interface", "evil", "--limit", "1", "-o", "evil.jsonl")
    assert done.status == 1
    assert "the cache could not be mended" in done.err
    assert not entry.exists()


@pytest.mark.parametrize("way", ["script", "site"])
def test_a_test_from_elsewhere_is_whole_again_for_the_next_run(
    way: str, packed: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its archive and its table, which are files in the cache; here one of its own, for all of it is spoilt."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = packed.run(output="before.jsonl")
    if way == "site":
        assert packed.call("publish", "toy", "--to", "place").status == 0
    with serving_folder(packed.folder / ("place" if way == "site" else "toy")) as server:
        url = server.url("/tests/toy" if way == "site" else "/toy.hate.toml")
        assert packed.call("run", url, "-o", "first.jsonl").status == 0
        spoil = "for f in Path(folder).parent.parent.parent.rglob('*.[cz][si][vp]'):\n"
        spoil += "        os.chmod(f, 0o666); f.write_bytes(b'evil')\n    "
        packed.write("evil/interface.py", evil(spoil + SPOILS["overwrites"]))
        done = packed.call("run", url, "--interface", "evil", "--limit", "1", "-o", "evil.jsonl")
        assert done.status == 1
        assert "'cases.csv': 1 file was changed during the run" in done.err
        assert "'data.zip': 1 file was changed during the run" in done.err
        assert packed.call("run", url, "-o", "after.jsonl").status == 0
    assert packed.records("after.jsonl") == before
