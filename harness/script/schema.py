"""Test script, format 1: every key of it, as pydantic models. What the keys mean is in docs/test-scripts.md."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StrictStr, model_validator

from harness.files.strict_toml import Section
from harness.model import ErrorRule
from harness.params import ParamType
from harness.tasks import TASKS

FORMAT = 1
NAME_PATTERN = r"[a-z0-9][a-z0-9._-]*"

Columns = Annotated[list[StrictStr], Field(min_length=1)] | StrictStr


class Tolerance(Section):
    """How far a value may be off: absolutely, or relative to the expected one."""

    absolute: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    relative: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> "Tolerance":
        if (self.absolute is None) == (self.relative is None):
            raise ValueError("say either absolute or relative")
        return self


def _known_task(name: str) -> str:
    if name not in TASKS:
        raise ValueError(f"'{name}' is not one of {', '.join(TASKS)}")
    return name


class Test(Section):
    """[test]."""

    name: Annotated[StrictStr, Field(pattern=f"^{NAME_PATTERN}$", max_length=100)]
    version: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=100)]
    synopsis: StrictStr
    task: Annotated[StrictStr, AfterValidator(_known_task)]
    description: StrictStr = ""
    authors: list[StrictStr] = []
    license: StrictStr = ""
    errors: ErrorRule = ErrorRule.FAILURE
    baseline: StrictStr | None = None
    larger_is_better: StrictBool = True
    tolerance: Tolerance | None = None

    @model_validator(mode="after")
    def _tolerance_fits(self) -> "Test":
        if self.tolerance is not None and self.task != "value":
            raise ValueError(f"tolerance is for value tests, this is a {self.task} test")
        return self


class Data(Section):
    """[data.NAME]: a file or folder beside the script, or a URL."""

    path: StrictStr | None = None
    url: Annotated[StrictStr, Field(pattern=r"^https?://")] | None = None
    sha256: Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    bytes: Annotated[StrictInt, Field(ge=0)] | None = None
    unpack: StrictBool = False

    @model_validator(mode="after")
    def _one_source(self) -> "Data":
        if (self.path is None) == (self.url is None):
            raise ValueError("say either path or url")
        if self.url is not None and self.sha256 is None:
            raise ValueError("a url needs its sha256, so that everyone runs the same data")
        return self


class Table(Section):
    """[train] and [gallery]."""

    table: StrictStr


class Cases(Section):
    """[cases]: exactly one source."""

    table: StrictStr | None = None
    glob: StrictStr | None = None
    pattern: StrictStr | None = None
    case: list[dict[str, Any]] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "Cases":
        if sum(source is not None for source in (self.table, self.glob, self.case)) != 1:
            raise ValueError("say exactly one of table, glob and [[cases.case]]")
        if self.pattern is not None and self.glob is None:
            raise ValueError("pattern goes with glob")
        return self


class ParamSection(Section):
    """[params.NAME]."""

    type: ParamType
    default: StrictBool | StrictInt | Annotated[float, Field(allow_inf_nan=False)] | StrictStr
    decision: StrictBool = False
    help: StrictStr = ""

    @model_validator(mode="after")
    def _default_fits(self) -> "ParamSection":
        shown = ParamType.of(self.default)
        if shown is not self.type and (shown, self.type) != (ParamType.INT, ParamType.FLOAT):
            raise ValueError(f"default {self.default!r} is not a {self.type.value}")
        return self


class Design(Section):
    """[design]: how the cases were sampled."""

    stratum: Columns | None = None
    psu: Columns | None = None
    cofactors: list[StrictStr] = []
    weights: StrictStr | dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = "cases"


class ScriptFile(Section):
    """The whole file."""

    format: Literal[1]
    test: Test
    data: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], Data] = {}
    train: Table | None = None
    gallery: Table | None = None
    cases: Cases
    params: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], ParamSection] = {}
    design: Design = Design()
