"""Hand in transcripts, from the submitter's side: the checks are those of the server, on what the site publishes.

This module needs none of the libraries that serving needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.errors import DataError, HateError, UsageError
from harness.server.inspection import check_size, inspect_transcript, judge_submission
from harness.server.state import SiteState, find_test
from harness.site.blind import read_answers
from harness.site.candidates import check_name
from harness.site.catalogue import SiteTest
from harness.site.changes import NameTaken, SiteDraft, name_owner, plan_change
from harness.site.config import SiteConfig, site_config
from harness.site.local_runs import transcript_stem
from harness.site.local_tests import cases_here
from harness.site.sites import open_site
from harness.site.upload import SubmissionReceipt, Upload, send
from harness.transcript.format import now
from harness.transcript.read import open_transcript

# Only the server knows its limit.
LARGEST = 1 << 40


@dataclass(frozen=True)
class CheckedTranscript:
    """A transcript that the server should accept."""

    path: Path
    # TEST@VERSION.
    test: str
    name: str
    # Why others may not believe it.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Handing:
    """A site, and who hands something in."""

    address: str
    token: str

    @property
    def submitter(self) -> str:
        """The name that the token belongs to."""
        return self.token.partition(":")[0]

    @cached_property
    def site(self) -> SiteConfig:
        """Where it is."""
        return site_config(self.address)

    @cached_property
    def _opened(self) -> tuple[SiteState, str]:
        catalogue, note = open_site(self.site)
        return SiteState("", catalogue), note

    @property
    def state(self) -> SiteState:
        """What is published there."""
        return self._opened[0]

    @property
    def note(self) -> str:
        """What the user should know about the site."""
        return self._opened[1]

    def check(self, path: Path, name: str) -> CheckedTranscript:
        """What the server will check; a HateError says what is wrong."""
        with open_transcript(path) as reader:
            run = reader.header.test
        test = find_test(self.state, f"{run.name}@{run.version}")
        if test is not None and test.version.blind:
            return self._check_answers(path, name or transcript_stem(path.name), test)
        candidate = inspect_transcript(
            path, name=name or transcript_stem(path.name), by=self.submitter, largest=LARGEST
        )
        catalogue = self.state.catalogue
        judged = judge_submission(self.state, candidate)
        change = plan_change(SiteDraft(catalogue.store), catalogue.top, [judged], now())
        return CheckedTranscript(path, f"{run.name}@{run.version}", candidate.name, tuple(change.notes))

    def _check_answers(self, path: Path, name: str, test: SiteTest) -> CheckedTranscript:
        """The answers of a blind run are complete, and the name is free; their worth is not known here."""
        check_size(path, LARGEST)
        check_name(name, path)
        public = cases_here(test.script())
        if public is None:
            raise DataError(
                f"{test.label}: its cases are in data that is not here; `hate fetch {test.full_name}` first"
            )
        read_answers(path, public)
        if name_owner(self.state.catalogue, name) not in (None, self.submitter):
            raise NameTaken(f"{path}: the name '{name}' belongs to someone else; choose another with --name")
        return CheckedTranscript(path, test.full_name, name)

    def send(self, checked: CheckedTranscript) -> SubmissionReceipt:
        """Send it; the server has the last word."""
        return send(Upload(checked.path, self.site.address, checked.test, checked.name, self.token))


def check_all(handing: Handing, files: Mapping[Path, str]) -> list[CheckedTranscript]:
    """Check all files, each with a name or an empty one; the mistakes of all are reported together."""
    checked: list[CheckedTranscript] = []
    mistakes: list[HateError] = []
    for path, name in files.items():
        try:
            checked.append(handing.check(path, name))
        except HateError as error:
            mistakes.append(error)
    if len(mistakes) == 1:
        raise mistakes[0]
    if mistakes:
        raise UsageError("\n  ".join([f"{len(mistakes)} of {len(files)} cannot be submitted", *map(str, mistakes)]))
    return checked
