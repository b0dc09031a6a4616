"""Tests on this machine: the one that a transcript was run on, its cases, and their inputs."""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import UnsetType

from harness.errors import HateError
from harness.model import Case, plain_text
from harness.script.cases import CaseSet, cases_without_data, load_cases
from harness.script.gallery import select_gallery_cases
from harness.script.load import Script, load_script
from harness.script.references import DOWNLOADED
from harness.site.cache import CONTENT, FILES, cache_folder
from harness.site.config import configured_sites
from harness.site.fetch import fetch_data
from harness.site.judged import NOT_HERE, scripts_at_hand
from harness.site.sites import find_release, sites
from harness.transcript.format import Header, TestInfo

NO_DATA = "its cases are in data that is not here, so outcomes were not judged again"


def cases_here(script: Script) -> CaseSet | None:
    """The cases of a test, without a download; None if they are named by data that is not here."""
    if script.file.cases.glob is None:
        return cases_without_data(script)
    return load_cases(script, fetch_data(script)) if is_data_here(script) else None


def is_data_here(script: Script) -> bool:
    """Whether all data of a test is beside its script or in the cache."""
    urls = [data for data in script.file.data.values() if data.url is not None]
    return all((cache_folder() / FILES / (data.sha256 or "-") / CONTENT).is_file() for data in urls)


def part_of(cases: CaseSet, test: TestInfo) -> CaseSet:
    """The part of a rank test that a header names."""
    gallery = test.gallery
    if isinstance(gallery, UnsetType):
        return cases
    return select_gallery_cases(cases, gallery.where or (), gallery.probes or ())


def find_cases_here(path: Path, header: Header) -> tuple[CaseSet | None, str]:
    """The test of a transcript, if it and what its cases are made of are on this machine, or why there is none.

    Nothing is downloaded.
    """
    return _first_match(_scripts_here(path, header.test), header.test)


def find_cases(path: Path, header: Header) -> tuple[CaseSet | None, str]:
    """The same, and then at the configured sites."""
    test = header.test

    def scripts() -> Iterator[Script]:
        yield from _scripts_here(path, test)
        if test.version and configured_sites():
            with contextlib.suppress(HateError):
                release = find_release(f"{test.name}@{test.version}", sites())
                if release is not None:
                    yield release.script()

    return _first_match(scripts(), test)


def _first_match(scripts: Iterator[Script], test: TestInfo) -> tuple[CaseSet | None, str]:
    why = NOT_HERE
    for script in scripts:
        try:
            cases = cases_here(script)
            if cases is None:
                why = NO_DATA if why == NOT_HERE else why
                continue
            part = part_of(cases, test)
        except HateError:
            continue
        if part.digest == test.digest:
            return part, ""
        # The nearest is the one that people know of.
        other = f"{script.path} has another digest than the test that was run, so outcomes were not judged again"
        why = other if why == NOT_HERE else why
    return None, why


def _scripts_here(path: Path, test: TestInfo) -> Iterator[Script]:
    """Scripts with the name and version of a test, the nearest first."""
    for script_path in scripts_at_hand(path, test):
        try:
            script = load_script(script_path)
        except HateError:
            continue
        yield replace(script, confined=DOWNLOADED) if script_path.is_relative_to(cache_folder()) else script


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
        wanted, inputs = set(ids), dict[str, CaseInput]()
        for case in self.cases:
            if case.id in wanted and (case_input := self._input(case)) is not None:
                inputs[case.id] = case_input
            if len(inputs) == len(wanted):
                break
        return inputs

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
    return TestHere(replace(cases, data_paths=fetch_data(cases.script)), has_data=True)


def _texts(value: Any) -> Iterator[str]:
    """The texts in an input, in lists and objects too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif value is not None:
        yield plain_text(value)
