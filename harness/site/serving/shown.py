"""What each page shows."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from markupsafe import Markup
from starlette.exceptions import HTTPException

from harness.errors import DataError, HateError
from harness.model import Counts
from harness.report.comparison import comparison_blocks
from harness.report.counts import count_table
from harness.report.document import Block, Heading
from harness.site.layout import TestEntry, TranscriptEntry, file_path
from harness.site.serving.about import about, prose
from harness.site.serving.confused import confusion_of, header_of
from harness.site.serving.plotted import plotted
from harness.site.serving.ranking import MOST_CHOSEN, Ranking, chosen_comparison, rank
from harness.site.serving.render import as_html, render_page, shortened
from harness.site.serving.site import Site, State, Test, find_test, rate_of, release_of, transcripts_of
from harness.site.serving.stock import Stock

TESTS_A_PAGE = 50
MOST_LISTED = 500
MOST_PARAMS = 50
MOST_FILES = 200


@dataclass(frozen=True)
class ShownTests:
    """The list of tests, a part at a time."""

    words: str
    number: int

    def page(self, site: Site, state: State) -> str:
        """The page."""
        everything = site.tests(state)
        found = [entry for entry in everything if self._fits(entry)] if self.words.strip() else everything
        pages = max(1, -(-len(found) // TESTS_A_PAGE))
        number = min(max(1, self.number), pages)
        return render_page(
            "tests.html",
            title=state.title,
            entries=found[(number - 1) * TESTS_A_PAGE : number * TESTS_A_PAGE],
            found=len(found),
            total=len(everything),
            words=self.words,
            number=number,
            pages=pages,
            published=state.catalogue.top.published,
        )

    def _fits(self, entry: TestEntry) -> bool:
        text = f"{entry.name} {entry.synopsis}".casefold()
        return all(word in text for word in self.words.casefold().split())


def _test(state: State, text: str) -> Test:
    found = find_test(state, text)
    if found is None:
        raise HTTPException(404, "No such test here.")
    return found


def shown_test(state: State, text: str, stock: Stock) -> str:
    """A test: what it is about, its ranking, its files."""
    test = _test(state, text)
    entries = transcripts_of(state, test)
    release = release_of(state, test)
    said = about(state, release)
    return render_page(
        "test.html",
        title=f"{test.name} {test.version.version}",
        site=state.title,
        test=test,
        about=said,
        description=prose(said.description),
        ranking=_ranking(state, test, entries, stock),
        transcripts=len(entries),
        files=[(file.path, file.bytes, file_path(file.sha256)) for file in release.files[:MOST_FILES]],
        more_files=max(0, len(release.files) - MOST_FILES),
    )


def _key(kind: str, test: Test, entries: Sequence[TranscriptEntry]) -> tuple[str, ...]:
    """What a comparison follows from: a test, and content."""
    parts = [f"{entry.name}\0{entry.file.sha256}\0{entry.by}\0{entry.published}" for entry in entries]
    return kind, test.full_name, hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _ranking(state: State, test: Test, entries: Sequence[TranscriptEntry], stock: Stock) -> Markup:
    def make() -> bytes:
        found = rank(state, entries)
        ranked = set() if found is None else {row.entry.name for row in found.rows}
        rest = [(entry, rate_of(entry)) for entry in entries if entry.name not in ranked]
        page = render_page(
            "ranking.html",
            test=test,
            ranking=found,
            plots=[] if found is None else plotted(found.rows),
            rest=rest[:MOST_LISTED],
            more=max(0, len(rest) - MOST_LISTED),
            most=MOST_CHOSEN,
        )
        return page.encode()

    return Markup(stock.made(_key("ranking", test, entries), make).decode()) if entries else Markup()  # noqa: S704


def shown_transcript(state: State, text: str, name: str, stock: Stock) -> str:
    """A transcript: where it came from, its counts, who is taken for whom."""
    test = _test(state, text)
    entry = state.catalogue.transcript(test.index, name, test.version.version)
    if entry is None:
        raise HTTPException(404, "No such transcript here.")
    header = header_of(state, entry)
    counts = Counts(entry.TP, entry.TN, entry.FP, entry.FN, entry.ER)

    def make() -> bytes:
        return as_html(confusion_of(state, entry, test.version.task)).encode()

    def design() -> bytes:
        return _by_design(rank(state, [entry])).encode()

    by_design = stock.made(_key("design", test, [entry]), design).decode()
    return render_page(
        "transcript.html",
        title=f"{name}: {test.name} {test.version.version}",
        site=state.title,
        test=test,
        entry=entry,
        header=header,
        params=[(shortened(key), _value(value)) for key, value in list(header.params.items())[:MOST_PARAMS]],
        file=file_path(entry.file.sha256),
        # An interval as if cases were independent would contradict the one by design, which is said below.
        counts=as_html([count_table([({}, counts)], interval=not by_design)]),
        design=by_design,
        confusion=Markup(stock.made(_key("confusion", test, [entry]), make).decode()),  # noqa: S704
    )


def _by_design(found: Ranking | None) -> str:
    if found is None or found.method == "Wilson":
        return ""
    (row,) = found.rows
    level = f"{found.confidence * 100:g} %"
    return f"{level} interval {row.low:.4f} to {row.high:.4f}, by {found.method}, {found.target}."


def _value(value: object) -> str:
    return shortened(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _answer_first(blocks: Sequence[Block]) -> list[Block]:
    """The verdicts, then what they rest on; the title is that of the page already."""
    place = next((i for i, block in enumerate(blocks) if block == Heading("Verdicts")), len(blocks))
    return [*blocks[place:], *([Heading("Case by case")] if place > 1 else []), *blocks[1:place]]


def shown_comparison(state: State, text: str, names: Sequence[str], stock: Stock) -> str:
    """A few transcripts compared, in the order of their names, so that the same ones are compared once."""
    test = _test(state, text)
    wanted = sorted(set(names))
    if not 2 <= len(wanted) <= MOST_CHOSEN:
        raise HTTPException(400, f"Choose two transcripts or more, and {MOST_CHOSEN} at most.")
    entries = [state.catalogue.transcript(test.index, name, test.version.version) for name in wanted]
    known = [entry for entry in entries if entry is not None]
    if len(known) < len(entries):
        raise HTTPException(404, "No such transcript here.")

    def make() -> bytes:
        found, further = chosen_comparison(state, known)
        return as_html(_answer_first(comparison_blocks(found, further))).encode()

    try:
        report = stock.made(_key("comparison", test, known), make)
    except DataError:
        raise
    except HateError as error:
        raise HTTPException(409, f"They cannot be compared: {str(error).splitlines()[0]}") from None
    return render_page(
        "comparison.html",
        title=f"{' and '.join(wanted) if len(wanted) == 2 else f'{len(wanted)} transcripts'} on {test.name}",
        site=state.title,
        test=test,
        entries=known,
        report=Markup(report.decode()),  # noqa: S704
    )
