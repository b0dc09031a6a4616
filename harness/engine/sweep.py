"""What a sweep has to run: one run for every algorithm setting, whatever the decision parameters do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.engine.run import Plan
from harness.engine.settings import Grid, Setting


@dataclass(frozen=True)
class Row:
    """A setting of all parameters, and the number of the run that answers it."""

    setting: Setting
    run: int


@dataclass(frozen=True)
class Sweep:
    """The rows that were asked for, and the runs that they take, with the decision parameters at their defaults."""

    rows: list[Row]
    plans: list[Plan]


def plan_sweep(base: Plan, grid: Grid, numbers: Sequence[int]) -> Sweep:
    """Rows for these combinations of the grid."""
    runs: dict[tuple[object, ...], int] = {}
    params: list[Setting] = []
    rows = []
    decisions = {axis.name for axis in grid.axes if axis.param.decision}
    for number in numbers:
        setting = grid.at(number)
        own = {name: grid.defaults[name] if name in decisions else value for name, value in setting.items()}
        run = runs.setdefault(tuple(own.values()), len(params))
        if run == len(params):
            params.append(own)
        rows.append(Row(setting, run))
    return Sweep(rows, plans_of(base, params))


def plans_of(base: Plan, params: Sequence[Setting]) -> list[Plan]:
    """A run for each of these. Several in one process could see what an earlier one left in a module's variables."""
    interface = base.interface if len(params) == 1 else base.interface.isolated()
    return [replace(base, interface=interface, params=own) for own in params]
