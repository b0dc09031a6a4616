"""Published transcripts: TEST/NAME, TEST@VERSION/NAME, or NAME when only one test has it; here, then at the sites."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.bundled import bundled
from harness.errors import UsageError
from harness.site.config import configured_sites

SUFFIXES = (".jsonl", ".jsonl.gz")
MOST_HINTS = 10


@dataclass(frozen=True)
class Published:
    """A transcript that has a name."""

    test: str
    name: str
    path: Path
    # Where it is, for messages, and what a user should know about that.
    place: str = ""
    note: str = ""

    @property
    def full_name(self) -> str:
        """Its name among all tests."""
        return f"{self.test}/{self.name}"


def published() -> list[Published]:
    """Every published transcript, nearest first; one that has the name of a nearer one is hidden by it."""
    found: dict[tuple[str, str], Published] = {}
    for entry in _everywhere():
        found.setdefault((entry.test, entry.name), entry)
    return list(found.values())


def _everywhere() -> Iterator[Published]:
    """The places in order: the working folder, then the site that ships with the harness."""
    for folder in (Path("transcripts"), bundled("transcripts")):
        yield from _in_folder(folder)


def _in_folder(folder: Path) -> Iterator[Published]:
    for path in sorted(folder.glob("*/*")):
        suffix = next((s for s in reversed(SUFFIXES) if path.name.endswith(s)), None)
        if suffix and path.is_file():
            yield Published(path.parent.name, path.name.removesuffix(suffix), path)


def find_published(text: str) -> Published:
    """The one that is meant, brought here where it is at a site; a UsageError says which there are."""
    known = published()
    matches = [entry for entry in known if text in (entry.name, entry.full_name)]
    if not matches and (found := _at_sites(text)) is not None:
        return found
    if not matches:
        raise UsageError(f"{text}: no such file and no published transcript of that name; {_hint(text, known)}")
    if len(matches) > 1:
        names = ", ".join(entry.full_name for entry in matches)
        raise UsageError(f"{text}: several tests have a transcript of that name; say which: {names}")
    return matches[0]


def _at_sites(text: str) -> Published | None:
    if not configured_sites():
        return None
    from harness.site.shared import find_shared
    from harness.site.sites import sites

    among = sites()
    found = find_shared(text, among)
    if found is None:
        return None
    note = "; ".join(among.notes)
    return Published(found.index.name, found.entry.name, found.path(), found.label, note)


def _hint(text: str, known: Sequence[Published]) -> str:
    names = sorted({entry.name for entry in known} | {entry.full_name for entry in known})
    near = difflib.get_close_matches(text, names, n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    full = [entry.full_name for entry in known]
    more = f" and {len(full) - MOST_HINTS:,} more" if len(full) > MOST_HINTS else ""
    return f"known: {', '.join(full[:MOST_HINTS])}{more}" if full else "none is published here"
