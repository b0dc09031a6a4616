"""A power cut at any moment: what docs/reference/transcripts.md promises, on a disk that forgets what was not synced.

The acts of a writer are recorded; each prefix of them is a moment at which the power may fail. What was synced is then
there, of the rest any part may be.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

from harness.engine.resumed_records import unanswered
from harness.engine.target import FinishedTranscript, Target, prepare
from harness.model import Case, ErrorKind, Outcome, Trial
from harness.transcript import write as writing
from harness.transcript.format import AlgorithmInfo, Header
from harness.transcript.format import TestInfo as Info
from harness.transcript.read import open_transcript
from harness.transcript.write import TranscriptWriter
from tests.security.forgetful_disk import Disk, Recorder

HEADER = Header("transcript", 1, Info("toy", "1", "1:a", cases=6), AlgorithmInfo("a"), started="2026-01-01")
TRIALS = [Trial(f"c{number}", Outcome.TP, message=f"{number}" * 20) for number in range(6)]
ERRORS = [Trial(f"c{n}", Outcome.FN, error=ErrorKind.CRASH) if n in (1, 4) else TRIALS[n] for n in range(6)]


@dataclass(frozen=True)
class Recorded:
    """What a writer did: its acts, and after how many of them each record had been written."""

    acts: list[tuple[object, ...]]
    written: list[int]
    before: dict[str, bytes]

    def moments(self) -> "list[tuple[int, Disk]]":
        moments, disk = [], Disk()
        for inode, (name, content) in enumerate(self.before.items()):
            disk.apply("create", name, -inode - 1)
            disk.apply("write", -inode - 1, content)
            disk.apply("sync", -inode - 1)
        disk.apply("sync_names")
        for number in range(len(self.acts) + 1):
            moments.append((number, disk))
            if number < len(self.acts):
                disk = Disk(dict(disk.seen), dict(disk.kept), dict(disk.seen_names), dict(disk.kept_names))
                disk.apply(*self.acts[number])  # type: ignore[arg-type]
        return moments


def record(folder: Path, order: list[int], act: Callable[[], TranscriptWriter]) -> Recorded:
    """Run a writer to its end."""
    folder.mkdir(exist_ok=True)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.MonkeyPatch.context() as patch:
        recorder, written = Recorder(folder, patch), []
        writer = act()
        for index in order:
            writer.append(index, TRIALS[index])
            written.append(len(recorder.acts))
        writer.finish()
    return Recorded(recorder.acts, written, before)


class Resumer:
    """Carries on with what is left of a run; many moments leave the same."""

    def __init__(self, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, **how: bool) -> None:
        self._folder, self._name, self._how = folder, name, how
        self._known: dict[frozenset[tuple[str, bytes]], tuple[set[str], list[Trial]]] = {}
        # What is on disk has been decided; these runs need not wait for it.
        monkeypatch.setattr("os.fsync", lambda _: None)

    def of(self, files: dict[str, bytes]) -> tuple[set[str], list[Trial]]:
        key = frozenset(files.items())
        if key not in self._known:
            folder = self._folder / str(len(self._known))
            folder.mkdir(parents=True)
            for name, content in files.items():
                (folder / name).write_bytes(content)
            self._known[key] = after_resuming(folder / self._name, **self._how)
        return self._known[key]


def after_resuming(path: Path, **how: bool) -> tuple[set[str], list[Trial]]:
    """The ids of the records that were left, and all records after the run was carried on with."""
    opened = prepare(Target(path, **how), HEADER)
    kept = {trial.id for trial in TRIALS}
    if not isinstance(opened, FinishedTranscript):
        writer = opened()
        planned = ((index, 1, Case(trial.id, "")) for index, trial in enumerate(TRIALS))
        left = [index for index, *_ in chain(unanswered(writer, planned), planned)]
        kept -= {TRIALS[index].id for index in left}
        for index in left:
            writer.append(index, TRIALS[index])
        writer.finish()
    with open_transcript(path) as reader:
        trials = [trial for block in reader.blocks() for trial in block]
    assert reader.end is not None
    return kept, trials


@pytest.mark.parametrize("pause", [0.0, 1000.0], ids=["synced often", "synced at the end"])
@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [3, 0, 1, 5, 2, 4]], ids=["in order", "to be sorted"])
@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_a_run_can_be_carried_on_after_a_power_cut_at_any_moment(
    name: str, order: list[int], pause: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "SYNC_SECONDS", pause)
    run = record(tmp_path / "run", order, lambda: TranscriptWriter.create(tmp_path / "run" / name, HEADER))
    syncs = [number for number, act in enumerate(run.acts, 1) if act[0] == "sync"]
    assert len(syncs) >= (6 if pause == 0 else 1)
    finished = (tmp_path / "run" / name).read_bytes()
    resumer = Resumer(tmp_path / "left", name, monkeypatch, resume=True)
    for moment, disk in run.moments():
        for words, files in disk.remains():
            if moment == len(run.acts):
                assert files == {name: finished}, words
            kept, trials = resumer.of(files)
            assert trials == TRIALS, (moment, words)
            # What had been written when the file was last synced is still there; the first sync is of the name too.
            named = [n for n, act in enumerate(run.acts, 1) if act[0] == "sync_names" and n <= moment]
            synced = max((n for n in syncs if n <= moment), default=0) if named else 0
            certain = {f"c{index}" for index, act in zip(order, run.written, strict=True) if act <= synced}
            assert kept >= certain, (moment, words)


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
@pytest.mark.parametrize("suffix", [".retry", ".import"])
def test_a_transcript_that_is_replaced_is_the_old_one_or_the_new_one(
    suffix: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --retry-errors and `import --force`, no moment has neither."""
    path = tmp_path / "run" / name
    old = TranscriptWriter.create(path, HEADER)
    for index, trial in enumerate(ERRORS):
        old.append(index, trial)
    old.finish()
    before = path.read_bytes()
    order = [4, 0, 1, 2, 3, 5]
    run = record(tmp_path / "run", order, lambda: TranscriptWriter.create_beside(path, HEADER, suffix))
    new = path.read_bytes()
    assert new != before
    resumer = Resumer(tmp_path / "left", name, monkeypatch, retry_errors=True)
    for moment, disk in run.moments():
        for words, files in disk.remains():
            assert files[name] in ((new,) if moment == len(run.acts) else (before, new)), (moment, words)
            if suffix == ".retry":
                assert resumer.of(files)[1] == TRIALS, (moment, words)
