"""The parts of a download: addresses, gzip, retries."""

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError
from harness.files.gzip_blocks import DECOMPRESSED_BLOCK, BadGzip, gunzip, gunzip_if_packed
from harness.site.download import MAX_PAUSE, TryAgain, next_attempt, retry_after, retry_policy, run_within
from harness.site.download_request import DownloadLimits
from harness.site.urls import Address, is_url, masked, parse, redirected


def blocks_of(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@given(st.lists(st.binary(max_size=300), max_size=4), st.integers(1, 50), st.integers(0, 60))
def test_gunzip_agrees_with_the_library(parts: list[bytes], size: int, padding: int) -> None:
    packed = b"".join(map(gzip.compress, parts)) + bytes(padding if parts else 0)
    assert b"".join(gunzip(blocks_of(packed, size))) == gzip.decompress(packed)


@given(st.binary(min_size=1, max_size=300), st.integers(1, 50), st.data())
def test_a_torn_stream_is_detected(content: bytes, size: int, data: st.DataObject) -> None:
    packed = gzip.compress(content)
    torn = packed[: data.draw(st.integers(1, len(packed) - 1))]
    with pytest.raises(BadGzip):
        list(gunzip(blocks_of(torn, size)))


def test_a_bomb_is_decompressed_in_small_blocks() -> None:
    pieces = list(map(len, gunzip([gzip.compress(bytes(50 * DECOMPRESSED_BLOCK))])))
    assert sum(pieces) == 50 * DECOMPRESSED_BLOCK
    assert max(pieces) <= DECOMPRESSED_BLOCK


@given(st.binary(max_size=100), st.integers(1, 5))
def test_uncompressed_data_passes_unchanged(content: bytes, size: int) -> None:
    plain = b"{" + content
    assert b"".join(gunzip_if_packed(blocks_of(plain, size))) == plain
    assert b"".join(gunzip_if_packed(blocks_of(gzip.compress(plain), size))) == plain


@pytest.mark.parametrize(("url", "expected"), [
    ("http://a.org/x?y=1", "http://a.org/x?y=1"),
    ("http://ann:pw@a.org/x", "http://***@a.org/x"),
    ("http://ann:p@w@a.org/", "http://***@a.org/"),
    ("https://a.org/x?X-Amz-Signature=abc&y=1", "https://a.org/x?X-Amz-Signature=***&y=1"),
    ("https://a.org/?api_key=abc", "https://a.org/?api_key=***"),
    ("http://ann:pw@[bad/x", "http://***@[bad/x"),
])  # fmt: skip
def test_secrets_are_masked(url: str, expected: str) -> None:
    assert masked(url) == expected


def test_an_address_and_its_credentials() -> None:
    assert parse("HTTP://Ann%40b:p%3Aw@A.org:8080/x?y#z") == Address("http://a.org:8080/x?y", ("Ann@b", "p:w"))
    assert parse("https://[::1]/x").origin == ("https", "::1", 443)


@pytest.mark.parametrize("text", ["wisard", "hdigits/wisard", "/a/b", "C:\\runs\\a.jsonl", "a:b"])
def test_not_every_colon_makes_an_address(text: str) -> None:
    assert not is_url(text)


SECRET = ("ann", "pw")


@pytest.mark.parametrize(("start", "location", "url", "kept"), [
    ("http://a.org/x/y", "z", "http://a.org/x/z", True),
    ("http://a.org/x", "//b.org/z", "http://b.org/z", False),
    ("http://a.org/x", "http://a.org:8080/x", "http://a.org:8080/x", False),
    ("http://a.org/x", "https://a.org/x", "https://a.org/x", True),
    ("http://a.org/x", "https://b.org/x", "https://b.org/x", False),
    ("http://a.org/x", "http://eve:pw@a.org.evil/x", "http://a.org.evil/x", False),
    ("https://a.org/x", "HTTPS://a.org/y", "https://a.org/y", True),
])  # fmt: skip
def test_where_a_redirect_leads(start: str, location: str, url: str, kept: bool) -> None:
    assert redirected(Address(start, SECRET), location) == Address(url, SECRET if kept else None)


@pytest.mark.parametrize("location", ["http://a.org/x", "HTTP://a.org/", "file:///x", "javascript:1", "http://[/"])
def test_where_a_redirect_may_not_lead(location: str) -> None:
    with pytest.raises(DataError, match="redirected to"):
        redirected(Address("https://a.org/x"), location)


def pauses(limits: DownloadLimits) -> list[float]:
    """The pauses between failing attempts, until the policy gives up."""
    policy, pauses = retry_policy(limits), list[float]()
    while (after := next_attempt(policy, TryAgain("no"))) is not None:
        policy, pause = after
        pauses.append(pause)
    return pauses


def test_pauses_double_and_end() -> None:
    """As in urllib3: at once, then after 1, 2, 4 seconds, with jitter of up to half the first pause."""
    limits = DownloadLimits(attempts=5, pause=1.0)
    rows = [pauses(limits) for _ in range(50)]
    for number, shortest in enumerate((1.0, 2.0, 4.0), start=1):
        waits = {row[number] for row in rows}
        assert all(shortest <= wait <= shortest + 0.5 for wait in waits)
        assert len(waits) > 1
    assert {row[0] for row in rows} == {0.0}
    assert {len(row) for row in rows} == {4}
    assert max(pauses(DownloadLimits(attempts=12, pause=1.0))) == MAX_PAUSE


def test_a_server_may_ask_for_a_longer_pause_but_not_for_hours() -> None:
    policy = retry_policy(DownloadLimits())
    after = next_attempt(policy, TryAgain("busy", after=20.0))
    assert after is not None
    assert after[1] == 20.0
    assert next_attempt(policy, TryAgain("busy", after=MAX_PAUSE + 1)) is None


def test_retry_after_is_a_number_or_a_date() -> None:
    assert retry_after("12") == 12.0
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    soon = retry_after(format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True))
    assert soon is not None
    assert 3000 < soon <= 3600
    for nonsense in ("", "soon", "-5", "nan", "inf", "Wed, 99 Foo", "9" * 5000, "Mon, 01 Jan 99999 00:00:00 GMT"):
        assert retry_after(nonsense) is None


def test_work_within_a_deadline_returns_or_raises() -> None:
    assert run_within(60, lambda _: 7) == 7
    with pytest.raises(ZeroDivisionError):
        run_within(60, lambda _: 1 // 0)
    with pytest.raises(TimeoutError):
        run_within(0.01, lambda abandoned: abandoned.wait(60))
