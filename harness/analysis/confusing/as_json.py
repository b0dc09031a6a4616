"""Confusion matrices under the names that the documentation promises."""

from collections.abc import Sequence
from typing import Any

from harness.analysis.as_json import interval_json
from harness.analysis.confusing.rates import ClassRate
from harness.analysis.confusion import Confusion, difference


def as_json(found: Sequence[Confusion]) -> dict[str, Any]:
    """Under the names that the documentation promises; of several transcripts, `matrix` is the first one's."""
    payload: dict[str, Any] = {
        "labels": found[0].labels,
        "matrix": found[0].matrix.tolist(),
        "transcripts": [_one(one) for one in found],
    }
    if len(found) == 2:
        names = {"a": found[0].name, "b": found[1].name}
        payload["difference"] = {**names, "matrix": difference(found[0], found[1]).tolist()}
    return payload


def _one(found: Confusion) -> dict[str, Any]:
    return {
        "name": found.name,
        "matrix": found.matrix.tolist(),
        "errors": found.errors,
        "below_threshold": found.below,
        "left_out": found.left_out,
        "recall": [_rate(label, one) for label, one in zip(found.labels, found.recall, strict=True)],
        "precision": [_rate(label, one) for label, one in zip(found.labels, found.precision, strict=True)],
        "method": found.method,
        "target": found.target,
        "confused": [
            {"truth": pair.truth, "answer": pair.answer, "count": pair.count, "share": pair.share}
            for pair in found.pairs
        ],
    }


def _rate(label: str, one: ClassRate) -> dict[str, Any]:
    rate = None if one.estimate is None else one.estimate.value
    interval = None if one.estimate is None else interval_json(one.estimate.interval)
    return {"label": label, "cases": one.cases, "rate": rate, "interval": interval}
