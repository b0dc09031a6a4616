"""The first line of a transcript, audited: what it says about its test must be so, and its parameters must decide."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from harness.model import ErrorRule
from harness.params import Param, Value
from harness.script.cases import CaseSet
from harness.site.header_facts import header_design, header_test, stopping_extent, units_in_order
from harness.tasks import find_task
from harness.tasks.answers import shown
from harness.tasks.judge import Judge
from harness.transcript.format import Header, extent

# As many answers to a case as `--repeat` allows.
MAX_REPEATS = 10_000


def header_mistakes(header: Header, cases: CaseSet) -> Iterator[str]:
    """What a header says other than its test."""
    there, here = (msgspec.to_builtins(info) for info in (header.test, header_test(cases)))
    for key in dict.fromkeys([*here, *there]):
        # A header need not say how many there are.
        if there.get(key) != here.get(key) and not (key in ("cases", "gallery") and there.get(key) is None):
            yield f"test: {key} {_shown(there.get(key))}, but the test has {_shown(here.get(key))}"
    design = header_design(cases)
    for key in dict.fromkeys([*design, *header.design]):
        if header.design.get(key) != msgspec.to_builtins(design.get(key)):
            yield f"design: {key} {_shown(header.design.get(key))}, but the test has {_shown(design.get(key))}"
    yield from _extent_mistakes(header, cases)
    for name, value in _decisions(header, cases.script.params).items():
        if not _is_number(value):
            yield f"params: {name} {_shown(value)} is not a number, so nothing can be decided"


def _extent_mistakes(header: Header, cases: CaseSet) -> Iterator[str]:
    for key, most in (("limit", sys.maxsize), ("repeat", MAX_REPEATS)):
        value = getattr(header, key)
        if value is not UNSET and not 1 <= value <= most:
            yield f"{key} {shown(value)} is not a number from 1 to {most:,}"
    part: dict[str, Any] = extent(len(cases), header.limit, header.train) | cases.versions_extent
    if "stop_when" in header.part:
        sizes = [len(own) for own in units_in_order(cases, _order_seed(header)).values()]
        part = stopping_extent(header.part["stop_when"], header.part.get("seed"), sizes)
    if header.extent is not UNSET and header.extent != part:
        yield f"extent {_shown(header.extent)}, but limit and train make it {_shown(part)}"


def _order_seed(header: Header) -> int:
    """The seed of the random order; one that is not a number is a mistake elsewhere."""
    seed = header.part.get("seed")
    return seed if isinstance(seed, int) else 0


def stopped_mistake(cases: CaseSet, header: Header, seen: set[str]) -> str | None:
    """What is wrong with the cases of a run that stopped early: they must be those of the first units."""
    units = [{case.id for _, case in own} for own in units_in_order(cases, _order_seed(header)).values()]
    count = sum(not seen.isdisjoint(ids) for ids in units)
    wanted = set().union(*units[:count])
    if wanted == seen:
        return None
    return (
        f"the records are not those of the first {count:,} units in the random order of seed {header.part.get('seed')}"
    )


def decision_params(header: Header, declared: Mapping[str, Param]) -> dict[str, Value] | None:
    """The parameters that outcomes were decided with, by default those of the test; None if one is no number."""
    decisions = _decisions(header, declared)
    return {**header.params, **decisions} if all(map(_is_number, decisions.values())) else None


def _decisions(header: Header, declared: Mapping[str, Param]) -> dict[str, Any]:
    return {name: header.params.get(name, param.default) for name, param in declared.items() if param.decision}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def self_judge(header: Header) -> Judge | None:
    """A judge that knows only the header; None if another tool marked the answers, or they are not recorded."""
    task = find_task(header.test.task)
    if task is None or not (task.records_answers and task.records_expect) or header.is_imported:
        return None
    declared = {name: p for name, p in task.decisions.items() if name not in task.optional or name in header.params}
    params = decision_params(header, declared)
    if params is None:
        return None
    errors = header.test.errors
    rule = ErrorRule(errors) if errors in set(ErrorRule) else ErrorRule.FAILURE
    return Judge(task, header.test.rules, params, errors=rule)


def _shown(value: Any) -> str:
    return "nothing" if value is None else shown(value)
