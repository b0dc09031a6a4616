"""The examples in C, Perl and shell: compiled, started, and used over pipes."""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.bundled.bundle import EXAMPLES, Bundle, best, tally

WAIT = 60  # seconds before a test gives up; never reached if all is well


def _require(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"this machine has no {program}")


@pytest.fixture(scope="module")
def train_file(hdigits: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("train") / "train.jsonl"
    rows = [{"id": case.id, "input": case.input, "expect": case.expect} for case in hdigits.train]
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("interfaces") / "examples"
    shutil.copytree(EXAMPLES, copy)
    return copy


@pytest.fixture(scope="module", params=["c", "perl"])
def streaming(request: pytest.FixtureRequest, folders: Path) -> Path:
    if request.param == "c":
        _require("cc", "make")
        built = subprocess.run(["make", "CFLAGS=-O2 -Wall -Wextra -Werror"], cwd=folders / "c", capture_output=True)
        assert built.returncode == 0, built.stderr.decode()
    else:
        _require("perl")
    return folders / str(request.param)


def _hello(interface: dict[str, Any], train: Path | None) -> dict[str, Any]:
    return {
        "hate": "stream",
        "format": 1,
        "test": {"name": "hdigits", "version": "1.0.0", "task": "label"},
        "params": {"threshold": 0.0} | interface["algorithm"].get("params", {}),
        "train": None if train is None else str(train),
    }


@contextmanager
def _started(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", dict[str, Any]]]:
    interface = tomllib.loads((folder / "interface.toml").read_text(encoding="utf-8"))
    argv = interface["stream"]["argv"]
    with subprocess.Popen(
        argv, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process, interface
        finally:
            process.kill()


def _send(process: "subprocess.Popen[str]", message: dict[str, Any]) -> dict[str, Any]:
    """Send a line and wait for its answer, which must come before anything else is sent."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message, separators=(",", ":")) + "\n")
    process.stdin.flush()
    reply: dict[str, Any] = json.loads(process.stdout.readline())
    return reply


def test_a_stream_program_answers_line_by_line(streaming: Path, hdigits: Bundle, train_file: Path) -> None:
    with _started(streaming) as (process, interface):
        assert _send(process, _hello(interface, train_file))["ready"] is True
        for case in hdigits.visible_cases()[:20]:
            reply = _send(process, {"id": case.id, "input": case.input})
            assert reply["id"] == case.id
            assert set(reply["scores"]) == set("0123456789")
        _, errors = process.communicate(timeout=WAIT)
        assert (process.returncode, errors) == (0, "")


def test_a_stream_program_takes_many_in_flight_and_reads_better_than_chance(
    streaming: Path, hdigits: Bundle, train_file: Path
) -> None:
    with _started(streaming) as (process, interface):
        messages = [_hello(interface, train_file), *({"id": c.id, "input": c.input} for c in hdigits.visible_cases())]
        # Spaces after colons and commas are JSON too.
        sent = "".join(json.dumps(message) + "\n" for message in messages)
        out, errors = process.communicate(sent, timeout=WAIT)
    assert (process.returncode, errors) == (0, "")
    ready, *replies = [json.loads(line) for line in out.splitlines()]
    assert ready["ready"] is True
    assert {reply["id"] for reply in replies} == {row["id"] for row in hdigits.cases}
    counts = tally(hdigits.cases, {reply["id"]: best(reply["scores"])[0] for reply in replies})
    assert min(counts.values()) > 0
    assert counts["TP"] / 717 > 0.7


def test_a_stream_program_says_what_is_wrong_with_a_case_and_goes_on(
    streaming: Path, hdigits: Bundle, train_file: Path
) -> None:
    good = hdigits.visible_cases()[0]
    with _started(streaming) as (process, interface):
        _send(process, _hello(interface, train_file))
        wrong = _send(process, {"id": "gone", "input": str(train_file.with_name("gone.pgm"))})
        assert wrong["id"] == "gone"
        assert wrong["error"]
        assert "scores" in _send(process, {"id": good.id, "input": good.input})


def test_a_stream_program_without_training_material_says_so(streaming: Path) -> None:
    with _started(streaming) as (process, interface):
        assert "training" in _send(process, _hello(interface, None))["error"]
        process.communicate(timeout=WAIT)
        assert process.returncode == 0


def test_the_perl_program_takes_its_parameter(folders: Path, hdigits: Bundle, train_file: Path) -> None:
    _require("perl")
    case = hdigits.visible_cases()[0]
    found = []
    for cell in (1, 4):
        with _started(folders / "perl") as (process, interface):
            hello = _hello(interface, train_file)
            hello["params"]["cell"] = cell
            _send(process, hello)
            found.append(_send(process, {"id": case.id, "input": case.input})["scores"])
    assert found[0] != found[1]


def _fill_in(argv: list[str], **values: object) -> list[str]:
    for name, value in values.items():
        argv = [word.replace(f"{{{name}}}", str(value)) for word in argv]
    return argv


@pytest.mark.slow
def test_the_shell_program_learns_and_answers(folders: Path, hdigits: Bundle, train_file: Path, tmp_path: Path) -> None:
    _require("sh", "awk", "od", "sed", "sort")
    folder = folders / "shell"
    command = tomllib.loads((folder / "interface.toml").read_text(encoding="utf-8"))["command"]
    # A fifth of the training images: it starts two programs per image.
    fifth = tmp_path / "train.jsonl"
    fifth.write_text("".join(train_file.read_text(encoding="utf-8").splitlines(keepends=True)[::5]), encoding="utf-8")
    trained = subprocess.run(_fill_in(command["train"], train=fifth, work=tmp_path), cwd=folder, timeout=WAIT)
    assert trained.returncode == 0
    some = hdigits.cases[::144]
    labels: dict[str, str | None] = {}
    for case in some:
        argv = _fill_in(command["argv"], input=case["input"], work=tmp_path)
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=WAIT, check=True)
        match = re.search(command["pattern"], done.stdout)
        assert match is not None
        assert float(match["score"]) >= 0
        labels[case["id"]] = match["label"]
    counts = tally(some, labels)
    assert counts["TP"] / (counts["TP"] + counts["FN"]) > 0.6

    lost = _fill_in(command["argv"], input=tmp_path / "gone.pgm", work=tmp_path)
    done = subprocess.run(lost, cwd=folder, capture_output=True, text=True, timeout=WAIT)
    assert done.returncode != 0
    assert "gone.pgm" in done.stderr
