"""Parameters: named, typed values to set or sweep, and how they are written on a command line."""

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation, localcontext
from enum import StrEnum
from typing import Any

from harness.errors import UsageError

# Any is None, which only parameters of an estimator are: a parameter that decides is never None.
Value = float | int | str | bool | Any
MAX_VALUES = 1_000_000
# Sums of numbers from 1e-300 to 1e300 need 600 digits; the rest is for the digits that users write.
_EXACT = Context(prec=2000)


class ParamType(StrEnum):
    """The types of parameters."""

    FLOAT = "float"
    INT = "int"
    STRING = "string"
    BOOL = "bool"

    @staticmethod
    def of(default: Value) -> "ParamType":
        """The type of a default value."""
        if isinstance(default, bool):
            return ParamType.BOOL
        if isinstance(default, int):
            return ParamType.INT
        return ParamType.FLOAT if isinstance(default, float) else ParamType.STRING


@dataclass(frozen=True)
class Param:
    """A declared parameter. A *decision* parameter is applied by the harness to recorded answers."""

    name: str
    type: ParamType
    default: Value
    decision: bool = False
    help: str = ""

    def parse(self, text: str) -> Value:
        """One value from text, or a UsageError that says what was expected."""
        try:
            return _PARSERS[self.type](text.strip())
        except (ValueError, OverflowError):
            raise UsageError(f"--param {self.name}={text}: '{text}' is not a {_NAMES[self.type]}") from None

    def parse_many(self, text: str) -> list[Value]:
        """A list `0,1,2`, a range `0:1:0.1` (decimal arithmetic) or a logarithmic range `1:1000:x10`."""
        if self.type in (ParamType.FLOAT, ParamType.INT) and ":" in text:
            with localcontext(_EXACT):
                numbers = [number for part in text.split(",") for number in _expand(self.name, part)]
                return [self.parse(_shortest(number)) for number in numbers]
        return [self.parse(part) for part in text.split(",")]

    def same(self, a: Value, b: Value) -> bool:
        """Whether two of its values are one: 1 and 1.0 are, where it is a number of one type."""
        return a == b


class FreeParam(Param):
    """A parameter without a type of its own, as those of scikit-learn: 1, 1.0, "one", True and None all differ."""

    def parse(self, text: str) -> Value:
        """What the text is in Python; 1.0 is not a whole number."""
        text = text.strip()
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        for number in (int, _float):
            try:
                return number(text)
            except (ValueError, OverflowError):
                continue
        if text.lower().lstrip("+-") in ("inf", "infinity", "nan"):
            raise UsageError(f"--param {self.name}={text}: '{text}' is not a finite number")
        return text

    def parse_many(self, text: str) -> list[Value]:
        """A list, whose parts may be ranges; a range has whole numbers if it is written with them."""
        values = list[Value]()
        for part in text.split(","):
            ends = [self.parse(end.strip().removeprefix("x")) for end in part.split(":")]
            if len(ends) > 1 and all(map(is_number, ends)):
                with localcontext(_EXACT):
                    texts = [_shortest(number) for number in _expand(self.name, part)]
                values += map(int if all(isinstance(end, int) for end in ends) else float, texts)
            else:
                values.append(self.parse(part))
        return values

    def same(self, a: Value, b: Value) -> bool:
        return type(a) is type(b) and a == b


_CONSTANTS: Mapping[str, Value] = {"None": None, "True": True, "true": True, "False": False, "false": False}


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


_TRUTH_VALUES = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def _bool(text: str) -> bool:
    if text.lower() not in _TRUTH_VALUES:
        raise ValueError(text)
    return _TRUTH_VALUES[text.lower()]


_PARSERS: Mapping[ParamType, Callable[[str], Value]] = {
    ParamType.FLOAT: _float,
    ParamType.INT: int,
    ParamType.STRING: str,
    ParamType.BOOL: _bool,
}
_NAMES = {
    ParamType.FLOAT: "finite number",
    ParamType.INT: "whole number",
    ParamType.STRING: "text",
    ParamType.BOOL: "truth value: true or false",
}


def _shortest(number: Decimal) -> str:
    """0.30 as 0.3 and 1E+2 as 100, as readers and int() expect."""
    return format(number.normalize(), "f")


def _expand(name: str, part: str) -> list[Decimal]:
    fields = [field.strip() for field in part.split(":")]
    if len(fields) == 1:
        return [_decimal(name, part, fields[0])]
    if len(fields) != 3:
        raise UsageError(f"--param {name}={part}: a range is FROM:TO:STEP or FROM:TO:xFACTOR")
    first, last = _decimal(name, part, fields[0]), _decimal(name, part, fields[1])
    if fields[2].startswith("x"):
        return _logarithmic(name, part, first, last, _decimal(name, part, fields[2][1:]))
    return _linear(name, part, first, last, _decimal(name, part, fields[2]))


def _decimal(name: str, part: str, text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise UsageError(f"--param {name}={part}: '{text}' is not a number") from None
    if not number.is_finite() or abs(number.adjusted()) > 300:
        raise UsageError(f"--param {name}={part}: '{text}' is not a finite number")
    return number


def _linear(name: str, part: str, first: Decimal, last: Decimal, step: Decimal) -> list[Decimal]:
    if step == 0 or (last - first) * step < 0:
        raise UsageError(f"--param {name}={part}: a step of {step} never gets from {first} to {last}")
    count = (last - first) // step
    if count >= MAX_VALUES:
        raise UsageError(f"--param {name}={part}: more than {MAX_VALUES:,} values; use a larger step")
    return [first + step * i for i in range(int(count) + 1)]


def _logarithmic(name: str, part: str, first: Decimal, last: Decimal, factor: Decimal) -> list[Decimal]:
    if first <= 0 or last < first or factor <= 1:
        raise UsageError(f"--param {name}={part}: a logarithmic range needs 0 < FROM <= TO and a factor above 1")
    values = [first]
    with localcontext(prec=100):  # powers of 1.0001 have too many digits
        while values[-1] * factor <= last:
            values.append(values[-1] * factor)
            if len(values) > MAX_VALUES:
                raise UsageError(f"--param {name}={part}: more than {MAX_VALUES:,} values; use a larger factor")
    return values


def similar(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that a misspelt one most likely means; two letters in the wrong order are the likeliest slip."""
    names = sorted(known)
    swapped = {name[:at] + name[at + 1] + name[at] + name[at + 2 :] for at in range(len(name) - 1)}
    near = [known for known in names if known in swapped and known != name]
    return next(iter(near or difflib.get_close_matches(name, names, n=1, cutoff=cutoff)), None)


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a misspelt name: the nearest known one, or all of them."""
    names = sorted(known)
    if near := similar(name, names):
        return f"did you mean '{near}'?"
    return f"known: {', '.join(names)}" if names else "there are none"


def is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def value_texts(values: Iterable[Value]) -> list[str]:
    """Values of a parameter as a command line takes them: 1.0 as 1, unless there are whole numbers beside it."""
    values = list(values)
    kinds = set(map(type, values))
    return [str(value) if isinstance(value, float) and int in kinds else value_text(value) for value in values]


def value_text(value: Value) -> str:
    """A value as a command line takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)


def split_assignment(text: str) -> tuple[str, str]:
    """NAME=VALUE into its two parts."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--param {text}: write NAME=VALUE")
    return name.strip(), value


def settings(declared: Mapping[str, Param], assignments: Iterable[str]) -> dict[str, Value]:
    """The value of every declared parameter: its default, or what NAME=VALUE says."""
    values, given = {name: param.default for name, param in declared.items()}, dict[str, str]()
    for assignment in assignments:
        name, text = split_assignment(assignment)
        if name not in declared:
            raise UsageError(f"--param {name}={text}: no parameter '{name}'; {nearest(name, declared)}")
        param = declared[name]
        value = param.parse(text)
        if name in given and not param.same(value, values[name]):
            raise UsageError(f"--param {name}={text}: '{name}' is given twice, before as {given[name]}; leave one out")
        # Set to its default, it is the default, which may be the 1 of a parameter whose other values are floats.
        values[name] = param.default if param.same(value, param.default) else value
        given[name] = text
    return values
