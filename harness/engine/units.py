"""Successes by sampling unit, kept while a run records: what the error of its rate is made of, at no cost a case."""

from collections.abc import Iterable, Mapping
from typing import Any

from harness.model import Trial


class UnitTally:
    """How many trials each unit has and how many of them succeeded, by (stratum, PSU) as the records have them."""

    def __init__(self, *, repeated: bool = False) -> None:
        self.sums: dict[tuple[Any, Any], list[int]] = {}
        # Several answers to one case are not several cases.
        self._repeated = repeated

    def add(self, trial: Trial) -> None:
        """Count a trial."""
        unit = trial.psu or (trial.id if self._repeated else None)
        found = self.sums.get((trial.stratum, unit))
        if found is None:
            found = self.sums[trial.stratum, unit] = [0, 0]
        found[0] += 1
        found[1] += trial.outcome.success

    @staticmethod
    def of(trials: Iterable[Trial], *, repeated: bool) -> "UnitTally":
        """Of trials that are all there."""
        tally = UnitTally(repeated=repeated)
        for trial in trials:
            tally.add(trial)
        return tally


def has_design(design: Mapping[str, Any]) -> bool:
    """Whether the cases were sampled in any other way than one by one."""
    return bool(design.get("stratum") or design.get("psu")) or design.get("weights", "cases") != "cases"
