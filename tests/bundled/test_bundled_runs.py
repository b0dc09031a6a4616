"""The bundled examples through the installed `hate`, and the published transcripts."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bundle import CLASSIFIERS, EXAMPLES, INTERFACES, SCRIPTS, TRANSCRIPTS

HATE = Path(sys.executable).parent / "hate"
TIMING = {"seconds", "memory"}  # of a record
MACHINE = {"harness", "python", "platform", "started"}  # of a header
CLOCK = {"finished", "sha256"}  # of an end line; the digest covers timing and machine

each_classifier = pytest.mark.parametrize("name", CLASSIFIERS)


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        # A blank and a letter beyond ASCII: programs in any language get such paths as inputs.
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caché d'images")))
        yield


def _hate(folder: Path, *words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([HATE, *words], cwd=folder, capture_output=True, text=True)


def _row(folder: Path, *words: str | Path) -> dict[str, Any]:
    done = _hate(folder, "run", *words, "--format", "json")
    assert done.returncode == 0, done.stderr
    row: dict[str, Any] = json.loads(done.stdout)["rows"][0]
    return row


def _lines(transcript: Path) -> list[dict[str, Any]]:
    """The transcript without what differs between two runs of the same thing."""
    head, *records, end = [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines()]
    kept = [{key: value for key, value in record.items() if key not in TIMING} for record in records]
    without = [(head, MACHINE), (end, CLOCK)]
    first, last = ({key: value for key, value in line.items() if key not in drop} for line, drop in without)
    return [first, *kept, last]


@each_classifier
def test_a_run_reproduces_the_published_transcript(name: str, tmp_path: Path) -> None:
    """After a change to a script or a classifier, publish again: in the checkout,

    hate run hdigits --interface NAME -o transcripts/hdigits/NAME.jsonl --force
    """
    row = _row(tmp_path, "hdigits", "--interface", name, "-o", "again.jsonl")
    published = TRANSCRIPTS / "hdigits" / f"{name}.jsonl"
    assert _lines(tmp_path / "again.jsonl") == _lines(published)
    end = json.loads(published.read_text(encoding="utf-8").splitlines()[-1])
    assert {key: row[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER")} == {
        key: end[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER")
    }
    assert end["tests"] == 1434
    assert end["ER"] == 0


def test_two_workers_give_what_one_gives(tmp_path: Path) -> None:
    _row(tmp_path, "hdigits", "--interface", "wisard", "-j", "2", "-o", "two.jsonl")
    assert _lines(tmp_path / "two.jsonl") == _lines(TRANSCRIPTS / "hdigits" / "wisard.jsonl")


@pytest.mark.parametrize(
    "path",
    [
        *(SCRIPTS / name / f"{name}.hate.toml" for name in ("hdigits", "blank")),
        *(INTERFACES / name for name in CLASSIFIERS),
        *(TRANSCRIPTS / "hdigits" / f"{name}.jsonl" for name in CLASSIFIERS),
    ],
    ids=lambda path: path.name,
)
def test_check_finds_nothing_wrong(path: Path, tmp_path: Path) -> None:
    done = _hate(tmp_path, "check", path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr.lower()


@each_classifier
def test_a_higher_threshold_refuses_blank_images(name: str, tmp_path: Path) -> None:
    rows = [
        _row(tmp_path, "blank", "--interface", name, "--param", f"threshold={threshold}", "-o", f"{threshold}.jsonl")
        for threshold in (0, 10, 1000)
    ]
    assert [row["TP"] + row["FN"] for row in rows] == [0, 0, 0]
    assert rows[0]["FP"] == rows[0]["tests"] == 197
    assert rows[0]["TN"] < rows[1]["TN"] < rows[2]["TN"] == 197


def test_the_strata_and_units_stand_in_the_transcript(tmp_path: Path) -> None:
    _row(tmp_path, "blank", "--interface", "witch", "-o", "blank.jsonl")
    head, *records, _ = _lines(tmp_path / "blank.jsonl")
    assert head["design"] == {"stratum": "kind", "psu": "pattern"}
    assert {record["stratum"] for record in records} == {"uniform", "noise", "letter"}
    assert len({record["psu"] for record in records}) == 17 + 100 + 16


@pytest.mark.parametrize(
    ("example", "needs", "limit"),
    [("c", ["cc", "make"], 1434), ("perl", ["perl"], 1434), ("shell", ["sh", "awk", "od"], 100)],
)
def test_an_example_runs(example: str, needs: list[str], limit: int, tmp_path: Path) -> None:
    for program in needs:
        if shutil.which(program) is None:
            pytest.skip(f"this machine has no {program}")
    folder = tmp_path / example
    shutil.copytree(EXAMPLES / example, folder)
    if example == "c":
        subprocess.run(["make"], cwd=folder, check=True, capture_output=True)
    row = _row(folder, "hdigits", "--limit", str(limit))  # found in the working folder
    assert (row["tests"], row["ER"]) == (limit, 0)
    assert row["TP"] / (row["TP"] + row["FN"]) > 0.6


def test_the_five_line_function_runs(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "python_function" / "interface.py", tmp_path)
    row = _row(tmp_path, "hdigits")
    assert (row["tests"], row["ER"]) == (1434, 0)
    assert row["TP"] > 0
