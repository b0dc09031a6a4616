"""Find the test that is meant: here first, then at the sites."""

from collections.abc import Sequence

from harness.cli.output import remark
from harness.errors import HateError, UsageError
from harness.script.library import find_all, find_script
from harness.script.load import Script, load_script
from harness.site.config import configured_sites
from harness.site.naming import known_here
from harness.site.urls import is_url


def find_test(text: str, libraries: Sequence[str]) -> Script:
    """A test by path, NAME, NAME@VERSION, or address; one at a site is brought into the cache."""
    if is_url(text):
        return _at_address(text)
    try:
        path = find_script(text, libraries)
    except UsageError as here:
        found = _at_sites(text)
        if found is None:
            raise here from None
        return found
    return load_script(path)


def _at_address(url: str) -> Script:
    from harness.site.releases import release_at
    from harness.site.script_at import is_script_address, script_at

    if is_script_address(url):
        script, note = script_at(url)
    else:
        found, note = release_at(url)
        script = found.script()
    if note:
        remark(f"hate: {note}")
    return script


def _at_sites(text: str) -> Script | None:
    """The test at the first site that has it; None where none has, or there is no site."""
    if not configured_sites():
        return None
    from harness.site.releases import find_release
    from harness.site.sites import sites

    among = sites()
    try:
        found = find_release(text, among)
        return None if found is None else found.script()
    finally:
        for note in among.notes:
            remark(f"hate: {note}")


def is_known(text: str, libraries: Sequence[str]) -> bool:
    """Whether a NAME or NAME@VERSION is that of a test, here or at a site; transcripts that are here come before
    tests that are elsewhere."""
    if text.partition("@")[0] in {found.name for found in find_all(libraries)}:
        return True
    if not configured_sites() or text in known_here().names():
        return False
    from harness.site.releases import find_release
    from harness.site.sites import sites

    try:
        return find_release(text, sites()) is not None
    except HateError:
        return False
