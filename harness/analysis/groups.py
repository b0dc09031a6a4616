"""Groups of cases by a column: its values, or bins of a number."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.align import AlignedRuns
from harness.errors import UsageError
from harness.files.conditions import number, sort_key
from harness.params import nearest
from harness.stats.arrays import FloatArray, IntArray

# Groups of which a reader keeps track, and a plot.
MOST = 60
NO_VALUE = "(none)"
# COLUMN:5, bins of a number.
BINS = re.compile(r"(.+):(\d{1,3})")


@dataclass(frozen=True)
class CaseGroups:
    """Which group a case is in; labels are in the order of their values. `numeric`: bins of a number."""

    column: str
    codes: IntArray
    labels: list[str]
    numeric: bool = False


def groups_of(aligned: AlignedRuns, asked: str) -> CaseGroups:
    """By `column`, `column:5` (bins of about equally many cases) or `column=0,10,20` (edges of bins)."""
    if _known(aligned, asked):
        return _checked(_by_value(aligned, asked), asked)
    if found := BINS.fullmatch(asked):
        return _checked(_by_quantile(aligned, _existing(aligned, found[1]), int(found[2])), asked)
    if found := re.fullmatch(r"(.+?)=([^=]*)", asked):
        return _checked(_by_edges(aligned, _existing(aligned, found[1]), _edges(asked, found[2])), asked)
    _existing(aligned, asked)
    raise UsageError(f"--by {asked}: write COLUMN, COLUMN:5 or COLUMN=0,10,20")


def _known(aligned: AlignedRuns, name: str) -> bool:
    found = aligned.column(name)
    return found is not None and bool((found.codes >= 0).any())


def _existing(aligned: AlignedRuns, name: str) -> str:
    if not _known(aligned, name):
        there = [column for column in aligned.column_names() if _known(aligned, column)]
        raise UsageError(f"--by {name}: no such column in these transcripts; {nearest(name, there)}")
    return name


def _values(aligned: AlignedRuns, name: str) -> tuple[IntArray, list[str]]:
    """Codes and texts of a column; the last text is for cases without a value."""
    found = aligned.column(name)
    if found is None:
        raise UsageError(f"--by {name}: no such column")
    codes = np.where(found.codes < 0, len(found.labels), found.codes).astype(np.intp)
    return codes, [label or NO_VALUE for label in found.labels] + [NO_VALUE]


def _by_value(aligned: AlignedRuns, name: str) -> CaseGroups:
    codes, texts = _values(aligned, name)
    used = {texts[code] for code in np.unique(codes).tolist()}
    labels = sorted(used - {NO_VALUE}, key=sort_key) + [NO_VALUE] * (NO_VALUE in used)
    place = {label: number for number, label in enumerate(labels)}
    table = np.array([place.get(text, -1) for text in texts], dtype=np.intp)
    return CaseGroups(name, table[codes], labels)


def _numbers(aligned: AlignedRuns, name: str) -> FloatArray:
    codes, texts = _values(aligned, name)
    values = [np.nan if text == NO_VALUE else number(text) for text in texts]
    bad = [text for text, value in zip(texts, values, strict=True) if value is None]
    if bad:
        raise UsageError(f"--by {name}: '{bad[0]}' is not a number; only numbers have bins")
    return np.array(values, dtype=np.float64)[codes]


def _by_quantile(aligned: AlignedRuns, name: str, bins: int) -> CaseGroups:
    """Equal numbers of cases as far as ties allow; the label is what the bin really holds."""
    if not 2 <= bins <= MOST:
        raise UsageError(f"--by {name}:{bins}: from 2 to {MOST} bins")
    values = _numbers(aligned, name)
    known = values[~np.isnan(values)]
    if not known.size:
        raise UsageError(f"--by {name}:{bins}: no case has a number there")
    inner = np.unique(np.quantile(known, np.arange(1, bins) / bins, method="inverted_cdf"))
    # A value on an edge belongs below it, as the quantile's own definition has it.
    codes = np.searchsorted(inner, values, side="left")

    def label(code: int) -> str:
        held = values[codes == code]
        return _range(float(held.min()), float(held.max()))

    return _binned(name, codes, values, len(inner) + 1, label)


def _range(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _edges(asked: str, text: str) -> list[float]:
    edges = [number(part) for part in text.split(",")]
    known = [edge for edge in edges if edge is not None]
    if len(known) < len(edges) or known != sorted(set(known)) or len(known) > MOST:
        raise UsageError(f"--by {asked}: edges are numbers that rise, such as 0,10,20")
    return known


def _by_edges(aligned: AlignedRuns, name: str, edges: Sequence[float]) -> CaseGroups:
    """From an edge, it included, to the next."""
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
    """Bins that hold a case, and one for cases without a value."""
    placed = np.where(np.isnan(values), bins, codes)
    used, dense = np.unique(placed, return_inverse=True)
    return CaseGroups(name, dense, [NO_VALUE if code == bins else label(int(code)) for code in used], numeric=True)


def _checked(groups: CaseGroups, asked: str) -> CaseGroups:
    if len(groups.labels) < 2:
        raise UsageError(f"--by {asked}: all cases have the same value, '{groups.labels[0]}'")
    if len(groups.labels) > MOST:
        few = f"numbers can be put into bins, {asked}:5" if all(number(t) is not None for t in groups.labels) else ""
        raise UsageError(
            f"--by {asked}: {len(groups.labels):,} values are too many to look at; {few or 'choose another'}"
        )
    return groups
