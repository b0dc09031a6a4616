"""What sets a run apart: the parameters that were set, and how much of its test it covers."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

from harness.model import plain_text
from harness.transcript.format import Header
from harness.transcript.read import TranscriptSummary

LONGEST_VALUE = 40


def in_words(params: Mapping[str, Any]) -> str:
    """bits=2, level=8."""
    return ", ".join(f"{name}={_short(plain_text(value))}" for name, value in params.items())


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def changed_params(header: Header, usual: Header | None) -> dict[str, Any] | None:
    """The parameters that do not have their default; None where that cannot be known.

    Older headers do not have the defaults: then those are named that are not as in the usual run of the algorithm.
    """
    if header.changed is not None or usual is None:
        return header.changed
    return {name: value for name, value in header.params.items() if value != usual.params.get(name, value)}


def differing(params: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of several settings, in each the parameters that are not the same in all."""
    names = dict.fromkeys(name for one in params for name in one)
    apart = [name for name in names if any(_value(one, name) != _value(params[0], name) for one in params)]
    return [{name: one[name] for name in apart if name in one} for one in params]


def _value(params: Mapping[str, Any], name: str) -> tuple[bool, Any]:
    """A parameter that a run does not have is not one that is null."""
    return name in params, params.get(name)


def part_of(summary: TranscriptSummary) -> str:
    """What of the test a run covers, in words; empty for the whole test."""
    part, gallery = summary.header.part, summary.header.test.gallery
    found = [_cases(summary)] if _is_short(summary) else []
    if "without_fold" in part:
        found.append(f"without fold {part['without_fold']}")
    if gallery is not UNSET and (gallery.where is not UNSET or gallery.probes is not UNSET):
        found.append("part of gallery or probes")
    return ", ".join(found)


def _is_short(summary: TranscriptSummary) -> bool:
    """Whether cases are missing; older transcripts, and those of other tools, show it by their number only."""
    cases = summary.header.test.cases
    return "limit" in summary.header.part or (cases is not None and _asked(summary) < cases)


def _asked(summary: TranscriptSummary) -> int:
    """How many cases: in a run with --repeat each has several records."""
    repeat = summary.header.repeat
    return summary.counts.tests // (repeat if isinstance(repeat, int) and repeat > 1 else 1)


def _cases(summary: TranscriptSummary) -> str:
    cases = summary.header.test.cases
    return f"{_asked(summary)} of {cases}" if cases is not None else f"{_asked(summary)} cases"
