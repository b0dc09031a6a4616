"""The cases on which two runs of a test differ."""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.analysis.fields import OWN, value
from harness.analysis.look import Choice, Run
from harness.analysis.pairing import Key, Pair, Pairing, shown_key
from harness.analysis.same_test import check_same_test
from harness.model import Trial
from harness.transcript.read import open_transcript

# What a run says of a case; everything else is the case's own, and the same in both.
OF_RUN = ("outcome", "actual", "score", "error", "message", "seconds", "memory")
MOST_NAMED = 5


@dataclass(frozen=True)
class Lonely:
    """Cases that only one run has: how many, and the first few."""

    count: int
    ids: list[str]


@dataclass(frozen=True)
class Differences:
    """Two runs, case by case."""

    a: Run
    b: Run
    common: int
    # A right and B wrong, and the other way round; then other answers with the same outcome.
    n_sf: int
    n_fs: int
    other_answers: int
    only_a: Lonely
    only_b: Lonely
    # All that match, of which `pairs` may be the first few.
    matching: int
    pairs: list[Pair]

    @property
    def columns(self) -> list[str]:
        """The columns of the cases."""
        return list(self.a.columns | self.b.columns)


def pair_value(pair: Pair, name: str) -> Any:
    """A field of a case in two runs: `score_a` and `score_b` are the runs'; `score` is the first run's."""
    own, _, side = name.rpartition("_")
    if own in OF_RUN and side in ("a", "b"):
        return value(pair.a if side == "a" else pair.b, own)
    found = value(pair.a, name)
    return value(pair.b, name) if found is None and name not in OF_RUN else found


def differ(paths: tuple[Path, Path], names: tuple[str, str], choice: Choice, *, answers: bool) -> Differences:
    """Read both transcripts once; with `answers`, also cases of the same outcome where the answers differ."""
    pairing = Pairing(names)
    tally = {"common": 0, "n_sf": 0, "n_fs": 0, "other_answers": 0}
    kept: list[Pair] = []
    with ExitStack() as stack:
        readers = [stack.enter_context(open_transcript(p, name=n)) for p, n in zip(paths, names, strict=True)]
        check_same_test(names, [reader.header for reader in readers])
        a, b = (Run(reader.header) for reader in readers)
        for pair in pairing.pairs(a.blocks(readers[0]), b.blocks(readers[1])):
            kind = _kind(pair)
            tally["common"] += 1
            if kind:
                tally[kind] += 1
                if (answers or kind != "other_answers") and _wanted(pair, choice):
                    kept.append(pair)
    choice.check(_known([*a.columns, *b.columns]))
    kept.sort(key=lambda pair: pair.place)
    return Differences(
        a=a,
        b=b,
        only_a=_lonely(pairing.waiting_a),
        only_b=_lonely(pairing.waiting_b),
        matching=len(kept),
        pairs=choice.arrange(kept, pair_value),
        **tally,
    )


def _kind(pair: Pair) -> str:
    """Which count a pair belongs to; empty when there is no difference."""
    one, other = pair.a, pair.b
    if one.outcome is not other.outcome and one.outcome.success != other.outcome.success:
        return "n_sf" if one.outcome.success else "n_fs"
    same = one.actual == other.actual and one.error == other.error
    return "" if same or _answer(one) == _answer(other) else "other_answers"


def _answer(trial: Trial) -> tuple[Any, Any]:
    return value(trial, "actual"), value(trial, "error")


def _wanted(pair: Pair, choice: Choice) -> bool:
    """An outcome, or a condition on what a run says, may hold for either run."""
    if not (choice.wants(pair.a) or choice.wants(pair.b)):
        return False
    for condition in choice.conditions:
        if condition.name in OF_RUN:
            held = any(condition.holds(value(trial, condition.name)) for trial in (pair.a, pair.b))
        else:
            held = condition.holds(pair_value(pair, condition.name))
        if not held:
            return False
    return True


def _known(columns: Iterable[str]) -> list[str]:
    return [*OWN, *(f"{name}_{side}" for name in OF_RUN for side in "ab"), *columns]


def _lonely(waiting: dict[Key, tuple[int, Trial]]) -> Lonely:
    first = sorted(waiting, key=lambda key: waiting[key][0])[:MOST_NAMED]
    return Lonely(len(waiting), [shown_key(key) for key in first])
