"""What `hate urn` found, under the names that the documentation promises."""

import math
from typing import Any

from harness.analysis.urns.experiment import Row, Urn
from harness.stats.mixing import DESIGNS


def as_json(found: Urn) -> dict[str, Any]:
    """All of it."""
    wishes = found.wishes
    return {
        "rows": [_row(row) for row in found.rows],
        "group": wishes.group,
        "trial": wishes.trial,
        "shuffle": list(wishes.shuffle),
        "resample": "groups" if wishes.resample is not None else None,
        "design": wishes.proposed,
        "groups": found.groups,
        "trials": found.trials,
        "elements": found.elements,
        "runs": wishes.runs,
        "permutations": wishes.permutations,
        "alpha": wishes.alpha,
        "seed": wishes.seed,
        "next": None if found.next is None else {**_named(found.next.action, found.next.column, found.next.share)},
    }


def _named(action: str, column: str, share: float) -> dict[str, Any]:
    return {"action": action, "column": column, "share": share}


def _row(row: Row) -> dict[str, Any]:
    one = row.mixing
    return {
        "threshold": row.threshold,
        "run": row.run,
        "rate": one.rate,
        "sample_variance": one.sample_variance,
        **{design: _known(one.predicted[design]) for design in DESIGNS},
        "ratios": {design: _known(one.ratio(design)) for design in DESIGNS},
        "p_values": {design: _known(one.p_values[design]) for design in DESIGNS},
        "compatible": list(row.compatible),
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
