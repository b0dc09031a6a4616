"""Reports on published transcripts, as parts of pages: data sheets, comparisons, curves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from harness.analysis.align import Run
from harness.analysis.standing import design_weights
from harness.api.report_curves import curve_section
from harness.api.report_material import ReportMaterial
from harness.api.report_options import ReportOptions
from harness.api.reports import report_of
from harness.api.transcripts import OpenedTranscripts
from harness.errors import HateError, UsageError
from harness.report.page.html import parts_html, section_html
from harness.server.page_site import PageSite
from harness.server.ranking import MAX_RECORDS, affordable, run_path, trusted_first
from harness.site.catalogue import SiteTest
from harness.site.find_transcripts import Source
from harness.site.layout import TranscriptEntry
from harness.site.local_tests import TestHere, cases_here, with_data
from harness.transcript.columns import read_columns

# Curves of the best runs that are shown with a ranking.
MAX_CURVES = 6
# A page says itself where its transcripts come from.
_LEFT_OUT = ("origin",)


@dataclass(frozen=True)
class _PublishedRuns(OpenedTranscripts):
    """Transcripts of a site, under the names that they have there."""

    entries: Sequence[TranscriptEntry] = ()

    def runs(self, *, lean: bool = False) -> list[Run]:
        """All of them, read once."""
        return self._runs

    @cached_property
    def _runs(self) -> list[Run]:
        found = []
        for source, entry in zip(self.sources, self.entries, strict=True):
            columns = read_columns(source.path, name=entry.name)
            algorithm = msgspec.structs.replace(columns.header.algorithm, name=entry.name)
            header = msgspec.structs.replace(columns.header, algorithm=algorithm)
            found.append(Run(replace(columns, header=header), entry.name, entry.name))
        return found


def _material(site: PageSite, test: SiteTest, entries: Sequence[TranscriptEntry]) -> ReportMaterial:
    if len(affordable(entries)) < len(entries):
        raise UsageError(f"more than {MAX_RECORDS:,} records together; use `hate report`")
    trusted = trusted_first(entries)
    sources = [
        Source(run_path(site.state, entry), site.links.address_of_run(test, entry.name), entry.name)
        for entry in trusted
    ]
    opened = _PublishedRuns(sources, entries=trusted)
    first = opened.runs()[0].columns
    options = ReportOptions(weights=design_weights(first.header, first.columns))
    return ReportMaterial(opened, options, known_test=_test_here(test))


def _test_here(test: SiteTest) -> TestHere | None:
    """The test as the site has it; data that is elsewhere is not fetched for a page."""
    try:
        cases = cases_here(test.script())
        return None if cases is None else with_data(cases)
    except HateError:
        return None


def report_html(site: PageSite, test: SiteTest, entries: Sequence[TranscriptEntry]) -> str:
    """The data sheet of a transcript, or the comparison of several; a HateError if they cannot be compared."""
    page = report_of(_material(site, test, entries)).page
    sections = [section for section in page.sections if section.key not in _LEFT_OUT]
    return "\n".join([f'<div class="lead">{parts_html(page.lead)}</div>', *map(section_html, sections)])


def curves_html(site: PageSite, test: SiteTest, entries: Sequence[TranscriptEntry]) -> str:
    """The curves of the best runs; empty if their answers have none."""
    try:
        section = curve_section(_material(site, test, entries))
    except HateError:
        return ""
    return "" if section is None else section_html(section)
