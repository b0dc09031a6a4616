"""Stop a run as soon as it is known well enough, by an interval that holds however often one looks.

The units of the test are asked in a random order that a seed fixes: sorted by a hash of seed and label, so that the
order can be found again from the labels alone. A unit counts when all its cases are done and all units before it have
counted; only such units are recorded. The interval is for the whole test, of which the recorded units are a sample
without replacement.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import Any

from harness.errors import UsageError
from harness.model import Case, Trial
from harness.script.cases import CaseSet
from harness.site.header_facts import stopping_extent, units_in_order

_RULE = re.compile(r"\s*width\s*<=?\s*([0-9.eE+-]+)\s*")


@dataclass(frozen=True)
class StopRule:
    """Stop when the interval of the rate is narrower than this."""

    width: float
    # Of the random order.
    seed: int = 0

    @property
    def text(self) -> str:
        """As a user writes it."""
        return f"width<{self.width:g}"

    @staticmethod
    def parse(text: str, seed: int = 0) -> "StopRule":
        """`width<0.02`."""
        match = _RULE.fullmatch(text)
        try:
            width = float(match[1]) if match else 0.0
        except ValueError:
            width = 0.0
        if not 0 < width < 1:
            raise UsageError(f"--stop-when '{text}': write width<0.02, with a width between 0 and 1")
        return StopRule(width, seed)


@dataclass(frozen=True)
class UnitOrder:
    """The cases of a test by unit, in the random order of a seed."""

    # The number of each case in the test, and the case.
    cases: list[tuple[int, Case]]
    # Units in that order, each with its number of cases.
    sizes: dict[str, int]
    # The unit of each case, by its number in the test.
    unit_of: list[str]

    @staticmethod
    def of(cases: CaseSet, seed: int) -> "UnitOrder":
        """Sort the units; the cases of a unit stay together, in their own order."""
        units = units_in_order(cases, seed)
        unit_of = [""] * len(cases)
        for unit, unit_cases in units.items():
            for number, _ in unit_cases:
                unit_of[number] = unit
        sizes = {unit: len(unit_cases) for unit, unit_cases in units.items()}
        return UnitOrder(list(chain.from_iterable(units.values())), sizes, unit_of)

    def extent(self, rule: StopRule) -> dict[str, Any]:
        """What a reader of the transcript must know to find the interval again."""
        return stopping_extent(rule.text, rule.seed, self.sizes.values())


class Stopper:
    """Holds back trials until their unit counts, and says when the rule is met."""

    def __init__(self, order: UnitOrder, rule: StopRule, *, repeat: int) -> None:
        from harness.stats.sequential import UnitSequence

        self._rule, self._repeat = rule, repeat
        self._order = order
        sizes = order.sizes.values()
        self._sequence = UnitSequence(len(sizes), sum(sizes), max(sizes))
        self._held: dict[str, list[tuple[int, Trial]]] = defaultdict(list)
        self._units = list(order.sizes)
        self._counted = 0

    @property
    def is_met(self) -> bool:
        """Whether the interval is narrow enough, or every unit has counted."""
        interval = self._sequence.interval
        return self._counted == len(self._units) or interval.high - interval.low < self._rule.width

    def add(self, index: int, trial: Trial) -> list[tuple[int, Trial]]:
        """The trials that count now that there is this one."""
        self._held[self._order.unit_of[index // self._repeat]].append((index, trial))
        counted: list[tuple[int, Trial]] = []
        while not self.is_met:
            unit = self._units[self._counted]
            trials = self._held[unit]
            if len(trials) < self._order.sizes[unit] * self._repeat:
                break
            self._sequence.add(sum(answered.outcome.success for _, answered in trials) / self._repeat)
            self._counted += 1
            counted += self._held.pop(unit)
        return counted
