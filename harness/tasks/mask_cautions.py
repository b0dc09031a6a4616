"""What McNemar's test on pixels would have claimed: it is not used, and the reason is said with the comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from harness.tasks.task import ComparedRuns

# More pairs would say the same again.
MAX_PAIRS = 3


@dataclass(frozen=True)
class PixelClaim:
    """The pixels on which two runs differ, from the counts of each image.

    The number of pixels that only one run has right, less those that only the other has, follows from the counts. The
    number of both together does not: it is at most `most`, which gives the smallest z that McNemar's test could have
    given, with the correction for continuity.
    """

    lead: float
    most: float
    pixels: float
    # Whether these are sums of weights, not counts.
    weighted: bool = False

    @property
    def z(self) -> float:
        """At least."""
        return max(0.0, (abs(self.lead) - 1) / math.sqrt(self.most)) if self.most else 0.0

    @property
    def p_value(self) -> float:
        """At most, two-sided."""
        return math.erfc(self.z / math.sqrt(2))


def pixel_claim(first: Sequence[Any], second: Sequence[Any]) -> PixelClaim:
    """The claim about two runs, from the counts of the images that both have."""
    lead = most = pixels = 0.0
    weighted = False
    for a, b in zip(first, second, strict=True):
        if a is None or b is None:
            continue
        for wrong, right in (("FN", "TP"), ("FP", "TN")):
            total, wrong_a, wrong_b = a[wrong] + a[right], a[wrong], b[wrong]
            lead += wrong_b - wrong_a
            # Either the wrong pixels of the two overlap as little as possible, or the right ones do.
            most += min(wrong_a + wrong_b, 2 * total - wrong_a - wrong_b)
            pixels += total
            weighted |= not float(total).is_integer()
    return PixelClaim(lead, most, pixels, weighted)


def pixel_cautions(runs: ComparedRuns) -> list[str]:
    """Why images are compared, and not pixels."""
    pairs = list(combinations(range(len(runs.names)), 2))
    if not pairs:
        return []
    details = runs.detail("pixels")
    lines = [
        "McNemar's test here is about images (the decision parameter iou says which are right), not about pixels. "
        "Pixels of one image are right or wrong together, so they are not independent tests: a test that counts each "
        "of them takes a handful of images for a huge sample, and calls almost any difference significant."
    ]
    for a, b in pairs[:MAX_PAIRS]:
        claim = pixel_claim(details[a], details[b])
        lines.append(_sentence(runs.names[a], runs.names[b], claim))
    if len(pairs) > MAX_PAIRS:
        lines.append(f"The other {len(pairs) - MAX_PAIRS:,} pairs are no different.")
    return lines


def _sentence(a: str, b: str, claim: PixelClaim) -> str:
    ahead, behind = (a, b) if claim.lead >= 0 else (b, a)
    p = f"{claim.p_value:.2g}" if claim.p_value > 1e-300 else "1e-300"
    pixels = "weighted pixels" if claim.weighted else "pixels"
    return (
        f"On the {claim.pixels:,.0f} {pixels} it would have claimed, wrongly, z = {claim.z:.2f} or more (p = {p} or "
        f"less) for {ahead} and {behind}: {ahead} has {abs(claim.lead):,.0f} more pixels right, and at most "
        f"{claim.most:,.0f} can differ between the two."
    )
