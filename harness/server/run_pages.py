"""The pages of one transcript and of several, compared."""

from collections.abc import Sequence

from markupsafe import Markup

from harness.errors import DataError, HateError
from harness.model import Counts
from harness.report.blocks import Block, Paragraphs, Table
from harness.report.counts import count_table
from harness.server.page_site import PageSite
from harness.server.ranking import MAX_CHOSEN, Ranking, header_of, measures_of, rank
from harness.server.ranking_page import param_text
from harness.server.render import PageError, as_html, render_page, shortened
from harness.server.reports import report_html
from harness.site.catalogue import SiteTest
from harness.site.layout import TranscriptEntry

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
        interval = _interval_by_design(rank(site.state, [entry]))
        # The interval for independent cases would contradict the one by design.
        blocks: list[Block] = [_counts(entry, interval=not interval)]
        blocks += [Paragraphs([interval])] if interval else []
        return as_html([*blocks, *measures_of(site.state, entry)])

    return site.part("blind report", test, [entry], make)


def _counts(entry: TranscriptEntry, *, interval: bool = True) -> Table:
    counts = Counts(entry.TP, entry.TN, entry.FP, entry.FN, entry.ER)
    return count_table([({}, counts)], interval=interval)


def _interval_by_design(ranking: Ranking | None) -> str:
    if ranking is None or ranking.method == "Wilson":
        return ""
    (row,) = ranking.rows
    level = f"{ranking.confidence * 100:g} %"
    return f"{level} interval {row.low:.4f} to {row.high:.4f}, by {ranking.method}, {ranking.target}."


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
