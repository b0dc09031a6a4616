"""Several transcripts of one test, case by case: the same cases in the same order."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from harness.analysis.curves.scores import curve_elements, curve_scores, scored_elements
from harness.analysis.matching import (
    agreed_direction,
    check_agreement,
    check_same_metric,
    lacking_value,
    matched_records,
    orders_of,
    take,
)
from harness.analysis.run_identity import check_same_test, run_names
from harness.errors import TranscriptError, UsageError
from harness.model import Counts, Outcome
from harness.stats.arrays import BoolArray, FloatArray, IntArray, is_among
from harness.stats.attempts import Attempts
from harness.stats.curves.scores import ScoredCases, make_scored_cases
from harness.stats.curves.summaries import ScoredElements
from harness.tasks import find_task
from harness.transcript.columns import OUTCOMES, Coded, Columns
from harness.transcript.format import Header

if TYPE_CHECKING:
    from harness.measures import Measure


# Whether an outcome means that the answer was accepted, by its code.
ACCEPTED = np.array([outcome in (Outcome.TP, Outcome.FP) for outcome in OUTCOMES])


@dataclass(frozen=True)
class Run:
    """A transcript as it was read, and what to call it in messages."""

    columns: Columns
    source: str
    stem: str
    # Why its outcomes were not judged again by its test; empty if they were, None if nobody asked.
    self_reported: str | None = None


@dataclass(frozen=True)
class AlignedRuns:
    """m runs on the same n cases; everything about a case itself is taken from the first run."""

    names: list[str]
    headers: list[Header]
    counts: list[Counts]
    ids: Sequence[str]
    # (m, n) each.
    success: BoolArray
    outcome: npt.NDArray[np.int8]
    cases: Columns
    # Where the cases are in the first run.
    order: IntArray
    # Every run as it was read, and where the cases are in it.
    runs: list[Columns]
    orders: list[IntArray]
    repeated: bool
    left_out: int
    # Why the outcomes of each run were not judged again by its test; empty if they were, None if nobody asked.
    self_reported: Sequence[str | None]
    # What `curve_cases` made; outcomes that are decided again have the same scores, which are sorted once.
    scored: list[ScoredCases] = field(default_factory=list, repr=False)

    @property
    def n(self) -> int:
        """Number of cases."""
        return len(self.ids)

    @property
    def answers(self) -> int:
        """Answers per case."""
        return max(round(self.n / self.case_count()), 1) if self.repeated else 1

    @cached_property
    def answer_range(self) -> tuple[int, int]:
        """The fewest and the most answers to a case."""
        counts = Counter(self.ids).values() if self.repeated else [1]
        return min(counts), max(counts)

    @property
    def counted(self) -> str:
        """What a count of records counts, in the plural."""
        return "answers" if self.repeated else "cases"

    @property
    def success_of_cases(self) -> FloatArray:
        """For each record, the share of the answers to its case that are right, (m, n)."""
        success = self.success.astype(np.float64)
        if not self.repeated:
            return success
        case = np.unique(self.ids, return_inverse=True)[1]
        return np.stack([np.bincount(case, weights=run) / np.bincount(case) for run in success])[:, case]

    def case_count(self, inside: BoolArray | None = None) -> int:
        """How many cases the records, or some of them, are of."""
        if inside is None:
            return len(set(self.ids)) if self.repeated else self.n
        if not self.repeated:
            return int(inside.sum())
        return len({self.ids[record] for record in np.flatnonzero(inside).tolist()})

    @cached_property
    def error_kinds(self) -> list[dict[str, int]]:
        """How many records of each run are errors, by kind, the most frequent first."""
        return [_error_kinds(run, order) for run, order in zip(self.runs, self.orders, strict=True)]

    @cached_property
    def positive(self) -> BoolArray:
        """Whether each case is positive."""
        return take(self.cases.positive, self.order)

    @cached_property
    def score(self) -> FloatArray:
        """What the threshold is applied to, (m, n); not a number if there is none, as in what follows."""
        return self._numbers([run.score for run in self.runs])

    @cached_property
    def seconds(self) -> FloatArray:
        """How long an answer took, (m, n)."""
        return self._numbers([run.seconds for run in self.runs])

    @cached_property
    def memory(self) -> FloatArray:
        """Bytes that the program needed, (m, n)."""
        return self._numbers([run.memory for run in self.runs])

    @property
    def ranks(self) -> FloatArray:
        """The rank of the right identity, (m, n)."""
        return self._numbers([run.rank for run in self.runs])

    def _numbers(self, of_runs: Sequence[FloatArray]) -> FloatArray:
        return np.stack([take(numbers, order) for numbers, order in zip(of_runs, self.orders, strict=True)])

    def curve_cases(self) -> list[ScoredCases]:
        """The scores of every run, ready for curves; a TranscriptError if answers have none."""
        if not self.scored:
            cases = []
            for name, run, order in zip(self.names, self.runs, self.orders, strict=True):
                # Results of other tools may say that a case was accepted, but not with what score.
                bare = np.flatnonzero(np.isnan(run.score) & (run.error.codes < 0) & (run.positive == run.success))
                if bare.size:
                    raise TranscriptError(
                        f"{name}: {bare.size:,} accepted cases have no score ('{run.ids[int(bare[0])]}' is the first), "
                        "so no threshold can be set; let the program answer with scores"
                    )
                of_run = curve_scores(run, name)
                scores, larger = take(of_run.scores, order), of_run.larger_is_better
                cases.append(make_scored_cases(scores, self.positive, larger_is_better=larger))
            self.scored.extend(cases)
        return list(self.scored)

    @cached_property
    def elements(self) -> list[ScoredElements] | None:
        """What the cases of every run consist of, with scores; None for tasks whose curves are over cases."""
        scored = []
        for name, run, order in zip(self.names, self.runs, self.orders, strict=True):
            elements = curve_elements(run, name)
            if elements is None:
                return None
            if not elements.has_negatives:
                what = f"places without {elements.words} cannot be counted, so there is no false positive rate"
                raise TranscriptError(f"{name}: {what}; use ap, recall or precision")
            scored.append(scored_elements(elements, order))
        return scored

    @property
    def measure_names(self) -> Mapping[str, str]:
        """What the names of some measures mean for the task of these runs."""
        task = find_task(self.headers[0].test.task)
        return {} if task is None else task.measure_names

    def attempts(self) -> tuple[list[Attempts], IntArray]:
        """The answers of every run by case, before runs were matched; and the number of each record's case."""
        numbers = {case: number for number, case in enumerate(dict.fromkeys(self.ids))}
        of_record = np.array([numbers[case] for case in self.ids], dtype=np.intp)
        # Scores are hardly ever equal: what is voted on is then the decision.
        is_score = self.headers[0].test.find_task().shows_claim
        attempts = []
        for run in self.runs:
            case = np.array([numbers.get(name, -1) for name in run.ids], dtype=np.intp)
            label = np.zeros(case.size, dtype=np.intp) if is_score else run.actual.codes.astype(np.intp)
            kept = case >= 0
            attempts.append(Attempts(case[kept], run.success[kept], label[kept], len(numbers)))
        return attempts, of_record

    def value_names(self) -> list[str]:
        """The named values that records of all runs have."""
        return [name for name in self.cases.values if all(name in run.values for run in self.runs)]

    def measure(self, name: str) -> "Measure":
        """The measure with this name, or of a value of this name, as it is meant for these runs."""
        # A run that prints its interval needs none.
        from harness.measures import find_measure

        direction = partial(agreed_direction, self.names, self.headers)
        try:
            return find_measure(name, self.value_names(), meanings=self.measure_names, direction=direction)
        except UsageError as error:
            raise lacking_value(name, self.names, [run.values for run in self.runs]) or error from None

    def value(self, name: str) -> FloatArray:
        """A named value of the records, (m, n)."""
        for algorithm, run in zip(self.names, self.runs, strict=True):
            if name not in run.values:
                raise TranscriptError(f"{algorithm}: no record has the value '{name}'")
        return self._numbers([run.values[name] for run in self.runs])

    @property
    def has_numbers(self) -> bool:
        """Whether the answers of this task are numbers."""
        task = find_task(self.headers[0].test.task)
        return task is not None and task.answers_numbers

    def true_numbers(self) -> FloatArray:
        """The truth of each case, or its claim if that is true; NaN if that is not a number."""
        cases = self.cases
        claims = np.where(cases.positive, cases.expect.numbers(), np.nan)
        return np.where(cases.truth.codes >= 0, cases.truth.numbers(), claims)[self.order]

    def answered_numbers(self) -> FloatArray:
        """The answers, (m, n); NaN for errors and refusals. A TranscriptError if the task has other answers."""
        if not self.has_numbers:
            raise TranscriptError(f"{self.names[0]}: its answers are not numbers; that takes a test of task value")
        numbers = [np.where(run.error.codes < 0, run.actual.numbers(), np.nan) for run in self.runs]
        return self._numbers(numbers)

    @cached_property
    def errors(self) -> FloatArray:
        """The answer minus the truth, (m, n); NaN unless both are numbers."""
        # Texts of all cases are parsed: every measure of them would do it twice.
        with np.errstate(over="ignore"):
            return np.clip(self.answered_numbers() - self.true_numbers(), -sys.float_info.max, sys.float_info.max)

    @property
    def params(self) -> list[Mapping[str, Any]]:
        return [header.params for header in self.headers]

    def detail(self, name: str) -> list[list[Any]]:
        """What is recorded under `pixels` or `boxes`, for each run and case; None for a record without it."""
        for algorithm, run in zip(self.names, self.runs, strict=True):
            if name not in run.details:
                raise TranscriptError(f"{algorithm}: no record has {name}; only some tasks record them")
        return [[run.details[name][row] for row in order] for run, order in zip(self.runs, self.orders, strict=True)]

    def column(self, name: str) -> Coded | None:
        """What somebody calls by this name: a column of the cases, else a field of their records; None if neither."""
        column = self.cases.columns.get(name)
        return self.recorded(name) if column is None else Coded(take(column.codes, self.order), column.labels)

    def recorded(self, name: str) -> Coded | None:
        """A field of the records, whatever columns the cases have; None if it is none that tells cases apart."""
        if name == "positive":
            return Coded(self.positive.astype(np.int32), ["false", "true"])
        if name == "id":
            return Coded(np.unique(self.ids, return_inverse=True)[1].astype(np.int32), sorted(set(self.ids)))
        if name not in ("expect", "stratum", "psu", "truth"):
            return None
        field: Coded = self.cases.real_class if name == "truth" else getattr(self.cases, name)
        return Coded(take(field.codes, self.order), field.labels)

    def column_names(self) -> list[str]:
        """The columns that cases can be grouped by."""
        return ["truth", "expect", "positive", *self.cases.columns]


def names_of(runs: Sequence[Run]) -> list[str]:
    """A distinct name for each run."""
    return run_names([run.columns.header.algorithm.name for run in runs], [run.stem for run in runs])


def judged_json(aligned: AlignedRuns, run: int) -> bool | None:
    """Whether the outcomes of a run were judged again by its test; None if nobody asked."""
    why = aligned.self_reported[run]
    return None if why is None else not why


def align(runs: Sequence[Run], *, intersect: bool = False, partial: bool = False, stopped: bool = False) -> AlignedRuns:
    """Match the cases by id, whatever their order; a TranscriptError if the runs cannot be compared.

    `stopped`: runs that stopped when their interval was narrow enough are fine, because the caller allows for that.
    """
    _check_whole(runs, partial=partial, stopped=stopped)
    sources, headers = [run.source for run in runs], [run.columns.header for run in runs]
    check_same_test(sources, headers)
    check_same_metric(sources, headers)
    matched = matched_records(runs)
    by_key, left_out = orders_of(runs, [keys for keys, _ in matched], intersect=intersect or partial)
    orders = [order if rows is None else rows[order] for (_, rows), order in zip(matched, by_key, strict=True)]
    check_agreement(runs, orders)
    first = runs[0].columns
    outcome = np.stack([take(run.columns.outcome, order) for run, order in zip(runs, orders, strict=True)])
    return AlignedRuns(
        names=names_of(runs),
        headers=headers,
        counts=[
            count_outcomes(
                take(run.columns.outcome, _once(run.columns, order)),
                errors=sum(_error_kinds(run.columns, order).values()),
            )
            for run, order in zip(runs, orders, strict=True)
        ],
        ids=[first.ids[i] for i in orders[0]] if left_out or len(orders[0]) != len(first.ids) else first.ids,
        success=successes(outcome),
        outcome=outcome,
        cases=first,
        order=orders[0],
        runs=[run.columns for run in runs],
        orders=orders,
        repeated=any((run.columns.repeat > 1).any() for run in runs),
        left_out=left_out,
        self_reported=[run.self_reported for run in runs],
    )


def _check_whole(runs: Sequence[Run], *, partial: bool, stopped: bool) -> None:
    for run in () if partial else runs:
        if not run.columns.complete:
            raise TranscriptError(f"{run.source}: incomplete; finish it with --resume, or compare it with --partial")
        if not run.columns.ids:
            raise TranscriptError(f"{run.source}: no cases")
    for run in () if stopped else runs:
        if rule := run.columns.header.part.get("stop_when"):
            raise TranscriptError(
                f"{run.source}: stopped when {rule}, so ordinary intervals and tests are not valid; "
                "hate rate --sequential gives valid ones"
            )


def _once(columns: Columns, order: IntArray) -> IntArray:
    """The rows of the records, each once: an answer that was given once is matched with all of several."""
    return np.unique(order) if len(order) > len(columns.ids) else order


def _error_kinds(columns: Columns, order: IntArray) -> dict[str, int]:
    if not len(columns.error.labels):
        return {}
    codes = take(columns.error.codes, _once(columns, order))
    counts = Counter(dict(enumerate(np.bincount(codes[codes >= 0], minlength=len(columns.error.labels)).tolist())))
    return {columns.error.labels[code]: count for code, count in counts.most_common() if count}


def count_outcomes(outcome: npt.NDArray[np.int8], *, errors: int) -> Counts:
    """The number of each outcome."""
    counts = {kind.value: int(np.count_nonzero(outcome == code)) for code, kind in enumerate(OUTCOMES)}
    return Counts(**counts, ER=errors)


def successes(outcome: npt.NDArray[np.int8]) -> BoolArray:
    """Whether each outcome is a success, from their codes."""
    return is_among(outcome, [code for code, kind in enumerate(OUTCOMES) if kind.success])


def outcome_codes(accepted: BoolArray, positive: BoolArray) -> npt.NDArray[np.int8]:
    """The codes of the outcomes, from what was accepted."""
    tp, fn, fp, tn = (np.int8(OUTCOMES.index(kind)) for kind in (Outcome.TP, Outcome.FN, Outcome.FP, Outcome.TN))
    return np.where(positive, np.where(accepted, tp, fn), np.where(accepted, fp, tn))
