"""Test scripts, format 1: all keys as pydantic models. docs/reference/test-scripts.md says what they mean.

Further sections come in through `hate.sections`: `script_model` has those that there are, `take_sections` what those of
a script say.
"""

import math
import re
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    StrictStr,
    create_model,
    model_validator,
)

from harness.errors import ScriptError, UsageError
from harness.files.toml import Section
from harness.model import MAX_COLUMNS, ErrorRule
from harness.options.entries import SECTIONS
from harness.params import ParamType
from harness.script.expansion import Expansion
from harness.tasks import TASKS, find_task, task_names

FORMAT = 1
NAME_PATTERN = r"[a-z0-9][a-z0-9._-]*"
MAX_NAME_LENGTH = 100


def _like(pattern: str, words: str) -> AfterValidator:
    """Text that must match a pattern; `words` describes it in messages."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text) or len(text) > MAX_NAME_LENGTH:
            raise ValueError(f"'{text:.{MAX_NAME_LENGTH}}' should be {words}")
        return text

    return AfterValidator(check)


def _check_columns(value: object) -> object:
    names = value if isinstance(value, list) and value else [value]
    if not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"should be a column's name or a list of names, not {value!r}")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _check_default(value: object) -> object:
    if not (isinstance(value, (bool, str)) or _is_number(value)):
        raise ValueError(f"should be a finite number, text, true or false, not {value!r}")
    return value


def _check_weights(value: object) -> object:
    if isinstance(value, dict):
        for name, weight in value.items():
            if not (_is_number(weight) and weight >= 0):
                raise ValueError(f"weight {weight!r} of stratum '{name}' should be a number from 0 up")
        return {name: float(weight) for name, weight in value.items()}
    if not isinstance(value, str) or not value:
        raise ValueError(f'should be "cases", "equal", a column, or a table of stratum and weight, not {value!r}')
    return value


Columns = Annotated[str | list[str], PlainValidator(_check_columns)]
Word = Annotated[StrictStr, _like(r"[A-Za-z_][A-Za-z0-9_]*", "letters, digits and _, beginning with a letter")]
Limit = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]


class ToleranceSection(Section):
    """How far off a value may be: absolute, or relative to the expected value."""

    absolute: Limit | None = None
    relative: Limit | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> "ToleranceSection":
        if (self.absolute is None) == (self.relative is None):
            raise ValueError("give either absolute or relative")
        return self


def _check_task(name: str) -> str:
    if find_task(name) is None:
        raise ValueError(f"'{name}' is not one of {', '.join(task_names())}")
    return name


class TestSection(Section):
    """[test]."""

    name: Annotated[StrictStr, _like(NAME_PATTERN, "lowercase letters, digits, dots, _ and -, such as my-test")]
    version: Annotated[StrictStr, _like(r"[A-Za-z0-9][A-Za-z0-9._+-]*", "a version such as 1.0.0")]
    synopsis: StrictStr
    task: Annotated[StrictStr, AfterValidator(_check_task)]
    description: StrictStr = ""
    authors: list[StrictStr] = []
    license: StrictStr = ""
    errors: ErrorRule = ErrorRule.FAILURE
    baseline: StrictStr | None = None
    larger_is_better: StrictBool = True
    tolerance: ToleranceSection | None = None
    # The commitment to what a site keeps to itself: `hate publish --blind` writes it.
    blind: Annotated[StrictStr, _like(r"sha256:[0-9a-f]{64}", "sha256: and 64 digits 0-9 and a-f")] | None = None

    @model_validator(mode="after")
    def _fits_the_task(self) -> "TestSection":
        task = find_task(self.task)
        keys = {"tolerance": self.tolerance is not None, "larger_is_better": not self.larger_is_better}
        for key, is_set in keys.items():
            if is_set and task is not None and key not in task.script_keys:
                tasks = " and ".join(name for name, other in TASKS.items() if key in other.script_keys)
                raise ValueError(f"{key} is for {tasks} tests, this is a {self.task} test")
        return self


def _check_url(url: str) -> str:
    if not re.match(r"https?://[^/\s]+", url):
        raise ValueError(f"'{url}' should begin with https:// or http:// and a host")
    return url


class DataSection(Section):
    """[data.NAME]: a file or folder beside the script, or a URL."""

    path: StrictStr | None = None
    url: Annotated[StrictStr, AfterValidator(_check_url)] | None = None
    sha256: Annotated[StrictStr, _like(r"[0-9a-f]{64}", "64 digits 0-9 and a-f, as sha256sum prints them")] | None = (
        None
    )
    bytes: Annotated[StrictInt, Field(ge=0)] | None = None
    unpack: StrictBool = False

    @model_validator(mode="after")
    def _one_source(self) -> "DataSection":
        if (self.path is None) == (self.url is None):
            raise ValueError("give either path or url")
        if self.url is not None and self.sha256 is None:
            raise ValueError("a url needs a sha256, so that everyone uses the same data")
        return self


class TableSection(Section):
    """[train] and [gallery]."""

    table: StrictStr


class CasesSection(Section):
    """[cases]: exactly one source."""

    table: StrictStr | None = None
    glob: StrictStr | None = None
    pattern: StrictStr | None = None
    case: list[dict[str, Any]] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "CasesSection":
        if sum(source is not None for source in (self.table, self.glob, self.case)) != 1:
            raise ValueError("give exactly one of table, glob and [[cases.case]]")
        if self.pattern is not None and self.glob is None:
            raise ValueError("pattern goes with glob")
        if len({name for case in self.case or () for name in case}) > MAX_COLUMNS:
            raise ValueError(f"more than {MAX_COLUMNS:,} columns; put what only programs read into files")
        return self


class ParamSection(Section):
    """[params.NAME]."""

    type: ParamType
    default: Annotated[bool | int | float | str, PlainValidator(_check_default)]
    decision: StrictBool = False
    help: StrictStr = ""

    @model_validator(mode="after")
    def _default_fits(self) -> "ParamSection":
        actual = ParamType.of(self.default)
        if actual is not self.type and (actual, self.type) != (ParamType.INT, ParamType.FLOAT):
            raise ValueError(f"default {self.default!r} is not of type {self.type.value}")
        return self


class DesignSection(Section):
    """[design]: how the cases were sampled."""

    stratum: Columns | None = None
    psu: Columns | None = None
    cofactors: list[StrictStr] = []
    weights: Annotated[str | dict[str, float], PlainValidator(_check_weights)] = "cases"

    @model_validator(mode="after")
    def _weights_have_strata(self) -> "DesignSection":
        of_strata = isinstance(self.weights, dict) or self.weights == "equal" or is_table(self.weights)
        if of_strata and self.stratum is None:
            raise ValueError("weights of strata need a stratum; name its column")
        return self


def is_table(name: str) -> bool:
    """Whether a name is that of a table file, not of a column."""
    return name.endswith((".csv", ".tsv", ".jsonl", ".parquet"))


class ScriptFile(Section):
    """The whole file, but for the sections that come in through `hate.sections`; see `script_model`."""

    format: Literal[1]
    test: TestSection
    data: dict[Word, DataSection] = {}
    train: TableSection | None = None
    gallery: TableSection | None = None
    cases: CasesSection
    params: dict[Word, ParamSection] = {}
    design: DesignSection = DesignSection()


# Sections of the format whose code is a room of this package, which may have been taken away.
_OF_ROOMS = ("vary",)


def script_model(keys: Iterable[str], about: str) -> type[ScriptFile]:
    """What a script with these keys must look like; `about` is what to call it in messages."""
    more = [key for key in keys if key not in ScriptFile.model_fields]
    if not more:
        return ScriptFile
    for name in _OF_ROOMS:
        if name in more and SECTIONS.find(name) is None:
            raise ScriptError(
                f"{about}: [{name}] cannot be read: this copy of hate-harness has no folder harness/{name}; "
                "install it completely"
            )
    # Those that are here, of which a key may be a misspelling, and those of others that are used.
    used = [name for name in more if SECTIONS.find(name) is not None]
    return _model_with(tuple(dict.fromkeys([*SECTIONS.here(), *used])))


@cache
def _model_with(names: tuple[str, ...]) -> type[ScriptFile]:
    fields: dict[str, Any] = {name: (_expansion_class(name).section, None) for name in names}
    return create_model("ScriptFile", __base__=ScriptFile, **fields)


@cache
def _expansion_class(name: str) -> type[Expansion]:
    entry = SECTIONS.find(name)
    if entry is None:
        raise UsageError(f"section [{name}] is not here; install the package that it comes from")
    expansion = entry.load(Expansion)  # type: ignore[type-abstract]
    if expansion.entry != entry:
        raise UsageError(f"{entry.where}: its entry is not the one that names it, {entry.name}")
    return expansion


def take_sections(file: ScriptFile) -> tuple[ScriptFile, list[Expansion]]:
    """A script without the sections that come in from elsewhere, and what these say."""
    core = {name: getattr(file, name) for name in ScriptFile.model_fields}
    added = [name for name in type(file).model_fields if name not in core and getattr(file, name) is not None]
    expansions = [_expansion_class(name).of(getattr(file, name)) for name in added]
    return ScriptFile.model_construct(**core), [expansion for expansion in expansions if expansion is not None]
