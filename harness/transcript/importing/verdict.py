"""From marks to successes: which metric counts, and what it takes. Nothing between right and wrong is rounded away."""

from dataclasses import dataclass

from harness.errors import ForeignError
from harness.params import nearest
from harness.transcript.importing.results import Imported, Result, Wishes


@dataclass(frozen=True)
class Verdict:
    """The metric that decides, and the mark from which an answer is right; no mark: it says 0 or 1 itself."""

    metric: str
    at: float | None = None

    def success(self, result: Result) -> bool:
        """Whether an answer counts as right."""
        mark = result.marks.get(self.metric)
        return mark is not None and mark >= (1.0 if self.at is None else self.at)


def settle(imported: Imported, wishes: Wishes) -> Verdict:
    """The metric that was asked for, or that the tool calls its verdict, or the only one there is."""
    judged = [result for result in imported.results if result.error is None]
    names = list(dict.fromkeys(name for result in judged for name in result.marks))
    if not names:
        raise ForeignError(f"{imported.source}: no answer has a mark: nothing says what was right")
    metric = _metric(imported, names, wishes.metric)
    at = wishes.success_at if imported.graded else None
    partial = next((result for result in judged if result.marks.get(metric) not in (None, 0.0, 1.0)), None)
    if at is None and partial is not None:
        raise ForeignError(
            f"{partial.place}: {metric} is {partial.marks[metric]:g}, neither 0 nor 1; "
            f"--success-at X says from which mark an answer is right{_others(names, metric)}"
        )
    return Verdict(metric, at)


def _metric(imported: Imported, names: list[str], wish: str | None) -> str:
    if wish is not None:
        if wish not in names:
            raise ForeignError(f"{imported.source}: no metric '{wish}'; {nearest(wish, names)}")
        return wish
    if imported.verdict is not None:
        return imported.verdict
    if len(names) > 1:
        raise ForeignError(f"{imported.source}: has the metrics {_listed(names)}; choose one with --metric")
    return names[0]


def _others(names: list[str], metric: str) -> str:
    rest = [name for name in names if name != metric]
    return f", --metric takes another ({_listed(rest)})" if rest else ""


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:20])
    return f"{shown} and {len(names) - 20} more" if len(names) > 20 else shown
