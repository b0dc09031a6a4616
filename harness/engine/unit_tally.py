"""Trials and successes by sampling unit, counted while a test runs: all that a rate by design needs."""

from collections.abc import Mapping
from typing import Any

from harness.model import Trial


class UnitTally:
    """The number of trials and of successes in each unit: by stratum and PSU, or by case if answers are repeated."""

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


def has_design(design: Mapping[str, Any]) -> bool:
    """Whether the cases were sampled in any way other than one by one."""
    return bool(design.get("stratum") or design.get("psu")) or design.get("weights", "cases") != "cases"
