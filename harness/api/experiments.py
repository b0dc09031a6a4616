"""Experiments on recorded results: the urn."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.analysis.urn import UrnExperiment, draw_from_urn, from_matrices, from_runs
from harness.api.matrices import read_matrices
from harness.api.result import PictureResult
from harness.api.transcripts import Transcripts, open_transcripts
from harness.errors import UsageError
from harness.options import PictureOptions
from harness.options.experiments import UrnOptions
from harness.params import Param, ParamType
from harness.report.blocks import Block, Table
from harness.report.plots.canvas import Picture
from harness.report.plots.urn import plot_urn
from harness.report.urn import tidy_table, urn_blocks
from harness.stats.urn import DESIGNS, permutations_needed


@dataclass(frozen=True, repr=False)
class UrnResult(PictureResult):
    """Which way of sampling explains how a rate varies from trial to trial."""

    found: UrnExperiment
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        """As documented for the command."""
        found, options = self.found, self.found.options
        return {
            "rows": [
                {
                    "threshold": row.threshold,
                    "run": row.run,
                    "rate": row.mixing.rate,
                    "sample_variance": row.mixing.sample_variance,
                    **row.mixing.predicted,
                    "ratios": {design: row.mixing.ratio(design) for design in DESIGNS},
                    "p_values": row.mixing.p_values,
                    "compatible": row.compatible,
                }
                for row in found.rows
            ],
            "group": options.group,
            "trial": options.trial,
            "shuffle": options.shuffle,
            "resample": options.resample,
            "design": options.proposed,
            "groups": found.groups,
            "trials": found.trials,
            "elements": found.elements,
            "runs": options.runs,
            "permutations": options.permutations,
            "alpha": options.alpha,
            "seed": options.seed,
            "next": found.next,
        }

    def blocks(self) -> Sequence[Block]:
        """The variances, and what they say."""
        return urn_blocks(self.found)

    def table(self) -> Table:
        """A row for each threshold and run."""
        return tidy_table(self.found)

    def drawn(self, look: PictureOptions) -> Picture:
        """The variances."""
        return plot_urn(self.found, look)


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
    return UrnResult(draw_from_urn(elements, options))


def urn_of_transcripts(transcripts: Transcripts, options: UrnOptions) -> UrnResult:
    """How a rate varies, of the records of transcripts."""
    check_urn_options(options)
    opened = open_transcripts(transcripts, options)
    elements = from_runs(opened.runs(), opened.paths, _thresholds(options.threshold))
    return UrnResult(draw_from_urn(elements, options), opened.notes)


def _thresholds(text: str | None) -> list[float]:
    if text is None:
        return []
    return [float(value) for value in Param("threshold", ParamType.FLOAT, 0.0).parse_many(text)]
