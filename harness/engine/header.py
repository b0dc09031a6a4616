"""The header of a run's transcript: what was run, and how."""

from typing import Any

from msgspec import UNSET, UnsetType

from harness.engine.plan import Plan
from harness.model import ErrorRule
from harness.script.cases import CaseSet
from harness.tasks import plugin_of
from harness.transcript.format import AlgorithmInfo, GalleryInfo, Header, InterfaceInfo, TestInfo, extent, new_header


def run_header(plan: Plan) -> Header:
    """Test, algorithm, interface, parameters, design and machine of a run that starts now."""
    options, train = plan.options, _train(plan)
    return new_header(
        _test(plan.cases),
        AlgorithmInfo(plan.interface.name, plan.interface.version),
        InterfaceInfo(plan.interface.kind, plan.interface.sha256),
        plugins=[plugin_of(plan.cases.script.task)],
        params=dict(plan.params),
        defaults=_defaults(plan),
        design=_design(plan.cases),
        repeat=options.repeat if options.repeat > 1 else UNSET,
        limit=UNSET if options.limit is None else options.limit,
        train=train,
        extent=_stopping(plan) or extent(len(plan.cases), options.limit, train) or UNSET,
    )


def _stopping(plan: Plan) -> dict[str, Any]:
    """What a run that may stop early says about its order."""
    rule, order = plan.stop_rule, plan.unit_order
    return {} if rule is None or order is None else order.extent(rule)


def _defaults(plan: Plan) -> dict[str, Any]:
    declared = {**plan.cases.script.params, **plan.interface.params}
    return {name: param.default for name, param in declared.items() if name in plan.params}


def _train(plan: Plan) -> dict[str, int] | UnsetType:
    part = plan.held_out
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


def _design(cases: CaseSet) -> dict[str, Any]:
    """The declared design with the weights of its strata: a transcript must be complete by itself."""
    design = cases.script.file.design
    declared: dict[str, Any] = {"stratum": design.stratum, "psu": design.psu}
    if design.cofactors:
        declared["cofactors"] = design.cofactors
    if design.weights != "cases":
        declared["weights"] = design.weights if cases.weights is None else cases.weights
    return {key: value for key, value in declared.items() if value is not None}
