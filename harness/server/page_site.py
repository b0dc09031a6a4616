"""What pages are made from: the site as it is now, how its pages refer to each other, and parts made before."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from harness.files.memory_cache import MemoryCache
from harness.server.links import Links
from harness.server.render import PageError
from harness.server.state import SiteState, find_test
from harness.site.catalogue import SiteTest
from harness.site.layout import TranscriptEntry


@dataclass(frozen=True)
class PageSite:
    """A site, for the functions that make its pages."""

    state: SiteState
    links: Links
    cache: MemoryCache[bytes]

    def test(self, text: str) -> SiteTest:
        """A test by NAME or NAME@VERSION; a PageError if there is none."""
        found = find_test(self.state, text)
        if found is None:
            raise PageError(404, "No such test here.")
        return found

    def entry(self, test: SiteTest, name: str) -> TranscriptEntry:
        """A transcript of a test; a PageError if there is none."""
        found = self.state.catalogue.transcript(test.index, name, test.version.version)
        if found is None:
            raise PageError(404, "No such transcript here.")
        return found

    def part(self, kind: str, test: SiteTest, entries: Sequence[TranscriptEntry], make: Callable[[], str]) -> Markup:
        """A part of a page that takes long to compute; templates and reports escape all text themselves."""
        return Markup(self.data(kind, test, entries, lambda: make().encode()).decode())  # noqa: S704

    def data(self, kind: str, test: SiteTest, entries: Sequence[TranscriptEntry], make: Callable[[], bytes]) -> bytes:
        """What is made of transcripts; again only when the test or the content of the transcripts is another."""
        parts = [f"{entry.name}\0{entry.file.sha256}\0{entry.by}\0{entry.published}" for entry in entries]
        content = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self.cache.get_or_make((kind, self.links, test.full_name, content), make)
