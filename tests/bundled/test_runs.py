"""The bundled examples through `hate`, and the published transcripts."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bundled.bundle import CLASSIFIERS, EXAMPLES, INTERFACES, SCRIPTS, TRANSCRIPTS
from tests.workshop import Record, Workshop

TIMING = {"seconds", "memory"}  # of a record
# Of a header.
MACHINE = {"harness", "python", "platform", "started", "git", "cpu", "versions", "isolation"}
CLOCK = {"finished", "sha256"}  # of an end line; the digest covers timing and machine

each_classifier = pytest.mark.parametrize("name", CLASSIFIERS)


def _row(shop: Workshop, *words: str | Path) -> Record:
    done = shop.call("run", *words, "--format", "json")
    assert done.status == 0, done.err
    return done.row


def _lines(transcript: Path) -> list[Record]:
    """The transcript without what differs between two equal runs."""
    head, *records, end = [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines()]
    untimed = [{key: value for key, value in record.items() if key not in TIMING} for record in records]
    without = [(head, MACHINE), (end, CLOCK)]
    first, last = ({key: value for key, value in line.items() if key not in drop} for line, drop in without)
    return [first, *untimed, last]


@pytest.mark.sampled(3)
@each_classifier
def test_a_run_reproduces_the_published_transcript(name: str, shop: Workshop) -> None:
    """After a change to a script or a classifier, publish again: in the checkout,

    hate run hdigits --interface NAME -o transcripts/hdigits/NAME.jsonl --force
    """
    row = _row(shop, "hdigits", "--interface", name, "-o", "again.jsonl")
    published = TRANSCRIPTS / "hdigits" / f"{name}.jsonl"
    assert _lines(shop.folder / "again.jsonl") == _lines(published)
    end = json.loads(published.read_text(encoding="utf-8").splitlines()[-1])
    assert {key: row[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER")} == {
        key: end[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER")
    }
    assert end["tests"] == 1434
    assert end["ER"] == 0


@pytest.mark.slow
def test_two_workers_give_the_same_transcript_as_one(shop: Workshop) -> None:
    """With the installed program, as users start it."""
    words = ["run", "hdigits", "--interface", "wisard", "-j", "2", "-o", "two.jsonl"]
    subprocess.run([Path(sys.executable).parent / "hate", *words], cwd=shop.folder, check=True, capture_output=True)
    assert _lines(shop.folder / "two.jsonl") == _lines(TRANSCRIPTS / "hdigits" / "wisard.jsonl")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "path",
    [
        *(SCRIPTS / name / f"{name}.hate.toml" for name in ("hdigits", "blank")),
        *(INTERFACES / name for name in CLASSIFIERS),
        *(TRANSCRIPTS / "hdigits" / f"{name}.jsonl" for name in CLASSIFIERS),
    ],
    ids=lambda path: path.name,
)
def test_check_finds_nothing_wrong(path: Path, shop: Workshop) -> None:
    done = shop.call("check", path)
    assert done.status == 0, done.out + done.err
    assert "warning" not in done.err.lower()


@pytest.mark.slow
@each_classifier
def test_a_higher_threshold_refuses_blank_images(name: str, shop: Workshop) -> None:
    rows = [
        _row(shop, "blank", "--interface", name, "--param", f"threshold={threshold}", "-o", f"{threshold}.jsonl")
        for threshold in (0, 10, 1000)
    ]
    assert [row["TP"] + row["FN"] for row in rows] == [0, 0, 0]
    assert rows[0]["FP"] == rows[0]["tests"] == 197
    assert rows[0]["TN"] < rows[1]["TN"] < rows[2]["TN"] == 197


def test_the_transcript_has_strata_and_units(shop: Workshop) -> None:
    _row(shop, "blank", "--interface", "witch", "-o", "blank.jsonl")
    head, *records, _ = _lines(shop.folder / "blank.jsonl")
    assert head["design"] == {"stratum": "kind", "psu": "pattern"}
    assert {record["stratum"] for record in records} == {"uniform", "noise", "letter"}
    assert len({record["psu"] for record in records}) == 17 + 100 + 16


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "needs", "limit"),
    [("c", ["cc", "make"], 1434), ("perl", ["perl"], 1434), ("shell", ["sh", "awk", "od"], 10)],
)
def test_an_example_runs(example: str, needs: list[str], limit: int, shop: Workshop) -> None:
    for program in needs:
        if shutil.which(program) is None:
            pytest.skip(f"this machine has no {program}")
    shutil.copytree(EXAMPLES / example, shop.folder, dirs_exist_ok=True)
    if example == "c":
        subprocess.run(["make"], cwd=shop.folder, check=True, capture_output=True)
    row = _row(shop, "hdigits", "--limit", str(limit))  # found in the working folder
    assert (row["tests"], row["ER"]) == (limit, 0)
    assert row["TP"] / (row["TP"] + row["FN"]) > 0.6


def test_the_five_line_function_runs(shop: Workshop) -> None:
    shutil.copy(EXAMPLES / "python_function" / "interface.py", shop.folder)
    row = _row(shop, "hdigits")
    assert (row["tests"], row["ER"]) == (1434, 0)
    assert row["TP"] > 0
