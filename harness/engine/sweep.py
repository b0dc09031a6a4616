"""A sweep: the combinations of parameter values, or a sample of them, and the runs they need."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.engine.plan import Plan
from harness.errors import UsageError
from harness.params import Param, Value, nearest, split_assignment

MAX_SETTINGS = 1_000_000
ParamValues = dict[str, Value]


@dataclass(frozen=True)
class Axis:
    """A parameter and its values."""

    param: Param
    values: Sequence[Value]

    @property
    def name(self) -> str:
        return self.param.name

    def index(self, value: Value) -> int | None:
        """Which of the values this is; None if it is not one of them."""
        return next((index for index, own in enumerate(self.values) if self.param.same(own, value)), None)


@dataclass(frozen=True)
class Grid:
    """All combinations of the axes' values, the last axis changing fastest; other parameters keep their defaults."""

    defaults: Mapping[str, Value]
    axes: tuple[Axis, ...]

    @property
    def size(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes)

    def at(self, number: int) -> ParamValues:
        """The combination with this number: a value for every parameter."""
        chosen: ParamValues = {}
        for axis in reversed(self.axes):
            number, position = divmod(number, len(axis.values))
            chosen[axis.name] = axis.values[position]
        return {**self.defaults, **chosen}

    def number(self, positions: Sequence[int]) -> int:
        """The number of the combination with these positions on the axes."""
        number = 0
        for axis, position in zip(self.axes, positions, strict=True):
            number = number * len(axis.values) + position
        return number

    def part(self, *, decision: bool) -> "Grid":
        """The grid of the decision parameters alone, or of the algorithm's parameters alone."""
        return Grid(self.defaults, tuple(axis for axis in self.axes if axis.param.decision is decision))


def make_grid(declared: Mapping[str, Param], assignments: Iterable[str]) -> Grid:
    """A grid from NAME=VALUES, each a list or a range."""
    axes: dict[str, Axis] = {}
    for assignment in assignments:
        name, text = split_assignment(assignment)
        if name not in declared:
            raise UsageError(f"--param {name}={text}: no parameter '{name}'; {nearest(name, declared)}")
        if name in axes:
            raise UsageError(f"--param {name}={text}: '{name}' is given twice; put all values into one list, 0,1,2")
        axes[name] = Axis(declared[name], declared[name].parse_many(text))
    return Grid({name: param.default for name, param in declared.items()}, tuple(axes.values()))


def all_combinations(grid: Grid) -> list[int]:
    if grid.size > MAX_SETTINGS:
        raise UsageError(
            f"{grid.size:,} combinations are too many; take a sample of them, with --sample N or --latin N"
        )
    return list(range(grid.size))


def random_combinations(grid: Grid, count: int, seed: int) -> list[int]:
    """A random sample of different combinations."""
    if count >= grid.size:
        return all_combinations(grid)
    rng = random.Random(seed)  # noqa: S311 (a sample, not a secret)
    if grid.size < 1 << 62:
        return sorted(rng.sample(range(grid.size), count))
    numbers: set[int] = set()
    while len(numbers) < count:
        numbers.add(rng.randrange(grid.size))
    return sorted(numbers)


def latin_hypercube(grid: Grid, count: int, seed: int) -> list[int]:
    """A Latin-hypercube sample: every value of every axis occurs equally often, give or take one.

    McKay, Beckman and Conover (1979), on a grid. Points that coincide count as one.
    """
    if count >= grid.size:
        return all_combinations(grid)
    rng = random.Random(seed)  # noqa: S311 (a sample, not a secret)
    columns = [_spread(len(axis.values), count, rng) for axis in grid.axes]
    return sorted({grid.number(positions) for positions in zip(*columns, strict=True)})


def _spread(values: int, count: int, rng: random.Random) -> list[int]:
    """`count` positions among this many values, evenly spread, in random order."""
    offset = rng.random()
    # Systematic sampling: consecutive strata of equal width, each with a point at the same, random, offset.
    positions = [min(int((number + offset) * values / count), values - 1) for number in range(count)]
    rng.shuffle(positions)
    return positions


@dataclass(frozen=True)
class SweepRow:
    """A value for every parameter, and the number of the run that has its answers."""

    setting: ParamValues
    run: int


@dataclass(frozen=True)
class Sweep:
    """The rows of a sweep, and the runs they need, with the decision parameters at their defaults."""

    rows: list[SweepRow]
    plans: list[Plan]


def plan_sweep(base: Plan, grid: Grid, numbers: Sequence[int]) -> Sweep:
    """Rows for these combinations of the grid."""
    runs: dict[tuple[object, ...], int] = {}
    params: list[ParamValues] = []
    rows = []
    decisions = {axis.name for axis in grid.axes if axis.param.decision}
    for number in numbers:
        setting = grid.at(number)
        to_run = {name: grid.defaults[name] if name in decisions else value for name, value in setting.items()}
        run = runs.setdefault(setting_key(to_run), len(params))
        if run == len(params):
            params.append(to_run)
        rows.append(SweepRow(setting, run))
    return Sweep(rows, plans_of(base, params))


def setting_key(setting: ParamValues) -> tuple[object, ...]:
    """What settings that are run apart differ in: also in the type of a value, such as 1 and 1.0."""
    return tuple((type(value), value) for value in setting.values())


def plans_of(base: Plan, params: Sequence[ParamValues]) -> list[Plan]:
    """A run for each setting. Several are isolated: one must not see what another left in a module's variables."""
    interface = base.interface if len(params) == 1 else base.interface.isolated()
    return [replace(base, interface=interface, params=setting) for setting in params]
