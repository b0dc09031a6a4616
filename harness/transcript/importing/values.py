"""The numbers that a record keeps of an imported result: the marks of the other tool, each a measure later on."""

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import UNSET

from harness.errors import ForeignError
from harness.model import Trial
from harness.params import nearest
from harness.transcript.format import MOST_VALUES
from harness.transcript.importing.results import Imported, Result, Wishes
from harness.transcript.importing.verdict import Verdict

LONGEST_NAME = 100
UNNAMED = "value"
MOST_NAMED = 20


@dataclass(frozen=True)
class Values:
    """Which numbers are kept: the names that the tool has for them, and those that they get."""

    names: Mapping[str, str]

    @staticmethod
    def of(imported: Imported, wishes: Wishes, verdict: Verdict) -> "Values":
        """All marks, or those that --value names beside the one that decides; and the columns that it names."""
        # Where the harness itself compared answer and truth, the mark is the outcome over again.
        marks = [name for result in imported.results for name in result.marks] if imported.graded else []
        known = dict.fromkeys([*marks, *(name for result in imported.results for name in result.values)])
        names = _chosen(imported, wishes, known, verdict) if wishes.values else list(known)
        if len(names) > MOST_VALUES:
            raise ForeignError(
                f"{imported.source}: {len(names):,} metrics, and a transcript keeps at most {MOST_VALUES} as values; "
                "--value NAME says which"
            )
        return Values(plain_names(names))

    def of_result(self, result: Result) -> dict[str, float | None]:
        """Those that a result has; nothing for what is not a number."""
        given = {**result.marks, **result.values}
        marks = ((name, given.get(raw)) for raw, name in self.names.items())
        return {name: mark for name, mark in marks if mark is not None and math.isfinite(mark)}


def _chosen(imported: Imported, wishes: Wishes, known: Mapping[str, None], verdict: Verdict) -> list[str]:
    names = wished_names(wishes.values, known.__contains__)
    for name in names:
        if name not in known:
            raise ForeignError(f"{imported.source}: --value: no metric '{name}'; {nearest(name, known)}")
    return list(dict.fromkeys([*([verdict.metric] if verdict.metric in known else []), *names]))


def wished_names(wishes: Sequence[str], is_known: Callable[[str], bool]) -> list[str]:
    """Names one by one; a wish with commas may be one name or several."""
    parts = ([wish] if is_known(wish) else [part.strip() for part in wish.split(",")] for wish in wishes)
    return list(dict.fromkeys(name for names in parts for name in names))


def plain_names(names: Iterable[str]) -> dict[str, str]:
    """Names that can be typed after --statistic, where commas part them; two that would be one get a number.

    What is plain already keeps its name, and the rest go by the alphabet: the order in a file decides nothing, so that
    two files of one tool agree.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names, key=lambda name: (_plain(name) != name, name)):
        plain, number = _plain(name), 1
        while plain in taken:
            number += 1
            plain = f"{_plain(name)}-{number}"
        taken.add(plain)
        found[name] = plain
    return found


def _plain(name: str) -> str:
    """Letters of any script with their accents, digits and . _ - / @; anything else becomes an underscore."""
    text = unicodedata.normalize("NFC", name.strip())[:LONGEST_NAME]
    kept = (one if one in "._-/@" or unicodedata.category(one)[0] in "LMN" else "_" for one in text)
    return "".join(kept) or UNNAMED


def values_note(trials: Iterable[Trial]) -> str:
    """Which values were kept, and what they are for; empty where there are none."""
    total, found = 0, Counter[str]()
    for trial in trials:
        total += 1
        found.update([] if trial.values is UNSET else list(trial.values))
    names = [name if count == total else f"{name} ({count:,} of {total:,})" for name, count in found.items()]
    more = [f"and {len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    listed = ", ".join([*names[:MOST_NAMED], *more])
    return f"values kept: {listed}; hate compare --statistic NAME compares them" if names else ""
