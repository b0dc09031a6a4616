"""The inputs of single cases, from data that is on this machine: nothing is downloaded to show them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.errors import HateError
from harness.model import Case, plain_text
from harness.script.cases import CaseSet
from harness.site.fetch import fetch_data
from harness.site.judging import find_cases_here, is_data_here
from harness.transcript.format import Header


@dataclass(frozen=True)
class CaseInput:
    """What a case asks: a file of the test's data, or a text."""

    path: Path | None
    text: str = ""


@dataclass(frozen=True)
class TestHere:
    """The test of a transcript, with its data if that is here too."""

    cases: CaseSet
    has_data: bool

    def inputs(self, ids: Collection[str]) -> dict[str, CaseInput]:
        """The inputs of some cases, by id; without those whose file is not here."""
        wanted, found = set(ids), dict[str, CaseInput]()
        for case in self.cases:
            if case.id in wanted and (one := self._input(case)) is not None:
                found[case.id] = one
            if len(found) == len(wanted):
                break
        return found

    def _input(self, case: Case) -> CaseInput | None:
        files = [text for text in _texts(case.input) if text.startswith("{")]
        if not files:
            # A text, whatever it names: only files that the test declares are opened.
            return CaseInput(None, "\n".join(_texts(case.input)))
        if not self.has_data:
            return None
        try:
            made = self.cases.input_of(case) if self.cases.script.made else self.cases.references.resolve(files[0])
        except HateError:
            return None
        return CaseInput(Path(made)) if isinstance(made, str) else None


def find_test_here(path: Path, header: Header) -> TestHere | None:
    """The test of a transcript; None if it is not here, or is not the one that was run."""
    try:
        cases, _ = find_cases_here(path, header)
        return None if cases is None else with_data(cases)
    except HateError:
        return None


def with_data(cases: CaseSet) -> TestHere:
    """A test with its data, if that is here; nothing is downloaded."""
    if not is_data_here(cases.script):
        return TestHere(cases, has_data=False)
    return TestHere(replace(cases, places=fetch_data(cases.script)), has_data=True)


def _texts(value: Any) -> Iterator[str]:
    """The texts in an input, in lists and objects too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif value is not None:
        yield plain_text(value)
