"""Learn from part of the training material: each fold is held back once, to see what other material would have done."""

from dataclasses import dataclass

from harness.errors import UsageError
from harness.script.cases import CaseSet
from harness.script.folds import deal, training_part


@dataclass(frozen=True)
class HeldBack:
    """One fold of several, and the places in the training table of what is not learned from."""

    fold: int
    folds: int
    seed: int
    places: frozenset[int]


def held_back(cases: CaseSet, folds: int, seed: int) -> list[HeldBack]:
    """Every fold in turn; units stay together, and every fold has its share of each class."""
    script = cases.script
    if script.file.train is None:
        raise UsageError(
            f"--train-folds {folds}: {script.name} has no training part ([train] in its script) to hold a fold back "
            "from; leave --train-folds out"
        )
    fold_of = deal(training_part(cases), folds, seed)
    return [
        HeldBack(fold + 1, folds, seed, frozenset(place for place, of in enumerate(fold_of) if of == fold))
        for fold in range(folds)
    ]
