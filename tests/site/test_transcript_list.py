"""`hate list --transcripts`: newest first, with parameters and extent, and no wider than a terminal."""

import pytest

from harness.errors import TranscriptError
from harness.report.text import width
from harness.transcript.read import glance, summarise
from tests.analysis.transcripts import transcript
from tests.site.run_files import ago, write_run
from tests.workshop import Record, Workshop

DEFAULTS = {"bits": 10, "tuples": 128}
KEYS = {"test", "version", "algorithm", "tests", "rate", "complete", "site", "path"}


def write_several_runs(shop: Workshop) -> None:
    write_run(shop, "toy/mine.jsonl", started=ago(4000), params=DEFAULTS, defaults=DEFAULTS)
    write_run(shop, "toy/mine-2.jsonl", started=ago(3000), params=DEFAULTS | {"bits": 2}, defaults=DEFAULTS, right=3)
    write_run(shop, "toy/mine-3.jsonl", started=ago(2000), count=2, extent={"limit": 2})
    write_run(shop, "toy/mine-fold-1.jsonl", started=ago(1000), extent={"without_fold": 1, "folds": 2, "seed": 0})
    write_run(shop, "toy/mine-4.jsonl.gz", started=ago(500), complete=False, count=4)


def listed(shop: Workshop) -> list[Record]:
    done = shop.call("list", "--transcripts", "--format", "json")
    assert done.status == 0, done.err
    entries: list[Record] = [entry for entry in done.json["transcripts"] if entry["site"] == "."]
    return entries


def test_newest_first_with_changed_parameters_and_extent(shop: Workshop) -> None:
    write_several_runs(shop)
    entries = listed(shop)
    assert [entry["path"].rpartition("/")[2] for entry in entries] == [
        "mine-4.jsonl.gz", "mine-fold-1.jsonl", "mine-3.jsonl", "mine-2.jsonl", "mine.jsonl",
    ]  # fmt: skip
    assert all(set(entry) >= KEYS | {"started", "params", "changed", "extent"} for entry in entries)
    assert [entry["complete"] for entry in entries] == [False, True, True, True, True]
    assert [entry["extent"] for entry in entries] == [
        {},
        {"without_fold": 1, "folds": 2, "seed": 0},
        {"limit": 2},
        {},
        {},
    ]
    assert [entry["changed"] for entry in entries] == [None, None, None, {"bits": 2}, {}]
    assert [entry["tests"] for entry in entries] == [4, 6, 2, 6, 6]
    assert entries[3]["rate"] == 0.5
    assert entries[3]["params"] == {"bits": 2, "tuples": 128}


def test_the_rate_follows_the_weights_of_the_test(shop: Workshop) -> None:
    """As hate rate has it: the mean of both strata, 1 and 1/4."""
    path = shop.folder / "transcripts" / "toy" / "mine.jsonl"
    path.parent.mkdir(parents=True)
    design = {"stratum": "s", "weights": "equal"}
    strata = ["a", "a", "b", "b", "b", "b"]
    transcript(path, [True, True, True, False, False, False], design=design, stratum=strata)
    rated = shop.call("rate", path, "--format", "json").json["transcripts"][0]
    assert rated["measures"]["rate"]["estimate"] == 0.625
    assert [entry["rate"] for entry in listed(shop)] == [0.625]


def test_the_table_fits_a_terminal(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    write_several_runs(shop)
    monkeypatch.setenv("COLUMNS", "80")
    lines = shop.call("list", "--transcripts", "--format", "table").out.splitlines()
    assert max(map(width, lines)) <= 80
    rows = [" ".join(line.split()) for line in lines if " toy " in line]
    assert rows == [
        "8 min toy mine 4 incomplete 1.0000 toy/mine-4.jsonl.gz",
        "16 min toy mine without fold 1 1.0000 toy/mine-fold-1.jsonl",
        "33 min toy mine 2 of 6 1.0000 toy/mine-3.jsonl",
        "50 min toy mine bits=2 6 0.5000 toy/mine-2.jsonl",
        "66 min toy mine 6 1.0000 toy/mine.jsonl",
    ]
    assert any(line.endswith(" hdigits/wisard") for line in lines)


@pytest.mark.parametrize("columns", [80, 60])
def test_long_names_fit_too(columns: int, shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {f"parameter{number}": "a long value" for number in range(9)}
    write_run(shop, "a-test-with-a-name/a-file-with-a-rather-long-name.jsonl", "an algorithm of many words " * 3,
        test="a-test-with-a-name", params=many, defaults=dict.fromkeys(many, ""))  # fmt: skip
    write_run(shop, "elsewhere/日本語.jsonl", "日本語の名前")
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = shop.call("list", "--transcripts", "--format", "table").out.splitlines()
    assert max(map(width, lines)) <= columns


@pytest.mark.parametrize("style", ["plain", "csv"])
def test_old_columns_keep_their_places_for_programs(style: str, shop: Workshop) -> None:
    write_several_runs(shop)
    header = shop.call("list", "--transcripts", "--format", style).out.splitlines()[0]
    names = header.removeprefix("# ").replace(",", " ").split()
    assert names[:7] == ["test", "version", "algorithm", "tests", "rate", "complete", "site"]
    assert names[-1] == "path"
    assert {"started", "parameters", "extent"} < set(names)


def test_a_file_that_is_not_a_transcript_is_noted(shop: Workshop) -> None:
    write_several_runs(shop)
    shop.write("transcripts/toy/bad.jsonl", b"\0\1\2")
    shop.write("transcripts/toy/notes.txt", "mine")
    done = shop.call("list", "--transcripts")
    assert done.status == 0
    assert "skipped: transcripts/toy/bad.jsonl:1: not a transcript" in done.err
    assert "notes.txt" not in done.out + done.err


# The first and the last line


@pytest.mark.parametrize("file", ["toy/a.jsonl", "toy/a.jsonl.gz"])
@pytest.mark.parametrize("complete", [True, False])
def test_a_glance_agrees_with_a_full_reading(file: str, complete: bool, shop: Workshop) -> None:
    path = shop.folder / write_run(shop, file, right=4, complete=complete)
    assert glance(path) == summarise(path)


@pytest.mark.parametrize("ending", [b"", b"\n", b"\n\n"])
def test_any_ending_of_the_last_line(ending: bytes, shop: Workshop) -> None:
    path = shop.folder / write_run(shop, "toy/a.jsonl")
    path.write_bytes(path.read_bytes().rstrip(b"\n") + ending)
    assert glance(path).complete


@pytest.mark.parametrize("last", [b'{"end":true,"TP":"many"}\n', b'{"end":true}\n{}\n', b"\xff\n", b"[" * 5000 + b"\n"])
def test_a_bad_last_line(last: bytes, shop: Workshop) -> None:
    path = shop.folder / write_run(shop, "toy/a.jsonl", complete=False)
    path.write_bytes(path.read_bytes() + last)
    with pytest.raises(TranscriptError, match=r"a\.jsonl"):
        glance(path)


def test_a_record_is_never_a_last_line(shop: Workshop) -> None:
    path = shop.folder / write_run(shop, "toy/a.jsonl", complete=False)
    path.write_bytes(path.read_bytes() + b'{"id":"x","outcome":"TP","end":true}\n')
    assert not glance(path).complete
