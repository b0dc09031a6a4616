"""Which images of a person may be exchanged: pairs of a gallery and a probe image, under a rule."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.matrices.labels import BoolArray, IntArray, Labels
from harness.analysis.matrices.matrix import SUBJECT, Matrix
from harness.errors import UsageError
from harness.stats.permuting import Choices


@dataclass(frozen=True)
class Rule:
    """In which columns a gallery and a probe image of a person must differ, and in which they must agree."""

    differ: Sequence[str] = ()
    agree: Sequence[str] = ()

    @property
    def words(self) -> str:
        """For people."""
        parts = [f"differ in {name}" for name in self.differ] + [f"agree in {name}" for name in self.agree]
        return "gallery and probe image of a person " + (" and ".join(parts) if parts else "are different images")


@dataclass(frozen=True)
class Exchange:
    """The choices, and the people who have none."""

    choices: Choices
    left_out: Sequence[str]


def exchangeable(matrix: Matrix, rule: Rule, identity: str = SUBJECT) -> Exchange:
    """All pairs that the rule allows. An image is never its own gallery; people without a pair are left out."""
    sides = [_Side(labels, rule, identity) for labels in (matrix.rows, matrix.columns)]
    same, places = matrix.same(), [side.by_person() for side in sides]
    people = sorted(places[0].keys() | places[1].keys())
    pairs: list[tuple[IntArray, IntArray]] = []
    patterns: dict[bytes, int] = {}
    codes, left_out = [], []
    for person in people:
        rows, columns = (found.get(person, np.empty(0, np.intp)) for found in places)
        allowed = _allowed(rows, columns, sides, same)
        if not allowed.any():
            left_out.append(person)
            continue
        column, row = np.nonzero(allowed.T)
        pairs.append((rows[row], columns[column]))
        codes.append(patterns.setdefault(np.array(allowed.shape).tobytes() + allowed.tobytes(), len(patterns)))
    if len(pairs) < 2:
        raise UsageError(
            f"{matrix.name}: {rule.words}: that leaves {len(pairs)} of {len(people)} people, and two are needed; ask "
            "less with --differ and --agree, or name who is on an image with --subject"
        )
    return Exchange(_choices(pairs, codes), left_out)


class _Side:
    """The rows, or the columns, of the matrix."""

    def __init__(self, labels: Labels, rule: Rule, identity: str) -> None:
        self.person = labels.column(identity)
        self.differ = [labels.column(name) for name in rule.differ]
        self.agree = [labels.column(name) for name in rule.agree]

    def by_person(self) -> dict[str, IntArray]:
        """Places by person, sorted by the columns of the rule: people with the same days then have the same pattern."""
        keys = [np.arange(len(self.person)), *self.agree[::-1], *self.differ[::-1], self.person]
        order = np.lexsort(keys)
        names, starts = np.unique(self.person[order], return_index=True)
        return dict(zip(names.tolist(), np.split(order, starts[1:]), strict=True))


def _allowed(rows: IntArray, columns: IntArray, sides: Sequence[_Side], same: IntArray) -> BoolArray:
    """A table (rows, columns) of what the rule says."""
    probes, gallery = sides
    allowed = same[rows][:, None] != columns
    for one, other in zip(probes.differ, gallery.differ, strict=True):
        allowed &= one[rows][:, None] != other[columns]
    for one, other in zip(probes.agree, gallery.agree, strict=True):
        allowed &= one[rows][:, None] == other[columns]
    return np.asarray(allowed)


def _choices(pairs: Sequence[tuple[IntArray, IntArray]], codes: Sequence[int]) -> Choices:
    rows, columns = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    starts = np.concatenate(([0], np.cumsum([len(pair[0]) for pair in pairs]))).astype(np.intp)
    return Choices(rows, columns, starts, np.array(codes, dtype=np.intp))
