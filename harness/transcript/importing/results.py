"""What every format is turned into first: results, one an answer, with the marks that the other tool gave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from harness.model import ErrorKind

# A mark is a number (true is 1, false is 0); None where the tool gave none for an answer. It may be infinite or not a
# number, for not every mark counts: what decides is checked, and what is kept has only finite ones.
Mark = float | None


class Result(Struct, frozen=True):
    """One answer, as another tool judged it. A struct, as there may be a million."""

    id: str
    # Where it stands in its file, for messages.
    place: str
    marks: Mapping[str, Mark] = {}
    # Further numbers that were asked for, which never decide.
    values: Mapping[str, Mark] = {}
    expect: str = ""
    actual: Any = None
    # Where the answer was read differently for each metric (filters, scorers).
    answers: Mapping[str, Any] = {}
    positive: bool = True
    truth: str = ""
    score: float | None = None
    error: ErrorKind | None = None
    message: str = ""
    seconds: float | None = None
    repeat: int = 1
    columns: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Imported:
    """The results of one algorithm on one test."""

    source: str
    test: str
    algorithm: str
    results: Sequence[Result]
    # The tool, for the header.
    tool: str
    version: str = ""
    # The metric that the tool itself takes for its verdict; None where it leaves that open.
    verdict: str | None = None
    # Whether --success-at is a bar for its marks; else it was one for the scores, or has nothing to say.
    graded: bool = True
    task: str = "label"
    params: Mapping[str, Any] = field(default_factory=dict)
    # What is not there although it should be; refused unless told otherwise.
    missing: str = ""
    # Whether --id was heeded already.
    keyed: bool = False
    # What a user should know.
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Fields:
    """Which columns of a table say what."""

    id: str | None = None
    expect: str | None = None
    actual: str | None = None
    score: str | None = None
    success: str | None = None
    positive: str | None = None
    repeat: str | None = None

    @property
    def judging(self) -> list[str]:
        """Those that make any file a table of one's own, by the names of their options."""
        names = ("expect", "actual", "score", "success", "positive", "repeat")
        return [name for name in names if getattr(self, name) is not None]


@dataclass(frozen=True)
class Wishes:
    """What the user said about the import."""

    fields: Fields = Fields()
    metric: str | None = None
    success_at: float | None = None
    # Columns of a table to keep as values; of other tools, which metrics to keep (all, unless told).
    values: Sequence[str] = ()
    positive_label: str | None = None
    stratum: str | None = None
    psu: str | None = None
    test: str | None = None
    version: str | None = None
    algorithm: str | None = None
    partial: bool = False

    @property
    def groups(self) -> list[str]:
        """Columns that the design may mean; a name with a comma in it may be one or several."""
        given = [wish for wish in (self.stratum, self.psu) if wish is not None]
        return [*given, *(name.strip() for wish in given if "," in wish for name in wish.split(","))]
