"""The biometric zoo of a run: whose claims fail, who is imitated, who imitates; from scores with two subjects each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.align import AlignedRuns, Run, align, names_of
from harness.analysis.curves.bands import subject_labels
from harness.analysis.run_identity import check_same_version
from harness.errors import TranscriptError, UsageError
from harness.lab.zoo.statistics import FEWEST, QuarterOverlap, RankTest, kruskal_wallis, overlap, quarters
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.multiplicity import Multiplicity, adjusted

# Yager and Dunstone's animals: whether genuine and impostor scores are in the highest quarter or in the lowest.
ANIMALS = {"worms": (False, True), "doves": (True, False), "chameleons": (True, True), "phantoms": (False, False)}
SINGULAR = {"goats": "goat", "lambs": "lamb", "wolves": "wolf"} | {name: name.removesuffix("s") for name in ANIMALS}


@dataclass(frozen=True)
class ZooSubject:
    """One person: means of scores (larger is better) as themselves, against others, as claimed and as the other one."""

    name: str
    genuine: int
    impostor: int
    genuine_mean: float
    impostor_mean: float
    claimed_mean: float
    other_mean: float
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Zoo:
    """All people of a run, and whether there are more of a kind than chance gives."""

    name: str
    people: int
    # People without genuine or without impostor scores, and cases without a finite score.
    incomplete: int
    left_out: int
    # Do people differ at all: goats by genuine scores, lambs as claimed, wolves as the other one.
    tests: dict[str, RankTest | None]
    animals: dict[str, QuarterOverlap]
    subjects: list[ZooSubject]


def zoo_runs(runs: Sequence[Run], columns: tuple[str, str], *, partial: bool = False) -> list[Zoo]:
    """The zoo of every run by itself."""
    check_same_version([run.source for run in runs], [run.columns.header for run in runs])
    names = names_of(runs)
    return [_zoo(align([run], partial=partial), name, columns) for run, name in zip(runs, names, strict=True)]


@dataclass(frozen=True, eq=False)
class _Comparisons:
    """Cases with a finite score: the claimed and the other subject of each, by number."""

    claimed: IntArray
    other: IntArray
    score: FloatArray
    positive: BoolArray
    labels: Sequence[str]

    def means(self, subject: IntArray, among: BoolArray) -> FloatArray:
        """The mean score of each subject; not a number without any case."""
        count = len(self.labels)
        sums = np.bincount(subject[among], weights=self.score[among], minlength=count)
        counts = np.bincount(subject[among], minlength=count)
        return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def _zoo(aligned: AlignedRuns, name: str, columns: tuple[str, str]) -> Zoo:
    cases = _comparisons(aligned, columns)
    against = ~cases.positive
    genuine = cases.means(cases.claimed, cases.positive)
    as_claimed, as_other = (cases.means(side, against) for side in (cases.claimed, cases.other))
    # Against others on either side, as a symmetrical matcher sees it.
    twice = np.concatenate([cases.claimed[against], cases.other[against]])
    impostor_count = np.bincount(twice, minlength=len(cases.labels))
    sums = np.bincount(twice, weights=np.tile(cases.score[against], 2), minlength=len(cases.labels))
    impostor = np.where(impostor_count > 0, sums / np.maximum(impostor_count, 1), np.nan)
    known = np.flatnonzero(~np.isnan(genuine) & ~np.isnan(impostor))
    if known.size < FEWEST:
        raise TranscriptError(
            f"{name}: {known.size} subjects have genuine and impostor scores; the zoo needs {FEWEST} or more"
        )
    genuine_count = np.bincount(cases.claimed[cases.positive], minlength=len(cases.labels))
    members, animals = _kinds(genuine[known], impostor[known], as_claimed[known], as_other[known])
    return Zoo(
        name=name,
        people=known.size,
        incomplete=len(cases.labels) - known.size,
        left_out=aligned.n - cases.score.size,
        tests={
            "goats": kruskal_wallis(cases.score[cases.positive], cases.claimed[cases.positive]),
            "lambs": kruskal_wallis(cases.score[against], cases.claimed[against]),
            "wolves": kruskal_wallis(cases.score[against], cases.other[against]),
        },
        animals=animals,
        subjects=[
            ZooSubject(
                name=cases.labels[i],
                genuine=int(genuine_count[i]),
                impostor=int(impostor_count[i]),
                genuine_mean=float(genuine[i]),
                impostor_mean=float(impostor[i]),
                claimed_mean=float(as_claimed[i]),
                other_mean=float(as_other[i]),
                kinds=tuple(SINGULAR[kind] for kind, inside in members.items() if inside[number]),
            )
            for number, i in enumerate(known.tolist())
        ],
    )


def _kinds(
    genuine: FloatArray, impostor: FloatArray, as_claimed: FloatArray, as_other: FloatArray
) -> tuple[dict[str, BoolArray], dict[str, QuarterOverlap]]:
    """Who is what, by quarters; and the counts of those that are in two quarters."""
    of_genuine, of_impostor = quarters(genuine), quarters(impostor)
    pairs = {name: (of_genuine[high], of_impostor[other]) for name, (high, other) in ANIMALS.items()}
    members = {
        "goats": of_genuine[0],
        "lambs": quarters(np.nan_to_num(as_claimed, nan=-np.inf))[1],
        "wolves": quarters(np.nan_to_num(as_other, nan=-np.inf))[1],
        **{name: first & second for name, (first, second) in pairs.items()},
    }
    overlaps = {name: overlap(*pair) for name, pair in pairs.items()}
    p_values = adjusted([animal.p_value for animal in overlaps.values()], Multiplicity.HOLM).tolist()
    tested = zip(overlaps.items(), p_values, strict=True)
    return members, {name: replace(animal, p_adjusted=p) for (name, animal), p in tested}


def _comparisons(aligned: AlignedRuns, columns: tuple[str, str]) -> _Comparisons:
    subjects = subject_labels(aligned, columns)
    labels, numbers = np.unique(np.concatenate(subjects), return_inverse=True)
    claimed, other = np.split(numbers.astype(np.int64), 2)
    [scored] = aligned.curve_cases()
    _check_pairs(aligned, columns, claimed == other)
    kept = np.isfinite(scored.better)
    return _Comparisons(claimed[kept], other[kept], scored.better[kept], scored.positive[kept], labels.tolist())


def _check_pairs(aligned: AlignedRuns, columns: tuple[str, str], same: BoolArray) -> None:
    wrong = same != aligned.positive
    if wrong.any():
        index = int(wrong.argmax())
        kind, what = ("positive", "two different") if aligned.positive[index] else ("negative", "the same")
        raise UsageError(
            f"--subjects {','.join(columns)}: case '{aligned.ids[index]}' is {kind}, but has {what} subjects; name the "
            "columns of who was claimed and who it was"
        )
