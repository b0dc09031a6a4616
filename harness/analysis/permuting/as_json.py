"""What `hate permute` found, under the names that the documentation promises."""

from typing import Any

from harness.analysis.permuting.experiment import AtRank, PairAtRank, PermutedRates


def as_json(found: PermutedRates, other: PermutedRates | None = None) -> dict[str, Any]:
    """All of it; `other` is the same with unbalanced draws."""
    wishes = found.wishes
    payload = {
        "experiments": wishes.experiments,
        "seed": wishes.seed,
        "sampling": "balanced" if wishes.balanced else "unbalanced",
        "target": "these people, other choices of image",
        "people": found.permuted.people,
        "left_out": list(found.left_out),
        "image_pairs": found.pairs_of_images,
        "differ": list(wishes.rule.differ),
        "agree": list(wishes.rule.agree),
        "confidence": wishes.confidence,
        **_distributions(found),
    }
    return payload if other is None else {**payload, "unbalanced": _distributions(other)}


def _distributions(found: PermutedRates) -> dict[str, Any]:
    named = zip(found.names, found.rates, strict=True)
    return {
        "algorithms": [{"name": name, "rates": [_rate(one) for one in rates]} for name, rates in named],
        "pairs": [_pair(pair, found) for pair in found.pairs],
    }


def _rate(one: AtRank) -> dict[str, Any]:
    return {"rank": one.rank, "mean": one.mean, "sd": one.sd, "interval": [one.interval.low, one.interval.high]}


def _pair(pair: PairAtRank, found: PermutedRates) -> dict[str, Any]:
    return {
        "a": found.names[pair.a],
        "b": found.names[pair.b],
        "rank": pair.rank,
        "p_not_better": pair.p_not_better,
        "p_b_not_better": pair.p_b_not_better,
        "difference": pair.mean,
        "interval": [pair.interval.low, pair.interval.high],
        "a_better": pair.a_better,
        "ties": pair.ties,
        "b_better": pair.b_better,
    }
