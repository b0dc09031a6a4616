"""Two runs are comparable when name, version and digest of their tests agree."""

from collections.abc import Sequence

from harness.errors import TranscriptError
from harness.transcript.format import Header, TestInfo

MOST_SHOWN = 20
# Enough of a digest to tell two apart.
_DIGEST_SHOWN = 14


def check_same_test(names: Sequence[str], headers: Sequence[Header]) -> None:
    """A TranscriptError says which runs are of another test than the first, and how; `names` are for the message."""
    other = [
        f"{name}: not of the same test as {names[0]}: {how}"
        for name, header in zip(names[1:], headers[1:], strict=True)
        if (how := difference(headers[0].test, header.test))
    ]
    if len(other) > MOST_SHOWN:
        other = [*other[:MOST_SHOWN], f"and {len(other) - MOST_SHOWN:,} more"]
    if other:
        raise TranscriptError("\n".join(other))


def check_same_version(names: Sequence[str], headers: Sequence[Header]) -> None:
    """The same for runs whose data may differ: name and version must agree."""
    first = headers[0].test
    for name, header in zip(names[1:], headers[1:], strict=True):
        if (header.test.name, header.test.version) != (first.name, first.version):
            how = difference(first, header.test)
            raise TranscriptError(f"{name}: not of the same test as {names[0]}: {how}")


def difference(first: TestInfo, other: TestInfo) -> str:
    """How two tests differ, in words; empty when they are the same."""
    if first.name != other.name:
        return f"that is {first.name} {first.version}, this is {other.name} {other.version}"
    if first.version != other.version:
        return f"that is version {first.version} of {first.name}, this is version {other.version}"
    if first.digest != other.digest:
        digests = f"digest {_short(first.digest)} there, {_short(other.digest)} here"
        return f"{first.name} {first.version} in name, but its script, cases or data differ ({digests})"
    return ""


def _short(digest: str) -> str:
    return f"{digest[:_DIGEST_SHOWN]}..." if len(digest) > _DIGEST_SHOWN else digest
