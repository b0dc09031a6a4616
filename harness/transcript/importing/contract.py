"""The types of an import: a reader, its options, and its results, which are answers with the marks that a tool gave."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from harness.model import ErrorKind
from harness.options import DirectionOptions, option
from harness.plugins import Plugin
from harness.tasks.label import LABEL
from harness.transcript.importing.file import ForeignFile

if TYPE_CHECKING:
    from harness.transcript.importing.metrics import Survey

# The test of results that do not name one, and the mark of answers that the harness compares with the truth itself.
UNNAMED = "imported"
CORRECT = "correct"
# A mark is a number (true is 1, false is 0); None if the tool gave none for an answer. It may be infinite or NaN: only
# the metric that decides is checked, and only finite values are kept.
Mark = float | None


class ImportedAnswer(Struct, frozen=True, gc=False):
    """One answer, as another tool judged it. A struct, because there may be a million."""

    id: str
    # Where it is in its file, for messages.
    location: str
    marks: Mapping[str, Mark] = {}
    # Further numbers that the user asked for, which never decide.
    values: Mapping[str, Mark] = {}
    expect: str = ""
    actual: Any = None
    # By metric, if the answer was extracted differently for each (filters, scorers).
    answers: Mapping[str, Any] = {}
    positive: bool = True
    truth: str = ""
    score: float | None = None
    error: ErrorKind | None = None
    message: str = ""
    seconds: float | None = None
    repeat: int = 1
    columns: Mapping[str, Any] = {}
    # What a task records of boxes and pixels, for formats that the harness judges itself.
    boxes: dict[str, Any] | None = None
    pixels: dict[str, Any] | None = None


@dataclass(frozen=True)
class ImportedRun:
    """The results of one algorithm on one test."""

    # The file, for messages.
    source: str
    test: str
    algorithm: str
    # A list, or something that reads the file anew each time: they are gone through more than once.
    results: Iterable[ImportedAnswer]
    # The tool, for the header.
    tool: str
    version: str = ""
    # The metric that the tool uses as its verdict; None if it has none.
    verdict: str | None = None
    # Whether --success-at is a threshold for the marks; otherwise it was one for the scores, or does not apply.
    graded: bool = True
    task: str = LABEL.name
    params: Mapping[str, Any] = field(default_factory=dict)
    # What is missing from the results; refused by default.
    missing: str = ""
    # Whether --id has been applied to the ids already.
    keyed: bool = False
    # Notes for the user.
    notes: Sequence[str] = ()
    # Whether more of a metric or value is better, by the tool's name for it, where the log or the tool itself says so.
    directions: Mapping[str, bool] = field(default_factory=dict)
    # A column that the log declares to be clusters of cases.
    psu: str | None = None
    # What a reader knows of its answers already, because it has gone through them.
    survey: "Survey | None" = None
    # The plug-in that the reader came from, if any.
    plugin: Plugin | None = None


@dataclass(frozen=True)
class TableColumns:
    """Which column of a table holds what."""

    id: str | None = None
    expect: str | None = None
    actual: str | None = None
    score: str | None = None
    success: str | None = None
    positive: str | None = None
    repeat: str | None = None


def _column(flag: str, text: str) -> Any:
    return option(f"{flag} COLUMN", text, default=None)


def _finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not abs(number) < 1e300:
        raise ValueError(f"'{text}' is not a finite number")
    return number


class ImportOptions(DirectionOptions):
    """What the user says about an import."""

    reader: str | None = option("--from NAME", "The tool that wrote it, if the content does not show it.", default=None)
    metric: str | None = option("--metric NAME", "Which of several metrics decides.", default=None)
    success_at: float | None = option(
        "--success-at X", "Partial credit: an answer is right if its mark is at least X.", default=None, parse=_finite
    )
    id: str | None = _column("--id", "The case; also for tools whose own ids are only positions.")
    expect: str | None = _column("--expect", "Tables: the right answer.")
    actual: str | None = _column("--actual", "Tables: the answer given.")
    score: str | None = _column("--score", "Tables: its score.")
    success: str | None = _column("--success", "Tables: whether it was right.")
    positive: str | None = _column(
        "--positive", "Tables: whether the claim is true and should be accepted (true by default)."
    )
    repeat: str | None = _column("--repeat", "Tables: which of several answers to the same case.")
    values: tuple[str, ...] = option(
        "--value NAME",
        "Tables: a column of numbers to keep; other tools: a metric (all by default). Several with commas.",
        default=(),
    )
    positive_label: str | None = option(
        "--positive-label LABEL", "Predictions: the class to detect; all others are negative.", default=None
    )
    truth: Path | None = option(
        "--truth FILE", "COCO: the file of the truth, with images and annotations.", default=None
    )
    kind: str = option(
        "--as", "COCO: judge boxes, or the pixels of segmentations.", default="boxes", choices=("boxes", "mask")
    )
    key: Path | None = option(
        "--key FILE",
        "What is true, in a file of its own: the list of trials, or a TREC run's judgements of relevance.",
        default=None,
    )
    stratum: str | None = _column("--stratum", "Groups that are fixed; separate several with commas.")
    psu: str | None = _column("--psu", "Groups that were drawn: subjects, documents, repositories.")
    test: str | None = option("--test NAME", "Name of the test; by default, of the task.", default=None)
    version: str | None = option("--test-version TEXT", "Its version.", default=None)
    algorithm: str | None = option("--algorithm NAME", "Name of the algorithm; by default, of the model.", default=None)
    partial: bool = option("--partial", "Import a log that is incomplete.", default=False)

    @property
    def columns(self) -> TableColumns:
        return TableColumns(self.id, self.expect, self.actual, self.score, self.success, self.positive, self.repeat)

    @property
    def judging(self) -> list[str]:
        """The options that make any file a table, by naming its columns."""
        names = ("expect", "actual", "score", "success", "positive", "repeat")
        return [name for name in names if getattr(self, name) is not None]

    @property
    def groups(self) -> list[str]:
        """Columns that the design may mean; a name with a comma may be one column or several."""
        names = [name for name in (self.stratum, self.psu) if name is not None]
        return [*names, *(part.strip() for name in names if "," in name for part in name.split(","))]


@dataclass(frozen=True)
class Reader:
    """An importer: it reads the files of one tool.

    `what` describes such a file in messages, such as "a log of inspect_ai"; `sniff` recognises it by its content, never
    by its name. `takes_columns`: whether users may say which column holds what. `takes_truth` and `takes_key`: whether
    `--truth` or `--key` names a file that says what is true. A tool that writes several kinds of files has a reader
    with the same name for each.
    """

    name: str
    what: str
    sniff: Callable[[ForeignFile], bool]
    read: Callable[[ForeignFile, ImportOptions], Sequence[ImportedRun]]
    takes_columns: bool = False
    takes_truth: bool = False
    takes_key: bool = False
