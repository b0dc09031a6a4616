"""Names of files that others wrote: relative, inside their folder, writable on every system."""

import re

from harness.errors import DataError

_BAD = re.compile('[\x00-\x1f\x7f\\\\:*?"<>|\ud800-\udfff]')
# Names that are devices on Windows, whatever their suffix.
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
LONGEST_PART = 200


def check_inside(path: str, name: str) -> None:
    """A DataError where the path may lead out of its folder, or cannot be a file's name."""
    if not all(map(_good, path.split("/"))):
        raise DataError(f"{name}: {path[:100]!r} is not the name of a file inside its folder; refused")


def _good(part: str) -> bool:
    blank = part != part.strip() or part.endswith(".")
    return (
        bool(part)
        and not blank
        and len(part.encode(errors="replace")) <= LONGEST_PART
        and not (_BAD.search(part) or _DEVICE.fullmatch(part))
    )
