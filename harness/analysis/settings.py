"""Settings of a sweep or of tuning as runs: recorded answers are decided again, then measured as any run is."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from harness.analysis.align import AlignedRuns, Run, align, outcome_codes, successes
from harness.analysis.cells import Measurement
from harness.analysis.decisions import Setting
from harness.analysis.matching import take
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import UsageError
from harness.measures import Measure, Reads, find_measure
from harness.model import Answer
from harness.options import DesignOptions
from harness.stats.estimate import Estimate
from harness.stats.replication.method import Replication
from harness.tasks import Task
from harness.transcript.columns import NUMBERS, TEXTS, Coded, Columns, read_columns
from harness.transcript.format import Header
from harness.transcript.read import open_transcript

# Settings that are measured at a time, and the most records that they have together.
BLOCK, BLOCK_RECORDS = 64, 1 << 20
# What only the runs of some tasks have.
_OF_SOME_TASKS = Reads.RANK | Reads.NUMBERS | Reads.BOXES | Reads.PIXELS


def measure_of_settings(text: str, option: str, task: Task, *, repeat: int = 1) -> Measure:
    """A measure by name, as the task means it; a UsageError, before anything is run, if no run of it can have one."""
    measure = find_measure(text, option=option, meanings=task.measure_names)
    if not can_have(task, measure):
        raise UsageError(f"{option} {text}: runs of a {task.name} test do not record what it is computed from")
    if measure.answers > repeat:
        more = f"--repeat {measure.answers} asks for them" if option == "--statistic" else "tuning asks once"
        raise UsageError(f"{option} {text}: it takes {measure.answers} answers to every case; {more}")
    return measure


def can_have(task: Task, measure: Measure) -> bool:
    """Whether a run of this task can have a measure, as far as the task tells."""
    known = {find_measure(name, meanings=task.measure_names).reads for name in task.measures}
    # The scores of objects have no curve, unless the task says so.
    has_elements = type(task).elements is not Task.elements
    special = _OF_SOME_TASKS | Reads.SCORE if has_elements else _OF_SOME_TASKS
    return measure.reads not in special or measure.reads in known


def measured(
    measure: Measure, settings: Sequence[Setting], *, lean: bool = False
) -> tuple[list[Estimate | None], Sampling]:
    """The measure of each setting by itself, as `hate rate` has it; None if one has no value.

    `lean` reads no more than outcomes and resources.
    """
    estimates: list[Estimate | None] = [None] * len(settings)
    sampling: Sampling | None = None
    for numbers, runs in blocks(settings, lean=lean):
        sampling = sampling or take_sample(runs, DesignOptions())
        cells = Measurement(measure, runs, sampling, Replication()).runs()
        for cell, number in enumerate(numbers):
            estimates[number] = cells.estimate(cell)
    if sampling is None:
        raise UsageError("no setting to measure")
    return estimates, sampling


def blocks(
    settings: Sequence[Setting], *, beside: Sequence[Setting] = (), lean: bool = False
) -> Iterator[tuple[list[int], AlignedRuns]]:
    """The settings as runs, some at a time, and which they are; those `beside` come last in every block.

    Settings of the same transcripts are taken together, so that these are read once.
    """
    by_run: dict[tuple[Path, ...], list[int]] = {}
    for number, setting in enumerate(settings):
        by_run.setdefault(setting.transcripts, []).append(number)
    order = [number for numbers in by_run.values() for number in numbers]
    size = min(BLOCK, BLOCK_RECORDS // max(len(settings[0].answers.limit), 1)) or 1
    known: dict[tuple[Path, ...], Columns] = {}
    for start in range(0, len(order), size):
        numbers = order[start : start + size]
        block = [*(settings[number] for number in numbers), *beside]
        wanted = dict.fromkeys(setting.transcripts for setting in block)
        known = {paths: known.get(paths) or _pooled([_read(path, lean=lean) for path in paths]) for paths in wanted}
        yield numbers, decided_runs(block, known)


def decided_runs(settings: Sequence[Setting], columns: Mapping[tuple[Path, ...], Columns]) -> AlignedRuns:
    """Settings as runs on the same cases: what the program answered, with the outcomes that the parameters give."""
    wanted = list(dict.fromkeys(setting.transcripts for setting in settings))
    aligned = align([Run(columns[paths], str(paths[0]), paths[0].stem) for paths in wanted])
    runs = [_decided(columns[setting.transcripts], setting) for setting in settings]
    orders = [aligned.orders[wanted.index(setting.transcripts)] for setting in settings]
    outcome = np.stack([take(run.outcome, order) for run, order in zip(runs, orders, strict=True)])
    return dataclasses.replace(
        aligned,
        names=[run.header.algorithm.name for run in runs],
        headers=[run.header for run in runs],
        counts=[setting.counts for setting in settings],
        success=successes(outcome),
        outcome=outcome,
        runs=runs,
        orders=orders,
        self_reported=[None] * len(runs),
        scored=[],
    )


def _read(path: Path, *, lean: bool) -> Columns:
    with open_transcript(path) as reader:
        lean = lean and not reader.header.weighs_cases
    return read_columns(path, lean=lean)


def _decided(columns: Columns, setting: Setting) -> Columns:
    answers, value = setting.answers, float(setting.params[setting.answers.param])
    limit, positive = np.asarray(answers.limit, np.float64), np.asarray(answers.positive, np.bool_)
    outcome = outcome_codes(limit >= value if answers.falling else limit <= value, positive)
    header = msgspec.structs.replace(columns.header, params={**columns.header.params, **setting.params})
    return dataclasses.replace(columns, header=header, outcome=outcome, **_settled(columns, header))


def _settled(columns: Columns, header: Header) -> dict[str, Any]:
    """What else of the records follows from the decision parameters: the scores, and what is recorded of pixels."""
    task, recorded = header.test.find_task(), columns.header.params
    if type(task).settle is Task.settle or all(recorded.get(n) == header.params.get(n) for n in task.decisions):
        return {}
    score, pixels = columns.score.copy(), list(columns.details.get("pixels", [None] * len(columns.ids)))
    for row in np.flatnonzero((columns.error.codes < 0) & ~np.isnan(score)).tolist():
        code = columns.actual.codes[row]
        actual = columns.actual.labels[code] if code >= 0 else None
        given = Answer(actual, float(score[row]), pixels=pixels[row])
        answer = task.settle(given, header.test.rules, header.params)
        score[row] = np.nan if answer.score is None else answer.score
        pixels[row] = answer.pixels
    return {"score": score, "details": {**columns.details, "pixels": pixels}}


def _pooled(parts: Sequence[Columns]) -> Columns:
    """The records of several runs that are parts of one, under the header of the first."""
    if len(parts) == 1:
        return parts[0]
    sizes = [len(part.ids) for part in parts]
    both = list(zip(parts, sizes, strict=True))

    def names(kind: str) -> list[str]:
        return list(dict.fromkeys(name for part in parts for name in getattr(part, kind)))

    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in ("outcome", "repeat", *NUMBERS)
    }
    texts: dict[str, Any] = {name: _pooled_texts([getattr(part, name) for part in parts], sizes) for name in TEXTS}
    return Columns(
        header=parts[0].header,
        complete=all(part.complete for part in parts),
        ids=[case for part in parts for case in part.ids],
        columns={name: _pooled_texts([part.columns.get(name) for part in parts], sizes) for name in names("columns")},
        values={
            name: np.concatenate([part.values.get(name, np.full(size, np.nan)) for part, size in both])
            for name in names("values")
        },
        details={
            name: [detail for part, size in both for detail in part.details.get(name, [None] * size)]
            for name in names("details")
        },
        **arrays,
        **texts,
    )


def _pooled_texts(parts: Sequence[Coded | None], sizes: Sequence[int]) -> Coded:
    """A column of several runs; a run without it has no text in any record."""
    code: dict[str, int] = {}
    pooled = []
    for part, size in zip(parts, sizes, strict=True):
        table = [code.setdefault(label, len(code)) for label in part.labels] if part is not None else []
        codes = np.full(size, -1) if part is None else part.codes
        pooled.append(np.array([*table, -1], dtype=np.int32)[codes])
    return Coded(np.concatenate(pooled), list(code))
