"""Several logs of one task, run with different seeds, as one run with several answers to each case."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from harness.errors import ForeignError, UsageError
from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions
from harness.transcript.importing.convert import with_ids


def fold_runs(files: Sequence[Sequence[ImportedRun]], options: ImportOptions) -> list[ImportedRun]:
    """One run for each algorithm, with an answer to each case from every file; a ForeignError if cases differ."""
    if len(files) < 2:
        raise UsageError("--fold puts several logs of one task together; name at least two")
    by_algorithm: dict[str, list[ImportedRun]] = {}
    for runs in files:
        for run in runs:
            by_algorithm.setdefault(options.algorithm or run.algorithm, []).append(run)
    folded = [_fold(parts, options) for parts in by_algorithm.values() if len(parts) == len(files)]
    if len(folded) < len(by_algorithm):
        name, parts = next((name, parts) for name, parts in by_algorithm.items() if len(parts) != len(files))
        raise ForeignError(
            f"--fold: {len(parts)} of {len(files)} logs are of '{name}' ({parts[0].source} is the first); fold runs of "
            "one algorithm, or name it with --algorithm"
        )
    return folded


def _fold(parts: Sequence[ImportedRun], options: ImportOptions) -> ImportedRun:
    first = parts[0]
    for part in parts[1:]:
        _check_task(first, part, options)
    answers = [list(with_ids(part, options.columns.id)) for part in parts]
    for part, own in zip(parts[1:], answers[1:], strict=True):
        _check_cases(first, answers[0], part, own, partial=options.partial)
    results: list[ImportedAnswer] = []
    for own in answers:
        # A log may have several answers to a case itself.
        turn = max((result.repeat for result in results), default=0) + 1
        results += [structs.replace(result, repeat=turn + result.repeat) for result in own]
    notes = [note for part in parts for note in part.notes]
    return replace(
        first,
        source=f"{first.source} and {len(parts) - 1} more",
        results=results,
        survey=None,
        params=_common([part.params for part in parts]),
        directions=_merged_directions(parts),
        missing="; ".join(f"{part.source}: {part.missing}" for part in parts if part.missing),
        keyed=True,
        notes=[*dict.fromkeys(notes), f"{len(parts)} logs were folded into one transcript"],
    )


def _check_task(first: ImportedRun, other: ImportedRun, options: ImportOptions) -> None:
    for what, mine, theirs in (
        ("task", first.test, other.test if options.test is None else first.test),
        ("version", first.version, other.version),
        ("tool", first.tool, other.tool),
        ("kind of test", first.task, other.task),
        ("cluster", first.psu or "none", (other.psu or "none") if options.psu is None else (first.psu or "none")),
    ):
        if mine != theirs:
            raise ForeignError(
                f"--fold: {other.source} has another {what} than {first.source}: '{theirs}', not '{mine}'; fold logs "
                "of one task"
            )


def _check_cases(
    first: ImportedRun,
    answers: Sequence[ImportedAnswer],
    other: ImportedRun,
    others: Sequence[ImportedAnswer],
    *,
    partial: bool,
) -> None:
    """Logs must be of the same cases, with the same right answers."""
    known, found = ({result.id: result.expect for result in own} for own in (answers, others))
    lacking = [(other, first, name) for name in known if name not in found]
    lacking += [(first, other, name) for name in found if name not in known]
    if lacking and not partial:
        run, has, name = lacking[0]
        more = f" and {len(lacking) - 1:,} more differ" if len(lacking) > 1 else ""
        raise ForeignError(
            f"--fold: {run.source} lacks case '{name}' of {has.source}{more}; fold logs of the same cases, or take "
            "what is there with --partial"
        )
    for name, expect in found.items():
        if known.get(name, expect) != expect:
            raise ForeignError(
                f"--fold: case '{name}' has another right answer in {other.source} than in {first.source}; fold logs "
                "of one task"
            )


def _merged_directions(parts: Sequence[ImportedRun]) -> dict[str, bool]:
    """Whether more of a metric is better, in all logs that say so."""
    merged: dict[str, bool] = {}
    for part in parts:
        for name, larger in part.directions.items():
            if merged.setdefault(name, larger) != larger:
                more, less = ("more", "less") if larger else ("less", "more")
                raise ForeignError(
                    f"--fold: {part.source} says that {more} '{name}' is better, another log that {less} is; "
                    "fold logs of one task"
                )
    return merged


def _common(params: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The parameters that all have with the same value: seeds differ."""
    return {
        name: value
        for name, value in params[0].items()
        if all(name in other and other[name] == value for other in params)
    }
