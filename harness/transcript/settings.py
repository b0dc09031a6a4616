"""The parameters of runs: which of them were set, in which of them runs differ, and how they are written."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.model import plain_text
from harness.transcript.format import Header

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
