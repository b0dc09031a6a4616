"""Groups of cases by a column: its values, or bins of a number; by several columns, what they have in common."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.analysis.align import AlignedRuns
from harness.errors import UsageError
from harness.files.conditions import number, numbers, sort_key
from harness.params import nearest
from harness.stats.arrays import BoolArray, FloatArray, IntArray

# The most groups that a reader, or a plot, can take in.
MAX_GROUPS = 60
NO_VALUE = "(none)"
CROSS = " x "
# COLUMN:5, bins of a number.
BINS = re.compile(r"(.+):(\d{1,3})")


@dataclass(frozen=True)
class CaseGroups:
    """Which group each case is in; labels are in the order of their values. `numeric`: bins of a number."""

    column: str
    codes: IntArray
    labels: list[str]
    numeric: bool = False
    # Of columns that are crossed: for each group the value of each column.
    crossed: list[dict[str, str]] = field(default_factory=list)

    @property
    def members(self) -> list[BoolArray]:
        """Which cases are in each group."""
        return [self.codes == code for code in range(len(self.labels))]


def groups_of(aligned: AlignedRuns, by: str) -> CaseGroups:
    """By `column`, `column:5` (bins of about equally many cases) or `column=0,10,20` (edges of bins).

    `column,column:5` crosses columns: a group is what the cases have in common in all of them.
    """
    parts = [by] if _known(aligned, by) else crossed_columns(by)
    if len(parts) == 1:
        return _by_column(aligned, by)
    groups = [_by_column(aligned, column) for column in parts]
    names = [part.column for part in groups]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"--by {by}: '{twice}' is there twice; cross different columns")
    # The combinations that cases have, in the order of the first column, then of the second.
    codes = np.zeros(len(groups[0].codes), dtype=np.intp)
    for part in groups:
        codes = codes * len(part.labels) + part.codes
    used, first, dense = np.unique(codes, return_index=True, return_inverse=True)
    values = [{part.column: part.labels[int(part.codes[case])] for part in groups} for case in first[: MAX_GROUPS + 1]]
    labels = [CROSS.join(value.values()) for value in values] + [""] * (len(used) - len(values))
    return _checked(CaseGroups(CROSS.join(names), dense.astype(np.intp), labels, crossed=values), by)


def several_groups(aligned: AlignedRuns, by: str) -> CaseGroups:
    """The same for what sets groups against each other: a UsageError if all cases have the same value."""
    groups = groups_of(aligned, by)
    if len(groups.labels) < 2:
        raise UsageError(f"--by {by}: all cases have the same value, '{groups.labels[0]}'")
    return groups


def crossed_columns(by: str) -> list[str]:
    """What stands between commas; those between edges, as in noise=0,10,20, do not count."""
    parts: list[str] = []
    for word in map(str.strip, by.split(",")):
        if parts and "=" in parts[-1] and number(word) is not None:
            parts[-1] += f",{word}"
        else:
            parts.append(word)
    if len(parts) > 1 and not all(parts):
        raise UsageError(f"--by {by}: a column is empty; write COLUMN,COLUMN")
    return parts


def _by_column(aligned: AlignedRuns, by: str) -> CaseGroups:
    if _known(aligned, by):
        return _checked(_by_value(aligned, by), by)
    if match := BINS.fullmatch(by):
        return _checked(_by_quantile(aligned, _existing(aligned, match[1]), int(match[2])), by)
    if match := re.fullmatch(r"(.+?)=([^=]*)", by):
        return _checked(_by_edges(aligned, _existing(aligned, match[1]), match[2], by), by)
    _existing(aligned, by)
    raise UsageError(f"--by {by}: write COLUMN, COLUMN:5 or COLUMN=0,10,20")


def _known(aligned: AlignedRuns, name: str) -> bool:
    column = aligned.column(name)
    return column is not None and bool((column.codes >= 0).any())


def _existing(aligned: AlignedRuns, name: str) -> str:
    if not _known(aligned, name):
        there = [column for column in aligned.column_names() if _known(aligned, column)]
        raise UsageError(f"--by {name}: no such column in these transcripts; {nearest(name, there)}")
    return name


def _values(aligned: AlignedRuns, name: str) -> tuple[IntArray, list[str]]:
    """Codes and texts of a column; the last text is for cases without a value."""
    column = aligned.column(name)
    if column is None:
        raise UsageError(f"--by {name}: no such column")
    codes = np.where(column.codes < 0, len(column.labels), column.codes).astype(np.intp)
    return codes, [label or NO_VALUE for label in column.labels] + [NO_VALUE]


def _by_value(aligned: AlignedRuns, name: str) -> CaseGroups:
    codes, texts = _values(aligned, name)
    used = _used(codes, texts)
    labels = sorted(used - {NO_VALUE}, key=sort_key) + [NO_VALUE] * (NO_VALUE in used)
    code_of = {label: code for code, label in enumerate(labels)}
    table = np.array([code_of.get(text, -1) for text in texts], dtype=np.intp)
    return CaseGroups(name, table[codes], labels)


def has_few_values(aligned: AlignedRuns, name: str) -> bool:
    """Whether a column has so few values that each can be a group; one that is not there has none."""
    return aligned.column(name) is None or len(_used(*_values(aligned, name))) <= MAX_GROUPS


def _used(codes: IntArray, texts: Sequence[str]) -> set[str]:
    """The texts that cases have."""
    return {texts[code] for code in np.flatnonzero(np.bincount(codes)).tolist()}


def _numbers(aligned: AlignedRuns, name: str) -> FloatArray:
    codes, texts = _values(aligned, name)
    known = [code for code, text in enumerate(texts) if text != NO_VALUE]
    parsed = numbers([texts[code] for code in known])
    if parsed and parsed[-1] is None:
        bad = texts[known[len(parsed) - 1]]
        raise UsageError(f"--by {name}: '{bad}' is not a number; only numbers can be put into bins")
    values = np.full(len(texts), np.nan)
    values[known] = parsed
    return values[codes]


def _by_quantile(aligned: AlignedRuns, name: str, bins: int) -> CaseGroups:
    """Equal numbers of cases as far as ties allow; the label is the range of the values in the bin."""
    if not 2 <= bins <= MAX_GROUPS:
        raise UsageError(f"--by {name}:{bins}: the number of bins must be from 2 to {MAX_GROUPS}")
    values = _numbers(aligned, name)
    known = values[~np.isnan(values)]
    if not known.size:
        raise UsageError(f"--by {name}:{bins}: no case has a number in this column")
    inner = np.unique(np.quantile(known, np.arange(1, bins) / bins, method="inverted_cdf"))
    # A value on an edge belongs to the bin below it, as in the definition of the quantile.
    codes = np.searchsorted(inner, values, side="left")

    def label(code: int) -> str:
        inside = values[codes == code]
        low, high = float(inside.min()), float(inside.max())
        return f"{low:g}" if low == high else f"{low:g} to {high:g}"

    return _binned(name, codes, values, len(inner) + 1, label)


def _by_edges(aligned: AlignedRuns, name: str, text: str, by: str) -> CaseGroups:
    """Each bin includes its lower edge, but not its upper one."""
    parts = [number(part) for part in text.split(",")]
    edges = [edge for edge in parts if edge is not None]
    if len(edges) < len(parts) or edges != sorted(set(edges)) or len(edges) > MAX_GROUPS:
        raise UsageError(f"--by {by}: edges must be increasing numbers, such as 0,10,20")
    values = _numbers(aligned, name)
    codes = np.searchsorted(np.array(edges), values, side="right")

    def label(code: int) -> str:
        if code == 0:
            return f"below {edges[0]:g}"
        if code == len(edges):
            return f"{edges[-1]:g} and above"
        return f"{edges[code - 1]:g} to below {edges[code]:g}"

    return _binned(name, codes, values, len(edges) + 1, label)


def _binned(name: str, codes: IntArray, values: FloatArray, bins: int, label: Callable[[int], str]) -> CaseGroups:
    """The bins that are not empty, and one for cases without a value."""
    placed = np.where(np.isnan(values), bins, codes)
    used, dense = np.unique(placed, return_inverse=True)
    return CaseGroups(name, dense, [NO_VALUE if code == bins else label(int(code)) for code in used], numeric=True)


def _checked(groups: CaseGroups, by: str) -> CaseGroups:
    if len(groups.labels) > MAX_GROUPS:
        numeric = None not in numbers(groups.labels)
        remedy = f"put the numbers into bins, {by}:5" if numeric else "choose another column"
        remedy = "cross fewer columns, or put numbers into bins" if groups.crossed else remedy
        raise UsageError(f"--by {by}: {len(groups.labels):,} values are too many to show; {remedy}")
    return groups
