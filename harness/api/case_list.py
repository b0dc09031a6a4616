"""The cases of a test for people who compute answers elsewhere: what a program would be told, inputs resolved."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from harness.api.runs import AnyTest, load_test
from harness.errors import UsageError
from harness.model import Question
from harness.options import LibraryOptions, Range, option
from harness.script.cases import CaseSet, training
from harness.script.gallery import enrolment

PARTS = ("cases", "train", "gallery")


class CaseListOptions(LibraryOptions):
    """Which cases, and how much of them."""

    part: str = option(
        "--part",
        "The cases to answer, those to learn from, or the gallery of a rank test.",
        default="cases",
        choices=PARTS,
    )
    truth: bool = option("--truth", "Also what a program is not told: expect, positive, truth.", default=False)
    limit: int | None = option("--limit N", "Only the first N.", default=None, within=Range(1))


def case_list(test: AnyTest, options: CaseListOptions | None = None, **settings: Any) -> Iterator[dict[str, Any]]:
    """Each case as the program is told of it: `id`, `input`, the claim where it is told that, `columns`."""
    options = CaseListOptions.given(options, settings)
    cases = test if isinstance(test, CaseSet) else load_test(test, libraries=options.libraries, offline=options.offline)
    if options.truth and cases.script.is_blind:
        raise UsageError(f"{cases.name}: a blind test; what is true is with its site")
    if options.truth and options.part != "cases":
        raise UsageError(f"--truth is about the cases; --part {options.part} shows its labels anyway")
    return islice(_records(cases, options), options.limit)


def _records(cases: CaseSet, options: CaseListOptions) -> Iterator[dict[str, Any]]:
    if options.part == "train":
        return map(_told, _some(training(cases.script, cases.data_paths), f"{cases.name} has no training part"))
    if options.part == "gallery":
        if cases.gallery is None:
            raise UsageError(f"{cases.name} has no gallery; only rank tests have one")
        return map(_told, enrolment(cases.gallery, cases.references))
    return _case_records(cases, truth=options.truth)


def _some(questions: Iterator[Question], problem: str) -> Iterable[Question]:
    first = next(questions, None)
    if first is None:
        raise UsageError(problem)
    return chain([first], questions)


def _case_records(cases: CaseSet, *, truth: bool) -> Iterator[dict[str, Any]]:
    maker, resolve, shows_claim = cases.input_maker(), cases.references.resolve, cases.script.task.shows_claim
    for case in cases:
        value = resolve(case.input) if maker is None else maker.make(case)[1]
        record = _told(Question(0, case.id, value, case.expect if shows_claim else "", case.columns))
        if truth:
            record |= {"expect": case.expect, "positive": case.positive, "truth": case.real_class}
        yield record


def _told(question: Question) -> dict[str, Any]:
    record: dict[str, Any] = {"id": question.id, "input": question.input}
    record |= {"expect": question.expect} if question.expect else {}
    return record | ({"columns": question.columns} if question.columns else {})
