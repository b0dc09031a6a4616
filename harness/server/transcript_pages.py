"""The pages of one transcript and of several, compared, and the reports in them: data sheets, comparisons, curves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec
from markupsafe import Markup

from harness.analysis.align import Run
from harness.analysis.standing import design_weights
from harness.api.reports import ReportMaterial, curve_section, report_of
from harness.api.transcripts import OpenedTranscripts
from harness.errors import DataError, HateError, UsageError
from harness.model import Counts
from harness.options.comparing import ReportOptions
from harness.report.blocks import Block, Paragraphs, Table
from harness.report.counts import count_table
from harness.report.page.html import parts_html, section_html
from harness.server.ranking import (
    MAX_CHOSEN,
    MAX_RECORDS,
    affordable,
    header_of,
    measures_of,
    rank,
    run_path,
    trusted_first,
)
from harness.server.render import PageError, PageSite, as_html, param_text, render_page, shortened
from harness.site.catalogue import SiteTest
from harness.site.find_transcripts import Source
from harness.site.layout import TranscriptEntry
from harness.site.local_tests import cases_here, with_data
from harness.transcript.columns import read_columns

MAX_PARAMS = 50


def render_transcript_page(site: PageSite, text: str, name: str) -> str:
    """The page of a transcript: where it came from, its counts, and which classes are confused."""
    state, links = site.state, site.links
    test = site.test(text)
    entry = site.entry(test, name)
    header = header_of(state, entry)
    return render_page(
        "transcript.html",
        links=links,
        title=f"{name}: {test.name} {test.version.version}",
        site=state.title,
        test=test,
        entry=entry,
        header=header,
        params=[(shortened(key), param_text(value)) for key, value in list(header.params.items())[:MAX_PARAMS]],
        versions=list((header.versions or {}).items())[:MAX_PARAMS],
        file=links.file(entry.file.sha256),
        report=_blind_report(site, test, entry) if test.version.blind else _data_sheet(site, test, entry),
    )


def _data_sheet(site: PageSite, test: SiteTest, entry: TranscriptEntry) -> Markup:
    try:
        return site.part("data sheet", test, [entry], lambda: report_html(site, test, [entry]))
    except DataError:
        raise
    except HateError as error:
        return as_html([_counts(entry), Paragraphs([f"There is no data sheet: {str(error).splitlines()[0]}."])])


def _blind_report(site: PageSite, test: SiteTest, entry: TranscriptEntry) -> Markup:
    """Nothing from which the class of a single case could be told."""

    def make() -> str:
        ranking, interval = rank(site.state, [entry]), ""
        if ranking is not None and ranking.method != "Wilson":
            (row,) = ranking.rows
            level = f"{ranking.confidence * 100:g} %"
            interval = f"{level} interval {row.low:.4f} to {row.high:.4f}, by {ranking.method}, {ranking.target}."
        # The interval for independent cases would contradict the one by design.
        blocks: list[Block] = [_counts(entry, interval=not interval)]
        blocks += [Paragraphs([interval])] if interval else []
        return as_html([*blocks, *measures_of(site.state, entry)])

    return site.part("blind report", test, [entry], make)


def _counts(entry: TranscriptEntry, *, interval: bool = True) -> Table:
    counts = Counts(entry.TP, entry.TN, entry.FP, entry.FN, entry.ER)
    return count_table([({}, counts)], interval=interval)


def render_comparison_page(site: PageSite, text: str, names: Sequence[str]) -> str:
    """The page of a comparison, sorted by name, so that the same transcripts are compared only once."""
    test = site.test(text)
    if test.version.blind:
        raise PageError(400, "Runs of a blind test are compared by the letters of its ranking, never case by case.")
    chosen = sorted(set(names))
    if not 2 <= len(chosen) <= MAX_CHOSEN:
        raise PageError(400, f"Choose two to {MAX_CHOSEN} transcripts.")
    known = [site.entry(test, name) for name in chosen]
    try:
        report = site.part("comparison", test, known, lambda: report_html(site, test, known))
    except DataError:
        raise
    except HateError as error:
        raise PageError(409, f"They cannot be compared: {str(error).splitlines()[0]}") from None
    return render_page(
        "comparison.html",
        links=site.links,
        title=f"{' and '.join(chosen) if len(chosen) == 2 else f'{len(chosen)} transcripts'} on {test.name}",
        site=site.state.title,
        test=test,
        entries=known,
        report=report,
    )


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
        runs = []
        for source, entry in zip(self.sources, self.entries, strict=True):
            columns = read_columns(source.path, name=entry.name)
            algorithm = msgspec.structs.replace(columns.header.algorithm, name=entry.name)
            header = msgspec.structs.replace(columns.header, algorithm=algorithm)
            runs.append(Run(replace(columns, header=header), entry.name, entry.name))
        return runs


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
    try:
        # Data that is elsewhere is not fetched for a page.
        cases = cases_here(test.script())
        known_test = None if cases is None else with_data(cases)
    except HateError:
        known_test = None
    return ReportMaterial(opened, options, known_test=known_test)


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
