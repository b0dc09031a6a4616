"""Experiments on recorded results: permuted choices of image, and the urn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.analysis.permute import ExchangeRule, PermutedRates, PermuteRequest, permute_json, permuted_rates
from harness.analysis.urn import FRESH, UrnExperiment, UrnRequest, draw_from_urn, urn_json
from harness.analysis.urn_elements import UrnElements, from_matrices, from_runs
from harness.api.matrices import read_matrices
from harness.api.result import PictureResult
from harness.api.transcripts import Transcripts, open_transcripts
from harness.errors import UsageError
from harness.options import PictureOptions
from harness.options.experiments import PermuteOptions, UrnOptions
from harness.params import Param, ParamType
from harness.report.blocks import Block, Table
from harness.report.permutation import permutation_blocks, rank_table
from harness.report.plots.canvas import Picture
from harness.report.plots.identification import plot_permutation
from harness.report.plots.urn import plot_urn
from harness.report.urn import tidy_table, urn_blocks
from harness.stats.urn import permutations_needed


@dataclass(frozen=True, repr=False)
class PermutationResult(PictureResult):
    """Recognition rates of the same people with other choices of image; `other` is with the other way of sampling."""

    found: PermutedRates
    other: PermutedRates | None = None

    def payload(self) -> Any:
        """As documented for the command."""
        return permute_json(self.found, self.other)

    def blocks(self) -> Sequence[Block]:
        """Rates and pairs."""
        return permutation_blocks(self.found, self.other)

    def table(self) -> Table:
        """A row for each rank of an algorithm, and of a pair where there are several."""
        return rank_table(self.found)

    def drawn(self, look: PictureOptions) -> Picture:
        """The distributions."""
        return plot_permutation(self.found, look, self.other)


@dataclass(frozen=True, repr=False)
class UrnResult(PictureResult):
    """Which way of sampling explains how a rate varies from trial to trial."""

    found: UrnExperiment
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        """As documented for the command."""
        return urn_json(self.found)

    def blocks(self) -> Sequence[Block]:
        """The variances, and what they say."""
        return urn_blocks(self.found)

    def table(self) -> Table:
        """A row for each threshold and run."""
        return tidy_table(self.found)

    def drawn(self, look: PictureOptions) -> Picture:
        """The variances."""
        return plot_urn(self.found, look)


def permute(matrices: Sequence[str | Path], options: PermuteOptions) -> PermutationResult:
    """Permute gallery and probe images of the same people."""
    request = PermuteRequest(
        rule=ExchangeRule(options.differ, options.agree),
        identity=options.subject,
        experiments=options.experiments,
        ranks=options.ranks,
        balanced=options.sampling != "unbalanced",
        confidence=options.confidence,
        seed=options.seed,
    )
    read = read_matrices(matrices, options)
    found = permuted_rates(read, request)
    both = options.sampling == "both"
    return PermutationResult(found, permuted_rates(read, replace(request, balanced=False)) if both else None)


def check_urn_options(options: UrnOptions) -> None:
    """Refuse early what does not go together."""
    needed = permutations_needed(options.alpha)
    if options.permutations < needed:
        raise UsageError(
            f"--permutations {options.permutations}: too few to reject anything at --alpha {options.alpha:g}; "
            f"give {needed:,} or more"
        )


def urn_of_matrices(matrices: Sequence[str | Path], options: UrnOptions) -> UrnResult:
    """How a rate varies, of the probes of similarity matrices."""
    check_urn_options(options)
    thresholds = _thresholds(options.threshold)
    elements = from_matrices(read_matrices(matrices, options), thresholds, on=options.on, identity=options.subject)
    return _urn(elements, options)


def urn_of_transcripts(transcripts: Transcripts, options: UrnOptions) -> UrnResult:
    """How a rate varies, of the records of transcripts."""
    check_urn_options(options)
    opened = open_transcripts(transcripts, options)
    found = _urn(from_runs(opened.runs(), opened.paths, _thresholds(options.threshold)), options)
    return replace(found, remarks=opened.notes)


def _urn(elements: UrnElements, options: UrnOptions) -> UrnResult:
    request = UrnRequest(
        group=options.group,
        trial=options.trial,
        elements=options.elements,
        shuffle=options.shuffle,
        resample=None if options.resample is None else options.groups or FRESH,
        design=options.design,
        runs=options.runs,
        permutations=options.permutations,
        alpha=options.alpha,
        seed=options.seed,
    )
    return UrnResult(draw_from_urn(elements, request))


def _thresholds(text: str | None) -> list[float]:
    if text is None:
        return []
    return [float(value) for value in Param("threshold", ParamType.FLOAT, 0.0).parse_many(text)]
