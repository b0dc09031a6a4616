"""The experiments from Python: `from harness.lab.experiments import anova`. `experiments.pyi` has their signatures."""

from harness.api.keywords import by_keyword as _by_keyword
from harness.lab.anova import command as anova_command
from harness.lab.galleries import command as galleries_command
from harness.lab.methods import command as methods_command
from harness.lab.permute import command as permute_command
from harness.lab.urn import command as urn_command
from harness.lab.zoo import command as zoo_command

__all__ = ["anova", "galleries", "methods", "permute", "urn", "zoo"]

anova = _by_keyword(anova_command.anova)
galleries = _by_keyword(galleries_command.galleries)
methods = _by_keyword(methods_command.methods)
permute = _by_keyword(permute_command.permute)
urn = _by_keyword(urn_command.urn)
zoo = _by_keyword(zoo_command.zoo)


def __dir__() -> list[str]:
    return __all__
