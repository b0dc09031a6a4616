"""The verdict on a reply, and the successes by sampling unit: the harness decides, never the interface."""

from collections.abc import Iterable, Mapping
from typing import Any

from harness.model import Trial
from harness.params import Value
from harness.script.cases import CaseSet
from harness.tasks.judge import Judge


def make_judge(cases: CaseSet, params: Mapping[str, Value], *, repeated: bool) -> Judge:
    """The judge of the answers to a test's cases."""
    script = cases.script
    return Judge(
        script.task,
        cases.rules,
        params,
        errors=script.file.test.errors,
        stratum=cases.stratum,
        psu=cases.psu,
        repeated=repeated,
    )


class UnitTally:
    """The number of trials and of successes in each unit, by the (stratum, PSU) of the records."""

    def __init__(self, *, repeated: bool = False) -> None:
        self.sums: dict[tuple[Any, Any], list[int]] = {}
        # Several answers to one case are not several cases.
        self._repeated = repeated

    def add(self, trial: Trial) -> None:
        """Count a trial."""
        unit = trial.psu or (trial.id if self._repeated else None)
        sums = self.sums.get((trial.stratum, unit))
        if sums is None:
            sums = self.sums[trial.stratum, unit] = [0, 0]
        sums[0] += 1
        sums[1] += trial.outcome.success

    @staticmethod
    def of(trials: Iterable[Trial], *, repeated: bool) -> "UnitTally":
        """The tally of some trials."""
        tally = UnitTally(repeated=repeated)
        for trial in trials:
            tally.add(trial)
        return tally


def has_design(design: Mapping[str, Any]) -> bool:
    """Whether the cases were sampled in any way other than one by one."""
    return bool(design.get("stratum") or design.get("psu")) or design.get("weights", "cases") != "cases"
