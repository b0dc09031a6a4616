"""Which transcript leads a test, worked out when one is published."""

from collections.abc import Sequence

from msgspec.structs import replace

from harness.site.layout import BestEntry, TranscriptEntry


def leading(entries: Sequence[TranscriptEntry], known: BestEntry | None) -> BestEntry | None:
    """The transcript that leads; the older one, or the first by name, if two are equal.

    If one of them does not say what it is ranked by, as at a site of an older version, all are held against each other
    by their shares of successes, and the leader does not say it either.
    """
    for entry in sorted(entries, key=lambda entry: entry.name):
        new = BestEntry(entry.name, entry.rate, entry.standing)
        if known is None:
            known = new
        elif known.standing is not None and new.standing is not None:
            known = new if new.standing.merit > known.standing.merit else known
        else:
            known = replace(new if new.rate > known.rate else known, standing=None)
    return known
