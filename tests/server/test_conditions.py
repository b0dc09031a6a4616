"""Conditions, ranges and encodings of RFC 9110, without a server."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.server.files import Unsatisfiable, accepts_gzip, is_unchanged, requested_range

ETAG, MODIFIED = '"abc"', 1_700_000_000.7
DATE = formatdate(MODIFIED, usegmt=True)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"if-none-match": '"abc"'}, True),
        ({"if-none-match": 'W/"abc"'}, True),
        ({"if-none-match": '"x", "abc" , "y"'}, True),
        ({"if-none-match": "*"}, True),
        ({"if-none-match": '"x"'}, False),
        ({"if-none-match": "abc"}, False),
        ({"if-none-match": '"x"', "if-modified-since": DATE}, False),
        ({"if-modified-since": DATE}, True),
        ({"if-modified-since": formatdate(MODIFIED + 9, usegmt=True)}, True),
        ({"if-modified-since": formatdate(MODIFIED - 9, usegmt=True)}, False),
        ({"if-modified-since": "yesterday"}, False),
        ({"if-modified-since": "Mon, 99 Nov 99999 00:00:00 GMT"}, False),
    ],
)
def test_whether_a_copy_is_current(headers: dict[str, str], expected: bool) -> None:
    assert is_unchanged(headers, ETAG, MODIFIED) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bytes=0-0", (0, 1)),
        ("bytes=2-5", (2, 6)),
        ("bytes=5-", (5, 10)),
        ("bytes=-3", (7, 10)),
        ("bytes=-99", (0, 10)),
        ("bytes=3-99", (3, 10)),
        ("BYTES=1-2", (1, 3)),
        ("", None),
        ("bytes=-", None),
        ("bytes=5-2", None),
        ("bytes=0-1,4-5", None),
        ("lines=0-1", None),
        ("bytes=a-b", None),
        ("bytes=0-" + "9" * 5000, None),
        ("bytes=²-³", None),
    ],
)
def test_ranges_of_ten_bytes(text: str, expected: tuple[int, int] | None) -> None:
    assert requested_range({"range": text}, 10, ETAG, MODIFIED) == expected


@pytest.mark.parametrize("text", ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=999999-"])
def test_ranges_after_the_end(text: str) -> None:
    with pytest.raises(Unsatisfiable):
        requested_range({"range": text}, 10, ETAG, MODIFIED)


@given(st.text(alphabet="bytes=-,0123456789 ", max_size=30), st.integers(0, 50))
def test_a_range_is_inside_the_file_or_none(text: str, size: int) -> None:
    try:
        found = requested_range({"range": text}, size, ETAG, MODIFIED)
    except Unsatisfiable:
        return
    assert found is None or 0 <= found[0] < found[1] <= size


@pytest.mark.parametrize(
    ("condition", "matches"),
    [(ETAG, True), (DATE, True), ('W/"abc"', False), ('"x"', False), (formatdate(0, usegmt=True), False), ("?", False)],
)
def test_if_range_with_another_file_gets_the_whole_file(condition: str, matches: bool) -> None:
    found = requested_range({"range": "bytes=0-1", "if-range": condition}, 10, ETAG, MODIFIED)
    assert (found is not None) is matches


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False), ("gzip", True), ("GZIP", True), ("br, gzip;q=0.5", True), ("gzip;q=0", False),
        ("gzip; q=0.000", False), ("*", True), ("*;q=0", False), ("identity", False), ("br;q=1, *;q=0.1", True),
        ("gzip;q=0, *", False),
    ],
)  # fmt: skip
def test_who_accepts_gzip(text: str, expected: bool) -> None:
    assert accepts_gzip({"accept-encoding": text}) is expected
