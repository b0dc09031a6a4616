"""The order of versions: which one is the latest."""

import re

_VERSION_PART = re.compile(r"(\d+)|([A-Za-z]+)|([^A-Za-z0-9]+)")
_EARLY_STAGES = ("dev", "a", "alpha", "b", "beta", "c", "rc", "pre", "preview")
_VERSION_END = (1, 0, "")


def version_key(version: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key: 1.9 < 1.10-rc1 < 1.10 < 1.10.post1 < 1.10.1; two spellings of one version have different keys."""
    parts = [_version_part(number, word) for number, word, _ in _VERSION_PART.findall(version) if number or word]
    return (*parts, _VERSION_END, (0, 0, version))


def _version_part(number: str, word: str) -> tuple[int, int, str]:
    if number:
        return (3, int(number), "")
    early = word.lower() in _EARLY_STAGES
    return (0, _EARLY_STAGES.index(word.lower()), word) if early else (2, 0, word)
