"""Training several times, each time without another fold of the training part: how much the training matters."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.analysis.rate_errors import DesignRate, transcripts_training
from harness.api.progress import ProgressChoice, run_progress, show_downloads
from harness.api.result import Result
from harness.api.runs import (
    AnyTest,
    RunCallOptions,
    RunResult,
    TrainFoldsOptions,
    design_rate,
    failure_remarks,
    make_plan,
    unit_words,
)
from harness.engine.plan import Plan
from harness.engine.target import Target
from harness.engine.train_folds import run_folds
from harness.errors import UsageError, quoted_in, quoting
from harness.options import Range, option
from harness.report.blocks import Block, Table
from harness.report.counts import CountRow, count_table, design_remarks, tidy_table
from harness.report.formats import Format
from harness.report.run_sentences import training_sentences
from harness.script.folds import held_out_folds
from harness.stats.repeats import TrainingVariance
from harness.transcript.columns import read_columns


@dataclass(frozen=True, repr=False)
class TrainFoldsResult(Result):
    """Runs of the same algorithm, each trained without another fold of the training part."""

    runs: Sequence[RunResult]
    training: TrainingVariance
    remarks: Sequence[str] = ()
    cautions: Sequence[str] = ()

    @property
    def paths(self) -> list[Path]:
        return [run.path for run in self.runs if run.path is not None]

    def payload(self) -> dict[str, Any]:
        return {
            "rows": [run.row() | {"fold": number} for number, run in enumerate(self.runs, 1)],
            "transcripts": [str(path) for path in self.paths],
            "training": self.training,
        }

    def blocks(self) -> Sequence[Block]:
        return [count_table(*self._rows())]

    def table(self) -> Table:
        return tidy_table(*self._rows())

    def _rows(self) -> tuple[list[CountRow], list[str], list[DesignRate | None]]:
        rows: list[CountRow] = [({"fold": number, **run.params}, run.counts) for number, run in enumerate(self.runs, 1)]
        return rows, ["fold"], [run.design for run in self.runs]

    def remarks_in(self, style: Format) -> Sequence[str]:
        return [*design_remarks(style, [run.design for run in self.runs]), *self.remarks]


class FoldsCallOptions(RunCallOptions, TrainFoldsOptions):
    """How a test is run several times, and where the transcripts go."""

    train_folds: int = option("--train-folds K", "How many folds.", default=5, within=Range(2, 1000))


def run_train_folds(
    test: AnyTest,
    interface: object = None,
    *,
    options: FoldsCallOptions,
    name: str | None = None,
    progress: ProgressChoice = None,
) -> TrainFoldsResult:
    """Train and run a test several times, each time without another fold of the training part.

    >>> harness.run_train_folds("hdigits", "wisard", train_folds=5)

    It has the variance of training, case and run, and a transcript for each fold.
    """
    with show_downloads(progress):
        plan = make_plan(test, interface, options, name=name)
    return train_on_folds(plan, options.target, folds=options.train_folds, seed=options.train_seed, progress=progress)


def train_on_folds(
    plan: Plan, target: Target, *, folds: int, seed: int = 0, progress: ProgressChoice = None
) -> TrainFoldsResult:
    """A run without each fold of the training part in turn, and the variance of training, case and run."""
    parts = held_out_folds(plan.cases, folds, seed)
    interface = plan.interface
    if not interface.learns:
        remedy = f"{interface.to_learn}, or " if interface.to_learn else ""
        raise UsageError(
            f"--train-folds {folds}: {interface.name} ({interface.kind}) does not learn, so every fold would give the "
            f"same answers; {remedy}leave --train-folds out"
        )
    finished = run_folds(plan, parts, target, run_progress(progress))
    paths = [run.path for run in finished if run.path is not None]
    training = transcripts_training(paths, plan.options.repeat)
    # A stream program is told of the training part, and need not say whether it reads it.
    same_counts = all(run.counts == finished[0].counts for run in finished)
    if same_counts and len({read_columns(path).outcome.tobytes() for path in paths}) == 1:
        # Standard errors of 0 would look like knowledge.
        remarks = [f"all trainings have the same outcome in every case; does {interface.name} learn what it is given?"]
    else:
        header = finished[0].header
        weighted = header is not None and header.is_weighted
        remarks = training_sentences(training, unit_words(header), weighted=weighted)
    remarks += [] if any(run.asked for run in finished) else ["nothing was left to run"]
    cautions = [
        quoting(f"fold {number}: {text}", *quoted_in(text))
        for number, run in enumerate(finished, 1)
        for text in failure_remarks(plan, run)
    ]
    remarks += cautions
    remarks += [f"transcript: {path}" for path in paths]
    runs = [RunResult(plan.params, run.counts, run.path, design_rate(run)) for run in finished]
    return TrainFoldsResult(runs, training, remarks, cautions)
