"""The result of a comparison: every run, every pair, all runs together, and the extras that were requested."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from harness.analysis.align import AlignedRuns, judged_json
from harness.analysis.breakdown import Breakdown
from harness.analysis.cells import Cells
from harness.analysis.items import ItemAnalysis, items_json
from harness.analysis.machines import machine_cautions
from harness.analysis.operating_point import OperatingResult, threshold_json
from harness.analysis.pairs import MarginTest, Pair, flip_json, margin_json
from harness.analysis.run_names import identity_json
from harness.analysis.sampling import Sampling, estimate_json, finite, interval_json, replication_json
from harness.analysis.turning import groups_json
from harness.analysis.value_errors import Agreement, agreement_json
from harness.analysis.wins import WinRate, win_json
from harness.measures import MEASURES, Measure
from harness.measures.values import check_directed
from harness.stats.cochran import CochranQ, WaldTest
from harness.stats.estimate import Estimate
from harness.stats.multiplicity import Multiplicity
from harness.stats.rates import Interval
from harness.stats.replication.method import Replication


@dataclass(frozen=True)
class RunSummary:
    """One algorithm by itself."""

    name: str
    rate: float
    interval: Interval
    # By the design.
    estimate: Estimate | None
    # The measure that is compared; None if this run has none, such as a precision when it accepts nothing.
    value: float | None
    # Cases that are left out of a mean of recorded numbers, because they have none.
    left_out: int = 0


@dataclass(frozen=True)
class ResourceEstimates:
    """Seconds, or bytes of memory, of every run that has them, and the ratios of the pairs."""

    runs: list[Estimate | None]
    pairs: list[Estimate | None]


@dataclass(frozen=True)
class Comparison:
    """Everything that was computed; None for what was not requested or not recorded."""

    aligned: AlignedRuns
    sampling: Sampling
    replication: Replication
    # What is compared, and its estimates by the design; None for the rate of success without a design.
    measure: Measure
    values: Cells | None
    multiplicity: Multiplicity
    # The run that all others are compared with; None if all pairs are compared.
    baseline: int | None
    runs: list[RunSummary]
    pairs: list[Pair]
    # On how many cases the run of the row succeeded and the run of the column failed.
    better: list[list[int | None]]
    cochran: CochranQ
    wald: WaldTest | None
    # Runs that cannot be told apart, and the letters that they share.
    groups: list[list[str]]
    letters: list[str]
    # The rate of always picking an algorithm that is right, and that of a majority vote.
    oracle: float
    majority: float | None
    # What the task has to say about a comparison of such runs.
    cautions: Sequence[str] = ()
    operating: OperatingResult | None = None
    margins: list[MarginTest | None] | None = None
    # By each column that was asked for.
    breakdowns: Sequence[Breakdown] = ()
    items: ItemAnalysis | None = None
    # Of a measure that is a value of each record.
    wins: list[WinRate | None] | None = None
    seconds: ResourceEstimates | None = None
    memory: ResourceEstimates | None = None
    # Of two runs whose answers are numbers.
    agreement: Agreement | None = None

    @property
    def names(self) -> list[str]:
        """What the runs are called."""
        return self.aligned.names

    @property
    def by(self) -> Breakdown | None:
        """The groups of the first column that was asked for; None if none was."""
        return next(iter(self.breakdowns), None)

    @property
    def machine_cautions(self) -> list[str]:
        """Of times or memory that are compared: what the machines may have to do with it."""
        return machine_cautions(self.measure, self.names, self.aligned.headers)

    @property
    def places(self) -> list[tuple[int, int]]:
        """The pairs, by the places of their runs."""
        return [(pair.a, pair.b) for pair in self.pairs]

    @property
    def confidence(self) -> float:
        """Of intervals."""
        return self.replication.confidence

    @property
    def alpha(self) -> float:
        """The error that is allowed."""
        return 1 - self.confidence

    @property
    def other_measure(self) -> bool:
        """Whether a measure other than the rate of success is compared."""
        return self.measure is not MEASURES["rate"]

    @property
    def order(self) -> list[int]:
        """The places of the runs, the best first; those without a value come last."""
        return best_first(self.runs, self.measure)

    def pairs_of_best(self, count: int) -> list[Pair]:
        """The best run with each of so many that follow it."""
        best, *others = self.order[: count + 1]
        found = {(pair.a, pair.b): pair for pair in self.pairs if best in (pair.a, pair.b)}
        return [found[min(best, other), max(best, other)] for other in others]

    @property
    def first_is_worse(self) -> bool:
        """Whether another run is significantly better than the first; a UsageError if nobody said what is better."""
        check_directed(self.measure, "--fail-if-worse")
        return any(p.a == 0 and self.leader(p) == p.b and p.p_decisive <= self.alpha for p in self.pairs)

    def leader(self, pair: Pair) -> int | None:
        """The run that is better by the estimate.

        None on a tie, if the two lie on either side of the ideal, or if nobody has said what is better.
        """
        a, b = self.runs[pair.a].value, self.runs[pair.b].value
        if pair.estimate is None or a is None or b is None:
            return None if pair.other_measure else pair.better
        ahead = self.measure.lead(a, b)
        return None if ahead == 0 else pair.a if ahead > 0 else pair.b


def best_first(runs: Sequence[RunSummary], measure: Measure) -> list[int]:
    """The places of the runs, the best first, or those with most if nobody has said what is better.

    Those without a value come last.
    """
    values = [run.value for run in runs]
    return sorted(range(len(runs)), key=lambda i: math.inf if (value := values[i]) is None else -measure.merit(value))


def comparison_json(comparison: Comparison, *, pairs: bool = True) -> dict[str, Any]:
    """The JSON that the documentation promises; without `pairs` their list is empty, see `pairs_json`."""
    return {
        "test": identity_json(comparison.aligned.headers[0].test),
        "statistic": comparison.measure.name,
        **({} if comparison.operating is None else {"at": str(comparison.operating.criterion)}),
        **groups_json(comparison),
        **({} if comparison.items is None else {"items": items_json(comparison.items)}),
        "transcripts": [_run_json(comparison, number) for number in range(len(comparison.runs))],
        "better": comparison.better,
        "cochran_q": {
            "statistic": comparison.cochran.statistic,
            "df": comparison.cochran.df,
            "p_value": comparison.cochran.p_value,
        },
        "wald": _wald_json(comparison.wald),
        "groups": comparison.groups,
        "pairs": list(pairs_json(comparison)) if pairs else [],
        **({} if comparison.agreement is None else {"agreement": agreement_json(comparison.agreement)}),
        "combined": {"oracle": comparison.oracle, "majority": comparison.majority},
        "confidence": comparison.confidence,
        "multiplicity": str(comparison.multiplicity),
        "left_out": comparison.aligned.left_out,
        **({"cautions": cautions} if (cautions := [*comparison.cautions, *comparison.machine_cautions]) else {}),
    }


def _wald_json(test: WaldTest | None) -> dict[str, Any] | None:
    """The joint test; its degrees of freedom are not below 0, even with more runs than units."""
    if test is None:
        return None
    values = msgspec.to_builtins(test) | {"df_error": max(test.df_error, 0.0)}
    return {key: finite(value) if isinstance(value, float) else value for key, value in values.items()}


def _run_json(comparison: Comparison, number: int) -> dict[str, Any]:
    run, counts, operating = comparison.runs[number], comparison.aligned.counts[number], comparison.operating
    thresholds = {} if operating is None else threshold_json(operating, number)
    return {
        "name": run.name,
        "tests": counts.tests,
        **msgspec.structs.asdict(counts),
        "rate": run.rate,
        "interval": interval_json(run.interval),
        "value": run.value,
        **({"left_out": run.left_out} if comparison.measure.of_numbers else {}),
        "letters": comparison.letters[number],
        "judged": judged_json(comparison.aligned, number),
        "replication": replication_json(run.estimate, comparison.sampling),
        **thresholds,
        **{
            name: _resource_json(comparison, name, resources.runs[number], number)
            for name, resources in _resources(comparison)
        },
    }


def _resources(comparison: Comparison) -> list[tuple[str, ResourceEstimates]]:
    both = (("seconds", comparison.seconds), ("memory", comparison.memory))
    return [(name, resources) for name, resources in both if resources is not None]


def _resource_json(comparison: Comparison, name: str, one: Estimate | None, number: int) -> dict[str, Any] | None:
    """The mean cost of an answer."""
    if one is None:
        return None
    cases = int(np.count_nonzero(~np.isnan(getattr(comparison.aligned, name)[number])))
    interval = interval_json(one.interval) if one.se > 0 else None
    return {"cases": cases, **estimate_json(one, "se", "df", value="mean"), "interval": interval}


_TESTS = (
    "n_ff", "n_sf", "n_fs", "n_ss", "z", "p_chi2", "p_exact", "p_mid", "p_one_sided", "p_adjusted",
    "z_design", "p_design", "confidence_differ", "confidence_better",
)  # fmt: skip


def pairs_json(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """The entry of each pair, one after the other: of a thousand runs there are half a million."""
    return (_pair_json(comparison, number) for number in range(len(comparison.pairs)))


def _pair_json(comparison: Comparison, number: int) -> dict[str, Any]:
    pair, names = comparison.pairs[number], comparison.names
    better = comparison.leader(pair) if pair.other_measure else pair.better
    margin = {} if comparison.margins is None else {"equivalence": margin_json(comparison.margins[number])}
    return {
        "a": names[pair.a],
        "b": names[pair.b],
        **{name: getattr(pair, name) for name in _TESTS},
        "better": None if better is None else names[better],
        "difference": pair.difference,
        "interval": interval_json(pair.interval),
        "replication": replication_json(pair.estimate, comparison.sampling),
        "sign_flip": flip_json(pair.sign_flip),
        **margin,
        **({} if comparison.wins is None else {"win_rate": win_json(comparison.wins[number])}),
        **{name: _ratio_json(resources.pairs[number]) for name, resources in _resources(comparison)},
    }


def _ratio_json(one: Estimate | None) -> dict[str, Any] | None:
    return None if one is None else estimate_json(one, "interval", "p_value", value="ratio")
