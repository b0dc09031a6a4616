"""Which transcripts were judged again by their test before they are believed, and which are self-reported."""

from collections.abc import Sequence

from harness.model import join_names
from harness.site.judged import judged_again
from harness.site.locate import Source
from harness.transcript.format import Header

# More names than anyone reads in a line.
MOST_TOLD = 10


def judge_sources(sources: Sequence[Source], headers: Sequence[Header]) -> list[str | None]:
    """Why each is self-reported; empty if it was judged again by its test.

    None for what other tools decided, as its header says; but beside a run of a test it would look like one.
    """
    if all(header.is_imported for header in headers):
        return [None] * len(sources)
    return [judged_again(source.path, header, source.name) for source, header in zip(sources, headers, strict=True)]


def self_reported_notes(names: Sequence[str], judged: Sequence[str | None]) -> list[str]:
    """A line for each reason why runs are self-reported."""
    reasons = dict.fromkeys(why for why in judged if why)
    found = []
    for why in reasons:
        own = [name for name, reason in zip(names, judged, strict=True) if reason == why]
        found.append(f"{join_names(own, MOST_TOLD)} {'is' if len(own) == 1 else 'are'} self-reported: {why}")
    return found
