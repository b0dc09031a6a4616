"""What runs are called when several are shown together."""

from collections import Counter
from collections.abc import Sequence


def run_names(algorithms: Sequence[str], stems: Sequence[str]) -> list[str]:
    """The algorithm's name, or the file's base name where two would be the same; never the same name twice."""
    often = Counter(algorithms)
    names = [stem if often[name] > 1 else name for name, stem in zip(algorithms, stems, strict=True)]
    return _numbered(names)


def _numbered(names: Sequence[str]) -> list[str]:
    """Files of one base name in several folders: the second is NAME-2, unless something has that name."""
    given: list[str] = []
    for name in names:
        number, chosen = 1, name
        while chosen in given or (number > 1 and chosen in names):
            number += 1
            chosen = f"{name}-{number}"
        given.append(chosen)
    return given
