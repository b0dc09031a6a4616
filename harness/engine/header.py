"""The header of a run's transcript: what was run, and how."""

from typing import Any

from msgspec import UNSET, UnsetType

from harness.engine.plan import Plan
from harness.engine.provenance import interface_info, provenance
from harness.script.cases import CaseSet
from harness.site.header_facts import header_design, header_test
from harness.tasks import plugin_of
from harness.transcript.format import AlgorithmInfo, Header, ValueInfo, extent, new_header


def run_header(plan: Plan) -> Header:
    """Test, algorithm, interface, parameters, design and machine of a run that starts now."""
    options, train = plan.options, _train(plan)
    algorithm, links = plan.interface, plan.interface.links
    return new_header(
        header_test(plan.cases),
        AlgorithmInfo(algorithm.name, algorithm.version, links.code or UNSET, links.paper or UNSET),
        interface_info(plan.interface),
        plugins=[plugin_of(plan.cases.script.task)],
        params=dict(plan.params),
        defaults=_defaults(plan),
        design=header_design(plan.cases),
        repeat=options.repeat if options.repeat > 1 else UNSET,
        limit=UNSET if options.limit is None else options.limit,
        limits=options.limits.record or UNSET,
        values={name: ValueInfo(larger) for name, larger in options.directions.items()} or UNSET,
        blind=True if plan.cases.script.is_blind else UNSET,
        train=train,
        extent=_stopping(plan) or extent(len(plan.cases), options.limit, train) | _versions(plan.cases) or UNSET,
        **provenance(plan.interface),
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


def _versions(cases: CaseSet) -> dict[str, bool]:
    """The extent of a run without the versions that [vary] makes."""
    return {"vary": False} if cases.originals_only else {}
