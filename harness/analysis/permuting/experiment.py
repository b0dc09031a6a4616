"""The Monte-Carlo experiment: rates, intervals and differences over other choices of image of the same people."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from harness.analysis.matrices.alike import alike, scores_of
from harness.analysis.matrices.matrix import SUBJECT, Matrix
from harness.analysis.names import run_names
from harness.analysis.permuting.exchange import Exchange, Rule, exchangeable
from harness.errors import DataError, UsageError
from harness.stats.permuting import Permuted, percentile_interval, permute, share_not_better
from harness.stats.rates import Interval


@dataclass(frozen=True)
class PermuteWishes:
    """All options."""

    rule: Rule = field(default_factory=Rule)
    identity: str = SUBJECT
    experiments: int = 10_000
    ranks: int = 10
    balanced: bool = True
    confidence: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class AtRank:
    """The distribution of a recognition rate."""

    rank: int
    mean: float
    sd: float
    interval: Interval


@dataclass(frozen=True)
class PairAtRank:
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
    """What came out."""

    names: Sequence[str]
    wishes: PermuteWishes
    permuted: Permuted
    pairs_of_images: int
    left_out: Sequence[str]
    patterns: int
    rates: Sequence[Sequence[AtRank]]
    pairs: Sequence[PairAtRank]


def permuted_rates(matrices: Sequence[Matrix], wishes: PermuteWishes) -> PermutedRates:
    """Draw, rank and count; every algorithm has the same draws."""
    matched = alike(matrices)
    exchange = exchangeable(matched[0], wishes.rule, wishes.identity)
    people = exchange.choices.people
    if wishes.ranks > people:
        raise UsageError(f"--ranks {wishes.ranks}: a gallery has {people} people, and no rank beyond")
    return _summarised(matched, exchange, _permuted(matched, exchange, wishes), wishes)


def _permuted(matrices: Sequence[Matrix], exchange: Exchange, wishes: PermuteWishes) -> Permuted:
    try:
        return permute(
            [scores_of(matrix) for matrix in matrices],
            exchange.choices,
            larger_is_better=[matrix.larger_is_better for matrix in matrices],
            rng=np.random.default_rng(wishes.seed),
            experiments=wishes.experiments,
            ranks=wishes.ranks,
            balanced=wishes.balanced,
        )
    except ValueError as error:
        raise DataError(f"{', '.join(matrix.name for matrix in matrices)}: {error}") from None


def _summarised(
    matrices: Sequence[Matrix], exchange: Exchange, permuted: Permuted, wishes: PermuteWishes
) -> PermutedRates:
    algorithms, ranks = range(len(matrices)), range(1, wishes.ranks + 1)
    return PermutedRates(
        names=run_names(*([matrix.name for matrix in matrices],) * 2),
        wishes=wishes,
        permuted=permuted,
        pairs_of_images=exchange.choices.rows.size,
        left_out=exchange.left_out,
        patterns=len(set(exchange.choices.patterns.tolist())),
        rates=[[_at_rank(permuted, a, rank, wishes.confidence) for rank in ranks] for a in algorithms],
        pairs=[
            _pair(permuted, pair, rank, wishes.confidence) for pair in combinations(algorithms, 2) for rank in ranks
        ],
    )


def _at_rank(permuted: Permuted, algorithm: int, rank: int, confidence: float) -> AtRank:
    rates = permuted.rates(algorithm, rank)
    sd = float(rates.std(ddof=1)) if len(rates) > 1 else 0.0
    return AtRank(rank, float(rates.mean()), sd, percentile_interval(rates, confidence=confidence))


def _pair(permuted: Permuted, pair: tuple[int, int], rank: int, confidence: float) -> PairAtRank:
    difference = permuted.differences(*pair, rank)
    above, below = int(np.count_nonzero(difference > 0)), int(np.count_nonzero(difference < 0))
    return PairAtRank(
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
