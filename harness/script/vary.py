"""Inputs that are varied on purpose: [vary.NAME] makes several versions of every case, one for each value.

The versions of a case are not independent of one another: they share the original, which is their sampling unit.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from harness.model import Case, plain_text

# Part of a test's identity: it must change whenever an effect gives other pixels.
EFFECTS_VERSION = 1
# The column with the id of the case that a version was made from.
ORIGINAL = "original"
# Names that columns of a case have already.
FIXED_NAMES = frozenset({"id", "input", "expect", "positive", "truth", "stratum", "psu", "repeat", ORIGINAL})
# What a reference to a made file begins with, as if it were data of the script.
MADE = "varied"
# The most versions of one original; more would be a mistake.
MOST_VERSIONS = 10_000

IMAGE_SUFFIXES = (".png", ".pgm", ".ppm", ".pbm", ".pnm", ".tif", ".tiff", ".npy", ".jpg", ".jpeg")

Number = int | float


@dataclass(frozen=True)
class EffectKind:
    """A kind of variation: what its values are, and which of them leaves an image as it is."""

    words: str
    low: float
    high: float
    neutral: float = 0
    whole: bool = False
    # Whether the objects in the picture move, so that a truth about places must move too.
    moves: bool = False
    # Whether it draws random numbers.
    draws: bool = False

    def mistake(self, value: object) -> str | None:
        """What is wrong with a value, if anything."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
            return f"{value!r:.40} is not a number"
        if not self.low <= value <= self.high:
            return f"{value!r:.40} is not from {self.low:g} to {self.high:g}"
        return f"{value!r} is not a whole number" if self.whole and value != int(value) else None


KINDS: Mapping[str, EffectKind] = {
    "gaussian": EffectKind("normal noise, by its standard deviation in grey levels of 255", 0, 255, draws=True),
    "salt_and_pepper": EffectKind("the share of pixels that turn black or white", 0, 1, draws=True),
    "blur": EffectKind("a Gaussian blur, by its standard deviation in pixels", 0, 100),
    "contrast": EffectKind("a factor of the distance from the mean grey level", 0, 100, neutral=1),
    "brightness": EffectKind("what is added to every pixel, in grey levels of 255", -255, 255),
    "rotate": EffectKind("degrees, anticlockwise", -360, 360, moves=True),
    "occlude": EffectKind("the share of the picture that a grey rectangle hides", 0, 1, draws=True),
    "jpeg": EffectKind("the quality of JPEG compression; 100 for none", 1, 100, neutral=100, whole=True),
    "downsample": EffectKind("how many times smaller", 1, 64, neutral=1, whole=True, moves=True),
}


@dataclass(frozen=True)
class VaryAxis:
    """One [vary.NAME]: a column of the cases, and its values."""

    name: str
    kind: str
    values: tuple[Number, ...]
    seed: int = 0


@dataclass(frozen=True)
class Step:
    """One effect of a version; steps with the neutral value are left out."""

    axis: VaryAxis
    value: Number

    @property
    def moves(self) -> bool:
        """Whether it moves what is in the picture."""
        return KINDS[self.axis.kind].moves

    @property
    def draws(self) -> bool:
        """Whether it draws random numbers."""
        return KINDS[self.axis.kind].draws


@dataclass(frozen=True)
class Variation:
    """All [vary.NAME] of a script, in its order: the versions are the product of their values."""

    axes: tuple[VaryAxis, ...]

    @property
    def count(self) -> int:
        """The number of versions of an original."""
        return math.prod(len(axis.values) for axis in self.axes)

    @property
    def names(self) -> list[str]:
        """The columns that the versions have in addition, besides `original`."""
        return [axis.name for axis in self.axes]

    def versions(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Every version of every case; those of one original follow one another."""
        for case in cases:
            for suffix, values in self._combinations:
                columns = {**case.columns, **values, ORIGINAL: case.id}
                yield msgspec.structs.replace(case, id=case.id + suffix, columns=columns)

    def originals(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The cases as they are, with the column that versions have too."""
        return (msgspec.structs.replace(case, columns={**case.columns, ORIGINAL: case.id}) for case in cases)

    @cached_property
    def _combinations(self) -> list[tuple[str, dict[str, Any]]]:
        """What is added to the id and to the columns of a case; ids stay distinct, since no value has an @."""
        found = []
        for values in product(*(axis.values for axis in self.axes)):
            named = dict(zip(self.names, values, strict=True))
            found.append(("@" + ",".join(f"{name}={plain_text(value)}" for name, value in named.items()), named))
        return found

    def steps(self, version: Case) -> list[Step]:
        """What was done to the original, in the order of the script; nothing for an original."""
        steps = [Step(axis, version.columns[axis.name]) for axis in self.axes if axis.name in version.columns]
        return [step for step in steps if step.value != KINDS[step.axis.kind].neutral]


def varied_mistakes(case: Case, variation: Variation, data: Collection[str]) -> Iterator[str]:
    """What is wrong with an original for [vary]: a column that it makes itself, or an input that is not an image.

    `data` are the names of the test's data, which need not be at hand.
    """
    for name in (*variation.names, ORIGINAL):
        if name in case.columns:
            yield f"case '{case.id}' has a column '{name}', which [vary] makes; rename one of them"
    reference = re.match(r"\{(\w+)\}(.*)", case.input) if isinstance(case.input, str) else None
    if reference is None or reference[1] not in data:
        yield f"input {case.input!r:.60} is not a file of the test's data, such as {{images}}/1.png, which [vary] needs"
    elif reference[2] and Path(reference[2]).suffix.lower() not in IMAGE_SUFFIXES:
        yield f"input '{case.input}' is not an image ({' '.join(IMAGE_SUFFIXES)}), which [vary] needs"
