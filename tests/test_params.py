"""Parameters on the command line: lists, ranges in decimal arithmetic, logarithmic ranges."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.params import MAX_VALUES, FreeParam, Param, ParamType, nearest, split_assignment
from harness.params import settings as set_params
from tests.simulation import examples

FLOAT = Param("x", ParamType.FLOAT, 0.0)
INT = Param("n", ParamType.INT, 0)
STRING = Param("s", ParamType.STRING, "")
BOOL = Param("b", ParamType.BOOL, False)
FREE = FreeParam("f", ParamType.STRING, None)
quickly = examples(150)

decimals = st.decimals(min_value=-1000, max_value=1000, allow_nan=False, allow_infinity=False, places=4)
steps = st.decimals(min_value="0.0001", max_value=10, places=4)


def test_the_range_of_the_design_page_has_eleven_values_and_includes_its_end() -> None:
    assert FLOAT.parse_many("0:1:0.1") == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


def test_an_end_that_is_not_on_the_grid_is_left_out() -> None:
    assert FLOAT.parse_many("0:1:0.3") == [0.0, 0.3, 0.6, 0.9]


def test_ranges_also_run_downwards() -> None:
    assert FLOAT.parse_many("1:0:-0.25") == [1.0, 0.75, 0.5, 0.25, 0.0]


def test_the_logarithmic_range_of_the_design_page() -> None:
    assert INT.parse_many("1:1000:x10") == [1, 10, 100, 1000]
    assert FLOAT.parse_many("0.001:1:x10") == [0.001, 0.01, 0.1, 1.0]
    assert FLOAT.parse_many("1:100:x3") == [1.0, 3.0, 9.0, 27.0, 81.0]


def test_lists_and_ranges_mix() -> None:
    assert FLOAT.parse_many("5,0:1:0.5, 7") == [5.0, 0.0, 0.5, 1.0, 7.0]
    assert FLOAT.parse_many("0 : 1 : 0.5") == [0.0, 0.5, 1.0]
    assert FLOAT.parse_many("1 : 100 : x10") == [1.0, 10.0, 100.0]


def test_a_range_of_whole_numbers_may_be_written_with_exponents() -> None:
    assert INT.parse_many("0:1000:5e2") == [0, 500, 1000]


def test_text_is_not_expanded_as_a_range() -> None:
    assert STRING.parse_many("0:1:0.1,a:b") == ["0:1:0.1", "a:b"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,1.0,-2,1e3", [1, 1.0, -2, 1000.0]),
        ("None,True,false,sqrt", [None, True, False, "sqrt"]),
        ("2:20:6,None", [2, 8, 14, 20, None]),
        ("0.5:2:0.5", [0.5, 1.0, 1.5, 2.0]),
        ("1 : 100 : x10", [1, 10, 100]),
        (".1:10:x10", [0.1, 1.0, 10.0]),
        ("a:b,C:/x:1", ["a:b", "C:/x:1"]),
    ],
)
def test_a_parameter_without_a_type_takes_the_type_of_its_text(text: str, values: list[object]) -> None:
    assert list(map(repr, FREE.parse_many(text))) == list(map(repr, values))


def test_mistakes_of_a_parameter_without_a_type() -> None:
    for text, why in (("1:3", "a range is FROM:TO"), ("3:1:1", "never gets from 3 to 1"), ("-inf", "not a finite")):
        with pytest.raises(UsageError, match=why):
            FREE.parse_many(text)
    with pytest.raises(UsageError, match="'f' is given twice, before as 1; leave one out"):
        set_params({"f": FREE}, ["f=1", "f=1.0"])
    assert set_params({"f": FREE}, ["f=1", "f=1"]) == {"f": 1}


@quickly
@given(decimals, steps, st.integers(0, 200))
def test_a_range_is_the_grid_of_exact_fractions(first: Decimal, step: Decimal, count: int) -> None:
    """Compared with the same grid in rational arithmetic; float() of the exact value is the nearest float."""
    last = Fraction(first) + count * Fraction(step)
    text = f"{first}:{Decimal(last.numerator) / Decimal(last.denominator)}:{step}"
    assert FLOAT.parse_many(text) == [float(Fraction(first) + i * Fraction(step)) for i in range(count + 1)]


@quickly
@given(decimals, decimals, steps)
def test_no_value_is_beyond_the_end_but_the_next_one_would_be(first: Decimal, last: Decimal, step: Decimal) -> None:
    signed = step if last >= first else -step
    if abs(last - first) / step > 2000:
        step, signed = abs(last - first), last - first
    values = [Fraction(str(v)) for v in FLOAT.parse_many(f"{first}:{last}:{signed}")]
    low, high = sorted((Fraction(first), Fraction(last)))
    assert all(low <= v <= high for v in values)
    assert abs(Fraction(last) - values[-1]) < Fraction(step)


@quickly
@given(st.integers(1, 50), st.integers(2, 12), st.integers(0, 12))
def test_a_logarithmic_range_is_the_list_of_powers(first: int, factor: int, count: int) -> None:
    assert INT.parse_many(f"{first}:{first * factor**count}:x{factor}") == [first * factor**i for i in range(count + 1)]


@quickly
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back_from_their_shortest_text(value: float) -> None:
    assert FLOAT.parse(repr(value)) == value
    assert FLOAT.parse_many(f"{value!r},{value!r}") == [value, value]


@quickly
@given(st.integers(), st.booleans(), st.text(st.characters(exclude_characters=",")).map(str.strip))
def test_other_values_come_back_from_their_text(number: int, flag: bool, text: str) -> None:
    assert INT.parse(str(number)) == number
    assert BOOL.parse(str(flag)) is flag
    assert STRING.parse(text) == text


def test_numbers_with_more_than_28_digits_are_exact() -> None:
    """The end, 1, is not reached from just above 0."""
    assert len(FLOAT.parse_many("1e-200:1:0.1")) == 10
    assert INT.parse_many("1" + "0" * 40 + ":1" + "0" * 39 + "5:1") == [10**40 + i for i in range(6)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("param", "text", "expected"),
    [
        (FLOAT, "abc", "'abc' is not a finite number"),
        (FLOAT, "", "'' is not a finite number"),
        (FLOAT, "nan", "'nan' is not a finite number"),
        (FLOAT, "1e999", "'1e999' is not a finite number"),
        (FLOAT, "0,inf", "'inf' is not a finite number"),
        (INT, "1.5", "'1.5' is not a whole number"),
        (INT, "0:1:0.5", "'0.5' is not a whole number"),
        (BOOL, "maybe", "'maybe' is not a truth value: true or false"),
        (FLOAT, "0:1", "a range is FROM:TO:STEP or FROM:TO:xFACTOR"),
        (FLOAT, "0:1:2:3", "a range is FROM:TO:STEP or FROM:TO:xFACTOR"),
        (FLOAT, "0:1:0", "a step of 0 never gets from 0 to 1"),
        (FLOAT, "0:1:-1", "a step of -1 never gets from 0 to 1"),
        (FLOAT, "a:1:1", "'a' is not a number"),
        (FLOAT, "0:nan:1", "'nan' is not a finite number"),
        (FLOAT, "0:inf:1", "'inf' is not a finite number"),
        (FLOAT, "0:1:x2", "needs 0 < FROM"),
        (FLOAT, "1:10:x1", "needs 0 < FROM"),
        (FLOAT, "10:1:x2", "needs 0 < FROM"),
        (FLOAT, "0:1:1e-9", f"more than {MAX_VALUES:,} values"),
        (FLOAT, "0:1e300:1", f"more than {MAX_VALUES:,} values"),
        (FLOAT, "1e-300:1e300:1e-300", f"more than {MAX_VALUES:,} values"),
        (FLOAT, "1:10:x1.0000001", f"more than {MAX_VALUES:,} values"),
    ],
)
def test_messages_name_the_bad_value_and_its_parameter(param: Param, text: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        param.parse_many(text)
    assert expected in str(caught.value)
    assert str(caught.value).startswith(f"--param {param.name}=")
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_million_values_are_allowed_and_not_one_more() -> None:
    assert len(FLOAT.parse_many(f"1:{MAX_VALUES}:1")) == MAX_VALUES
    with pytest.raises(UsageError, match="use a larger step"):
        FLOAT.parse_many(f"0:{MAX_VALUES}:1")


def test_an_assignment_replaces_the_default() -> None:
    declared = {"x": FLOAT, "n": INT, "s": STRING, "b": BOOL}
    values = set_params(declared, ["x=0.5", "s=a=b", "n = 2", "n=2", "x=0.50"])
    assert values == {"x": 0.5, "n": 2, "s": "a=b", "b": False}


def test_two_values_of_a_parameter_are_refused() -> None:
    with pytest.raises(UsageError, match=r"--param n=2: 'n' is given twice, before as 1; leave one out"):
        set_params({"n": INT}, ["n=1", "n=2"])


@pytest.mark.parametrize("text", ["x", "=1", " =1", ""])
def test_an_assignment_needs_a_name_and_a_value(text: str) -> None:
    with pytest.raises(UsageError, match="write NAME=VALUE"):
        split_assignment(text)


def test_a_misspelt_parameter_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"--param treshold=1: no parameter 'treshold'; did you mean 'threshold'\?"):
        set_params({"threshold": FLOAT, "tuples": INT}, ["treshold=1"])
    assert nearest("zzz", ["b", "a"]) == "known: a, b"
    assert nearest("zzz", []) == "there are none"


def test_the_type_of_a_default() -> None:
    types = [ParamType.of(value) for value in (True, 1, 1.0, "1")]
    assert types == [ParamType.BOOL, ParamType.INT, ParamType.FLOAT, ParamType.STRING]
    assert all(math.isfinite(v) for v in FLOAT.parse_many("1e-300:1e300:x1e100") if isinstance(v, float))
