"""The metrics of another tool: which of them decides, and which are kept as values.

What must be known of all answers before the first record is written comes from one pass over them, in flat memory.
"""

import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, eq
from typing import NamedTuple

from harness.errors import ForeignError, UsageError
from harness.files.digest import case_list_digest
from harness.files.external_sort import SortedTexts, in_batches
from harness.model import MAX_COLUMNS, MAX_VALUES
from harness.options import checked_directions, split_names
from harness.params import nearest
from harness.transcript.format import ValueInfo
from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions, Mark

BLOCK = 2_000
_PLAIN_MARKS = frozenset((None, 0.0, 1.0))


class LocatedMark(NamedTuple):
    """A mark, the number of its answer, and where that is in the file."""

    number: int
    location: str
    mark: float


@dataclass
class MetricFacts:
    """The marks that a metric gave to the answers without an error."""

    # How many have one.
    marks: int = 0
    # The first that is neither 0 nor 1, and the first that is not finite.
    graded: "LocatedMark | None" = None
    infinite: "LocatedMark | None" = None


@dataclass
class Survey:
    """The answers of a run, summed up."""

    answers: int = 0
    # Answers without an error.
    judged: int = 0
    # By metric, of the judged answers; and the names of the metrics, values and columns of all of them.
    metrics: dict[str, MetricFacts] = field(default_factory=dict)
    mark_names: dict[str, None] = field(default_factory=dict)
    value_names: dict[str, None] = field(default_factory=dict)
    columns: dict[str, None] = field(default_factory=dict)
    # Whether every answer has an id of its own, so that their order is that of the cases.
    is_plain: bool = True
    digest: str = ""

    @staticmethod
    def of(
        results: Iterable[ImportedAnswer], watch: Callable[[Sequence[ImportedAnswer]], None] = lambda _block: None
    ) -> "Survey":
        """Go through all answers; `watch` sees them too, many at a time."""
        survey = Survey()
        with SortedTexts() as cases:
            for block in in_batches(iter(results), BLOCK):
                survey._add(block)
                watch(block)
                cases.extend([f"{result.id}\0{result.expect}\n" for result in block])
            if survey.is_plain:
                survey.digest = case_list_digest(survey._checked(cases))
        return survey

    def _add(self, block: Sequence[ImportedAnswer]) -> None:
        if not all(map(attrgetter("id"), block)) or {*map(attrgetter("repeat"), block)} != {1}:
            self.is_plain = False
        for result in block:
            # Each column becomes an array in memory, even if every record has one of its own.
            if not result.columns.keys() <= self.columns.keys():
                self.columns.update(dict.fromkeys(result.columns))
                if len(self.columns) > MAX_COLUMNS:
                    raise ForeignError(f"{result.location}: more than {MAX_COLUMNS:,} columns; leave some out")
        judged = [result for result in block if result.error is None]
        for names, field_name in ((self.mark_names, "marks"), (self.value_names, "values")):
            for kind in dict.fromkeys(map(tuple, map(attrgetter(field_name), block))):
                names.update(dict.fromkeys(kind))
        for name in dict.fromkeys(name for kind in dict.fromkeys(tuple(r.marks) for r in judged) for name in kind):
            self._add_marks(name, judged)
        self.answers += len(block)
        self.judged += len(judged)

    def _add_marks(self, name: str, judged: Sequence[ImportedAnswer]) -> None:
        facts = self.metrics.setdefault(name, MetricFacts())
        marks: list[Mark] = [result.marks.get(name) for result in judged]
        facts.marks += len(marks) - marks.count(None)
        if _PLAIN_MARKS.issuperset(marks) or (facts.graded and facts.infinite):
            return
        for number, (mark, result) in enumerate(zip(marks, judged, strict=True), self.judged):
            if mark not in _PLAIN_MARKS and mark is not None:
                facts.graded = facts.graded or LocatedMark(number, result.location, mark)
                if not math.isfinite(mark):
                    facts.infinite = facts.infinite or LocatedMark(number, result.location, mark)

    def _checked(self, cases: SortedTexts) -> Iterator[str]:
        """The sorted cases, many at a time; equal ids follow one another."""
        last = ""
        for lines in in_batches(iter(cases), BLOCK):
            ids = [last, *(line.partition("\0")[0] for line in lines)]
            self.is_plain = self.is_plain and not any(map(eq, ids, ids[1:]))
            last = ids[-1]
            yield "".join(lines)


# What lm-evaluation-harness calls an answer as it is; a metric of it has no filter in its name.
NO_FILTER = "none"


@dataclass(frozen=True)
class SuccessRule:
    """The metric that decides, and the mark from which an answer is right; None if the metric is 0 or 1."""

    metric: str
    at: float | None = None
    # A note for the user about the choice.
    note: str = ""


def find_success_rule(imported: ImportedRun, survey: Survey, options: ImportOptions) -> SuccessRule:
    """The metric that --metric names, or the tool's verdict, or the only metric that can decide."""
    names = list(survey.metrics)
    if not names:
        raise ForeignError(f"{imported.source}: no answer has a mark, so nothing says what was right")
    metric = imported.verdict if options.metric is None else _named(imported.source, options.metric, names)
    if metric is None and len(names) > 1:
        return _only_binary(imported, survey, names, options)
    metric = names[0] if metric is None else metric
    if imported.directions.get(metric) is False:
        # An answer is right from some mark on, and this would turn it round.
        raise ForeignError(
            f"{imported.source}: {metric} cannot decide what is right: by its log, less of it is better"
            f"{_others(names, metric)}"
        )
    at = options.success_at if imported.graded else None
    if metric not in survey.metrics or not survey.metrics[metric].marks:
        text = f"'{metric}' is empty in every answer, so nothing says what was right"
        raise ForeignError(f"{imported.source}: {text}; name another with --success or --metric")
    _check_marks(survey.metrics[metric], names, metric, at)
    return SuccessRule(metric, at)


def _named(source: str, text: str, names: list[str]) -> str:
    """The metric that --metric means: by its whole name, or without its filter if it has only one."""
    alike = [name for name in names if text in (name, f"{name},{NO_FILTER}")]
    alike = alike or [name for name in names if name.partition(",")[0] == text]
    if len(alike) > 1:
        raise ForeignError(f"{source}: --metric {text}: there are several: {_listed(alike)}; choose one of them")
    if not alike:
        raise ForeignError(f"{source}: no metric '{text}'; {nearest(text, names)}")
    return alike[0]


def _only_binary(imported: ImportedRun, survey: Survey, names: list[str], options: ImportOptions) -> SuccessRule:
    """The only metric of zeros and ones, if every answer has its mark; otherwise the user must choose."""
    source, lower = imported.source, [name for name, larger in imported.directions.items() if not larger]
    binary = [name for name in names if survey.metrics[name].graded is None and name not in lower]
    if len(binary) == 1 and options.success_at is None and survey.metrics[binary[0]].marks == survey.judged:
        return SuccessRule(
            binary[0], note=f"{binary[0]} decides, the only metric of zeros and ones; --metric chooses another"
        )
    threshold = "" if binary else ", and --success-at X says from which mark an answer is right"
    raise ForeignError(
        f"{source}: several metrics: {_listed(names)}; choose one with --metric{threshold} (all are kept as values)"
    )


def _check_marks(facts: MetricFacts, names: list[str], metric: str, at: float | None) -> None:
    infinite, graded = facts.infinite, facts.graded
    if infinite is not None and (at is not None or graded is None or infinite.number <= graded.number):
        raise ForeignError(
            f"{infinite.location}: {metric}: {infinite.mark} is neither a finite number nor true or false"
        )
    if at is None and graded is not None:
        raise ForeignError(
            f"{graded.location}: {metric} is {graded.mark:g}, neither 0 nor 1; --success-at X says from which mark an "
            f"answer is right{_others(names, metric)} (the marks are kept as values, for hate compare --statistic)"
        )


def _others(names: list[str], metric: str) -> str:
    rest = [name for name in names if name != metric]
    return f", --metric chooses another ({_listed(rest)})" if rest else ""


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:20])
    return f"{shown} and {len(names) - 20} more" if len(names) > 20 else shown


MAX_NAME_LENGTH = 100
UNNAMED = "value"
MAX_NAMED = 20


@dataclass(frozen=True)
class KeptValues:
    """Which numbers are kept: the tool's names for them, and the names in the transcript."""

    names: Mapping[str, str]
    # Whether more is better, by the tool's name, where it is known.
    directions: Mapping[str, bool] = field(default_factory=dict)

    @staticmethod
    def of(imported: ImportedRun, survey: Survey, options: ImportOptions, rule: SuccessRule) -> "KeptValues":
        """All marks, or the one that decides and those that --value names; and the columns that it names."""
        # If the harness itself compared answer and truth, the mark only repeats the outcome.
        known = dict.fromkeys([*(survey.mark_names if imported.graded else ()), *survey.value_names])
        names = list(known)
        if options.values:
            chosen = split_names(options.values, known.__contains__)
            for name in chosen:
                if name not in known:
                    raise ForeignError(f"{imported.source}: --value: no metric '{name}'; {nearest(name, known)}")
            names = list(dict.fromkeys([*([rule.metric] if rule.metric in known else []), *chosen]))
        if len(names) > MAX_VALUES:
            raise ForeignError(
                f"{imported.source}: {len(names):,} metrics, but a transcript holds at most {MAX_VALUES} values; "
                "choose with --value NAME"
            )
        plain = plain_names(names)
        return KeptValues(plain, _directions(imported, options, plain, rule))

    @property
    def declared(self) -> dict[str, ValueInfo]:
        """The entries for the header of a transcript."""
        known = ((name, self.directions.get(raw)) for raw, name in self.names.items())
        return {name: ValueInfo(larger) for name, larger in known if larger is not None}

    def of_result(self, result: ImportedAnswer) -> dict[str, float | None]:
        """The values of a result, without those that are not finite."""
        numbers = {**result.marks, **result.values}
        marks = ((name, numbers.get(raw)) for raw, name in self.names.items())
        return {name: mark for name, mark in marks if mark is not None and math.isfinite(mark)}


def _directions(
    imported: ImportedRun, options: ImportOptions, names: Mapping[str, str], rule: SuccessRule
) -> dict[str, bool]:
    """Whether more of a value is better: as the user says, or the log, or since it decides what is right."""
    raw_names = {**{plain: raw for raw, plain in names.items()}, **{raw: raw for raw in names}}
    pairs = []
    for larger, texts in options.texts.items():
        for name in split_names(texts, raw_names.__contains__):
            if name not in raw_names:
                raise ForeignError(
                    f"{imported.source}: {'--higher' if larger else '--lower'} {name}: no such value is kept (--value "
                    f"keeps a column of a table); {nearest(name, raw_names)}"
                )
            pairs.append((raw_names[name], larger))
    said = checked_directions(pairs)
    if said.get(rule.metric) is False:
        raise UsageError(
            f"--lower {rule.metric}: it decides which answers are right, by more of it; --metric chooses another"
        )
    return {**imported.directions, rule.metric: True, **said}


def plain_names(names: Iterable[str]) -> dict[str, str]:
    """Names that can be typed after --statistic, which separates them by commas; equal ones get a number.

    Names that are plain already stay as they are; the others follow in alphabetical order, not in that of the file, so
    that two files of one tool agree.
    """
    renamed: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names, key=lambda name: (_plain(name) != name, name)):
        plain, number = _plain(name), 1
        while plain in taken:
            number += 1
            plain = f"{_plain(name)}-{number}"
        taken.add(plain)
        renamed[name] = plain
    return renamed


def _plain(name: str) -> str:
    """Letters of any script with their accents, digits and . _ - / @; anything else becomes an underscore."""
    text = unicodedata.normalize("NFC", name.strip())[:MAX_NAME_LENGTH]
    characters = (c if c in "._-/@" or unicodedata.category(c)[0] in "LMN" else "_" for c in text)
    return "".join(characters) or UNNAMED


def values_note(counts: Mapping[str, int], total: int) -> str:
    """Which values were kept, how many records of how many have them, and what they are for; empty if none."""
    names = [name if count == total else f"{name} ({count:,} of {total:,})" for name, count in counts.items()]
    return f"values kept: {_some(names)}; hate compare --statistic NAME compares them" if names else ""


def directions_note(names: Sequence[str]) -> str:
    """Of which values nobody has said whether more is better; empty if none."""
    if not names:
        return ""
    return f"nobody has said whether more or less is better: {_some(names)}; --higher NAME or --lower NAME does"


def _some(names: Sequence[str]) -> str:
    more = [f"and {len(names) - MAX_NAMED} more"] if len(names) > MAX_NAMED else []
    return ", ".join([*names[:MAX_NAMED], *more])
