"""What distinguishes a run: the parameters that were set, and how much of its test it covers."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

from harness.model import plain_text
from harness.transcript.format import Header
from harness.transcript.read import TranscriptSummary

MAX_VALUE_LENGTH = 40


def in_words(params: Mapping[str, Any]) -> str:
    """The parameters as text: bits=2, level=8."""
    return ", ".join(f"{name}={_short(plain_text(value))}" for name, value in params.items())


def _short(text: str) -> str:
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 1]}…"


def changed_params(header: Header, usual: Header | None) -> dict[str, Any] | None:
    """The parameters that do not have their default; None if the defaults are not known.

    Older headers do not have the defaults; then it is those that differ from the usual run of the algorithm.
    """
    if header.changed is not None or usual is None:
        return header.changed
    return {name: value for name, value in header.params.items() if value != usual.params.get(name, value)}


def differing(params: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each run, the parameters that are not the same in all of them."""
    names = dict.fromkeys(name for run in params for name in run)
    varying = [name for name in names if any(_value(run, name) != _value(params[0], name) for run in params)]
    return [{name: run[name] for name in varying if name in run} for run in params]


def _value(params: Mapping[str, Any], name: str) -> tuple[bool, Any]:
    """A parameter's value; a missing parameter differs from one that is null."""
    return name in params, params.get(name)


def part_of(summary: TranscriptSummary) -> str:
    """The part of the test that a run covers, in words; empty for the whole test."""
    part, gallery = summary.header.part, summary.header.test.gallery
    texts = ["originals only"] if summary.header.originals_of else []
    texts += [_cases(summary)] if _is_short(summary) else []
    if "without_fold" in part:
        texts.append(f"without fold {part['without_fold']}")
    if gallery is not UNSET and (gallery.where is not UNSET or gallery.probes is not UNSET):
        texts.append("part of gallery or probes")
    return ", ".join(texts)


def _is_short(summary: TranscriptSummary) -> bool:
    """Whether cases are missing; older and imported transcripts only show it by their number of records."""
    cases, part = summary.header.test.cases, summary.header.part
    if "limit" in part:
        return True
    return cases is not None and not summary.header.originals_of and _case_count(summary) < cases


def _case_count(summary: TranscriptSummary) -> int:
    """The number of cases; in a run with --repeat, each has several records."""
    repeat = summary.header.repeat
    return summary.counts.tests // (repeat if isinstance(repeat, int) and repeat > 1 else 1)


def _cases(summary: TranscriptSummary) -> str:
    cases = summary.header.test.cases
    return f"{_case_count(summary)} of {cases}" if cases is not None else f"{_case_count(summary)} cases"
