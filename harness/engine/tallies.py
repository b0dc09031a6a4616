"""What is counted while a test runs: successes by sampling unit, and answers that are no label of the test."""

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from harness.model import Case, Trial

if TYPE_CHECKING:
    from harness.script.cases import CaseSet  # commands that count what is there already read no script


class UnitTally:
    """The number of trials and of successes in each unit: by stratum and PSU, or by case if answers are repeated."""

    def __init__(self, *, repeated: bool = False) -> None:
        self.sums: dict[tuple[Any, Any], list[int]] = {}
        # Several answers to one case are not several cases.
        self._repeated = repeated

    def add(self, trial: Trial) -> None:
        unit = trial.psu or (trial.id if self._repeated else None)
        sums = self.sums.get((trial.stratum, unit))
        if sums is None:
            sums = self.sums[trial.stratum, unit] = [0, 0]
        sums[0] += 1
        sums[1] += trial.outcome.success


def has_design(design: Mapping[str, Any]) -> bool:
    """Whether the cases were sampled in any way other than one by one."""
    return bool(design.get("stratum") or design.get("psu")) or design.get("weights", "cases") != "cases"


# With more different answers or labels than this, nobody would call them a closed set.
MAX_LABELS = 10_000
# At most one in this many occurrences may be of a label that occurs once. By Good and Turing's estimate (Biometrika
# 1953) that is the chance that the next input has a label that was never seen.
MAX_UNSEEN = 100
# Labels that a message shows.
MAX_SHOWN = 12
MAX_SHOWN_LENGTH = 40


class AnsweredLabels:
    """How often each label was answered, to say which answers are no label of the test: they can never be right.

    That can be known only if the labels are a closed set. They are, if nearly all of them occur with several inputs:
    with as many answers as questions, as of a language model, others than those of the test can be meant in earnest.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, trial: Trial) -> None:
        """Count an answer; refusals and errors have none."""
        label = trial.actual
        if type(label) is str and (label in self.counts or len(self.counts) < MAX_LABELS):
            self.counts[label] = self.counts.get(label, 0) + 1

    def remark(self, cases: "CaseSet") -> str:
        """What is to be said of answers that are no label of the test; empty if there are none, or none are known."""
        unknown = dict.fromkeys(self.counts)
        if not unknown or len(unknown) >= MAX_LABELS:
            return ""
        labels = _labels(cases, unknown)
        if not unknown or labels is None:
            return ""
        wrong, first = sum(self.counts[label] for label in unknown), next(iter(unknown))
        shown = [_short(label) for label in sorted(labels)[:MAX_SHOWN]]
        more = [f"... ({len(labels):,} in all)"] if len(labels) > MAX_SHOWN else []
        what = "answer is no label" if wrong == 1 else "answers are no label"
        return (
            f"{wrong:,} of {sum(self.counts.values()):,} {what} of the test, such as '{_short(first)}'; "
            f"its labels are {', '.join([*shown, *more])}"
        )


def _short(label: str) -> str:
    return label if len(label) <= MAX_SHOWN_LENGTH else f"{label[:MAX_SHOWN_LENGTH]}..."


def _labels(cases: "CaseSet", unknown: dict[str, None]) -> set[str] | None:
    """The labels of a test; those among them are taken out of `unknown`. None if they are not a closed set.

    The cases are read only as far as it takes to know all that was answered.
    """
    from harness.script.cases import training_cases

    seen = _Labels()
    training = ((case, True) for case in training_cases(cases.script, cases.data_paths))
    for case, trained in chain(((case, False) for case in cases), training):
        seen.add(case, trained=trained)
        unknown.pop(case.truth, None)
        unknown.pop(case.expect, None)
        if not unknown or len(seen.inputs) > MAX_LABELS:
            return None
    return set(seen.inputs) if seen.is_closed else None


class _Labels:
    """The labels of cases, and with how many inputs they occur."""

    def __init__(self) -> None:
        # The input that each was last seen with; several cases may be claims about one.
        self.inputs: dict[str, object] = {}
        self._single: set[str] = set()
        self._occurrences = 0
        # Whether there are inputs whose class is not said, and a training part, which then says all.
        self._nameless = self._trained = False

    def add(self, case: Case, *, trained: bool) -> None:
        """See a case, of the test or of its training part."""
        self._nameless = self._nameless or bool(case.expect and not case.real_class)
        self._trained = self._trained or (trained and bool(case.real_class))
        for label in {case.truth, case.expect} - {""}:
            if label not in self.inputs:
                self._single.add(label)
            elif self.inputs[label] == case.input:
                continue
            else:
                self._single.discard(label)
            self.inputs[label] = case.input
            self._occurrences += 1

    @property
    def is_closed(self) -> bool:
        """Whether an input of another class would be a surprise."""
        named = bool(self.inputs) and (self._trained or not self._nameless)
        return named and len(self._single) * MAX_UNSEEN <= self._occurrences
