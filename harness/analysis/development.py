"""Thresholds from a development run: set on the scores of other cases, and applied to these.

As the evaluation of biometrics has it (Bengio and Mariethoz 2004): a threshold that was set on the cases that are
evaluated makes a program look better than it would be in use. What is then estimated is the rate at this threshold; how
the threshold might have turned out otherwise is no part of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.operating_point import (
    OperatingResult,
    best_thresholds,
    chosen_measure,
    decide_again,
    set_thresholds,
)
from harness.analysis.run_thresholds import OperatingCriterion
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import UsageError
from harness.measures import Measure
from harness.options import DesignOptions
from harness.stats.arrays import FloatArray


@dataclass(frozen=True)
class OperatingRequest:
    """Where to set the thresholds, and on which runs; without any, on the runs themselves."""

    criterion: OperatingCriterion
    development: Sequence[Run] = ()
    design: DesignOptions | None = None

    def measure(self, name: str, aligned: AlignedRuns) -> Measure:
        """The measure at the operating point; at a threshold from elsewhere it is that of the outcomes."""
        if not self.development:
            return chosen_measure(name, self.criterion, aligned)
        measure = aligned.measure(name)
        if measure.of_totals is None:
            raise UsageError(
                f"--statistic {name} is not computed from the outcomes at a threshold: leave out --at {self.criterion}"
            )
        return replace(measure, words=f"{measure.words} at a development run's {self.criterion}")

    def decided(self, aligned: AlignedRuns, sampling: Sampling) -> OperatingResult:
        """All outcomes at these thresholds."""
        weights = sampling.sample.weights
        if not self.development:
            return set_thresholds(aligned, self.criterion, weights)
        chosen = [_matching(header.algorithm.name, self.development) for header in aligned.headers]
        thresholds = [self._threshold(aligned, run) for run in chosen]
        found = decide_again(aligned, self.criterion, thresholds, weights)
        return replace(found, development=[run.source for run in chosen])

    def _threshold(self, aligned: AlignedRuns, run: Run) -> float:
        """The threshold on a development run, by the weights that its cases have."""
        alone = align([run])
        _check_other_cases(aligned, alone, run.source)
        design = self.design or DesignOptions()
        [threshold] = best_thresholds(alone, self.criterion, _weights(alone, design))
        return threshold


def measure_at(
    request: OperatingRequest | None, name: str, aligned: AlignedRuns, sampling: Sampling
) -> tuple[Measure, OperatingResult | None]:
    """A measure by name, at the operating point and with all outcomes decided again if there is one."""
    if request is None:
        return aligned.measure(name), None
    return request.measure(name, aligned), request.decided(aligned, sampling)


def _weights(aligned: AlignedRuns, design: DesignOptions) -> FloatArray:
    """Units do not matter for a threshold."""
    only = DesignOptions(stratum=design.stratum, psu=("none",), weights=design.weights, lone=design.lone)
    return take_sample(aligned, only).sample.weights


def _matching(name: str, development: Sequence[Run]) -> Run:
    found = [run for run in development if run.columns.header.algorithm.name == name]
    if len(found) != 1:
        names = ", ".join(run.columns.header.algorithm.name for run in development)
        what = "none is" if not found else f"{len(found)} are"
        raise UsageError(f"--development: {what} a run of {name}; name one for each algorithm (these are of {names})")
    return found[0]


def _check_other_cases(aligned: AlignedRuns, other: AlignedRuns, source: str) -> None:
    """A development run of the test itself may not have its cases; ids of another test mean nothing here."""
    test, own = aligned.headers[0].test, other.headers[0].test
    if (test.task, test.rules.larger_is_better) != (own.task, own.rules.larger_is_better):
        raise UsageError(f"--development {source}: its scores mean something else than those of {test.name}")
    shared = set(aligned.ids) & set(other.ids) if test.name == own.name else set()
    if shared:
        raise UsageError(
            f"--development {source}: case '{min(shared)}' is evaluated too; a threshold is set on other cases "
            "(without --development, --at sets it on the same ones and allows for that)"
        )
