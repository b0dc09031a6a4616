"""Every measure on every subject: its names, which are refused and why, and what `hate rate` says of the others.

`hate rate` is the reference: other commands have the same number, or refuse for a reason that stands in `REFUSALS`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.measures import EXAMPLES, Measure, Reads, find_measure, known_measures, ratio_of_values
from harness.measures import Runs as RunsOfMeasures
from harness.stats.replication.statistic import SmoothFormula, Statistic
from harness.tasks import TASKS
from tests.products.subjects import SUBJECTS, Runs, Subject
from tests.workshop import Workshop

VALUES = ("blur", "cost")


def _csi(totals: Any) -> Any:
    """The critical success index of forecasters: TP over all but TN."""
    return totals[..., 0] / (totals[..., 0] + totals[..., 1] + totals[..., 2])


def _csi_statistic(runs: RunsOfMeasures, cells: Sequence[Any]) -> Statistic:
    """As an outsider would write it, knowing only that the outcomes are TP, TN, FP, FN in this order."""
    columns = []
    for run, inside in cells:
        one_hot = np.eye(4)[np.array([0, 3, 2, 1])[runs.outcome[run]]]
        columns.append(one_hot if inside is None else one_hot * inside[:, None])
    return SmoothFormula(np.hstack(columns), (0.0, 1.0), fragile=True, formula=_csi, parts=4)


# What another package adds: a measure of the outcomes, and one of the values of records.
CSI = Measure("csi", "critical success index", _csi_statistic, of_totals=_csi)
BLUR_PER_COST = ratio_of_values("blur_per_cost", "blur per cost", above="blur", below="cost", larger_is_better=False)
PLUGINS = {one.name: one for one in (CSI, BLUR_PER_COST)}


def measure_names(subject: Subject) -> list[str]:
    """All that `--statistic` can be asked for on a subject."""
    meanings = TASKS[subject.task].measure_names
    of_boxes = [name for name, measure in known_measures().items() if measure.reads is Reads.BOXES]
    of_class = [f"{name}:c" for name in (*of_boxes, *meanings)]
    return list(dict.fromkeys([*known_measures(), *EXAMPLES, *meanings, *of_class, "blur", "values.cost", *PLUGINS]))


def measure(name: str, subject: Subject) -> Measure:
    """As it is meant for a subject."""
    return PLUGINS[name] if name in PLUGINS else _found(name, subject.task)


@cache
def _found(name: str, task: str) -> Measure:
    """Found once: to find a value, all packages are asked whether they measure it."""
    return find_measure(name, VALUES, meanings=TASKS[task].measure_names)


@dataclass(frozen=True)
class Refusal:
    """What a command does not compute.

    says   the reason, as the message has it
    of     for which measures and subjects
    """

    command: str
    says: str
    of: Callable[[Measure, str], bool]


def _reads(reads: Reads, *subjects: str) -> Callable[[Measure, str], bool]:
    """Measures of this, on any subject but these."""
    return lambda measure, subject: measure.reads is reads and subject not in subjects


def _scores(*subjects: str, names: tuple[str, ...] = ()) -> Callable[[Measure, str], bool]:
    """Measures of scores on these subjects; only those of these names, if there are any."""
    return lambda measure, subject: (
        measure.reads is Reads.SCORE and subject in subjects and (not names or measure.name in names)
    )


def _of_attempts(measure: Measure, _subject: str) -> bool:
    return measure.needs == "several answers to every case"


def _is_undirected(measure: Measure, _subject: str) -> bool:
    return not measure.directed


def _of_curve(measure: Measure, _subject: str) -> bool:
    """Whether a curve has it, which may be over pixels."""
    return measure.name in ("auc", "eer", "average_precision") or measure.name.startswith("fnr@")


# The first that holds applies. Whatever is not refused here must have a number.
REFUSALS = (
    Refusal("rate", "this test has none", lambda one, subject: "negative" in one.classes and subject == "value"),
    Refusal("rate", "only rank tests record them", _reads(Reads.RANK, "rank")),
    Refusal("rate", "answers are not numbers", _reads(Reads.NUMBERS, "value")),
    Refusal("rate", "no record has boxes", _reads(Reads.BOXES, "boxes")),
    Refusal("rate", "no record has pixels", _reads(Reads.PIXELS, "mask", "classes")),
    Refusal("rate", "no classes are recorded", lambda one, subject: (one.name, subject) == ("miou", "mask")),
    Refusal("rate", "places without objects cannot be counted", _scores("boxes")),
    Refusal("rate", "a mask without scores", _scores("classes")),
    Refusal(
        "rate", "these scores are of pixels, not of cases",
        lambda one, subject: _scores("mask")(one, subject) and not _of_curve(one, subject),
    ),
    Refusal("rate", "is not a probability", _scores("label", "rank", names=("brier", "ece"))),
    Refusal("rate", "it takes 5 for each", _of_attempts),
    Refusal("margin", "nobody has said whether more or less of it is better", _is_undirected),
    Refusal("margin", "neither more nor less of it is better", lambda one, _subject: one.ideal is not None),
    # The values of records are known only when a run has been made.
    Refusal("sweep", "no such measure", lambda one, _subject: one.reads is Reads.VALUES and one.name not in PLUGINS),
    Refusal("tune", "no such measure", lambda one, _subject: one.reads is Reads.VALUES and one.name not in PLUGINS),
    Refusal("tune", "not a goal", lambda one, _subject: one.ideal is not None or not one.tunable),
)  # fmt: skip
# Runs that have no value, as a run that accepts nothing has no precision: it is null, and a sentence says why.
LACKING = {("cllr", "label"), ("cllr", "rank")}


def refusal(command: str, name: str, subject: Subject) -> Refusal | None:
    """Why a command does not compute a measure, if it does not."""
    found = measure(name, subject)
    return next((one for one in REFUSALS if one.command == command and one.of(found, subject.name)), None)


def rated_names(subject: Subject) -> list[str]:
    """The measures that `hate rate` computes."""
    return [name for name in measure_names(subject) if refusal("rate", name, subject) is None]


def numbered_names(subject: Subject) -> list[str]:
    """Those of which all runs have a number."""
    return [name for name in rated_names(subject) if (name, subject.name) not in LACKING]


# A curve is fitted in every replicate; objects of one class go the way of all objects.
TAKES_LONG = "auc_binormal"
OF_CLASS = ":c"


def chosen() -> dict[str, str]:
    """Of each measure, the subject that fast tests take: in turn, so that all of them come up."""
    subjects: dict[str, list[str]] = {}
    for subject in SUBJECTS.values():
        for name in numbered_names(subject):
            if name != TAKES_LONG and (not name.endswith(OF_CLASS) or name == f"ap50{OF_CLASS}"):
                subjects.setdefault(name, []).append(subject.name)
    return {name: known[number % len(known)] for number, (name, known) in enumerate(subjects.items())}


def one_of_a_kind() -> dict[str, str]:
    """Of those, the first of what each kind of measure reads, and the first of each subject."""
    found, seen = dict[str, str](), set[object]()
    for name, subject in chosen().items():
        if not seen.issuperset(kinds := {subject, measure(name, SUBJECTS[subject]).reads}):
            found[name] = subject
            seen |= kinds
    return found


def products(fast: Mapping[str, str], slow: Mapping[str, str] | None = None) -> list[Any]:
    """Subjects and measures as parameters of a test; all but the fast ones are slow. With `slow`, there are no more."""
    return [
        pytest.param(subject.name, name, marks=[] if fast.get(name) == subject.name else [pytest.mark.slow])
        for subject in SUBJECTS.values()
        for name in numbered_names(subject)
        if slow is None or subject.name in (fast.get(name), slow.get(name))
        if name != TAKES_LONG or subject.name == "score"
    ]


@dataclass
class Rated:
    """What `hate rate` says, by measure and run; asked for once."""

    _known: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)

    def payload(self, shop: Workshop, runs: Runs, *words: str, names: Sequence[str] = ()) -> dict[str, Any]:
        """The JSON, of all measures that a subject has, but for one that takes long; or of these."""
        all_names = [name for name in rated_names(runs.subject) if name != TAKES_LONG]
        statistic = ",".join(names or all_names)
        if (key := (runs.subject.name, statistic, *words)) not in self._known:
            done = shop.call("rate", *runs.paths, "--statistic", statistic, *words, "--format", "json")
            assert done.status == 0, f"hate rate, {runs.subject.name}: {done.err}"
            self._known[key] = done.json
        return self._known[key]

    def of(self, shop: Workshop, runs: Runs, name: str, *words: str, names: Sequence[str] = ()) -> list[dict[str, Any]]:
        """The estimates of a measure, a run each; `names` are measures that are asked for together."""
        names = [TAKES_LONG] if name == TAKES_LONG else [one for one in names if one != TAKES_LONG]
        return [one["measures"][name] for one in self.payload(shop, runs, *words, names=names)["transcripts"]]


def decided(command: str, runs: Runs) -> list[str | Path]:
    """`hate sweep` or `tune` of the first algorithm at its own setting, up to the name of a measure."""
    with runs.paths[0].open(encoding="utf-8") as file:
        params = json.loads(file.readline())["params"]
    name = next(name for name in TASKS[runs.subject.task].decisions if name in params)
    words: list[str | Path] = [command, runs.script, "--interface", runs.interface(), "--format", "json"]
    goal = ["--on-test", "--goal"] if command == "tune" else ["--statistic"]
    return [*words, "--param", f"{name}={params[name]}", *goal]


def same(found: Any, expected: Any) -> bool:
    """The same number up to rounding; null is the same as null only."""
    if found is None or expected is None:
        return found is expected
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return bool(abs(found - expected) <= 1e-12 * max(1.0, abs(expected)))
