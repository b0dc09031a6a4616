"""How much of its test a run covers, in words."""

from msgspec import UNSET

from harness.transcript.read import Summary


def part_of(summary: Summary) -> str:
    """What of the test a run covers, in words; empty for the whole test."""
    part, gallery = summary.header.part, summary.header.test.gallery
    found = [_cases(summary)] if _is_short(summary) else []
    if "without_fold" in part:
        found.append(f"without fold {part['without_fold']}")
    if gallery is not UNSET and (gallery.where is not UNSET or gallery.probes is not UNSET):
        found.append("part of gallery or probes")
    return ", ".join(found)


def _is_short(summary: Summary) -> bool:
    """Whether cases are missing; older transcripts, and those of other tools, show it by their number only."""
    cases = summary.header.test.cases
    return "limit" in summary.header.part or (cases is not None and _asked(summary) < cases)


def _asked(summary: Summary) -> int:
    """How many cases: in a run with --repeat each has several records."""
    repeat = summary.header.repeat
    return summary.counts.tests // (repeat if isinstance(repeat, int) and repeat > 1 else 1)


def _cases(summary: Summary) -> str:
    cases = summary.header.test.cases
    return f"{_asked(summary)} of {cases}" if cases is not None else f"{_asked(summary)} cases"
