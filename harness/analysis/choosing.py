"""Virtual experiments: a gallery and probes chosen by conditions on their columns."""

from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.conditions import Condition, parse_condition
from harness.errors import UsageError
from harness.model import Case
from harness.params import nearest
from harness.script.cases import CaseSet
from harness.script.choice import Choice, Wish, chosen_gallery
from harness.script.design import FIXED_COLUMNS


def chosen(cases: CaseSet, gallery: Sequence[str], probe: Sequence[str]) -> CaseSet:
    """The part of a test that meets the conditions; all of it where there are none."""
    if not gallery and not probe:
        return cases
    if cases.gallery is None:
        option = "--gallery" if gallery else "--probe"
        raise UsageError(f"{option}: for rank tests; {cases.script.name} is a {cases.script.task.name} test")
    wishes = _wish("--gallery", gallery, cases.gallery.entries), _wish("--probe", probe, [next(iter(cases))])
    part = chosen_gallery(cases.gallery, wishes[0])
    choice = Choice(*wishes, gallery=part, open_set="threshold" in cases.script.params)
    found = list(choice.of(cases))
    if not found:
        raise UsageError(f"--probe {' '.join(probe)}: no probe is so, and of somebody in the gallery")
    wished = sum(map(wishes[1].keeps, cases))
    choice = replace(choice, left_out=wished - len(found))
    strata = None if cases.stratum is None else len({cases.stratum(case) for case in found})
    positives = sum(case.positive for case in found)
    return replace(cases, gallery=part, choice=choice, count=len(found), positives=positives, strata=strata)


def _wish(option: str, texts: Sequence[str], examples: Sequence[Case]) -> Wish:
    conditions = [parse_condition(text, option) for text in texts]
    known = [*FIXED_COLUMNS, *examples[0].columns]
    for condition in conditions:
        if condition.name not in known:
            raise UsageError(f"{option} {condition.name}: no such column; {nearest(condition.name, known)}")
    return Wish(list(texts), lambda case: all(_holds(condition, case) for condition in conditions))


def _holds(condition: Condition, case: Case) -> bool:
    fixed = condition.name in FIXED_COLUMNS
    return condition.holds(case.column(condition.name) if fixed else case.columns.get(condition.name))
