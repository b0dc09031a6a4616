"""`hate run --train-folds --resume`: finished folds are kept, stopped ones are resumed, and nothing is mixed up."""

import json
import signal
from pathlib import Path

import pytest

from tests.workshop import Workshop, errors, wait_until

CASES, FOLDS = 20, 3
# Knows the cases whose number, modulo 12, was among its training cases; writes a line for each training and each
# answer. If the file `stop` has the number of a training, that one waits at case c10 until there is a file `go`.
LEARNER = """\
import json, pathlib, time
def note(name, text):
    with open(name, "a") as file:
        file.write(text + "\\n")
class Interface:
    def train(self, cases, params):
        self.taught = {case.id for case in cases}
        note("taught", json.dumps(sorted(self.taught)))
        self.number = str(len(pathlib.Path("taught").read_text().splitlines()))
    def answer(self, case, params):
        stop = pathlib.Path("stop")
        if case.id == "c10" and stop.exists() and self.number in stop.read_text().split():
            pathlib.Path("waiting").touch()
            while not pathlib.Path("go").exists():
                time.sleep(0.01)
        note("asked", case.id)
        return case.input if f"t{int(case.id[1:]) % 12}" in self.taught else None
"""


@pytest.fixture
def learner(shop: Workshop) -> Workshop:
    shop.script(CASES, sections='[train]\ntable = "train.csv"\n')
    rows = [f"t{n},i{n},{'xy'[n % 2]}" for n in range(12)]
    shop.write("toy/train.csv", "\n".join(["id,input,expect", *rows, ""]))
    shop.interface(LEARNER)
    return shop


def folds(shop: Workshop, *words: str, count: int = FOLDS) -> tuple[list[str], dict[str, object]]:
    """Run all folds, which must end well: the transcripts, and the rest of the JSON."""
    done = shop.call("run", "toy", "--train-folds", str(count), "--format", "json", *words)
    assert done.status == 0, done.err
    found = done.json
    return found.pop("transcripts"), found


def stopped(shop: Workshop, signum: int, *words: str) -> tuple[int, str]:
    """Stop a run in the middle of its second fold (with two workers, each has a training of its own)."""
    (shop.folder / "stop").write_text("3 4" if "-j" in words else "2")
    with shop.start("run", "toy", "--train-folds", str(FOLDS), *words) as process:
        wait_until("the tenth case", (shop.folder / "waiting").exists, process)
        process.send_signal(signum)
        _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    (shop.folder / "go").touch()
    return process.returncode, err


def count(shop: Workshop, name: str) -> int:
    path = shop.folder / name
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("where", "words", "torn"),
    [
        ([], [], b""),
        (["-o", "out.jsonl"], [], b'{"id":"c10","outcome":"TP","posi'),
        (["-o", "out.jsonl.gz"], [], b""),
        ([], ["-j", "2"], b""),
        (["-o", "out.v1.jsonl"], ["--repeat", "2"], b""),
    ],
    ids=["default", "torn", "packed", "two", "repeated"],
)
def test_a_killed_run_of_folds_is_resumed(where: list[str], words: list[str], torn: bytes, learner: Workshop) -> None:
    code, _ = stopped(learner, signal.SIGKILL, *where, *words)
    assert code == -signal.SIGKILL
    first, second = sorted(path for path in learner.folder.rglob("*-fold-*") if path.is_file())
    assert ("fold-1" in first.name, "fold-2" in second.name) == (True, True)
    assert learner.left_running() == []
    kept, on_disk, asked = first.read_bytes(), second.read_bytes().count(b"\n") - 1, count(learner, "asked")
    with second.open("ab") as file:
        file.write(torn)
    paths, found = folds(learner, *where, *words, "--resume")
    assert first.read_bytes() == kept
    # Everything that had no record on disk was asked, and nothing else.
    assert count(learner, "asked") - asked == 2 * CASES * (2 if "--repeat" in words else 1) - on_disk
    twins, expected = folds(learner, *words, "-o", "twin.jsonl")
    assert found == expected
    assert [learner.records(path) for path in paths] == [learner.records(path) for path in twins]
    assert len({json.dumps(learner.records(path)) for path in paths}) == FOLDS  # the trainings differ


def test_resuming_finished_folds_runs_nothing(learner: Workshop) -> None:
    before = folds(learner, "-o", "out.jsonl")
    asked = count(learner, "asked")
    done = learner.call("run", "toy", "--train-folds", "3", "-o", "out.jsonl", "--resume", "--format", "json")
    assert (done.json.pop("transcripts"), count(learner, "taught")) == (before[0], 3)
    assert count(learner, "asked") == asked
    assert "nothing was left to run" in done.err


@pytest.mark.slow
def test_an_interrupt_says_what_is_finished_and_how_to_carry_on(learner: Workshop) -> None:
    code, err = stopped(learner, signal.SIGINT, "-o", "out.jsonl")
    assert code == 130
    assert err.splitlines()[-2:] == [
        "hate: interrupted",
        "hate: 1 of 3 folds are finished; 10 of 20 trials are in out-fold-2.jsonl; carry on with --resume",
    ]
    assert folds(learner, "-o", "out.jsonl", "--resume")[1] == folds(learner, "-o", "twin.jsonl")[1]


def test_a_training_that_fails_leaves_the_finished_folds(learner: Workshop) -> None:
    learner.interface(LEARNER.replace("    def answer", "        assert self.number != '2'\n    def answer"))
    done = learner.call("run", "toy", "--train-folds", "3", "-o", "out.jsonl")
    assert done.status == 2
    assert "cannot train" in done.err
    assert done.err.splitlines()[-1] == "hate: 1 of 3 folds are finished; carry on with --resume"
    # The fold that failed is trained again; the first is not.
    paths, _ = folds(learner, "-o", "out.jsonl", "--resume")
    assert count(learner, "taught") == 4
    assert [len(learner.records(path)) for path in paths] == [CASES] * 3


def names(paths: list[str]) -> list[str]:
    assert {str(Path(path).parent) for path in paths} == {"transcripts/toy"}
    return [Path(path).name for path in paths]


def test_each_set_of_folds_has_a_number_and_each_fold_a_name(learner: Workshop) -> None:
    assert names(folds(learner)[0]) == ["work-fold-1.jsonl", "work-fold-2.jsonl", "work-fold-3.jsonl"]
    assert names(folds(learner, count=2)[0]) == ["work-2-fold-1.jsonl", "work-2-fold-2.jsonl"]
    # A number with any transcript left is not used again, and a whole run has its usual name.
    for fold in (1, 2):
        (learner.folder / f"transcripts/toy/work-fold-{fold}.jsonl").unlink()
    assert names(folds(learner, count=2)[0])[0] == "work-3-fold-1.jsonl"
    assert learner.call("run", "toy", "--format", "json").json["transcripts"] == ["transcripts/toy/work.jsonl"]


@pytest.mark.slow
def test_two_sets_of_folds_at_once_take_different_names(learner: Workshop) -> None:
    (learner.folder / "stop").write_text("1")
    with learner.start("run", "toy", "--train-folds", "3") as process:
        wait_until("the tenth case", (learner.folder / "waiting").exists, process)
        paths, found = folds(learner)
        (learner.folder / "go").touch()
        assert process.communicate(timeout=60)[1].count("transcript: ") == 3
    assert process.returncode == 0
    assert names(paths)[0] == "work-2-fold-1.jsonl"
    assert folds(learner, "-o", "transcripts/toy/work.jsonl", "--resume")[1] == found


@pytest.mark.slow
def test_resume_finds_its_own_folds_among_newer_ones(learner: Workshop) -> None:
    stopped(learner, signal.SIGKILL)
    other, _ = folds(learner, "--train-seed", "1")
    before = [(learner.folder / path).read_bytes() for path in other]
    paths, found = folds(learner, "--resume")
    assert names(paths)[0] == "work-fold-1.jsonl"
    assert [(learner.folder / path).read_bytes() for path in other] == before
    assert found == folds(learner, "-o", "twin.jsonl")[1]


def test_resume_without_folds_starts_anew(learner: Workshop) -> None:
    assert learner.call("run", "toy").status == 0  # a whole run, which must not be resumed
    assert names(folds(learner, "--resume")[0]) == [f"work-fold-{fold}.jsonl" for fold in (1, 2, 3)]


DIFFERENT = {
    "test": [],
    "algorithm": [],
    "interface": [],
    "params": ["--param", "threshold=1"],
    "repeat": ["--repeat", "2"],
    "limit": ["--limit", "5"],
    "train (folds: 3 there, 4 now)": ["--train-folds", "4"],
    "train (seed: 0 there, 7 now)": ["--train-seed", "7"],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", ["--resume", "--retry-errors"])
@pytest.mark.parametrize("what", DIFFERENT)
def test_folds_of_another_run_are_refused_before_anything_runs(what: str, mode: str, learner: Workshop) -> None:
    folds(learner, "-o", "out.jsonl")
    if mode == "--resume":  # only the last one exists, and it is incomplete
        for fold in (1, 2):
            (learner.folder / f"out-fold-{fold}.jsonl").unlink()
        last = learner.folder / "out-fold-3.jsonl"
        last.write_bytes(b"".join(last.read_bytes().splitlines(keepends=True)[:5]))
    if what == "test":
        learner.script(CASES + 1, sections='[train]\ntable = "train.csv"\n')
    if what in ("algorithm", "interface"):
        learner.interface(("NAME = 'other'\n" if what == "algorithm" else "# changed\n") + LEARNER)
    same = [] if "--train-folds" in DIFFERENT[what] else ["--train-folds", "3"]
    done = learner.call("run", "toy", "-o", "out.jsonl", *same, *DIFFERENT[what], mode)
    assert done.status == 2
    assert f"-fold-{3 if mode == '--resume' else 1}.jsonl: from a different run: {what}" in done.err
    assert done.err.count("\n") == 1
    assert count(learner, "taught") == 3


def test_folds_at_the_default_path_of_another_run_are_refused_too(learner: Workshop) -> None:
    folds(learner)
    done = learner.call("run", "toy", "--train-folds", "2", "--resume")
    assert done.status == 2
    assert "work-fold-1.jsonl: from a different run: train (folds: 3 there, 2 now)" in done.err


def test_a_file_in_the_way_is_refused_before_anything_runs(learner: Workshop) -> None:
    learner.write("out-fold-3.jsonl", "precious")
    done = learner.call("run", "toy", "--train-folds", "3", "-o", "out.jsonl")
    assert done.status == 2
    assert done.err == "hate: out-fold-3.jsonl: exists; --resume carries on with it, --force overwrites it\n"
    assert count(learner, "taught") == 0
    assert len(folds(learner, "-o", "out.jsonl", "--force")[0]) == 3


def test_retry_errors_asks_only_the_cases_in_error_of_every_fold(learner: Workshop) -> None:
    good = folds(learner, "-o", "twin.jsonl")[1]
    failing = LEARNER.replace(
        '        note("asked"',
        "        if not pathlib.Path('mended').exists() and case.id in ('c1', 'c4'): raise ValueError\n"
        '        note("asked"',
    )
    learner.interface(failing)
    paths, _ = folds(learner, "-o", "out.jsonl")
    assert [set(errors(learner.records(path))) for path in paths] == [{"c1", "c4"}] * 3
    (learner.folder / "mended").touch()
    asked = count(learner, "asked")
    assert folds(learner, "-o", "out.jsonl", "--retry-errors")[1] == good
    assert count(learner, "asked") - asked == 2 * 3
    assert sorted(path.name for path in learner.folder.glob("out*")) == paths


@pytest.mark.slow
def test_retry_errors_needs_every_fold(learner: Workshop) -> None:
    done = learner.call("run", "toy", "--train-folds", "3", "--retry-errors")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "work-fold-1.jsonl" in done.err
    stopped(learner, signal.SIGTERM, "-o", "out.jsonl")
    done = learner.call("run", "toy", "--train-folds", "3", "-o", "out.jsonl", "--retry-errors")
    assert done.status == 2
    assert "out-fold-2.jsonl: incomplete; finish it with --resume first" in done.err


@pytest.mark.slow
def test_errors_are_retried_in_the_newest_complete_folds_as_without_folds(learner: Workshop) -> None:
    """A later set of folds that was stopped is not in the way; --resume carries on with that one."""
    paths, _ = folds(learner)
    trained = count(learner, "taught")
    (learner.folder / "taught").unlink()
    stopped(learner, signal.SIGKILL)
    assert folds(learner, "--retry-errors")[0] == paths
    resumed, _ = folds(learner, "--resume")
    assert (trained, len(set(resumed) & set(paths))) == (FOLDS, 0)
