"""Runs that are shown together: their names, whether they are of the same test, and on which machines they ran."""

from collections import Counter
from collections.abc import Sequence

from harness.errors import TranscriptError
from harness.model import join_names
from harness.transcript.format import Header, TestInfo

# Differences that a message lists, and names that a sentence lists.
MAX_SHOWN, MAX_NAMED = 20, 4
# Enough of a digest to distinguish two.
_DIGEST_SHOWN = 14
MAY_DIFFER = "a difference in time or memory may be the machines', not the algorithms'."


def run_names(algorithms: Sequence[str], stems: Sequence[str]) -> list[str]:
    """The algorithm's name, or the file's base name if two would be the same; never the same name twice."""
    often = Counter(algorithms)
    names = [stem if often[name] > 1 else name for name, stem in zip(algorithms, stems, strict=True)]
    # Files with the same base name are numbered: the second is NAME-2, unless that name is taken.
    unique: list[str] = []
    for name in names:
        number, chosen = 1, name
        while chosen in unique or (number > 1 and chosen in names):
            number += 1
            chosen = f"{name}-{number}"
        unique.append(chosen)
    return unique


def check_same_test(names: Sequence[str], headers: Sequence[Header]) -> None:
    """A TranscriptError says which runs are of another test than the first, and how; `names` are for the message."""
    other = [
        f"{name}: not of the same test as {names[0]}: {how}"
        for name, header in zip(names[1:], headers[1:], strict=True)
        if (how := test_difference(headers[0].test, header.test) or _version_difference(headers[0], header))
    ]
    if len(other) > MAX_SHOWN:
        other = [*other[:MAX_SHOWN], f"and {len(other) - MAX_SHOWN:,} more"]
    if other:
        raise TranscriptError("\n  ".join(other))


def _version_difference(first: Header, other: Header) -> str:
    """How runs of one test differ if only one of them has the versions that a section makes."""
    theirs, ours = ("the originals" if header.originals_of else "all versions" for header in (first, other))
    section = first.originals_of or other.originals_of
    return "" if theirs == ours else f"that is of {theirs}, this is of {ours} (--no-{section})"


def check_same_version(names: Sequence[str], headers: Sequence[Header]) -> None:
    """The same for runs whose data may differ: name and version must agree."""
    first = headers[0].test
    for name, header in zip(names[1:], headers[1:], strict=True):
        same = (header.test.name, header.test.version) == (first.name, first.version)
        how = _version_difference(headers[0], header) if same else test_difference(first, header.test)
        if how:
            raise TranscriptError(f"{name}: not of the same test as {names[0]}: {how}")


def test_difference(first: TestInfo, other: TestInfo) -> str:
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


def identity_json(test: TestInfo) -> dict[str, str]:
    """Which test runs are of."""
    return {"name": test.name, "version": test.version, "digest": test.digest}


def machine(header: Header) -> str:
    """Processor and platform of a run; empty if its transcript does not say."""
    cpu = header.cpu.strip() if isinstance(header.cpu, str) else ""
    return f"{cpu} ({header.platform})" if cpu and header.platform else cpu


def machine_lines(names: Sequence[str], headers: Sequence[Header]) -> list[str]:
    """A sentence if runs were made on different machines, or if it is not known on which; none for a single run."""
    if len(names) < 2:
        return []
    by_machine: dict[str, list[str]] = {}
    for name, header in zip(names, headers, strict=True):
        by_machine.setdefault(machine(header), []).append(name)
    unknown = by_machine.pop("", [])
    lines = []
    if len(by_machine) > 1:
        parts = [f"{join_names(ran, MAX_NAMED)} ran on {where}" for where, ran in list(by_machine.items())[:MAX_NAMED]]
        parts += ["others elsewhere"] * (len(by_machine) > MAX_NAMED)
        lines.append(f"{', '.join(parts)}: {MAY_DIFFER}")
    if unknown:
        lines.append(f"It is not known on which machine {join_names(unknown, MAX_NAMED)} ran: {MAY_DIFFER}")
    return lines
