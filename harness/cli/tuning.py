"""How `hate tune` goes through settings: each is run on every fold, and the search is told what it came to."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from harness.analysis.deciding import pooled
from harness.analysis.tuning.goals import Goal
from harness.analysis.tuning.search import Choices, Optimiser
from harness.analysis.tuning.tuned import Tried, try_setting
from harness.cli.sweeping import kept_answers
from harness.engine.campaign import Campaign, Kept
from harness.engine.run import Plan
from harness.engine.settings import Grid, Setting, drawn, every
from harness.params import ParamType, Value

# An optimiser may ask for what it knows; it is given up when it has nothing new to ask.
ASKS_A_TRIAL = 5


@dataclass
class Tuner:
    """Tries settings on the folds, each once."""

    goal: Goal
    grid: Grid
    bases: Sequence[Plan]
    runs: Campaign
    decision: str
    tried: list[Tried] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    _known: dict[tuple[Value, ...], float] = field(default_factory=dict)

    @property
    def algorithms(self) -> Grid:
        """The grid of the algorithm's own parameters: each combination is a run a fold."""
        return self.grid.part(decision=False)

    @property
    def thresholds(self) -> list[Value]:
        """The values of the decision parameter, all of which are tried with every run."""
        axes = [axis for axis in self.grid.axes if axis.name == self.decision]
        return list(axes[0].values) if axes else [self.grid.defaults[self.decision]]

    @property
    def others(self) -> list[Setting]:
        """The combinations of further decision parameters, such as the rank of an open-set test."""
        axes = [axis for axis in self.grid.part(decision=True).axes if axis.name != self.decision]
        grid = Grid({}, tuple(axes))
        return [grid.at(number) for number in every(grid)]

    def announce(self, method: str, trials: int) -> None:
        """Tell the bar how much there is to do, at most."""
        size = self.algorithms.size
        settings = 1 + (size if method == "grid" else min(size, trials))
        self.runs.announce(settings * len(self.bases), settings * sum(base.total for base in self.bases))

    def default(self) -> int:
        """Try the default, which everything is compared with; parameters of one value have that. Returns its place."""
        decisions = [axis.name for axis in self.grid.part(decision=True).axes]
        fixed = {axis.name: axis.values[0] for axis in self.grid.axes if len(axis.values) == 1}
        own = {**self.grid.defaults, **fixed}
        run = {**own, **{name: self.grid.defaults[name] for name in decisions}}
        self.attempt(run)
        for place, one in enumerate(self.tried):
            if all(one.params[name] == own[name] for name in decisions):
                return place
        others = {name: own[name] for name in decisions if name != self.decision}
        self.tried += self._decided(run, self.kept, others, [own[self.decision]])
        return len(self.tried) - 1

    def attempt(self, setting: Setting) -> float:
        """The best value of an algorithm setting over all decisions."""
        key = tuple(setting.values())
        if key not in self._known:
            taken = [self.runs.take(replace(base, params=setting)) for base in self.bases]
            self.kept += taken
            thresholds = self.thresholds
            found = [one for others in self.others for one in self._decided(setting, taken, others, thresholds)]
            self.tried += found
            self._known[key] = (max if self.goal.maximised else min)(one.value for one in found)
        return self._known[key]

    def _decided(
        self, setting: Setting, taken: Sequence[Kept], others: Setting, thresholds: Sequence[Value]
    ) -> list[Tried]:
        """A setting with some values of the decision parameters, from its answers."""
        answers = pooled([kept_answers(one, others) for one in taken])
        paths = [one.path for one in taken]
        return try_setting(self.goal, {**setting, **others}, answers, (self.decision, thresholds), paths)

    def search(self, method: str, trials: int, seed: int) -> None:
        """Go through the grid, a random part of it, or where an optimiser leads."""
        grid = self.algorithms
        if method == "optimise" and trials < grid.size:
            self._optimise(grid, trials, seed)
            return
        for number in every(grid) if method == "grid" else drawn(grid, trials, seed):
            self.attempt(grid.at(number))

    def _optimise(self, grid: Grid, trials: int, seed: int) -> None:
        choices = [
            Choices(axis.name, len(axis.values), axis.param.type in (ParamType.FLOAT, ParamType.INT))
            for axis in grid.axes
        ]
        optimiser = Optimiser(choices, maximise=self.goal.maximised, seed=seed, first=_default_places(grid))
        known = len(self._known)
        for _ in range(trials * ASKS_A_TRIAL):
            optimiser.tell(self.attempt(grid.at(grid.number(optimiser.ask()))))
            if len(self._known) - known >= trials:
                break


def _default_places(grid: Grid) -> tuple[int, ...] | None:
    """Where the default is on the grid: an optimiser should know what is known already."""
    places = []
    for axis in grid.axes:
        default = grid.defaults[axis.name]
        if default not in axis.values:
            return None
        places.append(list(axis.values).index(default))
    return tuple(places)
