"""From the words of a command line to a plan: the script with its data, the interface, the parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.cli.finding import find_test
from harness.engine.run import Options, Plan
from harness.errors import UsageError
from harness.interface.contract import Interface
from harness.interface.load import load_interface
from harness.params import Param, settings
from harness.script.cases import CaseSet, load_cases
from harness.script.load import Script
from harness.site.provide import provide

MATRIX = "matrix:"
# Conditions on the gallery and on the probes of a virtual experiment.
Chosen = tuple[Sequence[str], Sequence[str]]


def load_test(text: str, libraries: Sequence[str]) -> CaseSet:
    """A test by name, path or address, its data at hand, its cases checked."""
    script = find_test(text, libraries)
    return load_cases(script, provide(script))


@dataclass(frozen=True)
class Parts:
    """A test and an algorithm, before parameters are set and data is brought."""

    script: Script
    interface: Interface
    choice: Chosen = ((), ())

    @property
    def params(self) -> dict[str, Param]:
        """The parameters of both."""
        return all_params(self.script, self.interface)

    def plan(self, options: Options, assignments: Sequence[str] = ()) -> Plan:
        """A run of them."""
        params = settings(self.params, assignments)
        cases, interface = load_cases(self.script, provide(self.script)), self.interface
        if any(self.choice):
            from harness.analysis.choosing import chosen

            cases = chosen(cases, *self.choice)
        if interface.kind == "matrix":
            from harness.analysis.matrices.interface import answering

            interface = answering(interface, cases)
        return Plan(cases, interface, params, options)


def load_parts(test: str, libraries: Sequence[str], interface: str | None, choice: Chosen = ((), ())) -> Parts:
    """The test and the algorithm that are meant, checked."""
    script = find_test(test, libraries)
    if interface is not None and interface.startswith(MATRIX):
        from harness.analysis.matrices.interface import load_matrix  # numpy is slow to import

        return Parts(script, load_matrix(interface.removeprefix(MATRIX), script), choice)
    return Parts(script, load_interface(interface), choice)


def make_plan(
    test: str,
    libraries: Sequence[str],
    interface: str | None,
    assignments: Sequence[str],
    options: Options,
    choice: Chosen = ((), ()),
) -> Plan:
    """Everything that a run needs, checked; cheap checks come first."""
    return load_parts(test, libraries, interface, choice).plan(options, assignments)


def all_params(script: Script, interface: Interface) -> dict[str, Param]:
    """The test's parameters and the algorithm's own; one name can be only one of them."""
    both = set(script.params) & set(interface.params)
    if both:
        name = sorted(both)[0]
        raise UsageError(f"parameter '{name}' is the test's and the algorithm's; rename the algorithm's")
    return {**script.params, **interface.params}
