"""inspect_ai: a log as one JSON file, or as a zip with a member for each sample."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from harness.errors import ForeignError
from harness.model import ErrorKind
from harness.transcript.importing.content import Source, as_mark, as_text, decode, flat, is_nan
from harness.transcript.importing.inspect_archive import Archive
from harness.transcript.importing.results import Imported, Mark, Result, Wishes

# Of https://inspect.aisi.org.uk/scorers.html: correct, incorrect, partial, no answer.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_TIME_LIMITS = ("time", "working")


class Dataset(Struct, frozen=True):
    """What was asked."""

    samples: int | None = None
    sample_ids: list[str | int] | None = None


class Config(Struct, frozen=True):
    """How it was asked."""

    epochs: int | None = None
    limit: Any = None
    sample_id: Any = None


class Eval(Struct, frozen=True):
    """Which task, which model."""

    task: str
    model: str
    task_version: int | str | None = None
    dataset: Dataset = Dataset()
    config: Config = Config()


class Failure(Struct, frozen=True):
    """An exception."""

    message: str = ""


class Score(Struct, frozen=True):
    """What a scorer said."""

    value: Any = None
    answer: Any = None


class Output(Struct, frozen=True):
    """What the model said."""

    completion: str = ""


class Limit(Struct, frozen=True):
    """Why a sample was cut short."""

    type: str = ""


class Sample(Struct, frozen=True):
    """One sample in one epoch; the conversation and the events are skipped."""

    id: str | int
    epoch: int = 1
    target: str | list[str] = ""
    output: Output = Output()
    scores: dict[str, Score] | None = None
    # Of logs from before there could be several.
    score: Score | None = None
    metadata: dict[str, Any] | None = None
    error: Failure | None = None
    limit: Limit | None = None
    total_time: float | None = None
    working_time: float | None = None


class Log(Struct, frozen=True):
    """A log in one file, or the header of one in an archive."""

    eval: Eval
    status: str = "started"
    samples: list[Sample] | None = None


class Start(Struct, frozen=True):
    """What an archive says before the first sample is done."""

    eval: Eval


def is_log(document: Any) -> bool:
    """Whether the keys of a JSON file are those of an inspect_ai log."""
    return "eval" in document and "status" in document


def read_json(source: Source, _wishes: Wishes) -> list[Imported]:
    """A log that is one JSON file."""
    log = decode(source.data, Log, source.name)
    if log.samples is None:
        raise ForeignError(f"{source.name}: an inspect_ai log without samples; run it without --no-log-samples")
    return [_imported(source, log, log.samples)]


def read_archive(source: Source, _wishes: Wishes) -> list[Imported]:
    """A log that is a zip: header.json, samples/ID_epoch_N.json."""
    with Archive(source.path) as archive:
        if "header.json" in archive:
            log = decode(archive.read("header.json"), Log, f"{source.name}: header.json")
        elif "_journal/start.json" in archive:
            start = decode(archive.read("_journal/start.json"), Start, f"{source.name}: _journal/start.json")
            log = Log(eval=start.eval)
        else:
            raise ForeignError(f"{source.name}: a zip, but not a log of inspect_ai: no header.json in it")
        samples = list(_members(archive, source))
    if not samples:
        raise ForeignError(f"{source.name}: an inspect_ai log without samples; run it without --no-log-samples")
    return [_imported(source, log, samples)]


def _members(archive: Archive, source: Source) -> Iterator[Sample]:
    for name in archive.names:
        if name.startswith("samples/") and name.endswith(".json"):
            yield decode(archive.read(name), Sample, f"{source.name}: {name}")


def _imported(source: Source, log: Log, samples: list[Sample]) -> Imported:
    spec = log.eval
    return Imported(
        source=source.name,
        test=spec.task,
        version=as_text(spec.task_version),
        algorithm=spec.model,
        results=[_result(source, sample) for sample in _in_order(samples, spec.dataset.sample_ids or [])],
        tool="inspect_ai",
        missing=_missing(log, samples),
    )


def _in_order(samples: list[Sample], ids: Iterable[str | int]) -> list[Sample]:
    """In the order of the dataset: logs have them by name or as they were done."""
    rank = {str(name): number for number, name in enumerate(ids)}
    return sorted(samples, key=lambda sample: (rank.get(str(sample.id), len(rank)), sample.epoch))


def _missing(log: Log, samples: list[Sample]) -> str:
    if log.status != "success":
        return f"its status is '{log.status}': the evaluation did not run to its end"
    ids = log.eval.dataset.sample_ids
    wanted = len(ids) * (log.eval.config.epochs or 1) if ids else 0
    if len(samples) < wanted:
        return f"it has {len(samples):,} of {wanted:,} samples"
    return ""


def _result(source: Source, sample: Sample) -> Result:
    place = f"{source.name}: sample {sample.id}"
    scores = dict(sample.scores or ({"score": sample.score} if sample.score else {}))
    marks: dict[str, Mark] = {}
    answers: dict[str, Any] = {}
    for scorer, score in scores.items():
        for name, value in _values(scorer, score.value):
            marks[name] = _mark(value, f"{place}: {name}")
            answers[name] = as_text(score.answer) if score.answer is not None else sample.output.completion
    error = _error(sample, bool(scores))
    return Result(
        id=str(sample.id),
        place=place,
        marks=marks,
        answers={} if error else answers,
        expect=as_text(
            sample.target if isinstance(sample.target, str) or len(sample.target) != 1 else sample.target[0]
        ),
        error=error,
        message=_message(sample) if error else "",
        seconds=sample.working_time if sample.working_time is not None else sample.total_time,
        repeat=sample.epoch,
        columns=flat(sample.metadata or {}) | ({"limit": sample.limit.type} if sample.limit else {}),
    )


def _expected(target: str | list[str]) -> str:
    """The target; of several that would all do, the list."""
    return as_text(target[0] if isinstance(target, list) and len(target) == 1 else target)


def _values(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A scorer gives one value, or several by name or number."""
    if isinstance(value, dict):
        yield from ((f"{scorer}.{key}", part) for key, part in value.items())
    elif isinstance(value, list):
        yield from ((f"{scorer}.{number}", part) for number, part in enumerate(value))
    else:
        yield scorer, value


def _mark(value: Any, place: str) -> Mark:
    """Letters are marks; a NaN is what a scorer gives for a sample that it did not score."""
    if isinstance(value, str) and value in _LETTERS:
        return _LETTERS[value]
    return None if is_nan(value) else as_mark(value, place)


def _error(sample: Sample, scored: bool) -> ErrorKind | None:
    if sample.error is not None:
        return ErrorKind.CRASH
    if scored:
        return None
    return ErrorKind.TIMEOUT if sample.limit and sample.limit.type in _TIME_LIMITS else ErrorKind.ANSWER


def _message(sample: Sample) -> str:
    if sample.error is not None:
        return sample.error.message
    return f"stopped by its {sample.limit.type} limit" if sample.limit else "it was not scored"
