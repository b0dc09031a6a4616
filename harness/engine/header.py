"""The first line of a run's transcript: where it comes from."""

import platform
import sys
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType

from harness import __version__
from harness.model import ErrorRule
from harness.script.cases import CaseSet
from harness.transcript.format import FORMAT, AlgorithmInfo, GalleryInfo, Header, InterfaceInfo, TestInfo, extent
from harness.transcript.write import now

if TYPE_CHECKING:
    from harness.engine.run import Plan


def run_header(plan: "Plan") -> Header:
    """Test, algorithm, interface, parameters, design and machine of a run that starts now."""
    options, train = plan.options, _train(plan)
    return Header(
        hate="transcript",
        format=FORMAT,
        test=_test(plan.cases),
        algorithm=AlgorithmInfo(plan.interface.name, plan.interface.version),
        interface=InterfaceInfo(plan.interface.kind, plan.interface.sha256),
        params=dict(plan.params),
        defaults=_defaults(plan),
        design=_design(plan.cases),
        repeat=options.repeat if options.repeat > 1 else UNSET,
        limit=UNSET if options.limit is None else options.limit,
        train=train,
        extent=extent(len(plan.cases), options.limit, train) or UNSET,
        harness=__version__,
        python=platform.python_version(),
        platform=f"{sys.platform}-{platform.machine()}",
        started=now(),
    )


def _defaults(plan: "Plan") -> dict[str, Any]:
    declared = {**plan.cases.script.params, **plan.interface.params}
    return {name: param.default for name, param in declared.items() if name in plan.params}


def _train(plan: "Plan") -> dict[str, int] | UnsetType:
    part = plan.held_back
    return UNSET if part is None else {"without_fold": part.fold, "folds": part.folds, "seed": part.seed}


def _test(cases: CaseSet) -> TestInfo:
    script = cases.script
    errors = script.file.test.errors
    return TestInfo(
        name=script.name,
        version=script.version,
        digest=cases.digest,
        task=script.task.name,
        cases=len(cases),
        # Said only where they differ from what everyone would assume.
        errors=UNSET if errors is ErrorRule.FAILURE else errors.value,
        larger_is_better=UNSET if script.rules.larger_is_better else False,
        relative_tolerance=True if script.rules.relative_tolerance else UNSET,
        gallery=_gallery(cases),
    )


def _gallery(cases: CaseSet) -> GalleryInfo | UnsetType:
    if cases.gallery is None:
        return UNSET
    choice = cases.choice
    return GalleryInfo(
        images=len(cases.gallery),
        identities=len(cases.gallery.names),
        where=UNSET if choice is None or not choice.gallery_wish.words else list(choice.gallery_wish.words),
        probes=UNSET if choice is None or not choice.probe_wish.words else list(choice.probe_wish.words),
    )


def _design(cases: CaseSet) -> dict[str, Any]:
    """What was declared, with the weights of the strata themselves: a transcript must stand alone."""
    design = cases.script.file.design
    declared: dict[str, Any] = {"stratum": design.stratum, "psu": design.psu}
    if design.cofactors:
        declared["cofactors"] = design.cofactors
    if design.weights != "cases":
        declared["weights"] = design.weights if cases.weights is None else cases.weights
    return {key: value for key, value in declared.items() if value is not None}
