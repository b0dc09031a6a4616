"""Where a run's transcript goes: a new file, or one to resume or retry; never overwritten by accident."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.engine.resumed_records import counted_type
from harness.errors import OutputError, TranscriptError
from harness.files.durable import is_locked
from harness.model import Counts
from harness.transcript.format import Header, differences
from harness.transcript.read import UNUSABLE, open_transcript, read_end
from harness.transcript.write import TranscriptWriter, begins_like_a_transcript, working_path

ROOT = Path("transcripts")
MAX_NUMBERED = 100_000
# The end of the name of a file that --retry-errors is writing; it replaces the old one when it is finished.
RETRY = ".retry"
MAX_HEADER_BYTES = 1 << 20


@dataclass(frozen=True)
class Target:
    """Where the transcript should go; `fold` is the number of a run with `--train-folds`, for its default name."""

    path: Path | None = None
    force: bool = False
    resume: bool = False
    retry_errors: bool = False
    fold: int | None = None


@dataclass(frozen=True)
class FinishedTranscript:
    """A transcript that has nothing left to run."""

    path: Path
    counts: Counts


def default_path(test: str, algorithm: str, number: int = 1) -> Path:
    """transcripts/TEST/ALGORITHM.jsonl, then ALGORITHM-2.jsonl and so on; any name becomes a valid file name."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", algorithm).strip("._-")[:100] or "algorithm"
    return ROOT / test / (f"{name}.jsonl" if number == 1 else f"{name}-{number}.jsonl")


def fold_path(path: Path, fold: int) -> Path:
    """FILE-fold-1.jsonl for FILE.jsonl, and FILE-fold-1.jsonl.gz for FILE.jsonl.gz."""
    packed = path.suffix if path.suffix == ".gz" else ""
    plain = path.with_suffix("") if packed else path
    return plain.with_name(f"{plain.stem}-fold-{fold}{plain.suffix}{packed}")


def fold_numbers(test: str, algorithm: str) -> list[int]:
    """The numbers of the default paths that have folds, newest first."""
    first = default_path(test, algorithm)
    pattern = re.compile(rf"{re.escape(first.stem)}(?:-(\d+))?-fold-\d+{re.escape(first.suffix)}")
    names = [path.name for path in first.parent.glob(f"*{first.suffix}")]
    return sorted({int(match[1] or 1) for match in map(pattern.fullmatch, names) if match}, reverse=True)


@dataclass(frozen=True)
class DefaultRun:
    """A transcript of an algorithm at one of its default paths; without a header if it broke off in its first line."""

    path: Path
    number: int
    header: Header | None
    complete: bool


def in_use(path: Path) -> bool:
    """Whether another process is writing a transcript."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        return is_locked(file.fileno()) is True


def default_runs(test: str, algorithm: str) -> list[DefaultRun]:
    """The transcripts at the default paths of an algorithm, newest first; other files of such names are left out."""
    first = default_path(test, algorithm)
    pattern = re.compile(rf"{re.escape(first.stem)}(?:-(\d+))?{re.escape(first.suffix)}")
    runs = []
    for path in first.parent.glob(f"*{first.suffix}"):
        if match := pattern.fullmatch(path.name):
            run = _default_run(path, int(match[1] or 1))
            if run is not None and (run.header is None or run.header.algorithm.name == algorithm):
                runs.append(run)
    return sorted(runs, key=lambda run: (run.header.started if run.header else "", run.number), reverse=True)


def _default_run(path: Path, number: int) -> DefaultRun | None:
    if is_empty(path):
        return DefaultRun(path, number, None, complete=False)
    try:
        with open_transcript(path) as reader:
            return DefaultRun(path, number, reader.header, read_end(path) is not None)
    except (TranscriptError, *UNUSABLE):
        return None


def prepare(target: Target, header: Header) -> Callable[[], TranscriptWriter] | FinishedTranscript:
    """Decide where the transcript goes, so that a mistake is reported at once; return a function that opens it.

    It is to be called when the program runs: nothing is overwritten if the program does not start.
    """
    if target.retry_errors:
        existing = target.path or _default_to_carry_on(header, retry=True)
        complete = complete_transcript(existing, header)
        stopped = stopped_retry(existing) if complete.counts.ER else None
        carried_on = complete if stopped is None else _carry_on(stopped, header)
        if isinstance(carried_on, TranscriptWriter):
            return lambda: carried_on
        return (lambda: retry(existing, header)) if carried_on.counts.ER else carried_on
    if target.resume:
        existing = target.path or _default_to_carry_on(header, retry=False)
        if is_empty(existing):
            return lambda: create(existing, header, force=True)
        if has_begun(existing):
            opened = resume(existing, header)
            return opened if isinstance(opened, FinishedTranscript) else lambda: opened
    path = target.path
    if path is None and target.force and target.fold is None:
        path = forced_path(header)
    elif path is not None and not target.force and has_begun(path):
        raise exists_error(path)
    return lambda: create(path, header, force=target.force, fold=target.fold)


@dataclass(frozen=True)
class EarlierRun:
    """A run at a default path, or all folds of one, and whether it is of the very kind that is asked for."""

    path: Path
    same: bool
    complete: bool
    in_use: bool


def run_to_carry_on(runs: Sequence[EarlierRun], *, retry: bool) -> Path | None:
    """Which of the runs at the default paths, newest first, to carry on with; None if there are none.

    To resume, the one of this kind that was stopped last, whatever was run since; if none was stopped, the one that is
    still written, or else the newest, which is complete. To retry errors, the newest complete one of this kind. If all
    are of different runs, one of those, so that the difference is reported.
    """
    same = [run for run in runs if run.same]
    unfinished = [run for run in same or runs if not run.complete]
    to_resume = ([run for run in unfinished if not run.in_use], unfinished)
    chosen = ([run for run in same if run.complete],) if retry else to_resume
    return next((choice[0].path for choice in (*chosen, same, runs) if choice), None)


def _default_to_carry_on(header: Header, *, retry: bool) -> Path:
    test, algorithm = header.test.name, header.algorithm.name
    earlier = [
        EarlierRun(run.path, run.header is None or not differences(header, run.header), run.complete, in_use(run.path))
        for run in default_runs(test, algorithm)
    ]
    return run_to_carry_on(earlier, retry=retry) or default_path(test, algorithm)


def forced_path(header: Header, path: Path | None = None) -> Path:
    """The default path, where a finished run of this algorithm is replaced; `path` is that of a fold.

    Nobody has named the file, so what cannot be meant is refused: a run that was stopped, or another's.
    """
    path = path or default_path(header.test.name, header.algorithm.name)
    if not path.exists():
        return path
    remedy = f"-o {path} --force overwrites it all the same"
    run = _default_run(path, 1)
    if run is None:
        raise OutputError(f"{path}: in the way, and not a transcript; {remedy}")
    if run.header is not None and run.header.algorithm.name != header.algorithm.name:
        raise OutputError(f"{path}: a run of {run.header.algorithm.name!r}; {remedy}")
    if not run.complete and run.header is not None:
        if in_use(path):
            raise OutputError(f"{path}: another run is writing this transcript; choose another with -o")
        raise OutputError(f"{path}: a run that was stopped; --resume carries on with it, {remedy}")
    return path


def has_begun(path: Path) -> bool:
    """Whether there is a transcript, or an unfinished one that will be compressed at the end."""
    return path.exists() or working_path(path).exists()


def is_empty(path: Path) -> bool:
    """Whether a run ended before its first line was whole: the disk was full, or the power was cut."""
    working = working_path(path)
    if not working.is_file():
        return False
    if working.stat().st_size == 0:
        return True
    with working.open("rb") as file:
        first = file.readline(MAX_HEADER_BYTES)
    return not first.endswith(b"\n") and begins_like_a_transcript(working)


def exists_error(path: Path) -> OutputError:
    return OutputError(f"{path}: exists; --resume carries on with it, --force overwrites it")


def create(path: Path | None, header: Header, *, force: bool, fold: int | None = None) -> TranscriptWriter:
    """A new transcript: at the path, or at the first free default path, even when two runs start at once."""
    if path is not None:
        try:
            return TranscriptWriter.create(path, header, force=force)
        except FileExistsError:
            raise exists_error(path) from None
    for free in _default_paths(header.test.name, header.algorithm.name, fold):
        try:
            return TranscriptWriter.create(free, header)
        except FileExistsError:
            continue
    raise OutputError(f"{ROOT}: {MAX_NUMBERED:,} transcripts of {header.algorithm.name}; choose a name with -o")


def _default_paths(test: str, algorithm: str, fold: int | None) -> Iterator[Path]:
    """In order; a number that has any fold is not used for another set of folds."""
    if fold is None:
        yield from (default_path(test, algorithm, number) for number in range(1, MAX_NUMBERED))
        return
    taken = set(fold_numbers(test, algorithm))
    free = (number for number in range(1, MAX_NUMBERED) if number not in taken)
    yield from (fold_path(default_path(test, algorithm, number), fold) for number in free)


def resume(path: Path, header: Header) -> TranscriptWriter | FinishedTranscript:
    """Resume a transcript of the same run; an incomplete last line is cut off."""
    if path.exists() and not working_path(path).exists():
        return complete_transcript(path, header)
    return _carry_on(TranscriptWriter.claim(path), header)


def _carry_on(writer: TranscriptWriter, header: Header) -> TranscriptWriter | FinishedTranscript:
    """Read what an unfinished transcript has, under its lock; one that is complete only has to be put in its place."""
    try:
        writer.blind = header.is_blind
        with open_transcript(writer.path, record=counted_type(header)) as reader:
            check_same(writer.target, header, reader.header)
            stop = reader.head
            for body in reader.bodies():
                writer.count_all(Counts.of(reader.decode(body)))
                stop += len(body)
        if reader.end is not None:
            return FinishedTranscript(writer.put_in_place(), reader.end.counts)
        writer.carry_on(head=reader.head, end=stop)
    except BaseException:
        writer.close()
        raise
    return writer


def complete_transcript(path: Path, header: Header) -> FinishedTranscript:
    """A transcript of the same run, which must have ended."""
    if working_path(path) != path and working_path(path).exists():
        raise TranscriptError(f"{working_path(path)}: incomplete; finish it with --resume first")
    with open_transcript(path, record=counted_type(header)) as reader:
        check_same(path, header, reader.header)
        counts = sum(map(Counts.of, reader.blocks()), Counts())
    if reader.end is None and working_path(path) != path:
        raise TranscriptError(f"{path}: incomplete and compressed; decompress it to resume it")
    if reader.end is None:
        raise TranscriptError(f"{path}: incomplete; finish it with --resume first")
    return FinishedTranscript(path, counts)


def retry(path: Path, header: Header) -> TranscriptWriter:
    """A new file with all records except errors; it replaces the old one when it is finished."""
    with open_transcript(path, record=counted_type(header)) as reader:
        check_same(path, header, reader.header)
        writer = TranscriptWriter.create_beside(path, reader.header, RETRY)
        for body in reader.bodies():
            records = reader.decode(body)
            lines = (line for line in body.split(b"\n") if line.strip())
            kept = [(line, record) for line, record in zip(lines, records, strict=True) if not record.error]
            writer.copy(b"".join(line + b"\n" for line, _ in kept), Counts.of(record for _, record in kept))
    return writer


def stopped_retry(path: Path) -> TranscriptWriter | None:
    """What a retry of this very transcript left behind when it was stopped: its header is the same, with the time."""
    scratch = path.with_name(path.name + RETRY)
    try:
        with open_transcript(path) as old, open_transcript(scratch) as reader:
            same = old.header == reader.header
    except TranscriptError:
        return None
    return TranscriptWriter.claim(path, scratch) if same else None


def check_same(path: Path, ours: Header, theirs: Header) -> None:
    if different := differences(ours, theirs):
        raise TranscriptError(f"{path}: from a different run: {'; '.join(different)}; choose another file with -o")
