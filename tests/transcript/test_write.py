"""Writing transcripts: what is on disk at every moment, and the promises of the last line."""

import gzip
import hashlib
import json
import resource
import signal
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import OutputError
from harness.model import Counts, ErrorKind, Outcome, Trial
from harness.transcript.read import open_transcript, summarise
from harness.transcript.write import RecordOffsets, TranscriptWriter, working_path
from tests.simulation import examples
from tests.transcript.transcript_files import HEADER, read, trials, write

quickly = examples(60)
ONE, TWO, THREE = (Trial(name, Outcome.TP) for name in ("one", "two", "three"))


@quickly
@given(st.lists(trials, max_size=12), st.sampled_from(["t.jsonl", "t.jsonl.gz"]))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, given_trials: list[Trial], name: str
) -> None:
    path = write(tmp_path_factory.mktemp("t") / name, given_trials)
    assert read(path) == given_trials
    assert read(path) == given_trials
    assert summarise(path).counts == Counts.of(given_trials)


@quickly
@given(st.lists(trials, max_size=12), st.randoms(use_true_random=False))
def test_records_appended_in_any_order_are_in_case_order_when_finished(
    tmp_path_factory: pytest.TempPathFactory, given_trials: list[Trial], random: object
) -> None:
    """The bytes are the same, too, except for the times in header and last line."""
    folder = tmp_path_factory.mktemp("t")
    order = list(range(len(given_trials)))
    random.shuffle(order)  # type: ignore[attr-defined]
    writer = TranscriptWriter.create(folder / "shuffled.jsonl", HEADER)
    for index in order:
        writer.append(index, given_trials[index])
    shuffled = writer.finish()
    straight = write(folder / "straight.jsonl", given_trials)
    assert _before_last_line(shuffled) == _before_last_line(straight)
    assert read(shuffled) == given_trials
    assert sorted(path.name for path in folder.iterdir()) == ["shuffled.jsonl", "straight.jsonl"]


def _before_last_line(path: Path) -> bytes:
    return path.read_bytes().rstrip(b"\n").rpartition(b"\n")[0]


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_the_last_line_counts_and_has_the_sha256_of_every_byte_before_it(tmp_path: Path, name: str) -> None:
    """The digest of the design page, computed by hand from the uncompressed bytes."""
    given_trials = [Trial(str(i), list(Outcome)[i % 4], error=ErrorKind.CRASH if i < 3 else None) for i in range(10)]
    path = write(tmp_path / name, given_trials)
    content = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    before, last = content[: content.rstrip(b"\n").rfind(b"\n") + 1], content.splitlines()[-1]
    end = json.loads(last)
    tally = Counter(trial.outcome.value for trial in given_trials)
    assert end["sha256"] == hashlib.sha256(before).hexdigest()
    assert {key: end[key] for key in ("end", "tests", "ER", *tally)} == {"end": True, "tests": 10, "ER": 3, **tally}
    assert content.endswith(b"\n")


def test_a_record_is_on_disk_as_soon_as_its_case_is_done(tmp_path: Path) -> None:
    writer = TranscriptWriter.create(tmp_path / "t.jsonl", HEADER)
    for number, trial in enumerate((ONE, TWO, THREE)):
        writer.append(number, trial)
        assert read(tmp_path / "t.jsonl")[-1] == trial
    writer.close()
    assert not summarise(tmp_path / "t.jsonl").complete


def test_a_compressed_transcript_is_a_part_until_it_is_finished(tmp_path: Path) -> None:
    target = tmp_path / "t.jsonl.gz"
    writer = TranscriptWriter.create(target, HEADER)
    writer.append(0, ONE)
    assert read(working_path(target)) == [ONE]
    assert not target.exists()
    assert writer.finish() == target
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl.gz"]


def test_the_same_transcript_compresses_to_the_same_bytes(tmp_path: Path) -> None:
    first, second = (write(tmp_path / name, [ONE, TWO]) for name in ("a.jsonl.gz", "b.jsonl.gz"))
    plain = [gzip.decompress(path.read_bytes()).rpartition(b'"finished"')[0] for path in (first, second)]
    assert plain[0] == plain[1]
    assert first.read_bytes()[:10] == second.read_bytes()[:10]


def test_a_torn_record_is_removed_when_a_run_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    writer = TranscriptWriter.create(path, HEADER)
    writer.append(0, ONE)
    writer.close()
    with path.open("ab") as file:
        file.write(b'{"id":"torn","outc')
    with open_transcript(path) as reader:
        [[trial]] = reader.blocks()
    assert reader.torn == 18
    writer, stop = TranscriptWriter.claim(path), path.stat().st_size - reader.torn
    writer.carry_on(head=reader.head, end=stop)
    writer.count(trial)
    writer.keep(0, reader.head, stop)
    writer.append(1, TWO)
    assert read(writer.finish()) == [ONE, TWO]
    assert summarise(path).counts == Counts(TP=2)


def test_records_of_a_resumed_run_are_put_in_case_order(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    writer = TranscriptWriter.create(path, HEADER)
    writer.append(5, THREE)
    writer.close()
    with open_transcript(path) as reader:
        [[trial]] = reader.blocks()
    writer, stop = TranscriptWriter.claim(path), path.stat().st_size
    writer.carry_on(head=reader.head, end=stop)
    writer.count(trial)
    writer.append(0, ONE)
    writer.append(1, TWO)
    writer.keep(5, reader.head, stop)
    assert read(writer.finish()) == [ONE, TWO, THREE]


def test_what_a_killed_run_left_behind_does_not_stop_the_next(tmp_path: Path) -> None:
    for name in ("t.jsonl.sorting", "u.jsonl.gz.part.sorting", "u.jsonl.gz.zipping"):
        (tmp_path / name).write_bytes(b"left behind")
    for name in ("t.jsonl", "u.jsonl.gz"):
        writer = TranscriptWriter.create(tmp_path / name, HEADER)
        writer.append(1, TWO)
        writer.append(0, ONE)
        assert read(writer.finish()) == [ONE, TWO]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.jsonl", "u.jsonl.gz"]


def test_an_existing_transcript_is_overwritten_only_with_force(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", [ONE])
    packed = write(tmp_path / "t.jsonl.gz", [ONE])
    before = path.read_bytes(), packed.read_bytes()
    for existing in (path, packed):
        with pytest.raises(FileExistsError):
            TranscriptWriter.create(existing, HEADER)
    assert (path.read_bytes(), packed.read_bytes()) == before
    TranscriptWriter.create(path, HEADER, force=True).finish()
    assert read(path) == []


def test_a_second_writer_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    writer = TranscriptWriter.create(path, HEADER)
    writer.append(0, ONE)
    with pytest.raises(OutputError, match="another run is writing this transcript; choose another with -o"):
        TranscriptWriter.create(path, HEADER, force=True)
    with pytest.raises(OutputError, match="another run"):
        TranscriptWriter.claim(path)
    writer.append(1, TWO)
    assert read(writer.finish()) == [ONE, TWO]


@pytest.mark.parametrize("name", ["file/t.jsonl", "file/deeper/t.jsonl", "folder.jsonl"])
def test_an_unwritable_place_is_an_error_with_a_remedy(tmp_path: Path, name: str) -> None:
    """A file in the place of a folder does not count as 'exists': --force would not help."""
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(OutputError, match="choose another place with -o"):
        TranscriptWriter.create(tmp_path / name, HEADER, force=name == "folder.jsonl")


def test_text_that_is_not_unicode_does_not_end_a_run(tmp_path: Path) -> None:
    """Messages may contain lone surrogates, which Python uses for bytes that are not UTF-8."""
    odd = Trial("1", Outcome.FN, error=ErrorKind.CRASH, message="no file caf\udce9.png", columns={"a": ["\ud800"]})
    (found,) = read(write(tmp_path / "t.jsonl", [odd]))
    assert found.message == "no file caf\ufffd.png"
    assert found.columns == {"a": ["\ufffd"]}


FILL = """
import resource, signal, sys
from pathlib import Path
from harness.errors import OutputError
from harness.model import Outcome, Trial
from harness.transcript.format import AlgorithmInfo, Header, TestInfo
from harness.transcript.write import TranscriptWriter
header = Header("transcript", 1, TestInfo("t", "1", "1:a"), AlgorithmInfo("a"))
path = Path(sys.argv[1])
writer = TranscriptWriter.create(path, header)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
written = 0
try:
    while True:
        writer.append(written, Trial(f"case {written}", Outcome.TP))
        written += 1
except OutputError as error:
    print(error)
print(written)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.append(written, Trial("after", Outcome.FN))
writer.finish()
"""


def test_a_full_disk_leaves_only_complete_records(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    done = subprocess.run([sys.executable, "-c", FILL, path], capture_output=True, text=True, check=True)
    said, written = done.stdout.splitlines()
    assert said == f"{path}: File too large; free some space, then carry on with --resume"
    assert [trial.id for trial in read(path)] == [*(f"case {i}" for i in range(int(written))), "after"]


def test_a_refused_write_keeps_the_records_before_it(tmp_path: Path) -> None:
    """In this process, with the limit restored at once."""
    writer = TranscriptWriter.create(tmp_path / "t.jsonl", HEADER)
    writer.append(0, ONE)
    size = (tmp_path / "t.jsonl").stat().st_size
    old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 5, hard))
    try:
        with pytest.raises(OutputError, match="free some space"):
            writer.append(1, TWO)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old_handler)
    writer.close()
    assert (tmp_path / "t.jsonl").stat().st_size == size
    assert read(tmp_path / "t.jsonl") == [ONE]


def test_a_header_that_cannot_be_written_leaves_the_file_free(tmp_path: Path) -> None:
    """There may be space again for a second try, so the lock must be released."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this machine")
    target = tmp_path / "t.jsonl"
    target.symlink_to(full)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(OutputError):
        TranscriptWriter.create(target, HEADER, force=True)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# Records are put in case order as sorting would do it.


def noted(indexes: list[int], starts: list[int], *, most: int) -> RecordOffsets:
    offsets = RecordOffsets(Path(), most)
    for index, start in zip(indexes, starts, strict=True):
        offsets.add(index, start, start + 7)
    return offsets


@given(st.lists(st.integers(0, 1000), unique=True), st.integers(1, 20), st.booleans())
def test_any_order_is_sorted(indexes: list[int], most: int, reverse: bool) -> None:
    """In parts of any size, as if all were in memory; gaps between the lines keep them apart."""
    starts = [8 * number for number in range(len(indexes))]
    if reverse:
        starts.reverse()
    offsets = noted(indexes, starts, most=most)
    expected = sorted(zip(indexes, starts, strict=True))
    assert list(offsets.stretches()) == [(start, start + 7) for _, start in expected]
    assert offsets.in_order == (expected == list(zip(indexes, starts, strict=True)) and starts == sorted(starts))
    offsets.close()


@given(st.permutations(range(30)), st.integers(1, 40))
def test_records_that_follow_one_another_are_one_stretch(order: list[int], most: int) -> None:
    """Joined or not, the bytes are those of the records one by one."""
    offsets = noted(order, [7 * number for number in range(30)], most=most)
    at = {index: 7 * number for number, index in enumerate(order)}
    found = [byte for start, stop in offsets.stretches() for byte in range(start, stop)]
    assert found == [at[index] + offset for index in range(30) for offset in range(7)]
    # As they were noted: only what was noted one after the other is joined.
    breaks = sum(after != before + 1 for before, after in pairwise(order))
    assert len(list(offsets.stretches())) == breaks + 1
    offsets.close()
