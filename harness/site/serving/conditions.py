"""Conditional requests, ranges and encodings, as RFC 9110 has them: decisions without side effects."""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_RANGE = re.compile(r"bytes=\s*(\d{0,18})-(\d{0,18})\s*", re.ASCII | re.IGNORECASE)
Headers = Mapping[str, str]


class Unsatisfiable(Exception):
    """The range begins after the end."""


def unchanged(headers: Headers, etag: str, modified: float) -> bool:
    """Whether the asker has it already. An ETag counts more than a date."""
    tags = headers.get("if-none-match")
    if tags is not None:
        known = {tag.strip().removeprefix("W/") for tag in tags.split(",")}
        return "*" in known or etag.removeprefix("W/") in known
    since = _date(headers.get("if-modified-since", ""))
    return since is not None and int(modified) <= since


def wanted_range(headers: Headers, size: int, etag: str, modified: float) -> tuple[int, int] | None:
    """The bytes from (included) and to (excluded); None for all of them. A list of ranges gets everything, too."""
    found = _RANGE.fullmatch(headers.get("range", ""))
    if found is None or found[1] == found[2] == "" or not _if_range(headers.get("if-range"), etag, modified):
        return None
    if not found[1]:
        start, stop = max(0, size - int(found[2])), size
    else:
        start, stop = int(found[1]), min(size, int(found[2]) + 1) if found[2] else size
        if found[2] and int(found[2]) < start:
            return None
    if start >= size or start >= stop:
        raise Unsatisfiable
    return start, stop


def _if_range(condition: str | None, etag: str, modified: float) -> bool:
    """Only an exact match will do: two halves of different files make no file."""
    return condition is None or condition.strip() == etag or _date(condition) == int(modified)


def _date(text: str) -> int | None:
    try:
        return int(parsedate_to_datetime(text).timestamp())
    except (ValueError, TypeError, OverflowError):
        return None


def takes_gzip(headers: Headers) -> bool:
    """Whether the asker can unpack gzip."""
    accepted = {}
    for part in headers.get("accept-encoding", "").lower().split(","):
        name, _, quality = part.partition(";")
        accepted[name.strip()] = re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", quality) is None
    return accepted.get("gzip", accepted.get("x-gzip", accepted.get("*", False)))
