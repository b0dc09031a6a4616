"""The script's table [mask]: what is ignored, how much pixels weigh, and the names of classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SETTINGS = frozenset({"ignore", "boundary", "weights", "labels"})
BACKGROUND = "background"
# The classes of a mask are codes of one byte.
MAX_LABELS = 256
WIDEST = 1000


@dataclass(frozen=True)
class MaskSettings:
    """[mask]: `labels` are values and names, 0 included; none if there are only object and background."""

    ignore: int | None = None
    width: float = 0.0
    weight: float = 1.0
    weights: str = ""
    labels: tuple[tuple[int, str], ...] = ()

    @staticmethod
    def of(settings: Mapping[str, Any]) -> MaskSettings:
        """From a table that has no mistakes."""
        boundary = settings.get("boundary") or {}
        named = {int(value): str(name) for value, name in (settings.get("labels") or {}).items()}
        labels = tuple(sorted(({0: BACKGROUND} | named).items())) if named else ()
        return MaskSettings(
            ignore=settings.get("ignore"),
            width=float(boundary.get("width", 0.0)),
            weight=float(boundary.get("weight", 1.0)),
            weights=settings.get("weights") or "",
            labels=labels,
        )


def setting_mistakes(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with [mask], each with its key."""
    ignore, weights = settings.get("ignore"), settings.get("weights")
    if ignore is not None and (type(ignore) is not int or not 0 <= ignore <= 65535):
        yield "ignore", f"{ignore!r} is not a value of a pixel; expected a whole number from 0 to 65535"
    if weights is not None and (not isinstance(weights, str) or not weights):
        yield "weights", f"{weights!r} is not the name of a column; expected the column that names the weight images"
    if "boundary" in settings:
        yield from _boundary_mistakes(settings["boundary"])
    if "labels" in settings:
        yield from _label_mistakes(settings["labels"], ignore)


def _boundary_mistakes(boundary: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(boundary, Mapping) or set(boundary) != {"width", "weight"}:
        yield "boundary", "expected {width = 2, weight = 0.5}, and nothing else"
        return
    for key, most in (("width", WIDEST), ("weight", 1)):
        value = boundary[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
            yield f"boundary.{key}", f"{value!r} is not a number from 0 to {most}"


def _label_mistakes(labels: Any, ignore: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(labels, Mapping) or not 1 <= len(labels) <= MAX_LABELS:
        yield "labels", f'expected {{1 = "vase", 2 = "table"}}, at most {MAX_LABELS}'
        return
    for value, name in labels.items():
        if not (value.isascii() and value.isdigit() and int(value) <= 65535):
            yield f"labels.{value}", "not a value of a pixel; expected a whole number from 0 to 65535"
        elif int(value) == ignore:
            yield f"labels.{value}", "this value is ignored, so it needs no name"
        if not isinstance(name, str) or not name:
            yield f"labels.{value}", f"{name!r} is not a name"
    if len({str(name) for name in labels.values()}) < len(labels):
        yield "labels", "a name appears twice"
