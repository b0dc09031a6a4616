"""From the words of a command line to a plan: the script with its data, the interface, the parameters."""

from collections.abc import Sequence

from harness.engine.run import Options, Plan
from harness.errors import UsageError
from harness.interface.contract import Interface
from harness.interface.load import load_interface
from harness.params import Param, settings
from harness.script.cases import CaseSet, load_cases
from harness.script.library import find_script
from harness.script.load import Script, load_script
from harness.site.provide import provide


def load_test(text: str, libraries: Sequence[str]) -> CaseSet:
    """A test by name or path, its data at hand, its cases checked."""
    script = load_script(find_script(text, libraries))
    return load_cases(script, provide(script))


def make_plan(
    test: str, libraries: Sequence[str], interface: str | None, assignments: Sequence[str], options: Options
) -> Plan:
    """Everything that a run needs, checked; cheap checks come first."""
    script = load_script(find_script(test, libraries))
    algorithm = load_interface(interface)
    params = settings(all_params(script, algorithm), assignments)
    return Plan(load_cases(script, provide(script)), algorithm, params, options)


def all_params(script: Script, interface: Interface) -> dict[str, Param]:
    """The test's parameters and the algorithm's own; one name can be only one of them."""
    both = set(script.params) & set(interface.params)
    if both:
        name = sorted(both)[0]
        raise UsageError(f"parameter '{name}' is the test's and the algorithm's; rename the algorithm's")
    return {**script.params, **interface.params}
