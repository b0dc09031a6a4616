"""The order of versions: numbers as numbers, and what leads up to a release before it."""

import re

_PART = re.compile(r"(\d+)|([A-Za-z]+)|([^A-Za-z0-9]+)")
_BEFORE = ("dev", "a", "alpha", "b", "beta", "c", "rc", "pre", "preview")
_END = (1, 0, "")


def version_key(version: str) -> tuple[tuple[int, int, str], ...]:
    """For sorting: 1.9 < 1.10-rc1 < 1.10 < 1.10.post1 < 1.10.1; versions that only look different differ in the end."""
    parts = [_part(number, word) for number, word, _ in _PART.findall(version) if number or word]
    return (*parts, _END, (0, 0, version))


def _part(number: str, word: str) -> tuple[int, int, str]:
    if number:
        return (3, int(number), "")
    early = word.lower() in _BEFORE
    return (0, _BEFORE.index(word.lower()), word) if early else (2, 0, word)
