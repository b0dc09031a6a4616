"""Find the test by which a transcript can be judged again, and judge what is to be published."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import UnsetType

from harness.errors import HateError, TranscriptError, UsageError
from harness.files.memory_cache import MemoryCache
from harness.script.cases import CaseSet, cases_without_data, load_cases
from harness.script.gallery import select_cases
from harness.script.load import Script, load_script
from harness.script.references import DOWNLOADED
from harness.site.audit import Audit, Watch, audit
from harness.site.cache import CONTENT, FILES, cache_folder
from harness.site.candidates import Candidate, TestCandidate, TranscriptCandidate
from harness.site.catalogue import Catalogue, find_version
from harness.site.config import configured_sites
from harness.site.fetch import fetch_data
from harness.site.judged import NOT_HERE, scripts_at_hand
from harness.site.published import SiteTest, find_release
from harness.site.sites import sites
from harness.transcript.format import Header, TestInfo
from harness.transcript.read import open_transcript

MAX_TESTS = 4
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
    return select_cases(cases, gallery.where or (), gallery.probes or ())


# The cases of the published tests that were asked for last; only tables of galleries are in memory.
_known: MemoryCache[CaseSet] = MemoryCache(MAX_TESTS)


def published_cases(test: SiteTest) -> CaseSet | None:
    """The cases of a published test; None if they are not here."""
    known = _known.get(test.version.release.sha256)
    # Someone may have cleared the cache.
    if known is None or not known.script.path.exists():
        known = cases_here(test.script())
        if known is not None:
            _known.put(test.version.release.sha256, known)
    return known


def judge_candidates(site: Catalogue, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, with every transcript judged; a HateError says what contradicts its test."""
    judged: list[Candidate] = []
    mistakes: list[HateError] = []
    for candidate in candidates:
        try:
            if isinstance(candidate, TranscriptCandidate) and not candidate.judged:
                candidate = judge(site, candidate, offered=candidates)
            judged.append(candidate)
        except HateError as error:
            mistakes.append(error)
    if len(mistakes) == 1:
        raise mistakes[0]
    if mistakes:
        raise UsageError(
            "\n  ".join([f"{len(mistakes)} of {len(candidates)} cannot be published", *map(str, mistakes)])
        )
    return judged


def judge(
    site: Catalogue, candidate: TranscriptCandidate, *, offered: Sequence[Candidate] = (), watch: Watch | None = None
) -> TranscriptCandidate:
    """A transcript that was judged again, by the cases of its test if they are here; `watch` sees its records.

    One whose test is neither published nor offered is left as it is.
    """
    test = candidate.header.test
    same = next((one for one in offered if isinstance(one, TestCandidate) and _is_same(one, test)), None)
    cases = None if same is None else same.case_set
    published = _published_test(site, test) if cases is None else None
    if published is not None:
        cases = published_cases(published)
    result = audit(candidate.path, None if cases is None else part_of(cases, test), watch=watch)
    if result.counts != candidate.counts:
        raise TranscriptError(
            f"{candidate.path}: its last line says {candidate.counts}, its records are {result.counts}"
        )
    if cases is None and published is None:
        # It will be refused for that, whatever else is wrong with it.
        return candidate
    result.raise_if_any()
    if cases is None:
        # Its strata and weights are its own word too, so the ranking holds them against the other runs.
        return replace(candidate, judged=True, self_reported=NO_DATA)
    # With numpy, which takes long to import.
    from harness.analysis.standing import standing_of

    standing = standing_of(candidate.path)
    return replace(candidate, judged=True, self_reported=result.self_reported, standing=standing)


def _is_same(candidate: TestCandidate, test: TestInfo) -> bool:
    release = candidate.release
    return (release.name, release.version, release.digest) == (test.name, test.version, test.digest)


def _published_test(site: Catalogue, test: TestInfo) -> SiteTest | None:
    index = site.test(test.name)
    version = None if index is None or not test.version else find_version(index, test.version)
    if index is None or version is None or version.digest != test.digest:
        return None
    return SiteTest(site, index, version)


def audit_file(path: Path) -> Audit:
    """Judge a transcript by its test, if that is beside it, in the libraries or at a configured site."""
    with open_transcript(path) as reader:
        header = reader.header
    cases, why = _find_cases(path, header)
    result = audit(path, cases)
    return replace(result, self_reported=why) if cases is None else result


def find_cases_here(path: Path, header: Header) -> tuple[CaseSet | None, str]:
    """The test of a transcript, if it and what its cases are made of are on this machine, or why there is none.

    Nothing is downloaded.
    """
    return _first_match(_scripts_here(path, header.test), header.test)


def _find_cases(path: Path, header: Header) -> tuple[CaseSet | None, str]:
    """The test of a transcript, or why there is none."""
    return _first_match(_scripts(path, header.test), header.test)


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
    for place in scripts_at_hand(path, test):
        try:
            script = load_script(place)
        except HateError:
            continue
        yield replace(script, confined=DOWNLOADED) if place.is_relative_to(cache_folder()) else script


def _scripts(path: Path, test: TestInfo) -> Iterator[Script]:
    """The same, and then at the configured sites."""
    yield from _scripts_here(path, test)
    if test.version and configured_sites():
        try:
            release = find_release(f"{test.name}@{test.version}", sites())
            if release is not None:
                yield release.script()
        except HateError:
            return
