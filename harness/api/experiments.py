"""Experiments on recorded results: permuted choices of image."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.analysis.permute import PermutedRates, permuted_rates
from harness.api.matrices import read_matrices
from harness.api.result import PictureResult
from harness.options import PictureOptions
from harness.options.experiments import PermuteOptions
from harness.report.blocks import Block, Table
from harness.report.permutation import permutation_blocks, rank_table
from harness.report.plots.canvas import Picture
from harness.report.plots.permutation import plot_permutation


@dataclass(frozen=True, repr=False)
class PermutationResult(PictureResult):
    """Recognition rates of the same people with other choices of image; `other` is with the other way of sampling."""

    found: PermutedRates
    other: PermutedRates | None = None

    def payload(self) -> Any:
        """As documented for the command."""
        found, options = self.found, self.found.options
        payload = {
            "experiments": options.experiments,
            "seed": options.seed,
            "sampling": "balanced" if options.balanced else "unbalanced",
            "target": "these people, other choices of image",
            "people": found.permuted.people,
            "left_out": found.left_out,
            "image_pairs": found.image_pairs,
            "differ": options.differ,
            "agree": options.agree,
            "confidence": options.confidence,
            **_distributions(found),
        }
        return payload if self.other is None else payload | {"unbalanced": _distributions(self.other)}

    def blocks(self) -> Sequence[Block]:
        """Rates and pairs."""
        return permutation_blocks(self.found, self.other)

    def table(self) -> Table:
        """A row for each rank of an algorithm, and of a pair where there are several."""
        return rank_table(self.found)

    def drawn(self, look: PictureOptions) -> Picture:
        """The distributions."""
        return plot_permutation(self.found, look, self.other)


def _distributions(found: PermutedRates) -> dict[str, Any]:
    named = zip(found.names, found.rates, strict=True)
    return {"algorithms": [{"name": name, "rates": rates} for name, rates in named], "pairs": found.pairs}


def permute(matrices: Sequence[str | Path], options: PermuteOptions) -> PermutationResult:
    """Permute gallery and probe images of the same people."""
    read = read_matrices(matrices, options)
    found = permuted_rates(read, options)
    both = options.sampling == "both"
    return PermutationResult(found, permuted_rates(read, replace(options, sampling="unbalanced")) if both else None)
