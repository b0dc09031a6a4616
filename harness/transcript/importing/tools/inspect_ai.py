"""inspect_ai: a log as one JSON file, or as a zip with a member for each sample."""

import io
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from harness.errors import ForeignError
from harness.model import ErrorKind
from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions, Mark, Reader
from harness.transcript.importing.file import ForeignFile, as_mark, as_text, decode, flat, is_nan

# From https://inspect.aisi.org.uk/scorers.html: correct, incorrect, partial, no answer.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_TIME_LIMITS = ("time", "working")
# The number of zstd among the methods of a zip; older logs have deflate.
ZSTANDARD = 93
MAX_MEMBER_BYTES = 1 << 30
# Logs shrink to a tenth or a fiftieth; anything that shrinks more than this is hostile.
MAX_RATIO = 1000
ALWAYS_ALLOWED = 16 << 20
MAX_MEMBERS = 1_000_000
_LOCAL = struct.Struct("<4s5H3L2H")
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
)


class _Dataset(Struct, frozen=True):
    samples: int | None = None
    sample_ids: list[str | int] | None = None


class _Config(Struct, frozen=True):
    epochs: int | None = None
    limit: Any = None
    sample_id: Any = None


class _Scorer(Struct, frozen=True):
    """A scorer, and the metrics over its values."""

    # Definitions {"name", "options"} in a list, in lists by the name of a value, or both.
    metrics: Any = None


class _Eval(Struct, frozen=True):
    task: str
    model: str
    task_version: int | str | None = None
    dataset: _Dataset = _Dataset()
    config: _Config = _Config()
    scorers: list[_Scorer] | None = None
    # Metrics of the task, in place of those of its scorers.
    metrics: Any = None


class _Failure(Struct, frozen=True):
    message: str = ""


class _Score(Struct, frozen=True):
    value: Any = None
    answer: Any = None


class _Output(Struct, frozen=True):
    completion: str = ""


class _Limit(Struct, frozen=True):
    """Why a sample was cut short."""

    type: str = ""


class _Sample(Struct, frozen=True):
    """One sample in one epoch; the conversation and the events are skipped."""

    id: str | int
    epoch: int = 1
    target: str | list[str] = ""
    output: _Output = _Output()
    scores: dict[str, _Score] | None = None
    # In old logs, which have only one.
    score: _Score | None = None
    metadata: dict[str, Any] | None = None
    error: _Failure | None = None
    limit: _Limit | None = None
    total_time: float | None = None
    working_time: float | None = None


class _Log(Struct, frozen=True):
    """A log in one file, or the header of one in an archive."""

    eval: _Eval
    status: str = "started"
    samples: list[_Sample] | None = None


class _Start(Struct, frozen=True):
    """What an archive holds before the first sample is finished."""

    eval: _Eval


class InspectArchive:
    """A zip for reading, with limits on the unpacked size of its members."""

    def __init__(self, path: Path) -> None:
        self._name = str(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except _BROKEN as error:
            raise ForeignError(f"{path}: damaged or incomplete: {error}") from None
        # If several members have the same name, the last one counts, as in other tools.
        self._members = {info.filename: info for info in self._zip.infolist()}
        if len(self._members) > MAX_MEMBERS:
            self._zip.close()
            raise ForeignError(f"{path}: more than {MAX_MEMBERS:,} members")

    def __enter__(self) -> "InspectArchive":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return name in self._members

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def read(self, name: str) -> bytes:
        """The content of a member; an error if it is damaged or suspiciously large."""
        info = self._members[name]
        location = f"{self._name}: {name}"
        allowed = min(MAX_MEMBER_BYTES, ALWAYS_ALLOWED + MAX_RATIO * info.compress_size)
        if info.file_size > allowed:
            raise ForeignError(f"{location}: would unpack to {info.file_size:,} bytes; refused")
        try:
            is_zstandard = info.compress_type == ZSTANDARD
            with _unpacked(self._raw(info)) if is_zstandard else self._zip.open(info) as content:
                # The actual content, whatever size the index claims.
                data = content.read(info.file_size + 1)
        except Exception as error:  # from zipfile, zlib or zstandard, which are not all imported here
            raise ForeignError(f"{location}: damaged: {error}") from None
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise ForeignError(f"{location}: damaged: its size or checksum is not what the archive says")
        return data

    def _raw(self, info: zipfile.ZipInfo) -> bytes:
        """The compressed bytes of a member, after its local header, whose name and extra field vary in length."""
        file: Any = self._zip.fp
        file.seek(info.header_offset)
        header = _LOCAL.unpack(file.read(_LOCAL.size))
        if header[0] != b"PK\x03\x04" or info.flag_bits & 1:
            raise zipfile.BadZipFile("no local header, or encrypted")
        file.seek(header[-2] + header[-1], io.SEEK_CUR)
        data: bytes = file.read(info.compress_size)
        return data


def _unpacked(packed: bytes) -> IO[bytes]:
    """A stream that decompresses as it is read; long members have several frames."""
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdFile

        return ZstdFile(io.BytesIO(packed))
    import zstandard

    stream: Any = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True)
    opened: IO[bytes] = stream
    return opened


def is_archive(file: ForeignFile) -> bool:
    """Whether a file is a zip; no other tool here writes one."""
    return file.begin.startswith(b"PK")


def is_log(file: ForeignFile) -> bool:
    """Whether the keys of a JSON file are those of an inspect_ai log."""
    document = file.document
    return document is not None and "eval" in document and "status" in document


def read_json(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    log = decode(source.data, _Log, source.name)
    if log.samples is None:
        raise ForeignError(f"{source.name}: an inspect_ai log without samples; run it without --no-log-samples")
    return [_imported(source, log, log.samples, options)]


def read_archive(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """A log that is a zip: header.json, samples/ID_epoch_N.json."""
    with InspectArchive(source.content) as archive:
        if "header.json" in archive:
            log = decode(archive.read("header.json"), _Log, f"{source.name}: header.json")
        elif "_journal/start.json" in archive:
            start = decode(archive.read("_journal/start.json"), _Start, f"{source.name}: _journal/start.json")
            log = _Log(eval=start.eval)
        else:
            raise ForeignError(f"{source.name}: a zip, but not a log of inspect_ai: it has no header.json")
        samples = list(_members(archive, source))
    if not samples:
        raise ForeignError(f"{source.name}: an inspect_ai log without samples; run it without --no-log-samples")
    return [_imported(source, log, samples, options)]


def _members(archive: InspectArchive, source: ForeignFile) -> Iterator[_Sample]:
    for name in archive.names:
        if name.startswith("samples/") and name.endswith(".json"):
            yield decode(archive.read(name), _Sample, f"{source.name}: {name}")


def _imported(source: ForeignFile, log: _Log, samples: list[_Sample], options: ImportOptions) -> ImportedRun:
    spec = log.eval
    # Fields of the metadata by which the log's metrics cluster samples, as in `stderr(cluster="document")`.
    of_scorers = (name for scorer in spec.scorers or [] for name in _clusters(scorer.metrics))
    clusters = list(dict.fromkeys([*_clusters(spec.metrics), *of_scorers]))
    if len(clusters) > 1 and options.psu is None:
        listed = ", ".join(f"'{name}'" for name in clusters)
        raise ForeignError(f"{source.name}: its metrics declare several clusters, {listed}; choose one with --psu")
    psu = clusters[0] if clusters else None
    # In the order of the dataset; logs have them by name or in the order of completion.
    rank = {str(name): number for number, name in enumerate(spec.dataset.sample_ids or [])}
    ordered = sorted(samples, key=lambda row: (rank.get(str(row.id), len(rank)), str(row.id), row.epoch))
    note = f"psu: {psu}, which the log's metrics declare as cluster; --psu none takes samples as independent"
    return ImportedRun(
        source=source.name,
        test=spec.task,
        version=as_text(spec.task_version),
        algorithm=spec.model,
        results=[_result(source, sample) for sample in ordered],
        tool="inspect_ai",
        missing=_missing(log, samples),
        directions=_directions(samples),
        psu=psu,
        notes=[note] if psu is not None and options.psu is None else [],
    )


def _clusters(metrics: Any) -> Iterator[str]:
    """The option `cluster` of every metric in a list of definitions, or in lists by name."""
    if isinstance(metrics, list):
        for part in metrics:
            yield from _clusters(part)
    elif isinstance(metrics, dict):
        options = metrics.get("options")
        if isinstance(metrics.get("name"), str):
            cluster = options.get("cluster") if isinstance(options, dict) else None
            yield from [cluster] if isinstance(cluster, str) else []
        else:
            for part in metrics.values():
                yield from _clusters(part)


def _directions(samples: Iterable[_Sample]) -> dict[str, bool]:
    """More is better where a scorer says correct or incorrect; what other numbers mean the log does not say."""
    verdicts: dict[str, bool] = {}
    for sample in samples:
        for scorer, score in _scores(sample).items():
            for name, value in _values(scorer, score.value):
                if value is not None and not is_nan(value):
                    is_verdict = isinstance(value, bool) or (isinstance(value, str) and value in _LETTERS)
                    verdicts[name] = verdicts.get(name, True) and is_verdict
    return {name: True for name, is_verdict in verdicts.items() if is_verdict}


def _scores(sample: _Sample) -> dict[str, _Score]:
    return sample.scores or ({"score": sample.score} if sample.score else {})


def _missing(log: _Log, samples: list[_Sample]) -> str:
    if log.status != "success":
        return f"its status is '{log.status}': the evaluation did not finish"
    ids = log.eval.dataset.sample_ids
    expected = len(ids) * (log.eval.config.epochs or 1) if ids else 0
    if len(samples) < expected:
        return f"it has {len(samples):,} of {expected:,} samples"
    return ""


def _result(source: ForeignFile, sample: _Sample) -> ImportedAnswer:
    location = f"{source.name}: sample {sample.id}"
    scores = _scores(sample)
    marks: dict[str, Mark] = {}
    answers: dict[str, Any] = {}
    for scorer, score in scores.items():
        for name, value in _values(scorer, score.value):
            if isinstance(value, str) and value in _LETTERS:
                marks[name] = _LETTERS[value]
            else:  # a NaN means that the sample was not scored
                marks[name] = None if is_nan(value) else as_mark(value, f"{location}: {name}")
            answers[name] = as_text(score.answer) if score.answer is not None else sample.output.completion
    error, message = _failure(sample, is_scored=bool(scores))
    # If several targets are acceptable, the list.
    target = sample.target[0] if isinstance(sample.target, list) and len(sample.target) == 1 else sample.target
    return ImportedAnswer(
        id=str(sample.id),
        location=location,
        marks=marks,
        answers={} if error else answers,
        expect=as_text(target),
        error=error,
        message=message,
        seconds=sample.working_time if sample.working_time is not None else sample.total_time,
        repeat=sample.epoch,
        columns=flat(sample.metadata or {}) | ({"limit": sample.limit.type} if sample.limit else {}),
    )


def _values(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The values of a scorer: one, or several by name or number."""
    if isinstance(value, dict):
        yield from ((f"{scorer}.{key}", part) for key, part in value.items())
    elif isinstance(value, list):
        yield from ((f"{scorer}.{number}", part) for number, part in enumerate(value))
    else:
        yield scorer, value


def _failure(sample: _Sample, *, is_scored: bool) -> tuple[ErrorKind | None, str]:
    """Why there is no answer, and in words; None and nothing if there is one."""
    if sample.error is not None:
        return ErrorKind.CRASH, sample.error.message
    if is_scored:
        return None, ""
    if sample.limit is None:
        return ErrorKind.ANSWER, "it was not scored"
    kind = ErrorKind.TIMEOUT if sample.limit.type in _TIME_LIMITS else ErrorKind.ANSWER
    return kind, f"stopped by its {sample.limit.type} limit"


_WHAT = "a log of inspect_ai"
READERS: tuple[Reader, ...] = (
    Reader("inspect_ai", _WHAT, is_archive, read_archive),
    Reader("inspect_ai", _WHAT, is_log, read_json),
)
