"""Other choices of gallery and probe images from similarity matrices (`hate permute`)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from harness.analysis.run_names import run_names
from harness.errors import DataError, UsageError
from harness.matrices.labels import Labels
from harness.matrices.matrix import SUBJECT, Matrix, align_matrices, scores_of
from harness.stats.arrays import BoolArray, IntArray
from harness.stats.galleries import ImagePairs, PermutationCounts, percentile_interval, permute, share_not_better
from harness.stats.rates import Interval


@dataclass(frozen=True)
class ExchangeRule:
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

    choices: ImagePairs
    left_out: Sequence[str]


def exchangeable(matrix: Matrix, rule: ExchangeRule, identity: str = SUBJECT) -> Exchange:
    """All pairs that the rule allows. An image is never its own gallery; people without a pair are left out."""
    sides = [_ImageSide(labels, rule, identity) for labels in (matrix.rows, matrix.columns)]
    same, places = matrix.same(), [side.by_person() for side in sides]
    people = sorted(places[0].keys() | places[1].keys())
    pairs: list[tuple[IntArray, IntArray]] = []
    patterns: dict[bytes, int] = {}
    codes, left_out = [], []
    for person in people:
        rows, columns = (side.get(person, np.empty(0, np.intp)) for side in places)
        allowed = _allowed(rows, columns, sides, same)
        if not allowed.any():
            left_out.append(person)
            continue
        column, row = np.nonzero(allowed.T)
        pairs.append((rows[row], columns[column]))
        codes.append(patterns.setdefault(np.array(allowed.shape).tobytes() + allowed.tobytes(), len(patterns)))
    if len(pairs) < 2:
        raise UsageError(
            f"{matrix.name}: {rule.words}: that leaves {len(pairs)} of {len(people)} people, and two are needed; relax "
            "--differ and --agree, or name the person on each image with --subject"
        )
    return Exchange(_choices(pairs, codes), left_out)


class _ImageSide:
    """The rows, or the columns, of the matrix."""

    def __init__(self, labels: Labels, rule: ExchangeRule, identity: str) -> None:
        self.person = labels.column(identity)
        self.differ = [labels.column(name) for name in rule.differ]
        self.agree = [labels.column(name) for name in rule.agree]

    def by_person(self) -> dict[str, IntArray]:
        """Places by person, sorted by the rule's columns, so that people with the same days have the same pattern."""
        keys = [np.arange(len(self.person)), *self.agree[::-1], *self.differ[::-1], self.person]
        order = np.lexsort(keys)
        names, starts = np.unique(self.person[order], return_index=True)
        return dict(zip(names.tolist(), np.split(order, starts[1:]), strict=True))


def _allowed(rows: IntArray, columns: IntArray, sides: Sequence[_ImageSide], same: IntArray) -> BoolArray:
    """Which pairs the rule allows, (rows, columns)."""
    probes, gallery = sides
    allowed = same[rows][:, None] != columns
    for one, other in zip(probes.differ, gallery.differ, strict=True):
        allowed &= one[rows][:, None] != other[columns]
    for one, other in zip(probes.agree, gallery.agree, strict=True):
        allowed &= one[rows][:, None] == other[columns]
    return np.asarray(allowed)


def _choices(pairs: Sequence[tuple[IntArray, IntArray]], codes: Sequence[int]) -> ImagePairs:
    rows, columns = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    starts = np.concatenate(([0], np.cumsum([len(pair[0]) for pair in pairs]))).astype(np.intp)
    return ImagePairs(rows, columns, starts, np.array(codes, dtype=np.intp))


@dataclass(frozen=True)
class PermuteRequest:
    """All options."""

    rule: ExchangeRule = field(default_factory=ExchangeRule)
    identity: str = SUBJECT
    experiments: int = 10_000
    ranks: int = 10
    balanced: bool = True
    confidence: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class RateAtRank:
    """The distribution of a recognition rate."""

    rank: int
    mean: float
    sd: float
    interval: Interval


@dataclass(frozen=True)
class DifferenceAtRank:
    """The distribution of the difference a - b, on the same draws; the counts are of experiments."""

    a: int
    b: int
    rank: int
    mean: float
    interval: Interval
    a_better: int
    ties: int
    b_better: int
    p_not_better: float
    p_b_not_better: float


@dataclass(frozen=True, eq=False)
class PermutedRates:
    """The results of all virtual experiments."""

    names: Sequence[str]
    request: PermuteRequest
    permuted: PermutationCounts
    pairs_of_images: int
    left_out: Sequence[str]
    patterns: int
    rates: Sequence[Sequence[RateAtRank]]
    pairs: Sequence[DifferenceAtRank]


def permuted_rates(matrices: Sequence[Matrix], request: PermuteRequest) -> PermutedRates:
    """Draw, rank and count; every algorithm has the same draws."""
    matched = align_matrices(matrices)
    exchange = exchangeable(matched[0], request.rule, request.identity)
    people = exchange.choices.people
    if request.ranks > people:
        raise UsageError(f"--ranks {request.ranks}: a gallery has only {people} people")
    return _summary(matched, exchange, _permute(matched, exchange, request), request)


def _permute(matrices: Sequence[Matrix], exchange: Exchange, request: PermuteRequest) -> PermutationCounts:
    try:
        return permute(
            [scores_of(matrix) for matrix in matrices],
            exchange.choices,
            larger_is_better=[matrix.larger_is_better for matrix in matrices],
            rng=np.random.default_rng(request.seed),
            experiments=request.experiments,
            ranks=request.ranks,
            balanced=request.balanced,
        )
    except ValueError as error:
        raise DataError(f"{', '.join(matrix.name for matrix in matrices)}: {error}") from None


def _summary(
    matrices: Sequence[Matrix], exchange: Exchange, permuted: PermutationCounts, request: PermuteRequest
) -> PermutedRates:
    algorithms, ranks = range(len(matrices)), range(1, request.ranks + 1)
    return PermutedRates(
        names=run_names(*([matrix.name for matrix in matrices],) * 2),
        request=request,
        permuted=permuted,
        pairs_of_images=exchange.choices.rows.size,
        left_out=exchange.left_out,
        patterns=len(set(exchange.choices.patterns.tolist())),
        rates=[[_at_rank(permuted, a, rank, request.confidence) for rank in ranks] for a in algorithms],
        pairs=[
            _difference_at_rank(permuted, pair, rank, request.confidence)
            for pair in combinations(algorithms, 2)
            for rank in ranks
        ],
    )


def _at_rank(permuted: PermutationCounts, algorithm: int, rank: int, confidence: float) -> RateAtRank:
    rates = permuted.rates(algorithm, rank)
    sd = float(rates.std(ddof=1)) if len(rates) > 1 else 0.0
    return RateAtRank(rank, float(rates.mean()), sd, percentile_interval(rates, confidence=confidence))


def _difference_at_rank(
    permuted: PermutationCounts, pair: tuple[int, int], rank: int, confidence: float
) -> DifferenceAtRank:
    difference = permuted.differences(*pair, rank)
    above, below = int(np.count_nonzero(difference > 0)), int(np.count_nonzero(difference < 0))
    return DifferenceAtRank(
        a=pair[0],
        b=pair[1],
        rank=rank,
        mean=float(difference.mean()),
        interval=percentile_interval(difference, confidence=confidence),
        a_better=above,
        ties=len(difference) - above - below,
        b_better=below,
        p_not_better=share_not_better(difference),
        p_b_not_better=share_not_better(-difference),
    )


def permute_json(result: PermutedRates, other: PermutedRates | None = None) -> dict[str, Any]:
    """All results; `other` is the same with unbalanced draws."""
    request = result.request
    payload = {
        "experiments": request.experiments,
        "seed": request.seed,
        "sampling": "balanced" if request.balanced else "unbalanced",
        "target": "these people, other choices of image",
        "people": result.permuted.people,
        "left_out": list(result.left_out),
        "image_pairs": result.pairs_of_images,
        "differ": list(request.rule.differ),
        "agree": list(request.rule.agree),
        "confidence": request.confidence,
        **_distributions(result),
    }
    return payload if other is None else {**payload, "unbalanced": _distributions(other)}


def _distributions(result: PermutedRates) -> dict[str, Any]:
    named = zip(result.names, result.rates, strict=True)
    return {
        "algorithms": [{"name": name, "rates": [_rate_json(one) for one in rates]} for name, rates in named],
        "pairs": [_pair_json(pair, result) for pair in result.pairs],
    }


def _rate_json(one: RateAtRank) -> dict[str, Any]:
    return {"rank": one.rank, "mean": one.mean, "sd": one.sd, "interval": [one.interval.low, one.interval.high]}


def _pair_json(pair: DifferenceAtRank, result: PermutedRates) -> dict[str, Any]:
    return {
        "a": result.names[pair.a],
        "b": result.names[pair.b],
        "rank": pair.rank,
        "p_not_better": pair.p_not_better,
        "p_b_not_better": pair.p_b_not_better,
        "difference": pair.mean,
        "interval": [pair.interval.low, pair.interval.high],
        "a_better": pair.a_better,
        "ties": pair.ties,
        "b_better": pair.b_better,
    }
