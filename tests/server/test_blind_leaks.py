"""What a blind test does not give away: units inside one class, a later version, answers that are given many times."""

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from harness.server.blind_board import SUBMISSIONS
from harness.server.database import Database
from harness.site.blind import private_folder
from harness.site.sites import open_folder
from tests.server.blind_site import BlindSite, resealed
from tests.server.served import serve_here
from tests.workshop import Workshop

SCRIPT = """\
format = 1
[test]
name = "mb"
version = "1.0.0"
synopsis = "mb"
task = "label"
[cases]
table = "cases.csv"
[design]
stratum = "expect"
psu = "batch"
"""


def units_test(folder: Path, *, inside: bool, seed: int = 1) -> tuple[Path, dict[str, tuple[str, str]]]:
    """300 cases of ten classes in 150 units with names that say nothing: inside one class each, or across two."""
    rng = random.Random(seed)
    names = [f"u{n:03d}x" for n in range(150)]
    rng.shuffle(names)
    cases = [
        (str(unit // 15 if inside else (unit + 5 * turn) % 10), names[unit]) for unit in range(150) for turn in (0, 1)
    ]
    rng.shuffle(cases)
    folder.mkdir(parents=True)
    rows = [f"c{n:03d},q{rng.getrandbits(40):010x},{real},{unit}" for n, (real, unit) in enumerate(cases)]
    (folder / "cases.csv").write_text("\n".join(["id,input,expect,batch", *rows, ""]))
    # A unit may not lie in two strata.
    script = SCRIPT if inside else SCRIPT.replace('stratum = "expect"\n', "")
    (folder / "mb.hate.toml").write_text(script)
    return folder, {f"c{n:03d}": case for n, case in enumerate(cases)}


def everything(root: Path) -> str:
    return "".join(path.read_text(errors="replace") for path in root.rglob("*") if path.is_file())


@pytest.mark.parametrize("seed", range(3))
def test_units_inside_one_class_are_kept_back_and_said(shop: Workshop, tmp_path: Path, seed: int) -> None:
    folder, cases = units_test(tmp_path / "mb", inside=True, seed=seed)
    done = shop.call("publish", str(folder), "--blind", "--to", str(tmp_path / "site"))
    assert done.status == 0, done.err
    assert "column 'batch' tells the truth, so it is hidden too" in done.err
    text = everything(tmp_path / "site")
    assert "c000" in text
    assert not any(unit in text for _, unit in cases.values())
    # The site judges by the whole design all the same.
    assert 'psu = "batch"' in (private_folder(tmp_path / "site") / "mb@1.0.0/test/mb.hate.toml").read_text()
    assert "column 'batch' tells the answer" in shop.call("check", str(folder)).out


def test_units_that_cross_classes_are_published(shop: Workshop, tmp_path: Path) -> None:
    folder, cases = units_test(tmp_path / "mb", inside=False)
    done = shop.call("publish", str(folder), "--blind", "--to", str(tmp_path / "site"))
    assert (done.status, "batch" in done.err) == (0, False), done.err
    text = everything(tmp_path / "site")
    assert all(unit in text for _, unit in cases.values())
    assert 'psu = "batch"' in text
    assert "tells" not in shop.call("check", str(folder)).out


def test_a_vote_within_what_is_published_gains_nothing(shop: Workshop, tmp_path: Path) -> None:
    """Answers that are right on three of four cases, and the majority among cases that share a published value."""
    rng = random.Random(2)
    folder, cases = units_test(tmp_path / "mb", inside=True)
    assert shop.call("publish", str(folder), "--blind", "--to", str(tmp_path / "site")).status == 0
    public = private_folder(tmp_path / "site") / "mb@1.0.0/public/cases.csv"
    names, *rows = [line.split(",") for line in public.read_text().splitlines()]
    guess = {case: real if rng.random() < 0.75 else str(rng.randrange(10)) for case, (real, _) in cases.items()}
    right = sum(guess[case] == real for case, (real, _) in cases.items())
    for column in range(2, len(names)):
        votes: dict[str, Counter[str]] = defaultdict(Counter)
        for row in rows:
            votes[row[column]][guess[row[0]]] += 1
        voted = sum(votes[row[column]].most_common(1)[0][0] == cases[row[0]][0] for row in rows)
        assert voted <= right
    assert names == ["id", "input"]


@pytest.mark.parametrize("inside", [True, False])
def test_folders_of_inputs_that_tell_the_class_are_said(shop: Workshop, tmp_path: Path, *, inside: bool) -> None:
    folder, cases = units_test(tmp_path / "mb", inside=True)
    codes = [f"n{37 * n % 100:02d}" for n in range(10)]
    rows = [
        f"{case},{codes[int(real) if inside else index % 10]}/{index:03d}.png,{real},{unit}"
        for index, (case, (real, unit)) in enumerate(cases.items())
    ]
    (folder / "cases.csv").write_text("\n".join(["id,input,expect,batch", *rows, ""]))
    done = shop.call("publish", str(folder), "--blind", "--to", str(tmp_path / "site"))
    assert done.status == 0, done.err
    assert ("the folder that an input is in tells its class" in done.err) is inside


def test_a_column_that_is_public_already_is_named(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older version published it, and what is published never changes."""
    folder, _ = units_test(tmp_path / "mb", inside=True)
    words = ("publish", str(folder), "--blind", "--to", str(tmp_path / "site"))
    with monkeypatch.context() as older:
        older.setattr("harness.site.blind.telling_columns", lambda *_: [])
        assert shop.call(*words).status == 0
    done = shop.call(*words)
    assert "column 'batch' tells the truth, and is published already; give the test a new version" in done.err


def test_the_next_version_is_not_laid_open_by_a_forgotten_flag(shop: Workshop, tmp_path: Path) -> None:
    folder, cases = units_test(tmp_path / "mb", inside=True)
    site = str(tmp_path / "site")
    script = folder / "mb.hate.toml"
    assert shop.call("publish", str(folder), "--blind", "--to", site).status == 0

    def versions() -> list[tuple[str, bool]]:
        index = open_folder(Path(site)).test("mb")
        assert index is not None
        return [(version.version, bool(version.blind)) for version in index.versions]

    before = everything(Path(site))
    for version in ("1.0.1", "0.9.0"):
        script.write_text(SCRIPT.replace("1.0.0", version))
        for words in ((), ("--dry-run",)):
            done = shop.call("publish", str(folder), "--to", site, *words)
            assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
            assert "mb 1.0.0 is a blind test" in done.err
            assert "--blind" in done.err
            assert "--reveal" in done.err
    assert everything(Path(site)) == before
    script.write_text(SCRIPT.replace("1.0.0", "1.0.1"))
    both = shop.call("publish", str(folder), "--to", site, "--blind", "--reveal")
    assert (both.status, "exclude one another" in both.err) == (2, True)
    assert shop.call("publish", str(folder), "--to", site, "--blind").status == 0
    # Meant, it is laid open; from then on the test is an open one.
    script.write_text(SCRIPT.replace("1.0.0", "1.1.0"))
    assert shop.call("publish", str(folder), "--to", site, "--reveal").status == 0
    script.write_text(SCRIPT.replace("1.0.0", "1.2.0"))
    assert shop.call("publish", str(folder), "--to", site).status == 0
    assert versions() == [("1.0.0", True), ("1.0.1", True), ("1.1.0", False), ("1.2.0", False)]
    assert next(iter(cases.values()))[1] in everything(Path(site))


@pytest.fixture
def blind(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BlindSite:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return BlindSite(shop, tmp_path / "owner")


def test_a_blind_test_takes_one_answer_per_case(blind: BlindSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """With case k right in 2^k of K answers, the counts would be the outcomes; a huge K would fill the memory."""

    def repeated(lines: list[dict[str, Any]], times: int) -> bytes:
        records = [line | {"repeat": turn} for line in lines[1:-1] for turn in range(1, times + 1)]
        return resealed([lines[0] | {"repeat": times}, *records, lines[-1] | {"tests": len(records)}])

    with serve_here(blind.root, tokens=blind.tokens) as server:
        monkeypatch.setenv("HATE_SITES", server.url)
        blind.run("good.jsonl")
        lines = blind.shop.lines("good.jsonl")
        address = "/transcripts/riddle@1.0/good"
        header = resealed([lines[0] | {"repeat": 1_000_000_000}, *lines[1:]])
        for data in (header, repeated(lines, 2), repeated(lines, 16)):
            answer = server.put(address, data, blind.anna)
            assert (answer.status_code, answer.text.count("\n")) == (422, 1), answer.text
            assert "takes one answer per case; run it without --repeat" in answer.text
        assert not (blind.private / "riddle@1.0" / SUBMISSIONS).exists()
        # It is said before anything is run, too.
        done = blind.shop.call("run", "riddle", "--repeat", "2", "-o", "twice.jsonl")
        assert (done.status, done.out) == (2, "")
        assert "riddle: a blind test takes one answer per case" in done.err
        assert not (blind.shop.folder / "twice.jsonl").exists()
        assert server.put(address, resealed([lines[0] | {"repeat": 1}, *lines[1:]]), blind.anna).status_code == 201
    (entry,) = Database(blind.private / "riddle@1.0" / SUBMISSIONS).submissions()
    assert entry.name == "good"
