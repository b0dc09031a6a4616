"""[vary.NAME] of a script: several versions of every case, one for each combination of values."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import msgspec
from pydantic import Field, PlainValidator, StrictInt, StrictStr, model_validator

from harness.files.toml import Section
from harness.model import Case, plain_text
from harness.script.expansion import ORIGINAL, Expansion, InputMaker
from harness.script.schema import Word
from harness.tasks.task import Task, TaskRules
from harness.vary.options import VARY

if TYPE_CHECKING:
    from harness.script.load import Script


# Part of a test's identity: it must change whenever an effect gives other pixels.
EFFECTS_VERSION = 1


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


# What an effect does is the function of the same name in `effects`.
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


# Names that columns of a case have already.
FIXED_NAMES = frozenset({"id", "input", "expect", "positive", "truth", "stratum", "psu", "repeat", ORIGINAL})
# The most versions of one original; more would be a mistake.
MAX_VERSIONS = 10_000
# Wrong values that one message names.
MAX_NAMED = 5

IMAGE_SUFFIXES = (".png", ".pgm", ".ppm", ".pbm", ".pnm", ".tif", ".tiff", ".npy", ".jpg", ".jpeg")

Number = int | float


def _numbers(value: object) -> object:
    if not isinstance(value, list) or not value:
        raise ValueError(f"should be a list of numbers, not {value!r}")
    return tuple(value)


class VarySection(Section):
    """[vary.NAME]: versions of every input, one for each value."""

    kind: StrictStr
    values: Annotated[tuple[Number, ...], PlainValidator(_numbers)]
    seed: Annotated[StrictInt, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _values_fit(self) -> "VarySection":
        if (kind := KINDS.get(self.kind)) is None:
            raise ValueError(f"kind '{self.kind:.40}' is not one of {', '.join(KINDS)}")
        wrong = [text for value in self.values if (text := kind.mistake(value))]
        if wrong:
            more = f", and {len(wrong) - MAX_NAMED} more" if len(wrong) > MAX_NAMED else ""
            raise ValueError(f"values of {self.kind} ({kind.words}): {', '.join(wrong[:MAX_NAMED])}{more}")
        if len(set(self.values)) < len(self.values):
            raise ValueError("a value is there twice; versions must differ")
        if self.seed is not None and not kind.draws:
            raise ValueError(f"seed: {self.kind} draws no random numbers; leave it out")
        return self


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
        return KINDS[self.axis.kind].moves

    @property
    def draws(self) -> bool:
        return KINDS[self.axis.kind].draws


@dataclass(frozen=True)
class Variation(Expansion):
    """All [vary.NAME] of a script, in its order: the versions are the product of their values."""

    axes: tuple[VaryAxis, ...]

    entry = VARY
    section = dict[Word, VarySection]

    @classmethod
    def of(cls, section: Mapping[str, VarySection]) -> Self | None:
        """The axes; None for a table without any."""
        axes = (VaryAxis(name, axis.kind, axis.values, axis.seed or 0) for name, axis in section.items())
        return cls(tuple(axes)) if section else None

    @property
    def identity(self) -> str:
        """Other effects make other inputs."""
        return f"effects {EFFECTS_VERSION}"

    @property
    def columns(self) -> list[str]:
        return [axis.name for axis in self.axes]

    @property
    def count(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes)

    def versions(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Every version of every case; those of one original follow one another."""
        for case in cases:
            for suffix, values in self._combinations:
                columns = {**case.columns, **values, ORIGINAL: case.id}
                yield msgspec.structs.replace(case, id=case.id + suffix, columns=columns)

    @cached_property
    def _combinations(self) -> list[tuple[str, dict[str, Any]]]:
        """What is added to the id and to the columns of a case; ids stay distinct, since no value has an @."""
        combinations = []
        for values in product(*(axis.values for axis in self.axes)):
            named = dict(zip(self.columns, values, strict=True))
            combinations.append(("@" + ",".join(f"{name}={plain_text(value)}" for name, value in named.items()), named))
        return combinations

    def steps(self, version: Case) -> list[Step]:
        """What was done to the original, in the order of the script; nothing for an original."""
        steps = [Step(axis, version.columns[axis.name]) for axis in self.axes if axis.name in version.columns]
        return [step for step in steps if step.value != KINDS[step.axis.kind].neutral]

    def moves_truth(self, task: Task) -> bool:
        """Whether an effect moves what is in the picture, and the truth says where that is."""
        return task.moves_truth and any(KINDS[axis.kind].moves for axis in self.axes)

    def script_mistakes(self, script: "Script") -> Iterator[tuple[str, str]]:
        """Names that are taken, movements that the truth cannot follow, too many versions."""
        task = script.task
        is_spatial = (task.expect_is_file or task.structured_expect) and not task.moves_truth
        for axis in self.axes:
            if axis.name in FIXED_NAMES:
                yield f"{self.name}.{axis.name}", "the name is taken; the columns of a case have it already"
            if is_spatial and KINDS[axis.kind].moves:
                text = f"{axis.kind} moves things, and the truth of a {task.name} test cannot be moved"
                yield f"{self.name}.{axis.name}", text
        if self.count > MAX_VERSIONS:
            text = f"{self.count:,} versions of each case, the product of all values; at most {MAX_VERSIONS:,}"
            yield self.name, text

    def case_mistakes(self, case: Case, data: Collection[str]) -> Iterator[str]:
        """An input that is not an image."""
        reference = re.match(r"\{(\w+)\}(.*)", case.input) if isinstance(case.input, str) else None
        if reference is None or reference[1] not in data:
            what = "is not a file of the test's data, such as {images}/1.png, which [vary] needs"
            yield f"input {case.input!r:.60} {what}"
        elif reference[2] and Path(reference[2]).suffix.lower() not in IMAGE_SUFFIXES:
            yield f"input '{case.input}' is not an image ({' '.join(IMAGE_SUFFIXES)}), which [vary] needs"

    def maker(self, data_paths: Mapping[str, Path], task: Task, rules: TaskRules) -> InputMaker:
        from harness.vary.version_maker import VersionMaker

        return VersionMaker(self, data_paths, task, rules)

    def facts(self) -> dict[str, Any]:
        return {
            axis.name: {"kind": axis.kind, "values": list(axis.values), "words": KINDS[axis.kind].words}
            for axis in self.axes
        }

    def page(self, originals: int) -> list[str]:
        """How many versions there are, and what is varied."""
        values = [
            f"- `{axis.name}`: {', '.join(map(plain_text, axis.values))} ({axis.kind}: {KINDS[axis.kind].words})"
            for axis in self.axes
        ]
        text = (
            f"Each of {originals:,} originals has {self.count:,} versions, one for every combination of these values. "
            "Versions of one original are not independent of one another. "
            "`hate run --no-vary` runs the originals alone."
        )
        return ["## Varied on purpose", "", text, "", *values]
