"""The marks that another tool gave: which of them decides, and which are kept as values."""

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import UNSET

from harness.errors import ForeignError
from harness.model import Trial
from harness.params import nearest
from harness.transcript.format import MOST_VALUES
from harness.transcript.importing.results import ImportedAnswer, ImportedRun, ImportOptions


@dataclass(frozen=True)
class SuccessRule:
    """The metric that decides, and the mark from which an answer is right; no mark: it says 0 or 1 itself."""

    metric: str
    at: float | None = None
    # What a user should know about the choice.
    note: str = ""

    def success(self, result: ImportedAnswer) -> bool:
        """Whether an answer counts as right."""
        mark = result.marks.get(self.metric)
        return mark is not None and mark >= (1.0 if self.at is None else self.at)


def find_success_rule(imported: ImportedRun, options: ImportOptions) -> SuccessRule:
    """The metric that was asked for, or that the tool calls its verdict, or the only one that can decide."""
    judged = [result for result in imported.results if result.error is None]
    names = list(dict.fromkeys(name for result in judged for name in result.marks))
    if not names:
        raise ForeignError(f"{imported.source}: no answer has a mark: nothing says what was right")
    if options.metric is not None and options.metric not in names:
        raise ForeignError(f"{imported.source}: no metric '{options.metric}'; {nearest(options.metric, names)}")
    metric = imported.verdict if options.metric is None else options.metric
    if metric is None and len(names) > 1:
        return _only_binary(imported.source, judged, names, options)
    metric = names[0] if metric is None else metric
    at = options.success_at if imported.graded else None
    _check_marks(judged, names, metric, at)
    return SuccessRule(metric, at)


def _only_binary(
    source: str, judged: Sequence[ImportedAnswer], names: list[str], options: ImportOptions
) -> SuccessRule:
    """Of several metrics the only one of zeros and ones, if every answer has its mark; else the user must say."""
    binary = [name for name in names if all(result.marks.get(name) in (None, 0.0, 1.0) for result in judged)]
    if (
        len(binary) == 1
        and options.success_at is None
        and all(result.marks.get(binary[0]) is not None for result in judged)
    ):
        return SuccessRule(
            binary[0], note=f"{binary[0]} decides, the only metric of zeros and ones; --metric takes another"
        )
    bar = "" if binary else ", and --success-at X says from which mark an answer is right"
    raise ForeignError(
        f"{source}: has the metrics {_listed(names)}; choose one with --metric{bar} (all are kept as values)"
    )


def _check_marks(judged: Sequence[ImportedAnswer], names: list[str], metric: str, at: float | None) -> None:
    for result in judged:
        mark = result.marks.get(metric)
        if mark is not None and not math.isfinite(mark):
            raise ForeignError(f"{result.place}: {metric}: {mark} is neither a finite number nor true or false")
        if at is None and mark not in (None, 0.0, 1.0):
            raise ForeignError(
                f"{result.place}: {metric} is {mark:g}, neither 0 nor 1; --success-at X says from which mark an answer "
                f"is right{_others(names, metric)} (the marks are kept as values, for hate compare --statistic)"
            )


def _others(names: list[str], metric: str) -> str:
    rest = [name for name in names if name != metric]
    return f", --metric takes another ({_listed(rest)})" if rest else ""


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:20])
    return f"{shown} and {len(names) - 20} more" if len(names) > 20 else shown


LONGEST_NAME = 100
UNNAMED = "value"
MOST_NAMED = 20


@dataclass(frozen=True)
class KeptValues:
    """Which numbers are kept: the names that the tool has for them, and those that they get."""

    names: Mapping[str, str]

    @staticmethod
    def of(imported: ImportedRun, options: ImportOptions, rule: SuccessRule) -> "KeptValues":
        """All marks, or those that --value names beside the one that decides; and the columns that it names."""
        # Where the harness itself compared answer and truth, the mark is the outcome over again.
        marks = [name for result in imported.results for name in result.marks] if imported.graded else []
        known = dict.fromkeys([*marks, *(name for result in imported.results for name in result.values)])
        names = _chosen(imported, options, known, rule) if options.values else list(known)
        if len(names) > MOST_VALUES:
            raise ForeignError(
                f"{imported.source}: {len(names):,} metrics, and a transcript keeps at most {MOST_VALUES} as values; "
                "--value NAME says which"
            )
        return KeptValues(plain_names(names))

    def of_result(self, result: ImportedAnswer) -> dict[str, float | None]:
        """Those that a result has; nothing for what is not a number."""
        given = {**result.marks, **result.values}
        marks = ((name, given.get(raw)) for raw, name in self.names.items())
        return {name: mark for name, mark in marks if mark is not None and math.isfinite(mark)}


def _chosen(imported: ImportedRun, options: ImportOptions, known: Mapping[str, None], rule: SuccessRule) -> list[str]:
    names = split_names(options.values, known.__contains__)
    for name in names:
        if name not in known:
            raise ForeignError(f"{imported.source}: --value: no metric '{name}'; {nearest(name, known)}")
    return list(dict.fromkeys([*([rule.metric] if rule.metric in known else []), *names]))


def split_names(given: Sequence[str], is_known: Callable[[str], bool]) -> list[str]:
    """Names one by one; a text with commas may be one name or several."""
    parts = ([text] if is_known(text) else [part.strip() for part in text.split(",")] for text in given)
    return list(dict.fromkeys(name for names in parts for name in names))


def plain_names(names: Iterable[str]) -> dict[str, str]:
    """Names that can be typed after --statistic, where commas part them; two that would be one get a number.

    What is plain already keeps its name, and the rest go by the alphabet: the order in a file decides nothing, so that
    two files of one tool agree.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names, key=lambda name: (_plain(name) != name, name)):
        plain, number = _plain(name), 1
        while plain in taken:
            number += 1
            plain = f"{_plain(name)}-{number}"
        taken.add(plain)
        found[name] = plain
    return found


def _plain(name: str) -> str:
    """Letters of any script with their accents, digits and . _ - / @; anything else becomes an underscore."""
    text = unicodedata.normalize("NFC", name.strip())[:LONGEST_NAME]
    kept = (one if one in "._-/@" or unicodedata.category(one)[0] in "LMN" else "_" for one in text)
    return "".join(kept) or UNNAMED


def values_note(trials: Iterable[Trial]) -> str:
    """Which values were kept, and what they are for; empty where there are none."""
    total, found = 0, Counter[str]()
    for trial in trials:
        total += 1
        found.update([] if trial.values is UNSET else list(trial.values))
    names = [name if count == total else f"{name} ({count:,} of {total:,})" for name, count in found.items()]
    more = [f"and {len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    listed = ", ".join([*names[:MOST_NAMED], *more])
    return f"values kept: {listed}; hate compare --statistic NAME compares them" if names else ""
