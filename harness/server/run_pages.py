"""The pages of one transcript and of several, compared."""

from collections.abc import Sequence

from harness.errors import DataError, HateError
from harness.model import Counts
from harness.report.comparison import comparison_blocks
from harness.report.counts import count_table
from harness.server.page_site import PageSite
from harness.server.ranking import (
    MOST_CHOSEN,
    Ranking,
    chosen_comparison,
    confusion_of,
    header_of,
    measures_of,
    rank,
)
from harness.server.ranking_page import param_text
from harness.server.render import PageError, as_html, render_page, shortened

MOST_PARAMS = 50


def render_transcript_page(site: PageSite, text: str, name: str) -> str:
    """The page of a transcript: where it came from, its counts, and which classes are confused."""
    state, links = site.state, site.links
    test = site.test(text)
    entry = site.entry(test, name)
    header = header_of(state, entry)
    counts = Counts(entry.TP, entry.TN, entry.FP, entry.FN, entry.ER)
    interval = site.data("interval", test, [entry], lambda: _interval_by_design(rank(state, [entry])).encode()).decode()
    return render_page(
        "transcript.html",
        links=links,
        title=f"{name}: {test.name} {test.version.version}",
        site=state.title,
        test=test,
        entry=entry,
        header=header,
        params=[(shortened(key), param_text(value)) for key, value in list(header.params.items())[:MOST_PARAMS]],
        versions=list((header.versions or {}).items())[:MOST_PARAMS],
        file=links.file(entry.file.sha256),
        # The interval for independent cases would contradict the one by design, which is shown below.
        counts=as_html([count_table([({}, counts)], interval=not interval)]),
        interval=interval,
        confusion=site.part("confusion", test, [entry], lambda: as_html(confusion_of(state, entry, test.version.task)))
        # The classes of single cases could be told from it; so all that there is, is here.
        if not test.version.blind
        else site.part("measures", test, [entry], lambda: as_html(measures_of(state, entry))),
    )


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
    if not 2 <= len(chosen) <= MOST_CHOSEN:
        raise PageError(400, f"Choose two to {MOST_CHOSEN} transcripts.")
    known = [site.entry(test, name) for name in chosen]

    def make() -> str:
        comparison = chosen_comparison(site.state, known)
        return as_html(comparison_blocks(comparison)[1:])  # the page has a title already

    try:
        report = site.part("comparison", test, known, make)
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
