"""What the header of a transcript says about its test: written by a run, and compared when a transcript is audited."""

from collections.abc import Collection
from typing import Any

from msgspec import UNSET, UnsetType

from harness.model import Case, ErrorRule
from harness.script.cases import CaseSet
from harness.transcript.format import GalleryInfo, TestInfo, unit_key


def header_test(cases: CaseSet) -> TestInfo:
    """Which test it is, and how it decides."""
    script = cases.script
    errors = script.file.test.errors
    return TestInfo(
        name=script.name,
        version=script.version,
        digest=cases.digest,
        task=script.task.name,
        cases=cases.whole,
        # Written only if they differ from the default.
        errors=UNSET if errors is ErrorRule.FAILURE else errors.value,
        larger_is_better=UNSET if script.rules.larger_is_better else False,
        relative_tolerance=True if script.rules.relative_tolerance else UNSET,
        settings=dict(script.settings) or UNSET,
        gallery=_gallery(cases),
    )


def _gallery(cases: CaseSet) -> GalleryInfo | UnsetType:
    if cases.gallery is None:
        return UNSET
    part = cases.experiment
    return GalleryInfo(
        images=len(cases.gallery),
        identities=len(cases.gallery.names),
        where=UNSET if part is None else list(part.gallery_conditions.words) or UNSET,
        probes=UNSET if part is None else list(part.probe_conditions.words) or UNSET,
    )


def header_design(cases: CaseSet) -> dict[str, Any]:
    """The declared design with the weights of its strata: a transcript must be complete by itself."""
    design = cases.script.file.design
    declared: dict[str, Any] = {"stratum": design.stratum, "psu": design.psu}
    if design.cofactors:
        declared["cofactors"] = design.cofactors
    if design.weights != "cases":
        declared["weights"] = design.weights if cases.weights is None else cases.weights
    return {key: value for key, value in declared.items() if value is not None}


def units_in_order(cases: CaseSet, seed: int) -> dict[str, list[tuple[int, Case]]]:
    """The cases of each unit with their numbers in the test; units in the random order of a seed."""
    group = cases.psu or (lambda case: case.id)
    units: dict[str, list[tuple[int, Case]]] = {}
    for number, case in enumerate(cases):
        units.setdefault(group(case), []).append((number, case))
    return {unit: units[unit] for unit in sorted(units, key=lambda unit: unit_key(seed, unit))}


def stopping_extent(stop_when: Any, seed: Any, sizes: Collection[int]) -> dict[str, Any]:
    """What a header says about a run that may stop early; `sizes` are the numbers of cases in the test's units."""
    return {
        "stop_when": stop_when,
        "seed": seed,
        "units": len(sizes),
        "cases": sum(sizes),
        "largest": max(sizes),
    }
