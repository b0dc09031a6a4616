"""What a NAME means: the newest complete run here, or else the published one; and the note about it."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.bundled import bundled
from harness.site.find_transcripts import KnownTranscripts
from tests.rooms import of_commands_here
from tests.site.published_site import make_site, run_transcript, served, tiny
from tests.site.run_files import CASES, ago, open_source, refused, successes, write_run
from tests.workshop import Workshop, command

NUMBERS = ("mine.jsonl", "mine-2.jsonl", "mine-3.jsonl")


def write_three_runs(shop: Workshop, order: tuple[int, int, int] = (1, 2, 3)) -> None:
    """Three runs of `mine`, right on 1, 2 and 3 cases; a higher number in `order` means a newer run."""
    for right, (file, position) in enumerate(zip(NUMBERS, order, strict=True), 1):
        write_run(shop, f"toy/{file}", right=right, started=ago(970 - 100 * position))


def write_other_run(shop: Workshop) -> None:
    write_run(shop, "toy/other.jsonl", "other")


# Which of several


def test_a_name_is_the_newest_run(shop: Workshop) -> None:
    write_three_runs(shop)
    write_other_run(shop)
    assert successes(shop, "mine", "other") == [3, CASES]
    err = shop.call("compare", "mine", "other").err
    assert "hate: mine is transcripts/toy/mine-3.jsonl, 11 minutes old (the newest of 3)\n" in err
    assert "other is" not in err  # nothing to choose from


@pytest.mark.parametrize(("order", "right"), [((3, 1, 2), 1), ((1, 3, 2), 2), ((2, 1, 3), 3)])
def test_the_newest_run_started_last_whatever_its_number(
    order: tuple[int, int, int], right: int, shop: Workshop
) -> None:
    write_three_runs(shop, order)
    write_other_run(shop)
    assert successes(shop, "mine", "other")[0] == right


def test_runs_started_at_the_same_time_are_ordered_by_file_time_and_then_by_number(shop: Workshop) -> None:
    started = ago(60)
    for number, right in ((2, 1), (9, 2), (10, 3)):
        write_run(shop, f"toy/mine-{number}.jsonl", right=right, started=started, modified=1e9)
    write_other_run(shop)
    assert successes(shop, "mine", "other")[0] == 3
    write_run(shop, "toy/mine-2.jsonl", right=1, started=started, modified=1e9 + 1)
    assert successes(shop, "mine", "other")[0] == 1


@pytest.mark.parametrize("started", ["", "yesterday", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_run_without_a_start_time_is_as_old_as_its_file(started: str, shop: Workshop) -> None:
    write_run(shop, "toy/a.jsonl", right=1, started=started, modified=2e9)
    write_run(shop, "toy/b.jsonl", right=2, started="2020-01-01T00:00:00Z")
    assert open_source("mine").path.name == "a.jsonl"


def test_times_may_have_time_zones(shop: Workshop) -> None:
    write_run(shop, "toy/a.jsonl", started="2026-01-01T12:00:00+05:00")
    write_run(shop, "toy/b.jsonl", started="2026-01-01T08:00:00")
    assert open_source("mine").path.name == "b.jsonl"


@pytest.mark.parametrize(("seconds", "said"), [
    (1.5, "second"), (300, "5 minutes old"), (3.5 * 3600, "3 hours old"), (5.5 * 86_400, "5 days old"),
    (400 * 86_400, "of 202"), (-90_000, "of 202"),
])  # fmt: skip
def test_age_in_words(seconds: float, said: str, shop: Workshop) -> None:
    write_run(shop, "toy/a.jsonl", started=ago(seconds + 1e7))
    write_run(shop, "toy/b.jsonl", started=ago(seconds))
    assert said in open_source("mine").note


def test_any_file_name_and_gzip(shop: Workshop) -> None:
    write_run(shop, "toy/mine.jsonl", right=1, started=ago(100))
    write_run(shop, "toy/Whatever I called it.jsonl.gz", right=2, started=ago(50))
    write_other_run(shop)
    assert successes(shop, "mine", "other")[0] == 2
    assert successes(shop, "Whatever I called it", "other")[0] == 2


def test_the_base_name_of_a_file_works_but_an_algorithm_comes_first(shop: Workshop) -> None:
    write_three_runs(shop)
    write_run(shop, "toy/other.jsonl", "mine", right=4, started=ago(5000))
    write_run(shop, "toy/x.jsonl", "other", right=5)
    assert successes(shop, "mine-2", "other") == [2, 5]
    assert open_source("mine-2").note == ""


@pytest.mark.parametrize("name", ["my algo", "ünïcode", "日本", "a.b+c", "*", "[x]", "meta/llama-3"])
def test_names_of_any_kind(name: str, shop: Workshop) -> None:
    write_run(shop, "toy/a.jsonl", name, right=3)
    write_other_run(shop)
    assert successes(shop, name, "other")[0] == 3


def test_a_program_or_folder_with_the_same_name_does_not_hide_the_run(shop: Workshop) -> None:
    """The program that was run is often in the working folder, with the same name."""
    write_run(shop, "toy/mine.jsonl", right=3)
    write_other_run(shop)
    shop.write("mine", b"\x7fELF\0\0")
    (shop.folder / "other").mkdir()
    assert successes(shop, "mine", "other") == [3, CASES]
    assert "the file mine is not a transcript" in shop.call("compare", "mine", "other").err
    assert "not a transcript" in refused(shop, "show", str(shop.write("alone", b"\x7fELF\0\0")))
    assert "alone:1: not a transcript" in refused(shop, "show", "alone")


# Never a partial run


PARTS: dict[str, dict[str, Any]] = {
    "limit": {"count": 2, "extent": {"limit": 2}},
    "fold": {"extent": {"without_fold": 1, "folds": 2, "seed": 0}},
    "an older limit": {"count": 2, "limit": 2},
    "an older fold": {"train": {"without_fold": 1, "folds": 2, "seed": 0}},
    "no word, but too few": {"count": 5},
    "repeated, and too few": {"count": 8, "repeat": 2},
    "incomplete": {"complete": False},
    "torn": {"complete": False, "count": 3},
}


@pytest.mark.parametrize("part", PARTS)
def test_a_name_never_means_a_partial_run(part: str, shop: Workshop) -> None:
    write_run(shop, "toy/mine.jsonl", right=4, started=ago(965))
    path = write_run(shop, "toy/mine-2.jsonl", started=ago(10), **PARTS[part])
    write_other_run(shop)
    assert successes(shop, "mine", "other")[0] == 4
    note = open_source("mine").note
    assert note.startswith("mine is transcripts/toy/mine.jsonl, 16 minutes old (mine-2.jsonl is newer but ")
    text = refused(shop, "show", "mine-2")
    assert path in text
    assert "name a file" in text
    assert shop.call("show", path).status == 0


def test_a_limit_above_the_number_of_cases_is_not_a_partial_run(shop: Workshop) -> None:
    write_run(shop, "toy/mine.jsonl", limit=CASES)
    assert open_source("mine").path.name == "mine.jsonl"


def test_repeated_answers_do_not_count_as_more_cases(shop: Workshop) -> None:
    write_run(shop, "toy/mine.jsonl", count=2 * CASES, repeat=2)
    assert open_source("mine").path.name == "mine.jsonl"


def test_if_all_runs_are_partial_the_error_names_them(shop: Workshop) -> None:
    write_run(shop, "toy/mine.jsonl", count=2, extent={"limit": 2})
    write_run(shop, "toy/mine-2.jsonl", extent={"without_fold": 1})
    text = refused(shop, "show", "mine")
    assert "transcripts/toy/mine.jsonl covers only a part (2 of 6)" in text
    assert "transcripts/toy/mine-2.jsonl was trained on a part (without fold 1)" in text


# Published ones


def published_bytes(name: str) -> bytes:
    return (bundled("transcripts") / "hdigits" / f"{name}.jsonl").read_bytes()


def test_an_own_run_hides_only_the_bare_name(shop: Workshop) -> None:
    changed = published_bytes("witch").replace(b'"name":"witch"', b'"name":"wisard"')
    changed = changed.replace(b'"ridge":1000.0', b'"ridge":2.0', 1)
    mine = shop.write("transcripts/hdigits/wisard.jsonl", changed)
    assert open_source("wisard").path.samefile(mine)
    assert open_source("wisard").note.endswith("ridge=2 (hdigits/wisard is the published one)")
    for name in ("hdigits/wisard", "hdigits@1.0.0/wisard"):
        assert open_source(name).path == bundled("transcripts") / "hdigits" / "wisard.jsonl"
    assert "no published transcript" in refused(shop, "show", "hdigits@2.0.0/wisard")


def test_the_note_shows_parameters_that_differ_from_the_published_run(shop: Workshop) -> None:
    shop.call("run", "hdigits", "--interface", "wisard", "--param", "bits=2")
    done = shop.call("compare", "wisard", "hdigits/wisard", "--format", "json")
    assert [entry["name"] for entry in done.json["transcripts"]] == ["wisard", "wisard-2"]
    assert " old, bits=2 (hdigits/wisard is the published one)" in done.err
    assert "wisard is transcripts/hdigits/wisard.jsonl (bits=2), wisard-2 is hdigits/wisard (bits=10)" in done.err


def test_own_partial_runs_do_not_hide_the_published_one(shop: Workshop) -> None:
    shop.call("run", "hdigits", "--interface", "wisard", "--limit", "5")
    source = open_source("wisard")
    assert source.path == bundled("transcripts") / "hdigits" / "wisard.jsonl"
    assert source.note.startswith("wisard is the published hdigits/wisard, ")
    assert source.note.endswith(" (transcripts/hdigits/wisard.jsonl covers only a part (5 of 1434))")


def test_an_own_run_is_not_a_published_one(shop: Workshop) -> None:
    write_three_runs(shop)
    text = refused(shop, "show", "toy/mine")
    assert "your own run is mine, or transcripts/toy/mine-3.jsonl" in text


def test_own_runs_come_before_sites_except_for_full_names(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_site(shop, tmp_path / "site")
    monkeypatch.setenv("HATE_SITES", str(root))
    full = open_source("tiny/poor")
    assert open_source("poor").path == full.path
    run_transcript(shop, tiny(tmp_path / "again" / "tiny"), "poor", "None").rename(_folder(shop, "tiny") / "poor.jsonl")
    assert open_source("poor").path == Path("transcripts/tiny/poor.jsonl")
    assert open_source("tiny/poor") == full


def _folder(shop: Workshop, test: str) -> Path:
    path = shop.folder / "transcripts" / test
    path.mkdir(parents=True, exist_ok=True)
    return path


# Several tests


def test_the_other_names_decide_the_test(shop: Workshop) -> None:
    write_run(shop, "toy/mine.jsonl", right=1)
    write_run(shop, "second/mine.jsonl", right=2, test="second", started=ago(500))
    write_run(shop, "second/other.jsonl", "other", test="second")
    assert successes(shop, "mine", "other") == [2, CASES]
    assert successes(shop, "transcripts/toy/mine.jsonl", "mine") == [1, 1]
    assert "(the one on second; there are runs on toy too)" in KnownTranscripts().open(["mine", "other"])[0].note
    # Alone, it is the newest run of all, and the other test is named.
    (alone,) = KnownTranscripts().open(["mine"])
    assert alone.path == Path("transcripts/toy/mine.jsonl")
    assert "there are runs on second too" in alone.note


def test_the_only_common_test_is_chosen(shop: Workshop) -> None:
    for algorithm, tests in {"mine": ("toy", "second"), "other": ("second", "third")}.items():
        for test in tests:
            write_run(shop, f"{test}/{algorithm}.jsonl", algorithm, test=test)
    assert [source.path.parent.name for source in KnownTranscripts().open(["mine", "other"])] == ["second", "second"]


def test_the_test_is_what_the_header_says_not_the_folder(shop: Workshop) -> None:
    write_run(shop, "elsewhere/mine.jsonl", test="toy", right=1, started=ago(9))
    write_run(shop, "toy/mine.jsonl", test="toy", right=2)
    assert open_source("mine").path.parent.name == "toy"


def test_a_run_on_another_test_does_not_hide_the_published_one_from_its_test(shop: Workshop) -> None:
    write_run(shop, "toy/wisard.jsonl", "wisard")
    alone = open_source("wisard")
    assert alone.path == Path("transcripts/toy/wisard.jsonl")
    assert alone.note.endswith("(hdigits/wisard is the published one)")
    chosen = KnownTranscripts().open(["wisard", "witch"])
    assert [source.full_name for source in chosen] == ["hdigits/wisard", "hdigits/witch"]
    assert chosen[0].note.startswith("wisard is the published hdigits/wisard, ")
    assert chosen[0].note.endswith(" (your own runs are on toy)")
    assert chosen[1].note == ""


# Parameters


def test_only_changed_parameters_are_shown(shop: Workshop) -> None:
    defaults = {"bits": 10, "tuples": 128, "mode": "fast"}
    write_run(shop, "toy/a.jsonl", started=ago(600), params=defaults, defaults=defaults)
    write_run(shop, "toy/b.jsonl", started=ago(60), params=defaults | {"bits": 2}, defaults=defaults)
    assert ", bits=2 (the newest of 2)" in open_source("mine").note
    write_run(shop, "toy/c.jsonl", started=ago(5), params=defaults, defaults=defaults)
    assert "seconds old (the newest of 3)" in open_source("mine").note


def test_without_defaults_the_differing_parameters_are_shown(shop: Workshop) -> None:
    write_run(shop, "toy/a.jsonl", started=ago(600), params={"bits": 10, "tuples": 128})
    write_run(shop, "toy/b.jsonl", started=ago(500), params={"bits": 2, "tuples": 128})
    assert "8 minutes old, bits=2 (the newest of 2)" in open_source("mine").note


def test_the_published_run_provides_the_defaults_of_older_runs(shop: Workshop) -> None:
    old = b'"params":{"threshold":0.0,"tuples":128,"bits":10,"level":8,"seed":0},"defaults":{'
    new = b'"params":{"threshold":0.0,"tuples":128,"bits":3,"level":8,"seed":0},"before":{'
    shop.write("transcripts/hdigits/w.jsonl", published_bytes("wisard").replace(old, new))
    assert ", bits=3 (hdigits/wisard is the published one)" in open_source("wisard").note


def test_every_command_distinguishes_runs_that_differ(shop: Workshop) -> None:
    a, b = (write_run(shop, f"toy/{name}.jsonl", params={"bits": bits, "x": 1}) for name, bits in (("a", 1), ("b", 2)))
    said = "hate: runs of mine: a is transcripts/toy/a.jsonl (bits=1), b is transcripts/toy/b.jsonl (bits=2)\n"
    for word in ("compare", "diff", "confusion"):
        done = shop.call(word, a, b)
        assert done.status == 0, done.err
        assert said in done.err
    same = write_run(shop, "toy/c.jsonl", params={"bits": 2, "x": 1})
    assert "runs of mine" not in shop.call("compare", b, same).err


def test_files_with_the_same_base_name_are_distinguished(shop: Workshop) -> None:
    a, b = write_run(shop, "toy/a.jsonl"), write_run(shop, "more/a.jsonl")
    done = shop.call("compare", a, b, "--format", "json")
    assert [entry["name"] for entry in done.json["transcripts"]] == ["a", "a-2"]
    assert "a is transcripts/toy/a.jsonl, a-2 is transcripts/more/a.jsonl" in done.err


# Hostile folders


def test_files_that_are_not_transcripts_are_skipped_and_noted(shop: Workshop) -> None:
    write_run(shop, "toy/mine.jsonl", right=4, started=ago(1000))
    write_other_run(shop)
    for number, content in enumerate([b"", b"\0\xff" * 50, b'{"hate":"transcript"', b"[1]\n", b"\x1f\x8bbroken"], 2):
        shop.write(f"transcripts/toy/mine-{number}.jsonl", content)
    assert successes(shop, "mine", "other")[0] == 4
    assert "is newer but is not a transcript" in open_source("mine").note
    assert "transcripts/toy/mine-3.jsonl is not a transcript" in refused(shop, "show", "mine-3")


def test_a_damaged_run_is_not_used(shop: Workshop) -> None:
    write_run(shop, "toy/mine.jsonl", right=4, started=ago(1000))
    path = shop.folder / write_run(shop, "toy/mine-2.jsonl.gz")
    path.write_bytes(path.read_bytes()[:-12])
    after = shop.folder / write_run(shop, "toy/mine-3.jsonl")
    after.write_bytes(after.read_bytes() + b"{}\n")
    assert open_source("mine").path.name == "mine.jsonl"
    assert "mine-3.jsonl is newer but is damaged" in open_source("mine").note


def test_anything_but_a_file_is_skipped(shop: Workshop) -> None:
    write_run(shop, "toy/mine.jsonl", right=4)
    folder = shop.folder / "transcripts" / "toy"
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "gone.jsonl").symlink_to("nowhere")
    (folder / "mine-2.jsonl").mkdir()
    (folder.parent / "round").symlink_to("..")
    os.mkfifo(folder / "mine-3.jsonl")
    assert open_source("mine").path == Path("transcripts/toy/mine.jsonl")
    assert shop.call("list", "--transcripts").status == 0


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(shop: Workshop) -> None:
    write_run(shop, "toy/mine.jsonl", right=4, started=ago(100))
    (shop.folder / write_run(shop, "toy/mine-2.jsonl")).chmod(0)
    assert open_source("mine").path.name == "mine.jsonl"
    assert "mine-2.jsonl is newer but is no transcript" in open_source("mine").note


def test_a_file_that_cannot_be_read(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated, because root may read everything."""
    write_run(shop, "toy/mine.jsonl", right=4, started=ago(100))
    write_run(shop, "toy/mine-2.jsonl")
    original = Path.open

    def forbidden(self: Path, *args: object, **more: object) -> object:
        if self.name == "mine-2.jsonl":
            raise PermissionError(13, "Permission denied")
        return original(self, *args, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", forbidden)
    assert open_source("mine").path.name == "mine.jsonl"
    assert "skipped: transcripts/toy/mine-2.jsonl: Permission denied" in shop.call("list", "--transcripts").err


def test_control_characters_are_escaped(shop: Workshop) -> None:
    for number in (1, 2):
        write_run(shop, f"toy/\x1b[31mred{number}.jsonl", params={"mode": f"\x1b]0;{number}\x07"})
    write_other_run(shop)
    assert "\x1b" not in shop.call("compare", "mine", "other").err


@pytest.mark.slow
def test_a_thousand_runs(shop: Workshop) -> None:
    for number in range(1000):
        write_run(shop, f"toy/mine-{number}.jsonl", right=number % CASES, started=ago(5000 - number))
    write_other_run(shop)
    assert successes(shop, "mine", "other")[0] == 999 % CASES
    assert "(the newest of 1,000)" in shop.call("compare", "mine", "other").err
    assert len(shop.call("list", "--transcripts", "--format", "json").json["transcripts"]) >= 1001


# Other commands


def test_every_command_uses_the_same_run(shop: Workshop, tmp_path: Path) -> None:
    write_three_runs(shop)
    write_other_run(shop)
    said = "mine is transcripts/toy/mine-3.jsonl"
    for text in ("show mine", "diff mine other", "confusion mine", "compare mine other"):
        done = shop.call(*text.split())
        assert done.status == 0, done.err
        assert said in done.err
    # These runs have nothing to plot, and their test is not published there.
    for text in ("roc mine", *of_commands_here({"urn mine --group id": ""}), f"publish mine --to {tmp_path}/site"):
        assert said in shop.call(*text.split()).err


def test_a_run_is_published_by_its_name(shop: Workshop, tmp_path: Path) -> None:
    folder = tiny(tmp_path / "source" / "tiny")
    for answer in ("None", "text"):
        run_transcript(shop, folder, "mine", answer).rename(_folder(shop, "tiny") / f"{answer}.jsonl")
    done = shop.call("publish", folder, "mine", "--to", tmp_path / "site", "--format", "json")
    assert done.status == 0, done.err
    assert [entry["name"] for entry in done.json["published"]][1].endswith("mine")
    assert "absent: no such file or folder" in shop.call("publish", "absent", "--to", tmp_path / "site").err


def test_the_shell_completes_algorithms_files_and_published_names(shop: Workshop) -> None:
    write_three_runs(shop)
    write_run(shop, "toy/zebra.jsonl", "my algo")
    variables = {"_HATE_COMPLETE": "bash_complete", "COMP_WORDS": "hate show ", "COMP_CWORD": "2"}
    done = subprocess.run(command([]), cwd=shop.folder, env=shop.env | variables, capture_output=True, text=True)
    offered = {line.partition(",")[2] for line in done.stdout.splitlines()}
    assert {"mine", "mine-2", "my algo", "zebra", "wisard", "hdigits/wisard"} <= offered
    assert "toy/mine" not in offered


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
    assert [entry["name"] for entry in done.json["transcripts"]] == ["mine", "good"]
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
    assert [entry["name"] for entry in done.json["transcripts"]] == ["witch", "warlock"]
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
    assert [entry["name"] for entry in done.json["transcripts"]] == ["mine", "poor"]
