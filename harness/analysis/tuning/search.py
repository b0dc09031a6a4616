"""An optimiser that learns from the settings tried so far which to try next: Optuna's tree of Parzen estimators."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import MissingExtra

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

Places = tuple[int, ...]


@dataclass(frozen=True)
class Choices:
    """A parameter's values by number; `ordered` where neighbours are alike, as numbers are."""

    name: str
    count: int
    ordered: bool


class Optimiser:
    """Asks for settings of a grid, by the places of their values, and is told what they came to."""

    def __init__(self, choices: Sequence[Choices], *, maximise: bool, seed: int, first: Places | None = None) -> None:
        try:
            import optuna
        except ImportError:
            raise MissingExtra("an optimiser needs Optuna: pip install 'hate-harness[tune]'") from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._choices = choices
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=max(5, 2 * len(choices)))
        self._study: Study = optuna.create_study(direction="maximize" if maximise else "minimize", sampler=sampler)
        self._distributions: dict[str, BaseDistribution] = {
            one.name: optuna.distributions.IntDistribution(0, one.count - 1)
            if one.ordered
            else optuna.distributions.CategoricalDistribution(tuple(range(one.count)))
            for one in choices
        }
        if first is not None:
            self._study.enqueue_trial(dict(zip((one.name for one in choices), first, strict=True)))
        self._asked: Trial | None = None

    def ask(self) -> Places:
        """The next setting to try; it may be one that was tried before."""
        self._asked = self._study.ask(self._distributions)
        return tuple(int(self._asked.params[one.name]) for one in self._choices)

    def tell(self, value: float) -> None:
        """What the setting asked for last came to."""
        if self._asked is not None:
            self._study.tell(self._asked, value)
