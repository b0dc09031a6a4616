"""Find the test that a user means: a path, NAME, NAME@VERSION or an address; here first, then at the sites."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import HateError, UsageError
from harness.script.library import SUFFIX, find_all, find_script
from harness.site.config import configured_sites
from harness.site.urls import is_url

if TYPE_CHECKING:
    from harness.script.load import Script

# Prints a note for the user, such as where a test was downloaded from.
Note = Callable[[str], None]

# What a test at a site takes, pydantic and the sites, is imported late: it takes long.


def find_test(text: str, libraries: Sequence[str], note: Note) -> "Script":
    """The test that a path, a name or an address means; a test at a site is downloaded."""
    if is_url(text):
        return _at_address(text, note)
    from harness.script.load import load_script

    try:
        path = find_script(text, libraries)
    except UsageError as error:
        script = _at_sites(text, note)
        if script is None:
            raise error from None
        return script
    return load_script(path)


def _at_address(url: str, note: Note) -> "Script":
    from harness.site.fetch import fetch_script, is_script_address
    from harness.site.sites import find_release_at

    if is_script_address(url):
        script, text = fetch_script(url)
    else:
        release, text = find_release_at(url)
        script = release.script()
    if text:
        note(text)
    return script


def _at_sites(text: str, note: Note) -> "Script | None":
    """The test from the first site that has it; None if no site has it, or none is configured."""
    if not configured_sites():
        return None
    from harness.site.sites import find_release, sites

    known = sites()
    try:
        release = find_release(text, known)
        return None if release is None else release.script()
    finally:
        for line in known.notes:
            note(line)


def is_test(word: str, libraries: Sequence[str]) -> bool:
    """Whether a word names a test, here or at a site, rather than a transcript."""
    if word == "-" or "://" in word:
        from harness.site.fetch import is_script_address
        from harness.site.sites import is_test_address

        return is_test_address(word) or is_script_address(word)
    path = Path(word)
    if word.endswith(".toml") or (path.is_dir() and any(path.glob(f"*{SUFFIX}"))):
        return True
    if path.exists() or "/" in word:
        return False
    if word.partition("@")[0] in {script.name for script in find_all(libraries)}:
        return True
    if not configured_sites():
        return False
    from harness.site.find_transcripts import KnownTranscripts
    from harness.site.sites import find_release, sites

    # A transcript here hides a test at a site.
    if word in KnownTranscripts().names():
        return False
    try:
        return find_release(word, sites()) is not None
    except HateError:
        return False
