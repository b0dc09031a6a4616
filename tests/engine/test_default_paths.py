"""Which file a run takes that names none: `--resume` its own, `--retry-errors` its own, `--force` the first."""

from pathlib import Path

import pytest

import harness
from tests.workshop import ECHO, Workshop

# It ends the run at case c3, as Ctrl-C would, until there is a file `go`.
STOPPED = """\
import os, pathlib, signal
NAME = "work"
def answer(case, params):
    if case.id == "c3" and not pathlib.Path("go").exists():
        os.kill(os.getpid(), signal.SIGINT)
    return case.input
"""
FIRST, SECOND = "transcripts/toy/work.jsonl", "transcripts/toy/work-2.jsonl"


def files(shop: Workshop) -> list[str]:
    return sorted(path.relative_to(shop.folder).as_posix() for path in shop.folder.glob("transcripts/toy/*"))


def go(shop: Workshop, *words: str) -> None:
    done = shop.call("run", "toy", *words)
    assert done.status == 0, done.err


@pytest.fixture
def stopped(toy: Workshop) -> Workshop:
    """A run that was interrupted after three of six cases; the next one is not."""
    toy.interface(STOPPED)
    done = toy.call("run", "toy")
    assert done.status == 130
    assert done.err.endswith(f"3 of 6 trials are in {FIRST}; carry on with --resume -o {FIRST}\n")
    toy.write("go", "")
    return toy


LATER: dict[str, list[list[str]]] = {
    "a part": [["--limit", "2"]],
    "a part that was stopped": [["--limit", "4"]],
    "the whole": [[]],
    "other parameters": [["--param", "threshold=1"]],
    "several": [["--limit", "2"], ["--repeat", "2"], []],
}


@pytest.mark.parametrize("offered", [["--resume"], ["--resume", "-o", FIRST]], ids=["by itself", "with its file"])
@pytest.mark.parametrize("later", LATER)
def test_a_stopped_run_is_carried_on_with_whatever_was_run_since(
    later: str, offered: list[str], stopped: Workshop
) -> None:
    if later == "a part that was stopped":
        (stopped.folder / "go").unlink()
        assert stopped.call("run", "toy", *LATER[later][0]).status == 130
        stopped.write("go", "")
    else:
        for words in LATER[later]:
            go(stopped, *words)
    since = {name: (stopped.folder / name).read_bytes() for name in files(stopped) if name != FIRST}
    done = stopped.call("run", "toy", *offered)
    assert done.status == 0, done.err
    assert done.err == f"transcript: {FIRST}\n"
    assert len(stopped.records(FIRST)) == 6
    assert {name: (stopped.folder / name).read_bytes() for name in files(stopped) if name != FIRST} == since


def test_python_carries_on_with_it_too(stopped: Workshop) -> None:
    go(stopped, "--limit", "2")
    assert harness.run("toy", resume=True).path == Path(FIRST)


def test_a_stopped_part_is_carried_on_with_as_a_part(stopped: Workshop) -> None:
    (stopped.folder / "go").unlink()
    assert stopped.call("run", "toy", "--limit", "4").status == 130
    stopped.write("go", "")
    go(stopped, "--limit", "4", "--resume")
    assert len(stopped.records(SECOND)) == 4


def test_a_run_that_is_under_way_is_not_carried_on_with_if_another_was_stopped(stopped: Workshop) -> None:
    from harness.transcript.write import TranscriptWriter

    (stopped.folder / "go").unlink()
    assert stopped.call("run", "toy").status == 130
    stopped.write("go", "")
    writer = TranscriptWriter.claim(Path(SECOND))
    try:
        go(stopped, "--resume")
        assert len(stopped.records(FIRST)) == 6
        assert "another run is writing" in stopped.call("run", "toy", "--resume").err
    finally:
        writer.close()


def test_the_first_file_may_be_gone(stopped: Workshop) -> None:
    (stopped.folder / FIRST).rename(stopped.folder / SECOND)
    go(stopped, "--resume")
    assert files(stopped) == [SECOND]


def test_without_a_run_of_this_kind_the_difference_is_said(toy: Workshop) -> None:
    toy.interface("NAME = 'work'\n" + ECHO)
    go(toy, "--limit", "2")
    done = toy.call("run", "toy", "--resume")
    assert done.status == 2
    assert f"{FIRST}: from a different run: limit (2 there, None now)" in done.err


def test_errors_are_retried_in_the_run_of_this_kind(toy: Workshop) -> None:
    toy.interface(
        "import pathlib\nNAME = 'work'\ndef answer(case, params):\n"
        "    assert pathlib.Path('go').exists() or case.id != 'c1'\n    return case.input\n"
    )
    go(toy)
    toy.write("go", "")
    go(toy, "--limit", "2")
    done = toy.call("run", "toy", "--retry-errors")
    assert (done.status, done.err) == (0, f"transcript: {FIRST}\n")
    assert not any("error" in record for record in toy.records(FIRST))


def test_force_replaces_the_default_file(toy: Workshop) -> None:
    toy.interface("NAME = 'work'\n" + ECHO)
    go(toy, "--limit", "2")
    go(toy, "--force")
    assert files(toy) == [FIRST]
    assert len(toy.records(FIRST)) == 6
    go(toy)
    go(toy, "--force", "--limit", "3")
    assert [len(toy.records(name)) for name in (FIRST, SECOND)] == [3, 6]


def test_force_that_names_no_file_spares_a_run_that_was_stopped(stopped: Workshop) -> None:
    before = (stopped.folder / FIRST).read_bytes()
    done = stopped.call("run", "toy", "--force")
    assert done.status == 2
    assert done.err == (
        f"hate: {FIRST}: a run that was stopped; --resume carries on with it, "
        f"-o {FIRST} --force overwrites it all the same\n"
    )
    assert (stopped.folder / FIRST).read_bytes() == before
    go(stopped, "--force", "-o", FIRST)
    assert len(stopped.records(FIRST)) == 6


def test_force_that_names_no_file_spares_what_is_not_this_algorithms(toy: Workshop) -> None:
    toy.interface("NAME = 'work'\n" + ECHO)
    go(toy)
    go(toy)
    toy.interface("NAME = 'work-2'\n" + ECHO)
    done = toy.call("run", "toy", "--force")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert f"{SECOND}: a run of 'work'" in done.err
    toy.write(SECOND, "notes\n")
    assert "in the way, and not a transcript" in toy.call("run", "toy", "--force").err
    assert (toy.folder / SECOND).read_text() == "notes\n"


def test_force_replaces_the_default_files_of_folds(toy: Workshop) -> None:
    toy.script(sections='[train]\ntable = "train.csv"\n')
    toy.write("toy/train.csv", "id,input,expect\n" + "".join(f"t{n},x{n},x{n}\n" for n in range(6)))
    toy.interface("NAME = 'work'\ndef train(cases, params):\n    pass\n" + ECHO)
    for _ in range(2):
        go(toy, "--train-folds", "2", "--force")
    assert files(toy) == [f"transcripts/toy/work-fold-{fold}.jsonl" for fold in (1, 2)]
    whole = toy.folder / "transcripts/toy/work-fold-2.jsonl"
    whole.write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:3]))
    done = toy.call("run", "toy", "--train-folds", "2", "--force")
    assert (done.status, "work-fold-2.jsonl: a run that was stopped" in done.err) == (2, True)
    # A later set that is whole is not what --resume means.
    go(toy, "--train-folds", "2")
    go(toy, "--train-folds", "2", "--resume")
    assert len(toy.records("transcripts/toy/work-fold-2.jsonl")) == 6


IMPORTED = ["--test", "toy", "--algorithm", "work"]


def test_an_import_with_force_replaces_the_default_file_and_not_its_own(toy: Workshop) -> None:
    for name in ("a", "b"):
        toy.write(f"{name}.csv", "id,y_true,y_pred\n1,x,x\n2,y,x\n")
    for _ in range(2):
        assert toy.call("import", "a.csv", *IMPORTED, "--force").status == 0
    assert files(toy) == [FIRST]
    assert toy.call("import", "a.csv", "b.csv", *IMPORTED, "--force").status == 0
    assert files(toy) == [SECOND, FIRST]


def test_a_fusion_with_force_does_not_replace_what_it_reads(toy: Workshop) -> None:
    for name in ("work", "other"):
        toy.interface(f"NAME = '{name}'\n" + ECHO)
        go(toy)
    words = ["fuse", "work", "other", "--algorithm", "work", "--force"]
    before = (toy.folder / FIRST).read_bytes()
    done = toy.call(*words)
    assert done.status == 0, done.err
    assert (toy.folder / FIRST).read_bytes() == before
    assert SECOND in done.err
