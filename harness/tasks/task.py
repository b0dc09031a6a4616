"""The definition of a task: what answers look like, how they are scored, and what scripts and curves need to know."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from msgspec import UNSET

from harness.model import REFUSAL, Answer, Case, Trial
from harness.params import Param, Value

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from harness.tasks.rank import Gallery

    BoolArray = npt.NDArray[np.bool_]
    FloatArray = npt.NDArray[np.float64]


class RecordedAnswer(Protocol):
    """An answer in a transcript; what a record lacks is msgspec's UNSET, which is false."""

    @property
    def expect(self) -> Any:
        """The claim."""

    @property
    def actual(self) -> Any:
        """The answer as given."""

    @property
    def score(self) -> Any:
        """The number that the decision is based on."""

    @property
    def rank(self) -> Any:
        """The rank of the right identity."""

    @property
    def pixels(self) -> Any:
        """What is recorded of an image."""

    @property
    def boxes(self) -> Any:
        """What is recorded of a list of boxes."""


class TextColumn(Protocol):
    """A column of texts, each as an index into `labels`, or -1 if a record has none."""

    @property
    def codes(self) -> npt.NDArray[np.int32]:
        """The indices."""

    @property
    def labels(self) -> Sequence[str]:
        """The texts."""


class RecordColumns(Protocol):
    """The records of a transcript as columns, as far as tasks need them; missing numbers are NaN."""

    @property
    def positive(self) -> BoolArray:
        """Whether the case is positive."""

    @property
    def score(self) -> FloatArray:
        """The number that the decision is based on."""

    @property
    def rank(self) -> FloatArray:
        """The rank of the right identity."""

    @property
    def expect(self) -> TextColumn:
        """The claim."""

    @property
    def actual(self) -> TextColumn:
        """The answer as given."""

    @property
    def error(self) -> TextColumn:
        """Why there is no answer."""

    @property
    def details(self) -> Mapping[str, Sequence[Any]]:
        """What is recorded under `pixels` and `boxes`, None for a record without it; a key is there if any has it."""


class ComparedRuns(Protocol):
    """Runs on the same cases, as far as a task has something to say about their comparison."""

    @property
    def names(self) -> list[str]:
        """The names of the runs."""

    def detail(self, name: str) -> list[list[Any]]:
        """What is recorded under `pixels` or `boxes`, for each run and case; None for a record without it."""


class AnswerError(Exception):
    """The program's output is not an answer of this task; the message says why."""


@dataclass(frozen=True)
class TaskRules:
    """What a script says about decisions, besides the decision parameters."""

    larger_is_better: bool = True
    relative_tolerance: bool = False
    # Whether an error counts as a refusal, not as a failure.
    errors_refuse: bool = False
    # The script's table named after the task, such as [mask].
    settings: Mapping[str, Any] = field(default_factory=dict)
    # Rank tests: the images that a probe is compared with.
    gallery: Gallery | None = None
    # Turns a reference such as {images}/3.png into a path, for tasks whose truth is a file; None without the data.
    resolve: Callable[[Any], Any] | None = None


# Whether an answer accepts the claim of its case.
Accepts = Callable[[Case, Answer], bool]


@dataclass(frozen=True)
class DecisionLimits:
    """How to redo the decision on recorded answers, for any number of values of the task's decision parameter.

    Each answer has a limit: the strictest value of the parameter at which it is still accepted.
    """

    param: str
    # A threshold: values up to the limit accept. Otherwise, as for a tolerance, values from the limit on do.
    falling: bool
    # The limit of a recorded answer that is not an error; the second argument is whether its case is positive.
    of: Callable[[RecordedAnswer, bool], float]

    @property
    def always(self) -> float:
        """The limit of an answer that every value accepts."""
        return inf if self.falling else -inf

    @property
    def never(self) -> float:
        """The limit of an answer that no value accepts."""
        return -self.always


class Movement(Protocol):
    """How a varied input was moved, for tasks whose truth says where something is."""

    def image(self, reference: str, *, outside: int = 0, numbers: bool = False) -> str:
        """The reference of an image moved like the input: of classes, or of numbers, of which there can be means.

        `outside` is the value of pixels that were not in the original picture.
        """

    def boxes(self, boxes: Sequence[Sequence[float]]) -> list[list[float]]:
        """Boxes (x, y, width, height), moved like the input: each is the upright box around it."""

    @property
    def scale(self) -> float:
        """The area of what is in the picture, as a share of what it was."""


@dataclass(frozen=True, eq=False)
class Elements:
    """What the cases consist of, pixels or objects, each with a score: a curve over them has cases as its units.

    Elements that are alike, such as the pixels of one case with one score, can be one element with their weight.
    """

    # What to call them, such as pixels.
    words: str
    # The index of the case among the records.
    case: npt.NDArray[np.intp]
    # Infinite if no threshold (minus), or every threshold (plus), accepts it.
    score: FloatArray
    positive: BoolArray
    weight: FloatArray
    # Whether negative elements can be counted: background pixels can, places without an object cannot.
    has_negatives: bool = True


@dataclass(frozen=True, eq=False)
class ElementConfusion:
    """How much of which class was answered with which, by case: one entry for each combination that occurs.

    `truth` and `answer` are indices of the labels; an answer of -1 is an error.
    """

    words: str
    labels: list[str]
    case: npt.NDArray[np.intp]
    truth: npt.NDArray[np.intp]
    answer: npt.NDArray[np.intp]
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class CurveRule:
    """Which recorded answers a curve over all thresholds uses."""

    larger_is_better: bool
    # Answers whose score counts; no threshold accepts any other.
    counts: BoolArray
    # Answers that must have a score: a curve cannot be drawn without it.
    needed: BoolArray


@dataclass(frozen=True)
class ExampleScript:
    """What `hate new script` writes for a task: additional lines of [test], sections, and tables by file name."""

    test: str = ""
    sections: str = ""
    tables: Mapping[str, str] = field(default_factory=dict)


class Task(ABC):
    """One task. A task has no state: it is a constant of its module.

    A subclass must have a name, a summary, decision parameters and the three abstract methods. The rest has defaults
    that suit a task whose answers have a score, to which a threshold is applied.
    """

    name: ClassVar[str]
    # What an algorithm has to do, in a few words.
    summary: ClassVar[str]
    decisions: ClassVar[Mapping[str, Param]]
    # What an answer that is a JSON object may have its parts under.
    keys: ClassVar[frozenset[str]] = frozenset()
    # Decision parameters that a test has only if its script declares them.
    optional: ClassVar[frozenset[str]] = frozenset()

    # Whether the program may see `expect`: it is a claim to verify, not the answer.
    shows_claim: ClassVar[bool] = False
    # Whether a positive case is meaningless without `expect`.
    needs_expect: ClassVar[bool] = True
    # Whether `expect` may be a list or an object, which is then its JSON text.
    structured_expect: ClassVar[bool] = False
    # Whether `expect` is a file of the test's data.
    expect_is_file: ClassVar[bool] = False
    # Whether `complete` needs no file, so that positive cases can be counted when a test is loaded.
    truth_is_at_hand: ClassVar[bool] = False
    # Whether `move_truth` moves a truth that says where something is, so that inputs may be rotated.
    moves_truth: ClassVar[bool] = False
    # Whether records repeat `expect`; a task that records the truth in its own form need not.
    records_expect: ClassVar[bool] = True
    # Whether `case_mistake` checks anything: calling it for a million cases takes time.
    checks_cases: ClassVar[bool] = False
    # Whether probes are compared with a gallery: then a script has one, and records have ranks.
    uses_gallery: ClassVar[bool] = False
    # Whether `expect` and `truth` are classes, so that a wrong one can be claimed.
    claims_classes: ClassVar[bool] = True
    # Whether answers are classes too, so that one can be confused with another.
    answers_classes: ClassVar[bool] = False
    # Whether answers and `expect` are numbers, so that an answer has an error with a size.
    answers_numbers: ClassVar[bool] = False
    # Keys of [test] that only some tasks have: `tolerance`, `larger_is_better`.
    script_keys: ClassVar[frozenset[str]] = frozenset()
    # Keys of the script's table named after the task; if empty, a script has no such table.
    setting_keys: ClassVar[frozenset[str]] = frozenset()
    # Measures that a run of this task has, besides those of the outcomes.
    measures: ClassVar[tuple[str, ...]] = ()
    # What counts: the measure that runs of this task are compared, rated and ranked by unless another is asked for.
    main_measure: ClassVar[str] = "rate"
    # What the name of a measure means for runs of this task, such as a precision over objects instead of cases.
    measure_names: ClassVar[Mapping[str, str]] = {}
    # Whether a record has all that its outcome follows from, so that it can be judged again. If what was judged is
    # not recorded (an image, of which only its agreement with the truth is), a run is self-reported.
    records_answers: ClassVar[bool] = True
    example: ClassVar[ExampleScript] = ExampleScript()

    @abstractmethod
    def answer(self, raw: object, case: Case, rules: TaskRules) -> Answer:
        """Parse the program's answer; raises an AnswerError if it is not one."""

    @abstractmethod
    def acceptance(self, rules: TaskRules, params: Mapping[str, Value]) -> Accepts:
        """The decision for these decision parameters."""

    @abstractmethod
    def limits(self, rules: TaskRules, params: Mapping[str, Value]) -> DecisionLimits:
        """The same decision for all values at once, from recorded answers; it must agree with `acceptance`.

        If there are several decision parameters, `params` has the values of the others.
        """

    def recorded_answer(self, trial: Trial, case: Case, rules: TaskRules) -> Answer:
        """The answer again, from its record: what follows from the answer is computed, not believed.

        By default `actual` is the answer as it was given. Raises an AnswerError if it is none of this task, or if the
        record contradicts itself.
        """
        return self.answer(None if trial.actual is UNSET else trial.actual, case, rules)

    def case_mistake(self, case: Case, rules: TaskRules) -> str | None:
        """What is wrong with a case for this task, if anything."""
        return None

    def script_mistakes(self, params: Mapping[str, Param], *, has_gallery: bool) -> Iterator[tuple[str, str]]:
        """What is wrong with a script of this task, each with its key; `params` are those that it declares."""
        yield from ()

    def setting_mistakes(self, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with the script's table named after the task, each with its key."""
        yield from ()

    def complete(self, case: Case, rules: TaskRules) -> Case:
        """The case with what its truth says, for tasks whose `positive` follows from it."""
        return case

    def truth_mistake(self, case: Case, rules: TaskRules) -> str | None:
        """What is wrong with a truth that is a file; only `hate check` asks, because reading all of them takes time."""
        return None

    def settle(self, answer: Answer, rules: TaskRules, params: Mapping[str, Value]) -> Answer:
        """The answer with what follows from the decision parameters, if anything that is recorded does."""
        return answer

    def detail_mistake(self, name: str, detail: Mapping[str, Any]) -> str | None:
        """What is wrong with what a transcript has under `pixels` or `boxes`, if this task did not write it."""
        return None

    def failure(self, case: Case, rules: TaskRules) -> Answer:
        """What is recorded of an error, such as the pixels that were missed: measures then count it as a failure."""
        return REFUSAL

    def move_truth(self, case: Case, rules: TaskRules, movement: Movement) -> Case:
        """The case with its truth moved as its input was; a truth that says nothing about places stays as it is."""
        return case

    def elements(self, columns: RecordColumns, rules: TaskRules, params: Mapping[str, Value]) -> Elements | None:
        """The elements that a curve is drawn over; None for a task whose curves are over cases."""
        return None

    def confusion(
        self, columns: RecordColumns, rules: TaskRules, params: Mapping[str, Value]
    ) -> ElementConfusion | None:
        """The classes of the elements and of the answers to them; None for a task that has none."""
        return None

    def cautions(self, runs: ComparedRuns) -> list[str]:
        """What must be said when runs are compared, in sentences: about a test that looks right and would be wrong."""
        return []

    def curve(self, columns: RecordColumns, rules: TaskRules, params: Mapping[str, Value]) -> CurveRule:
        """Which recorded scores count in a curve over all thresholds."""
        has_answer = answered(columns)
        return CurveRule(rules.larger_is_better, counts=has_answer, needed=has_answer)


def answered(columns: RecordColumns) -> BoolArray:
    """Which records have an answer."""
    import numpy as np

    has_answer = (columns.actual.codes >= 0) | ~np.isnan(columns.score)
    return np.asarray((columns.error.codes < 0) & has_answer)
