"""From marks to successes: which metric counts, and what it takes. Nothing between right and wrong is rounded away."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import ForeignError
from harness.params import nearest
from harness.transcript.importing.results import Imported, Result, Wishes


@dataclass(frozen=True)
class Verdict:
    """The metric that decides, and the mark from which an answer is right; no mark: it says 0 or 1 itself."""

    metric: str
    at: float | None = None
    # What a user should know about the choice.
    note: str = ""

    def success(self, result: Result) -> bool:
        """Whether an answer counts as right."""
        mark = result.marks.get(self.metric)
        return mark is not None and mark >= (1.0 if self.at is None else self.at)


def settle(imported: Imported, wishes: Wishes) -> Verdict:
    """The metric that was asked for, or that the tool calls its verdict, or the only one that can decide."""
    judged = [result for result in imported.results if result.error is None]
    names = list(dict.fromkeys(name for result in judged for name in result.marks))
    if not names:
        raise ForeignError(f"{imported.source}: no answer has a mark: nothing says what was right")
    if wishes.metric is not None and wishes.metric not in names:
        raise ForeignError(f"{imported.source}: no metric '{wishes.metric}'; {nearest(wishes.metric, names)}")
    metric = imported.verdict if wishes.metric is None else wishes.metric
    if metric is None and len(names) > 1:
        return _only_binary(imported.source, judged, names, wishes)
    metric = names[0] if metric is None else metric
    at = wishes.success_at if imported.graded else None
    _check_marks(judged, names, metric, at)
    return Verdict(metric, at)


def _only_binary(source: str, judged: Sequence[Result], names: list[str], wishes: Wishes) -> Verdict:
    """Of several metrics the only one of zeros and ones, if every answer has its mark; else the user must say."""
    binary = [name for name in names if all(result.marks.get(name) in (None, 0.0, 1.0) for result in judged)]
    if (
        len(binary) == 1
        and wishes.success_at is None
        and all(result.marks.get(binary[0]) is not None for result in judged)
    ):
        return Verdict(
            binary[0], note=f"{binary[0]} decides, the only metric of zeros and ones; --metric takes another"
        )
    bar = "" if binary else ", and --success-at X says from which mark an answer is right"
    raise ForeignError(
        f"{source}: has the metrics {_listed(names)}; choose one with --metric{bar} (all are kept as values)"
    )


def _check_marks(judged: Sequence[Result], names: list[str], metric: str, at: float | None) -> None:
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
