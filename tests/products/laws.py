"""What laws are made of: runs that are changed in a way that must not matter, and answers held side by side."""

import hashlib
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.measures import EXAMPLES, Reads, find_measure, known_measures
from tests.products.subjects import Record, rewrite

Change = Callable[[Record], Record]
Order = Callable[[list[Record]], list[Record]]


def unchanged(record: Record) -> Record:
    """The same."""
    return record


def in_order(records: list[Record]) -> list[Record]:
    """As they are."""
    return records


def changed(
    paths: Iterable[Path],
    folder: Path,
    record: Change = unchanged,
    *,
    header: Change = unchanged,
    order: Order = in_order,
) -> list[Path]:
    """Runs of another test, which has other records; no test that is here contradicts them."""
    folder.mkdir()

    def of_another_test(first: Record) -> Record:
        digest = "1:" + hashlib.sha256(first["test"]["digest"].encode()).hexdigest()
        return header(first | {"test": first["test"] | {"digest": digest}})

    return [rewrite(path, folder / path.name, record=record, header=of_another_test, order=order) for path in paths]


def renamed(*columns: str, rename: Callable[[str], str]) -> Change:
    """A change of the labels in some columns, and of the recorded stratum and PSU if their columns are among them."""

    def change(record: Record) -> Record:
        own = {name: rename(record["columns"][name]) for name in columns}
        design = {key: own[name] for key, name in (("stratum", "stratum"), ("psu", "unit")) if name in own}
        return record | design | {"columns": record["columns"] | own}

    return change


def forwards(label: str) -> str:
    """Another name, in the same order."""
    return f"\u03b1 {label}, renamed"


def backwards(label: str) -> str:
    """Another name, in the opposite order."""
    return "".join(chr(0x4E00 + 0x7A - ord(letter)) for letter in label)


def shuffled(records: list[Record]) -> list[Record]:
    """In an order of its own."""
    return random.Random(str(records[0]["seconds"])).sample(records, len(records))


def repeated(records: list[Record]) -> list[Record]:
    """Every answer given twice."""
    return [record | {"repeat": repeat} for record in records for repeat in (1, 2)]


@dataclass(frozen=True)
class Law:
    """A change that must not matter.

    before, after  words of the command, for the runs as they were and for the changed ones
    but            keys of the answer that say what was asked, and so may differ
    """

    record: Change = unchanged
    order: Order = in_order
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    but: tuple[str, ...] = ()


def _heavier(record: Record) -> Record:
    return record | {"columns": record["columns"] | {"weight": str(7 * int(record["columns"]["weight"]))}}


def _numbered(rename: Callable[[str], str]) -> Change:
    return lambda record: record | {"id": rename(record["id"])}


def _other_classes(record: Record) -> Record:
    """The classes of labels, of people and of objects, in the same order; masks have numbers."""
    known = {
        key: forwards(record[key]) for key in ("expect", "actual") if re.fullmatch(r"[a-z]\d?", str(record.get(key)))
    }
    boxes = record.get("boxes")
    return record | known | ({"boxes": boxes | {"labels": [*map(forwards, boxes["labels"])]}} if boxes else {})


# With more than three units in a stratum, areas and average precisions draw at random which units are halves, in the
# order of their names. So names are turned around where there are two units in a stratum, and nothing is drawn.
_TWO_UNITS = ("--stratum", "half", "--psu", "quarter")
_WEIGHTS = ("--weights", "weight")
# What is said of gaps between groups is simulated, and moves within the error of that with the last digit of a sum; a
# bootstrap draws units in the order of their names.
SIMULATED = ("gaps", "interactions", "gap_differences", "bootstrap", "bootstrap_no_strata")

LAWS = {
    "units have other names": Law(renamed("unit", rename=forwards)),
    "units are named the other way around": Law(
        renamed("quarter", rename=backwards), before=_TWO_UNITS, after=_TWO_UNITS, but=SIMULATED
    ),
    "strata have other names": Law(renamed("stratum", rename=forwards), but=("allocation",)),
    "strata are named the other way around": Law(
        renamed("half", rename=backwards), before=_TWO_UNITS, after=_TWO_UNITS, but=("allocation", *SIMULATED)
    ),
    "cases have other names": Law(_numbered(forwards)),
    "cases are named the other way around": Law(_numbered(backwards)),
    "classes have other names": Law(_other_classes, but=("label", "labels", "truth", "answer")),
    "records are in another order": Law(order=shuffled),
    "all cases weigh one": Law(after=("--weights", "ones"), but=("weights",)),
    "all weigh seven times as much": Law(_heavier, before=_WEIGHTS, after=_WEIGHTS, but=SIMULATED),
    "only the cases that all runs have": Law(after=("--intersect",)),
    "the seed is said": Law(after=("--seed", "0")),
}


_HOMES = {
    Reads.OUTCOME: "label",
    Reads.SCORE: "score",
    Reads.RANK: "rank",
    Reads.RESOURCES: "value",
    Reads.NUMBERS: "value",
    Reads.VALUES: "value",
    Reads.PIXELS: "mask",
    Reads.BOXES: "boxes",
}


def statistics(subject: str) -> list[str]:
    """The measures of the registry that are tried with a subject: each has one, `miou` the one with classes.

    Those of several answers to a case, pass@5, have none here.
    """
    names = [name for name in (*known_measures(), *EXAMPLES) if not name.endswith("@5")]
    homes = {name: "classes" if name == "miou" else _HOMES[find_measure(name).reads] for name in names}
    return ["rate", *(name for name, home in homes.items() if home == subject)]


def differences(one: Any, other: Any, at: str = "", *, rel_tol: float = 1e-9, abs_tol: float = 1e-11) -> Iterator[str]:
    """Where two answers in JSON differ by more than rounding; the order of keys does not matter."""
    close = partial(math.isclose, rel_tol=rel_tol, abs_tol=abs_tol)
    deeper = partial(differences, rel_tol=rel_tol, abs_tol=abs_tol)
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            if key not in one or key not in other:
                yield f"{at}.{key}: only {'before' if key in one else 'now'}"
            else:
                yield from deeper(one[key], other[key], f"{at}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (mine, yours) in enumerate(zip(one, other, strict=True)):
            yield from deeper(mine, yours, f"{at}[{place}]")
    elif one != other and not (_is_number(one) and _is_number(other) and close(one, other)):
        yield f"{at}: {one!r}, now {other!r}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def without(node: Any, *keys: str) -> Any:
    """An answer without some of its keys, wherever they are."""
    if isinstance(node, dict):
        return {key: without(value, *keys) for key, value in node.items() if key not in keys}
    return [without(value, *keys) for value in node] if isinstance(node, list) else node
