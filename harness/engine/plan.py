"""Plan a run from names: find the test with its data, the interface and the parameters."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.engine.early_stopping import StopRule, UnitOrder
from harness.engine.engines import engine_of
from harness.errors import InterfaceError, UsageError
from harness.files.outputs import refuse_inputs
from harness.interface.contract import Interface
from harness.interface.limits import ResourceLimits, without_network
from harness.interface.load import MATRIX, load_interface
from harness.interface.python import INTO_A_FILE, is_in_memory
from harness.options import (
    DirectionOptions,
    ExecutionOptions,
    GalleryOptions,
    OptionSet,
    Range,
    Writes,
    checked_directions,
    option,
    split_names,
)
from harness.options.entries import SectionEntry, all_added
from harness.params import Param, Value, settings
from harness.script.cases import CaseSet, load_cases
from harness.script.folds import HeldOutFold
from harness.script.gallery import select_gallery_cases
from harness.script.load import Script
from harness.site.fetch import fetch_data
from harness.site.find_test import Note, find_test


class RunOptions(ExecutionOptions, DirectionOptions):
    """How to run the cases of a test."""

    repeat: int = option(
        "--repeat K", "Ask each case K times, for randomised algorithms.", default=1, within=Range(1, 10_000)
    )

    @property
    def directions(self) -> dict[str, bool]:
        """Whether more is better, of values that the algorithm gives beside its answers."""
        return checked_directions((name, larger) for larger, texts in self.texts.items() for name in split_names(texts))

    @property
    def limits(self) -> ResourceLimits:
        """What the algorithm's programs may use."""
        return ResourceLimits(self.memory, network=not self.no_network)


class StopOptions(OptionSet):
    """When a run may stop before its end."""

    stop_when: str | None = option(
        "--stop-when width<0.02",
        "Ask units in random order, and stop when the rate of the whole test is known that well.",
        default=None,
    )
    order_seed: int = option(
        "--order-seed N", "Seed of that random order.", default=0, within=Range(0), needs=("stop_when",)
    )


DEFAULT_OPTIONS = RunOptions()
WHOLE_TEST = GalleryOptions()


@dataclass(frozen=True)
class Plan:
    """A run that is ready to start: everything it needs has been checked.

    Plain data, unless the interface is a Python object of this process.
    """

    cases: CaseSet
    interface: Interface
    params: Mapping[str, Value]
    options: RunOptions = DEFAULT_OPTIONS
    # The fold of the training part to hold out; None to learn from all of it.
    held_out: HeldOutFold | None = None
    # When the run may stop; None if it goes to the end.
    stop_rule: StopRule | None = None
    # The test whose data the inputs are, if it is another one: its training part is what the cases were made of.
    data_of: CaseSet | None = None

    @cached_property
    def unit_order(self) -> UnitOrder | None:
        """The random order of a run that may stop early; None for the order of the test."""
        return None if self.stop_rule is None else UnitOrder.of(self.cases, self.stop_rule.seed)

    @property
    def total(self) -> int:
        count = len(self.cases) if self.options.limit is None else min(self.options.limit, len(self.cases))
        return count * self.options.repeat


@dataclass(frozen=True)
class RunParts:
    """A test and an algorithm, before parameters are set and cases are read."""

    script: Script
    interface: Interface
    selection: GalleryOptions = WHOLE_TEST
    # None if they have not been read yet.
    cases: CaseSet | None = None

    @property
    def params(self) -> dict[str, Param]:
        return all_params(self.script, self.interface)

    def plan(self, options: RunOptions = DEFAULT_OPTIONS, assignments: Iterable[str] = ()) -> Plan:
        """Plan a run; NAME=VALUE sets a parameter."""
        params = settings(self.params, assignments)
        rule = None
        if isinstance(options, StopOptions) and options.stop_when is not None:
            if options.limit is not None:
                raise UsageError("--stop-when and --limit exclude one another: the first cases are not a random part")
            if self.script.file.design.weights != "cases":
                raise UsageError(f"--stop-when is for plain rates; the design of {self.script.name} has weights")
            rule = StopRule.parse(options.stop_when, options.order_seed)
        if self.script.is_blind and options.repeat > 1:
            raise UsageError(f"{self.script.name}: a blind test takes one answer per case; run it without --repeat")
        _check_workers(self.interface, options)
        spare_inputs(options, self.script, self.interface)
        cases = self.cases or load_cases(self.script, fetch_data(self.script))
        cases = _versions(cases, options)
        cases = select_gallery_cases(cases, self.selection.gallery, self.selection.probe)
        return Plan(cases, self.interface.answering(cases, cases.gallery), params, options, stop_rule=rule)


def _versions(cases: CaseSet, options: RunOptions) -> CaseSet:
    """All versions of the cases, or the originals alone if an option --no-SECTION says so."""
    for name in (entry.name for entry in all_added(SectionEntry)):
        if getattr(options, f"no_{name}", False):
            if cases.script.expansion is None or cases.script.expansion.name != name:
                text = f"{cases.script.name} has no [{name}], so all of its cases are originals"
                raise UsageError(f"--no-{name}: {text}")
            return cases.originals()
    return cases


def spare_inputs(options: OptionSet, script: Script, interface: Interface) -> None:
    """Raise an error if an option would overwrite a file of the test, its data or the algorithm."""
    refuse_inputs(options.outputs(Writes.FILE, Writes.TRANSCRIPT), run_inputs(script, interface))


def run_inputs(script: Script, interface: Interface) -> list[Path]:
    return [*script.paths, *interface.files]


def find_parts(
    test: str | Path | CaseSet,
    interface: object = None,
    *,
    note: Note,
    name: str | None = None,
    libraries: Sequence[str] = (),
    selection: GalleryOptions = WHOLE_TEST,
    isolate: bool = False,
) -> RunParts:
    """Find and check the test and the interface; `name` replaces the algorithm's own name.

    With `isolate`, Python code is never imported into this process.
    """
    cases = test.check_held() if isinstance(test, CaseSet) else None
    script = test.script if isinstance(test, CaseSet) else find_test(str(test), libraries, note)
    if isinstance(interface, str) and interface.startswith(MATRIX) and not script.task.uses_gallery:
        raise InterfaceError(f"--interface {interface}: for rank tests; {script.name} is a {script.task.name} test")
    larger = script.rules.larger_is_better
    loaded = load_interface(interface, name, isolate=isolate, test_folder=script.folder, larger_is_better=larger)
    return RunParts(script, loaded, selection, cases)


def _check_workers(interface: Interface, options: RunOptions) -> None:
    """Python code in this process can neither be stopped, limited nor copied."""
    engine_of(options).check(interface, options)
    if options.limits and interface.is_service:
        raise UsageError(f"--memory, --no-network: {interface.name} is a service, which is not started here")
    if options.limits and not options.limits.network:
        without_network()
    if not is_in_memory(interface):
        return
    if options.limits:
        raise UsageError(
            f"memory, no_network: {interface.name} runs in this process and cannot be limited; {INTO_A_FILE}"
        )
    if options.timeout is not None:
        raise UsageError(
            f"timeout={options.timeout:g}: {interface.name} runs in this process and cannot be stopped; {INTO_A_FILE}"
        )
    if options.jobs > 1 and interface.shared:
        raise UsageError(
            f"jobs={options.jobs}: {interface.name} is a single object, which several threads would share; "
            f"give its class, or {INTO_A_FILE}"
        )


def all_params(script: Script, interface: Interface) -> dict[str, Param]:
    """The parameters of the test and of the algorithm; their names must differ."""
    both = set(script.params) & set(interface.params)
    if both:
        name = sorted(both)[0]
        raise UsageError(f"both the test and the algorithm have a parameter '{name}'; rename the algorithm's")
    return {**script.params, **interface.params}
