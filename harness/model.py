"""The basic types of the harness: cases, answers, outcomes, counts.

They are msgspec structs because a transcript has one `Trial` per line, and may have millions of lines.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import isfinite
from operator import attrgetter
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import astuple, replace

# The most columns that cases may have: each becomes an array in memory.
MAX_COLUMNS = 1_000
# The most names of values in one transcript: each becomes a measure, and an array in memory.
MAX_VALUES = 100


class Outcome(StrEnum):
    """How the harness judged one answer."""

    TP = "TP"
    TN = "TN"
    FP = "FP"
    FN = "FN"

    @property
    def success(self) -> bool:
        """TP or TN."""
        return self in (Outcome.TP, Outcome.TN)

    @property
    def positive(self) -> bool:
        """Whether the case was positive."""
        return self in (Outcome.TP, Outcome.FN)

    @staticmethod
    def of(*, positive: bool, accepted: bool) -> "Outcome":
        """A positive case is a TP if it is accepted, else an FN; a negative one an FP if it is accepted, else a TN."""
        if positive:
            return Outcome.TP if accepted else Outcome.FN
        return Outcome.FP if accepted else Outcome.TN


class ErrorKind(StrEnum):
    """Why a case has no answer."""

    CRASH = "crash"
    TIMEOUT = "timeout"
    ANSWER = "answer"
    INTERFACE = "interface"


class ErrorRule(StrEnum):
    """How a test treats an error: as a failure, as a refusal, or as the end of the run."""

    FAILURE = "failure"
    REFUSE = "refuse"
    ABORT = "abort"


class Case(Struct, frozen=True, gc=False):
    """One case of a test, as its author wrote it."""

    id: str
    input: Any
    expect: str = ""
    positive: bool = True
    truth: str = ""
    columns: dict[str, Any] = {}

    @property
    def real_class(self) -> str:
        """The true class of the input: `truth`, or the claim if it is true."""
        return self.truth or (self.expect if self.positive else "")

    def column(self, name: str) -> str:
        """Any column as text, fixed columns included; empty if the case has no such column."""
        if name == "truth":
            return self.real_class
        if name in ("id", "expect"):
            return self.id if name == "id" else self.expect
        if name == "positive":
            return "true" if self.positive else "false"
        value = self.input if name == "input" else self.columns.get(name, "")
        return value if type(value) is str else plain_text(value)


class Question(Struct, frozen=True, gc=False):
    """What a program is told about a case: never whether the claim is true.

    `expect` is the claim of a score test, or the label of a training case; otherwise it is empty.
    """

    index: int
    id: str
    input: Any
    expect: str = ""
    columns: dict[str, Any] = {}
    repeat: int = 1


class Reply(Struct, frozen=True, gc=False):
    """What came back for a question: an answer as the program gave it, or an error."""

    question: Question
    raw: Any = None
    error: ErrorKind | None = None
    message: str = ""
    seconds: float = 0.0
    memory: int | None = None


class Answer(Struct, frozen=True, gc=False):
    """An answer in the terms of its task; neither `actual` nor `score` means that the program refused."""

    actual: Any = None
    score: float | None = None
    # In identification: the rank of the right identity, and the score of the best wrong one.
    rank: int | None = None
    best_wrong: float | None = None
    # Other numbers of the answer, by name, that the task records.
    values: dict[str, float | None] | None = None
    # What measures and decisions need of an answer that is an image or a list of boxes; the task says what is in it.
    pixels: dict[str, Any] | None = None
    boxes: dict[str, Any] | None = None


REFUSAL = Answer()
# Numbers in files from other tools; they must fit into arrays.
Bytes = Annotated[int, Meta(ge=0, lt=1 << 60)]
Turn = Annotated[int, Meta(ge=1, lt=1 << 31)]


# The property of an outcome that says so is slow for a million records.
_POSITIVE = tuple(outcome for outcome in Outcome if outcome.positive)


class Trial(Struct, frozen=True, gc=False):
    """One record of a transcript. Files from other tools need only `id` and `outcome`."""

    id: str
    outcome: Outcome
    positive: bool | UnsetType = UNSET
    expect: str | UnsetType = UNSET
    truth: str | UnsetType = UNSET
    actual: Any = UNSET
    score: float | UnsetType | None = UNSET
    rank: Turn | UnsetType | None = UNSET
    best_wrong: float | UnsetType | None = UNSET
    error: ErrorKind | UnsetType | None = UNSET
    message: str | UnsetType = UNSET
    seconds: float | UnsetType | None = UNSET
    memory: Bytes | UnsetType | None = UNSET
    repeat: Turn | UnsetType = UNSET
    stratum: str | UnsetType = UNSET
    psu: str | UnsetType = UNSET
    columns: dict[str, Any] | UnsetType = UNSET
    # Other numbers by name, such as the metrics of another tool.
    values: dict[str, float | None] | UnsetType = UNSET
    pixels: dict[str, Any] | UnsetType = UNSET
    boxes: dict[str, Any] | UnsetType = UNSET

    @property
    def real_class(self) -> str | None:
        """The true class: `truth`, or the claim if it is true; None if the record has neither."""
        value = self.expect if self.truth is UNSET and self.outcome in _POSITIVE else self.truth
        return None if value is UNSET else value


class BlindTrial(Struct, frozen=True, gc=False):
    """One record of a blind run: the answer as the program gave it. The outcome is decided where the truth is."""

    id: str
    actual: Any = UNSET
    error: ErrorKind | UnsetType | None = UNSET
    message: str | UnsetType = UNSET
    seconds: float | UnsetType | None = UNSET
    memory: Bytes | UnsetType | None = UNSET
    repeat: Turn | UnsetType = UNSET

    @property
    def outcome(self) -> Outcome:
        """Stands in for the outcome, so that trials can be counted; it is never written and means nothing."""
        return Outcome.FN

    @property
    def stratum(self) -> UnsetType:
        """Not known here."""
        return UNSET

    @property
    def psu(self) -> UnsetType:
        """Not known here."""
        return UNSET


class Counts(Struct, frozen=True):
    """The number of each outcome; `ER` counts how many of them were errors."""

    TP: int = 0
    TN: int = 0
    FP: int = 0
    FN: int = 0
    ER: int = 0

    @property
    def tests(self) -> int:
        """All trials."""
        return self.TP + self.TN + self.FP + self.FN

    @property
    def successes(self) -> int:
        """TP and TN."""
        return self.TP + self.TN

    @property
    def rate(self) -> float:
        """The share of successes; 0 if there were no trials."""
        return self.successes / self.tests if self.tests else 0.0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*map(int.__add__, astuple(self), astuple(other)))

    def plus(self, trial: Trial) -> "Counts":
        """These counts and one more trial."""
        counted = {trial.outcome.value: getattr(self, trial.outcome) + 1, "ER": self.ER + bool(trial.error)}
        return replace(self, **counted)

    @staticmethod
    def of(trials: Iterable[Trial]) -> "Counts":
        """Count trials."""
        kept = list(trials)
        # Enumerations are slow to hash, their texts are not; `value` is a descriptor, which is slower.
        outcomes = Counter(map(attrgetter("outcome._value_"), kept))
        return Counts(**outcomes, ER=sum(map(bool, map(attrgetter("error"), kept))))


class Standing(Struct, frozen=True):
    """The value of a run by the measure, the design and the weights of its test, as the index of a site has it."""

    measure: Annotated[str, Meta(max_length=1000)]
    value: float
    # The same as a number such that more is better, whatever the measure is.
    merit: float

    @staticmethod
    def by_rate(rate: float) -> "Standing":
        """The standing by the share of successes, for what does not say another."""
        return Standing("rate", rate, rate)


# The columns of the two identities of a comparison, as imported lists of scores and of trials have them.
IDENTITIES = ("claimed", "real")
TRIAL_SIDES = ("model", "segment")


def plural(name: str) -> str:
    """The plural of a column's name: `images` for `image`."""
    if name in IDENTITIES:
        return f"{name} identities"
    return name if name.endswith("s") else f"{name}s"


def join_names(names: Sequence[str], most: int | None = None) -> str:
    """a, b and c; with more than `most`, a, b and 3 more."""
    if most is not None and len(names) > most:
        names = [*names[:most], f"{len(names) - most:,} more"]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def plain_text(value: object) -> str:
    """A JSON scalar as text in a table: true and false in lower case, nothing for null, 3.0 as 3."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    # Columns of whole numbers with gaps become floats in many libraries.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class PsuStrata:
    """The stratum of each PSU. A PSU in two strata is a mistake, because its cases are not independent."""

    def __init__(self) -> None:
        self._stratum_of: dict[str, str] = {}

    def clash(self, psu: str, stratum: str, *, option: str = "") -> str | None:
        """The mistake if the PSU of this case was in another stratum before; otherwise None.

        `option` is `--` if strata and PSUs are named by options.
        """
        first = self._stratum_of.setdefault(psu, stratum)
        return None if first == stratum else psu_clash(psu, (first, stratum), option)


def both_identities(names: tuple[str, str], what: str = "--psu") -> str:
    """Why the pair of both identities of a comparison is not a PSU, and what to do instead."""
    both = ",".join(names)
    return (
        f"{what} {both}: the pair of both identities is no unit, as comparisons that share one of them are "
        f"alike; for new ones on both sides, hate roc, det and pr have --subjects {both}, and for new ones on one side "
        f"there is --psu {names[0]} or --psu {names[1]}"
    )


def psu_clash(psu: str, strata: tuple[str, str], option: str = "") -> str:
    """The message about a PSU in two strata, and what to do."""
    return (
        f"PSU '{psu}' is in two strata, '{strata[0]}' and '{strata[1]}'; drop {option or 'the '}stratum, "
        f"or, if the two parts were sampled separately, use a column for {option}psu that distinguishes them"
    )


def crossed(parts: Iterable[str]) -> str:
    """Several values as one, joined by `/`; slashes and backslashes are escaped, so that combinations stay distinct."""
    return "/".join(part.replace("\\", "\\\\").replace("/", "\\/") for part in parts)


def finite(value: float | None) -> float | None:
    """A number that CSV and JSON can have: None in place of infinity and nan."""
    return value if value is not None and isfinite(value) else None
