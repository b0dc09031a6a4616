"""Numbers, intervals and p-values as text: one format each, which says neither more nor less than is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model import join_names
from harness.report.blocks import Audience, Cell, Column, Limits, Number, Table, table_of, tidy_table_of
from harness.report.formats import encode_json
from harness.report.numbers import (
    degrees_of_freedom,
    distance,
    estimate_cells,
    interval_cell,
    interval_text,
    method_name,
    method_words,
    p_cell,
    p_text,
    percent,
)
from harness.stats.estimate import Estimate
from harness.stats.rates import Interval
from harness.stats.replication.method import Method


def test_an_interval_has_one_spelling() -> None:
    interval = Interval(0.89559, 0.92512)
    assert str(Limits(0.89559, 0.92512)) == interval_text(interval) == "0.8956 to 0.9251"
    assert str(interval_cell(Interval(1e6, 2.5e6), ".4g", 1e6)) == "1 to 2.5"
    assert interval_text(None) == interval_text(Interval(0.1, float("inf"))) == "-"
    cells = [
        estimate_cells(estimate)
        for estimate in (Estimate(0.91, 0.01, 9, interval), Estimate(0.91, 0.01, 0, None), None)
    ]
    assert [(value, str(limits)) for value, limits in cells] == [(0.91, "0.8956 to 0.9251"), (0.91, "-"), (None, "-")]


@pytest.mark.parametrize(("value", "text", "sentence"), [
    (0.0123, "0.0123", "p = 0.0123"), (1.0, "1.0000", "p = 1.0000"), (0.0001, "0.0001", "p = 0.0001"),
    (0.00009, "<0.0001", "p < 0.0001"), (0.0, "<0.0001", "p < 0.0001"), (None, "-", "p = -"),
    (float("nan"), "-", "p = -"),
])  # fmt: skip
def test_p_values(value: float | None, text: str, sentence: str) -> None:
    assert (str(p_cell(value)), p_text(value)) == (text, sentence)


def test_programs_get_the_numbers_behind_what_people_are_shown() -> None:
    """All digits of them, an interval as two columns, and nothing where nothing is known or it is infinite."""
    rows: list[list[Cell]] = [
        ["a", Number(2 / 3, ".1%"), p_cell(1e-9), Limits(1 / 3, 3.0)],
        ["b", Number(None), p_cell(float("nan")), Limits(None, None)],
        ["c", Number(float("inf")), p_cell(0.5), Limits(0.0, float("inf"))],
    ]
    table = Table(["name", "share", "p", "95 % interval"], rows)
    assert [list(map(str, row)) for row in table.rows] == [
        ["a", "66.7 %", "<0.0001", "0.3333 to 3.0000"], ["b", "-", "-", "-"], ["c", "inf", "0.5000", "-"],
    ]  # fmt: skip
    tidy = table.tidied()
    assert tidy.columns == ["name", "share", "p", "low", "high"]
    assert tidy.rows[0] == ["a", 2 / 3, 1e-9, 1 / 3, 3.0]
    assert tidy.rows[1][1] is None
    assert tidy.rows[1][3:] == [None, None]
    assert tidy.rows[2] == ["c", None, 0.5, 0.0, None]


def test_a_column_is_declared_once_for_people_and_programs() -> None:
    columns: list[Column[tuple[str, str, float]]] = [
        Column("pair", lambda item: f"{item[0]} - {item[1]}", Audience.PEOPLE),
        Column("a", lambda item: item[0], Audience.PROGRAMS),
        Column("b", lambda item: item[1], Audience.PROGRAMS),
        Column("share", lambda item: Number(item[2], ".1%"), head="share of all"),
        Column("interval", lambda item: Limits(item[2] - 0.25, item[2] + 0.25), head="95 %"),
    ]
    items = [("x", "y", 0.5), ("x", "z", 0.25)]
    for_people = table_of(items, columns)
    assert for_people.columns == ["pair", "share of all", "95 %"]
    assert list(map(str, for_people.rows[0])) == ["x - y", "50.0 %", "0.2500 to 0.7500"]
    for_programs = tidy_table_of(items, columns)
    assert for_programs.columns == ["a", "b", "share", "low", "high"]
    assert for_programs.rows == [["x", "y", 0.5, 0.25, 0.75], ["x", "z", 0.25, 0.0, 0.5]]


def test_json_has_arrays_and_what_is_not_finite() -> None:
    payload = {"rates": np.array([[0.5, np.nan], [1.0, np.inf]]), "count": np.int64(3), "interval": Interval(0.0, 1.0)}
    assert encode_json(payload) == b'{"rates":[[0.5,null],[1.0,null]],"count":3,"interval":[0.0,1.0]}'


def test_confidence_is_in_percent() -> None:
    assert [percent(share) for share in (0.95, 0.9, 0.995)] == ["95 %", "90 %", "99.5 %"]


@pytest.mark.parametrize(("low", "high", "sentence"), [
    (0.0123, 0.0845, "1.2 to 8.5 points"), (0.0004, 0.008, "0.04 to 0.80 points"),
    (0.00004, 0.008, "0.004 to 0.800 points"), (0.25, None, "25.0 points"),
])  # fmt: skip
def test_a_distance_has_the_digits_that_it_needs(low: float, high: float | None, sentence: str) -> None:
    assert distance(low, high) == sentence


@given(low=st.floats(1e-5, 0.9), more=st.floats(0, 0.1))
def test_no_lead_is_by_nothing(low: float, more: float) -> None:
    """ "Better by 0.0 to 0.8 points" is not a lead."""
    first = distance(low, low + more).split()[0]
    assert float(first) > 0


def test_a_distance_that_is_not_a_rate_is_a_plain_number() -> None:
    assert distance(0.01234, 0.2, rate=False) == "0.0123 to 0.2000"


def test_every_method_has_words() -> None:
    assert {name: method_words(str(name)) for name in Method if name is not Method.AUTO} == {
        Method.BRR: "BRR", Method.JACKKNIFE: "the jackknife", Method.GROUP_JACKKNIFE: "group jackknife",
        Method.BOOTSTRAP: "the bootstrap", Method.LINEARISED: "the linear form",
    }  # fmt: skip
    assert [method_name(name) for name in ("brr", "jackknife", "wilson")] == ["BRR", "jackknife", "Wilson"]


def test_words_in_the_plural_and_in_a_row() -> None:
    assert [degrees_of_freedom(df) for df in (1, 1.2, 7)] == [
        "1 degree of freedom",
        "1 degree of freedom",
        "7 degrees of freedom",
    ]
    assert [join_names(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
