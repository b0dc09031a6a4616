"""The runs of `--train-folds`: a transcript for each fold, which `--resume` finds again."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.engine.engines import engine_of
from harness.engine.header import run_header
from harness.engine.plan import Plan
from harness.engine.progress import Progress, RunPart, SharedProgress
from harness.engine.run import FinishedRun, run
from harness.engine.target import (
    EarlierRun,
    Target,
    check_same,
    complete_transcript,
    default_path,
    exists_error,
    fold_numbers,
    fold_path,
    forced_path,
    has_begun,
    in_use,
    is_empty,
    run_to_carry_on,
)
from harness.errors import HateError, Interrupted, TranscriptError
from harness.interface.interrupts import interruptible
from harness.script.folds import HeldOutFold
from harness.transcript.format import Header
from harness.transcript.read import open_transcript, read_end
from harness.transcript.write import working_path


def run_folds(plan: Plan, parts: Sequence[HeldOutFold], target: Target, bar: Progress) -> list[FinishedRun]:
    """A run without each fold in turn; with `resume`, finished runs are kept and stopped ones are resumed.

    Some engines make them side by side. A file that exists, or is from a different run, is refused before anything
    runs.
    """
    plans = [replace(plan, held_out=part) for part in parts]
    base = _base_path([run_header(item) for item in plans], target)
    folds = _Folds(plans, target, bar)
    engine = engine_of(plan.options)
    with interruptible(), engine.kept(), folds:
        numbers = list(range(1, len(plans) + 1))
        if base is None:
            # If no fold was run yet, nothing can be resumed, least of all a run with the whole training part.
            first = folds.run(numbers.pop(0), Target(fold=1))
            if first.path is not None:
                before, _, after = first.path.name.rpartition("-fold-1")
                base = first.path.with_name(before + after)
        targets = [
            (number, Target(fold=number) if base is None else replace(target, path=fold_path(base, number)))
            for number in numbers
        ]
        engine.run_all(lambda item: folds.run(*item), targets)
    return [folds.finished[number] for number in range(1, len(plans) + 1)]


class _Folds:
    """The runs of the folds, by number from 1, with one progress bar; an error says how many are finished."""

    def __init__(self, plans: Sequence[Plan], target: Target, bar: Progress) -> None:
        self._plans = plans
        self._target = target
        self._progress = SharedProgress(bar)
        self._progress.announce(sum(plan.total for plan in plans))
        self.finished: dict[int, FinishedRun] = {}

    def run(self, number: int, target: Target) -> FinishedRun:
        plan = self._plans[number - 1]
        done = self.finished[number] = run(plan, target, RunPart(self._progress))
        if not done.asked:
            self._progress.skip(plan.total)
        return done

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._progress.end()
        if isinstance(error, (HateError, Interrupted)):
            error.note = _note(error, len(self.finished), len(self._plans), self._target)


def _base_path(headers: Sequence[Header], target: Target) -> Path | None:
    """The path that the paths of the folds are derived from, checked; None for the first free default path."""
    base, test, algorithm = target.path, headers[0].test.name, headers[0].algorithm.name
    if base is None and (target.resume or target.retry_errors):
        bases = [default_path(test, algorithm, number) for number in fold_numbers(test, algorithm)]
        base = run_to_carry_on([_earlier(path, headers) for path in bases], retry=target.retry_errors)
    if base is None and (target.retry_errors or target.force):
        base = default_path(test, algorithm)
    if base is not None:
        for number, header in enumerate(headers, 1):
            # It must be from the same run, or must not exist.
            path = fold_path(base, number)
            if target.retry_errors:
                complete_transcript(path, header)
            elif target.resume:
                _check_same(path, header)
            elif target.force and target.path is None:
                forced_path(header, path)
            elif has_begun(path) and not target.force:
                raise exists_error(path)
    return base


def _earlier(base: Path, headers: Sequence[Header]) -> EarlierRun:
    """The folds that are derived from a default path, as one run; folds that were not begun contradict nothing."""
    paths = [fold_path(base, number) for number in range(1, len(headers) + 1)]
    try:
        for path, header in zip(paths, headers, strict=True):
            _check_same(path, header)
    except TranscriptError:
        return EarlierRun(base, same=False, complete=False, in_use=False)
    complete = all(has_begun(path) and not is_empty(path) and read_end(path) is not None for path in paths)
    return EarlierRun(base, same=True, complete=complete, in_use=any(map(in_use, paths)))


def _check_same(path: Path, header: Header) -> None:
    if not has_begun(path) or is_empty(path):
        return
    working = working_path(path)
    with open_transcript(working if working.exists() else path) as reader:
        check_same(path, header, reader.header)


def _note(error: HateError | Interrupted, finished: int, folds: int, target: Target) -> str:
    """How many folds were saved, and how to carry on."""
    done = f"{finished} of {folds} folds are finished"
    if target.retry_errors:
        return f"{done}; the same command carries on"
    if error.note:
        return f"{done}; {error.note}"
    return f"{done}; carry on with --resume" if finished or isinstance(error, Interrupted) else ""
