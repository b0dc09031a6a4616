"""Turn imported results into a transcript: checked, judged, with a header, and written completely or not at all.

`fold_runs` first makes one run of several logs of one task, run with different seeds.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import UNSET, structs

from harness.errors import ForeignError, OutputError, UsageError
from harness.files.conditions import number
from harness.files.digest import digest_without_script
from harness.files.external_sort import in_batches
from harness.files.mistakes import Mistakes
from harness.model import Answer, Case, ErrorKind, Outcome, PsuStrata, Trial, crossed, plain_text
from harness.params import nearest
from harness.tasks import find_task, plugin_of
from harness.tasks.judge import outcome_of_error, record
from harness.tasks.label import LABEL
from harness.tasks.score import SCORE
from harness.tasks.task import Task
from harness.transcript.format import IMPORT, AlgorithmInfo, Header, InterfaceInfo, TestInfo, new_header
from harness.transcript.importing.contract import CORRECT, ImportedAnswer, ImportedRun, ImportOptions
from harness.transcript.importing.file import as_text, look_up
from harness.transcript.importing.metrics import BLOCK, KeptValues, SuccessRule, Survey, find_success_rule
from harness.transcript.write import TranscriptWriter

FIXED = ("id", "expect", "truth")
# No PSU, in place of one that the log declares; unless a column has that name.
NONE = "none"


class GroupColumns:
    """Columns that group cases: one, or several separated by commas, crossed.

    A column of the file goes before what the case has under that name: `id` may be a patient where --id names another.
    """

    def __init__(self, option: str, text: str, columns: Mapping[str, object]) -> None:
        self.option, self._columns = option, columns
        known = [*FIXED, *columns]
        self.names = [text] if text in known else [name.strip() for name in text.split(",")]
        for name in self.names:
            if name not in known:
                raise ForeignError(f"--{option} {text}: no column '{name}'; {nearest(name, known)}")

    @property
    def declared(self) -> str | list[str]:
        """The value for the header of a transcript."""
        return self.names[0] if len(self.names) == 1 else self.names

    def of(self, result: ImportedAnswer) -> str:
        parts = [self._value(result, name) for name in self.names]
        if self.option == "psu" and not any(parts):
            raise ForeignError(
                f"{result.location}: no value for {' and '.join(self.names)}; cases without one would form one unit; "
                "--psu none takes cases as independent"
            )
        return parts[0] if len(parts) == 1 else crossed(parts)

    def _value(self, result: ImportedAnswer, name: str) -> str:
        if name not in self._columns:
            fixed = {"id": result.id, "expect": result.expect, "truth": result.truth or result.expect}
            return fixed[name]
        if name not in result.columns:
            raise ForeignError(f"{result.location}: no column '{name}', which --{self.option} names")
        return plain_text(result.columns[name])


@dataclass(frozen=True)
class ImportedDesign:
    """What the options say about how the cases were drawn."""

    stratum: GroupColumns | None
    psu: GroupColumns | None

    @staticmethod
    def of(columns: Mapping[str, object], options: ImportOptions, declared: str | None = None) -> "ImportedDesign":
        """The columns that the options name, which must exist; `declared` is the PSU that the log itself names."""
        stratum, psu = options.stratum, declared if options.psu is None else options.psu
        if psu == NONE and psu not in columns:
            psu = None
        if psu is not None and options.psu is None and psu not in columns:
            raise ForeignError(
                f"the log declares '{psu}' as cluster, but no sample has it; --psu COLUMN names another column, "
                "--psu none takes samples as independent"
            )
        return ImportedDesign(
            None if stratum is None else GroupColumns("stratum", stratum, columns),
            None if psu is None else GroupColumns("psu", psu, columns),
        )

    @property
    def names(self) -> set[str]:
        return {name for part in (self.stratum, self.psu) if part is not None for name in part.names}

    @property
    def declared(self) -> dict[str, Any]:
        """The entries for the header of a transcript."""
        parts = {"stratum": self.stratum, "psu": self.psu}
        return {key: part.declared for key, part in parts.items() if part is not None}


# By whether the case is positive, and whether the answer is right: `Outcome.of` is slow for a million records.
_OUTCOMES = {
    (positive, right): Outcome.of(positive=positive, accepted=positive == right)
    for positive in (False, True)
    for right in (False, True)
}
# A longer text is a document, not a group; it is kept only if the design uses it.
MAX_COLUMN_LENGTH = 200


class RecordMaker:
    """Turns results into trials."""

    def __init__(self, rule: SuccessRule, values: KeptValues, design: ImportedDesign, *, repeated: bool) -> None:
        self._rule = rule
        self._values = values
        self._design = design
        self._repeated = repeated
        self._design_columns = design.names

    def trials(self, results: Iterable[ImportedAnswer]) -> Iterator[Trial]:
        """A record for each result; repeats of a case are consecutive and numbered from 1."""
        if not self._repeated and self._design.psu is None and self._design.stratum is None:
            yield from (self._trial(result, None, None, None) for result in results)
            return
        strata = PsuStrata()
        stratum, psu = self._design.stratum, self._design.psu
        # A case of its own cannot be in two strata, and there may be too many to remember.
        alone = psu is None and not self._repeated
        repeat, last = 0, ""
        before: tuple[str | None, str | None] = None, None
        for result in results:
            again, last = result.id == last, result.id
            repeat = repeat + 1 if again else 1
            group, unit = stratum.of(result) if stratum else None, psu.of(result) if psu else None
            if again and (group, unit) != before:
                text = "is in another stratum, or of another unit, than in the answer before"
                raise ForeignError(f"{result.location}: id '{result.id}' {text}; all answers to a case are of one")
            before = group, unit
            clash = None if alone else strata.clash(result.id if unit is None else unit, group or "", option="--")
            if clash:
                raise ForeignError(f"{result.location}: {clash}")
            yield self._trial(result, repeat if self._repeated else None, group, unit)

    def _trial(self, result: ImportedAnswer, repeat: int | None, stratum: str | None, psu: str | None) -> Trial:
        """The other tool decided what is right; everything else is as in a run."""
        metric, at = self._rule.metric, self._rule.at
        mark, error, message = result.marks.get(metric), result.error, result.message
        if error is None and mark is None:
            error, message = ErrorKind.ANSWER, f"no mark by {metric}"
        case = Case(result.id, None, result.expect, result.positive, result.truth, self._columns(result))
        values = self._values.of_result(result) if self._values.names else None
        if error is not None or mark is None:
            outcome, actual, score = outcome_of_error(result.positive), None, None
        else:
            outcome = _OUTCOMES[result.positive, mark >= (1.0 if at is None else at)]
            actual = result.answers.get(metric, result.actual) if result.answers else result.actual
            # With --success-at it is the mark that was compared with a threshold.
            score = result.score if at is None else mark
        answer = Answer(actual, score, values=values, pixels=result.pixels, boxes=result.boxes)
        return record(case, answer, outcome, error, message, result.seconds, None, repeat, stratum, psu)

    def _columns(self, result: ImportedAnswer) -> dict[str, Any]:
        """The columns of the case, not of the answer, without long texts."""
        columns = result.columns
        if not result.values and isinstance(columns, dict):
            for value in columns.values():
                if _is_document(value):
                    break
            else:
                return columns
        return {
            name: value
            for name, value in columns.items()
            if name in self._design_columns or (name not in result.values and not _is_document(value))
        }


def _is_document(value: object) -> bool:
    return isinstance(value, str) and len(value) > MAX_COLUMN_LENGTH


@dataclass(frozen=True)
class ImportedTranscript:
    """A transcript that is ready to be written."""

    header: Header
    # Made from the answers each time that they are gone through.
    trials: Iterable[Trial]
    notes: Sequence[str]


def convert(imported: ImportedRun, options: ImportOptions) -> ImportedTranscript:
    """Check everything, then decide every outcome; a ForeignError says what is wrong."""
    results = with_ids(imported, options.columns.id)
    survey = imported.survey or Survey.of(results)
    cases = ImportedCases(survey.digest, survey.answers)
    if not survey.is_plain or not survey.answers or imported.missing:
        # Repeats are put in order, and mistakes are found one by one: that takes all answers together.
        results = list(results)
        _check(imported, results, partial=options.partial)
        rank = {name: index for index, name in enumerate(dict.fromkeys(result.id for result in results))}
        results.sort(key=lambda result: (rank[result.id], result.repeat))
        cases = ImportedCases.of(results)
    rule = find_success_rule(imported, survey, options)
    values = KeptValues.of(imported, survey, options, rule)
    design = ImportedDesign.of(survey.columns, options, imported.psu)
    maker = RecordMaker(rule, values, design, repeated=cases.repeats > 1)
    missing = f"incomplete: {imported.missing}" if imported.missing else ""
    notes = [note for note in (*imported.notes, missing, rule.note, _numbers_note(imported)) if note]
    header = transcript_header(imported, options, rule, design, cases, values)
    return ImportedTranscript(header, _Trials(maker, results, find_task(imported.task)), notes)


@dataclass(frozen=True)
class _Trials:
    """The records of a transcript, made while they are gone through."""

    maker: RecordMaker
    results: Iterable[ImportedAnswer]
    task: Task | None

    def __iter__(self) -> Iterator[Trial]:
        trials = self.maker.trials(self.results)
        if self.task is None or self.task.records_expect:
            return trials
        return (structs.replace(trial, expect=UNSET) for trial in trials)


@dataclass(frozen=True)
class ImportedCases:
    """The cases that the answers are to."""

    digest: str
    count: int
    # The most answers to one of them.
    repeats: int = 1

    @staticmethod
    def of(results: Sequence[ImportedAnswer]) -> "ImportedCases":
        expects = {result.id: result.expect for result in results}
        repeats = max(Counter(result.id for result in results).values())
        return ImportedCases(digest_without_script(expects.items()), len(expects), repeats)


def _numbers_note(imported: ImportedRun) -> str:
    """Measured numbers that are compared as labels: a near miss is as wrong as any other."""
    if imported.verdict != CORRECT or imported.task != LABEL.name:
        return ""
    first = islice(imported.results, 1000)  # enough to tell
    texts = [text for result in first for text in (result.expect, as_text(result.actual)) if text]
    numbers = [number(text) for text in texts]
    fractions = [text for text, value in zip(texts, numbers, strict=True) if value is not None and value != int(value)]
    if None in numbers or not fractions:
        return ""
    return (
        f"the answers are numbers, such as {fractions[0]}, and compared as labels: any other number is wrong; "
        "for numbers that are near enough, make a column of marks and name it with --success"
    )


def with_ids(imported: ImportedRun, column: str | None) -> Iterable[ImportedAnswer]:
    """The answers with ids from this column; for a table, --id has been applied already."""
    if column is None or imported.keyed:
        return imported.results
    return [
        structs.replace(result, id=as_text(look_up({"id": result.id, **result.columns}, column, result.location)))
        for result in imported.results
    ]


def _ground_truth(result: ImportedAnswer) -> tuple[str, bool, str]:
    return result.expect, result.positive, result.truth


def _check(imported: ImportedRun, results: Sequence[ImportedAnswer], *, partial: bool) -> None:
    mistakes = Mistakes(imported.source)
    if not results:
        raise ForeignError(f"{imported.source}: no results")
    if imported.missing and not partial:
        mistakes.add(f"{imported.missing}; --partial imports what is there")
    seen: dict[tuple[str, int], ImportedAnswer] = {}
    cases: dict[str, ImportedAnswer] = {}
    for result in results:
        # Without the name of the file, which the report has already.
        location = result.location.removeprefix(imported.source)
        location = f"line {location[1:]}" if location[1:].isdecimal() else location.lstrip(": ")
        if not result.id:
            mistakes.add("no id; every case needs one", location=location)
        elif (result.id, result.repeat) in seen:
            text = "give each case an id of its own, or name the column that numbers repeated answers: --repeat COLUMN"
            mistakes.add(f"id '{result.id}' appears twice; {text}", location=location)
        elif _ground_truth(cases.setdefault(result.id, result)) != _ground_truth(result):
            mistakes.add(f"id '{result.id}' has a different ground truth than before", location=location)
        seen[result.id, result.repeat] = result
    if not partial and not mistakes.count and len(seen) % len(cases):
        mistakes.add(f"{len(seen):,} answers to {len(cases):,} cases: some lack a repeat; --partial imports them")
    mistakes.raise_if_any(ForeignError)


MAX_NAME_LENGTH = 100
UNKNOWN_VERSION = "0"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def transcript_header(
    imported: ImportedRun,
    options: ImportOptions,
    rule: SuccessRule,
    design: ImportedDesign,
    cases: ImportedCases,
    values: KeptValues,
) -> Header:
    """Test, algorithm, metric and design, and the tool that it was imported from."""
    threshold = {} if rule.at is None else {"threshold": rule.at}
    task = find_task(imported.task)
    return new_header(
        TestInfo(
            name=_test_name(imported, options),
            version=options.version or imported.version or UNKNOWN_VERSION,
            digest=cases.digest,
            task=imported.task if rule.at is None else SCORE.name,
            cases=cases.count,
        ),
        AlgorithmInfo(options.algorithm or imported.algorithm or "unnamed"),
        InterfaceInfo(kind=f"{IMPORT}{imported.tool}"),
        plugins=[imported.plugin, None if task is None else plugin_of(task)],
        params={**imported.params, "metric": rule.metric, **threshold},
        design=design.declared,
        repeat=cases.repeats if cases.repeats > 1 else UNSET,
        decided={"metric": rule.metric},
        values=values.declared or UNSET,
    )


def _test_name(imported: ImportedRun, options: ImportOptions) -> str:
    """A valid name for a script and for a folder."""
    if options.test is not None:
        if not _NAME.fullmatch(options.test) or len(options.test) > MAX_NAME_LENGTH:
            raise UsageError(
                f"--test {options.test}: a name may have lower-case letters, digits, dots, dashes and underscores"
            )
        return options.test
    name = re.sub(r"[^a-z0-9._-]+", "-", imported.test.lower()).strip("._-")[:MAX_NAME_LENGTH]
    return name or "imported"


def store(writer: TranscriptWriter, trials: Iterable[Trial]) -> Path:
    """Write all records and the last line; a file that cannot be finished is removed."""
    try:
        for block in in_batches(iter(trials), BLOCK):
            writer.extend(block)
        return writer.finish()
    except BaseException as error:
        writer.close()
        writer.path.unlink(missing_ok=True)
        if isinstance(error, OutputError):
            # The writer's advice is for runs, which can be resumed.
            raise OutputError(
                f"{str(error).partition(';')[0]}; free some space, or choose another place with -o"
            ) from None
        raise


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
    for part, others in zip(parts[1:], answers[1:], strict=True):
        _check_cases(first, answers[0], part, others, partial=options.partial)
    results: list[ImportedAnswer] = []
    for part_answers in answers:
        # A log may have several answers to a case itself.
        turn = max((result.repeat for result in results), default=0) + 1
        results += [structs.replace(result, repeat=turn + result.repeat) for result in part_answers]
    notes = [note for part in parts for note in part.notes]
    return replace(
        first,
        source=f"{first.source} and {len(parts) - 1} more",
        results=results,
        survey=None,
        # Those that all have with the same value: seeds differ.
        params={
            name: value
            for name, value in first.params.items()
            if all(name in part.params and part.params[name] == value for part in parts)
        },
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
    mine, theirs = ({result.id: _ground_truth(result) for result in results} for results in (answers, others))
    lacking = [(other, first, name) for name in mine if name not in theirs]
    lacking += [(first, other, name) for name in theirs if name not in mine]
    if lacking and not partial:
        run, has, name = lacking[0]
        more = f" and {len(lacking) - 1:,} more differ" if len(lacking) > 1 else ""
        raise ForeignError(
            f"--fold: {run.source} lacks case '{name}' of {has.source}{more}; fold logs of the same cases, or take "
            "what is there with --partial"
        )
    for name, truth in theirs.items():
        if mine.get(name, truth) != truth:
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
