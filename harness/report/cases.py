"""The cases of a transcript, and those on which two runs differ, for people."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from harness.analysis.cases import (
    FIELDS,
    OF_RUN,
    VALUES,
    CaseSelection,
    Differences,
    TranscriptOverview,
    field_values,
    pair_value,
)
from harness.files.conditions import text
from harness.files.external_sort import in_batches
from harness.model import Trial
from harness.report.blocks import ROWS, Cell, Table
from harness.report.counts import TALLY
from harness.transcript.format import Header

# Columns that are shown even if no case has a value.
SHOW_FIXED = ("id", "outcome", "expect", "actual", "score", "error", "seconds")
SHOW_COLUMNS = (
    "id",
    "repeat",
    "outcome",
    "expect",
    "truth",
    "actual",
    "score",
    "error",
    "message",
    "seconds",
    "memory",
)
DIFF_FIXED = ("id", "outcome_a", "outcome_b", "expect", "actual_a", "actual_b", "score_a", "score_b")
_PLAIN_CELLS = frozenset({str, int, float, type(None)})
CASE_FIELDS = ("id", "repeat", "expect", "truth")


def run_line(run: TranscriptOverview) -> str:
    """Test, algorithm and counts of a transcript on one line."""
    test, algorithm, counts = run.header.test, run.header.algorithm, run.counts
    tally = ", ".join(f"{name} {getattr(counts, name):,}" for name in TALLY[1:])
    words = f"{test.name} {test.version}, {algorithm.name} {algorithm.version}".rstrip()
    missing = "" if run.complete else "; INCOMPLETE: it has no last line, the run was not finished"
    return f"{words}: {counts.tests:,} {run.header.counted}, {tally}{missing}"


def view_line(view: CaseSelection) -> str:
    """The transcript, and how many of its cases are shown."""
    line = run_line(view.run)
    if len(view.trials) == view.run.counts.tests:
        return line
    return f"{line}; {_count_shown(len(view.trials), view.matching)}"


def view_table(view: CaseSelection) -> Table:
    columns = [(name, name in SHOW_FIXED) for name in SHOW_COLUMNS]
    columns += [(name, False) for name in _design_columns(view.run.header, [*SHOW_COLUMNS, *view.run.columns])]
    # Without case columns that have the name of a record's own field: the two would look the same.
    columns += [(name, False) for name in view.run.columns if name not in SHOW_COLUMNS]
    columns += [
        (VALUES + name if name in FIELDS else name, False) for name in view.run.values if name not in view.run.columns
    ]
    shown = [name for name, always in columns if always or name in view.present]
    return Table(shown, _CaseRows(view.trials, shown))


def difference_lines(differences: Differences, names: Sequence[str], *, answers: bool) -> list[str]:
    """Both runs, the cases that only one of them has, and how many differ."""
    lines = [f"A, {names[0]}: {run_line(differences.a)}", f"B, {names[1]}: {run_line(differences.b)}"]
    for side, unmatched in (("A", differences.only_a), ("B", differences.only_b)):
        if unmatched.count:
            more = ", ..." if unmatched.count > len(unmatched.ids) else ""
            lines.append(f"only {side} has {unmatched.count:,} cases: {', '.join(unmatched.ids)}{more}")
    line = f"of {differences.common:,} {differences.a.header.counted}: A right and B wrong {differences.n_sf:,}"
    line += f", B right and A wrong {differences.n_fs:,}"
    if differences.other_answers:
        line += f", same outcome but a different answer {differences.other_answers:,}"
        line += "" if answers else " (--answers shows them)"
    total = differences.n_sf + differences.n_fs + (differences.other_answers if answers else 0)
    return [
        *lines,
        line
        if len(differences.pairs) == total
        else f"{line}; {_count_shown(len(differences.pairs), differences.matching)}",
    ]


def difference_table(differences: Differences) -> Table:
    """A row for each case, both runs side by side."""
    sides = {name: [f"{name}_a", f"{name}_b"] for name in OF_RUN}
    names = ["id", "repeat", *sides["outcome"], "expect", "truth", *sides["actual"], *sides["score"], *sides["error"]]
    case_columns = [name for name in differences.columns if name not in (*CASE_FIELDS, *OF_RUN)]
    names += [*_design_columns(differences.a.header, [*CASE_FIELDS, *case_columns]), *case_columns]
    pairs = differences.pairs
    shown = [name for name in names if name in DIFF_FIXED or any(pair_value(pair, name) is not None for pair in pairs)]
    return Table(shown, [[_cell(pair_value(pair, name)) for name in shown] for pair in pairs])


def _count_shown(shown: int, matching: int) -> str:
    return f"{matching:,} match" if shown == matching else f"{matching:,} match, the first {shown:,} are shown"


@dataclass(frozen=True)
class _CaseRows(Sequence[Sequence[Cell]]):
    """The rows of a table of cases, made while they are gone through: there may be millions."""

    trials: Sequence[Trial]
    columns: Sequence[str]

    def __len__(self) -> int:
        return len(self.trials)

    def __iter__(self) -> Iterator[Sequence[Cell]]:
        for block in in_batches(iter(self.trials), ROWS):
            yield from zip(*(_cells(block, name) for name in self.columns), strict=True)

    @overload
    def __getitem__(self, index: int) -> Sequence[Cell]: ...
    @overload
    def __getitem__(self, index: slice) -> list[Sequence[Cell]]: ...
    def __getitem__(self, index: int | slice) -> Sequence[Cell] | list[Sequence[Cell]]:
        return list(self)[index]


def _cells(block: Sequence[Trial], name: str) -> list[Cell]:
    """A field of some records; most columns have only texts and numbers."""
    values = list(field_values(block, name))
    return values if _PLAIN_CELLS.issuperset(map(type, values)) else list(map(_cell, values))


def _cell(value: Any) -> Cell:
    """A value for a table: numbers stay numbers."""
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    return text(value)


def _design_columns(header: Header, shown: Sequence[str]) -> list[str]:
    """`stratum` and `psu`, unless they are columns that are shown anyway."""
    return [name for name in ("stratum", "psu") if header.design.get(name) not in shown]
