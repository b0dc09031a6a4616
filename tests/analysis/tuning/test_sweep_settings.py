"""Grids of settings and samples of them."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.engine.sweep import Axis, Grid, all_combinations, latin_hypercube, make_grid, random_combinations
from harness.errors import UsageError
from harness.params import Param, ParamType

A = Param("a", ParamType.INT, 7)
B = Param("b", ParamType.STRING, "x")
T = Param("threshold", ParamType.FLOAT, 0.0, decision=True)
DECLARED = {param.name: param for param in (T, A, B)}
SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=4)


def grid_of(sizes: list[int]) -> Grid:
    axes = [Axis(Param(f"p{i}", ParamType.INT, 0), list(range(size))) for i, size in enumerate(sizes)]
    return Grid({axis.name: 0 for axis in axes}, tuple(axes))


def test_a_grid_has_every_combination_the_last_parameter_changing_fastest() -> None:
    grid = make_grid(DECLARED, ["a=1,2", "threshold=0:1:0.5"])
    found = [grid.at(number) for number in all_combinations(grid)]
    assert [(s["a"], s["threshold"]) for s in found] == list(product([1, 2], [0.0, 0.5, 1.0]))
    assert all(s["b"] == "x" for s in found)


@given(SIZES)
def test_numbers_and_places_convert_to_each_other(sizes: list[int]) -> None:
    grid = grid_of(sizes)
    everything = [tuple(grid.at(number).values()) for number in all_combinations(grid)]
    assert everything == list(product(*(range(size) for size in sizes)))
    assert [grid.number([int(v) for v in places]) for places in everything] == all_combinations(grid)


@given(SIZES, st.integers(1, 40), st.integers(0, 3))
def test_a_random_sample_has_different_combinations_in_order_and_is_the_same_again(
    sizes: list[int], count: int, seed: int
) -> None:
    grid = grid_of(sizes)
    found = random_combinations(grid, count, seed)
    assert found == sorted(set(found))
    assert len(found) == min(count, grid.size)
    assert set(found) <= set(all_combinations(grid))
    assert found == random_combinations(grid, count, seed)


@given(SIZES, st.integers(1, 40), st.integers(0, 3))
def test_a_latin_hypercube_has_all_values_equally_often(sizes: list[int], count: int, seed: int) -> None:
    grid = grid_of(sizes)
    found = latin_hypercube(grid, count, seed)
    assert found == sorted(set(found))
    assert found == latin_hypercube(grid, count, seed)
    if count >= grid.size:
        assert found == all_combinations(grid)
    elif len(found) == count:  # no two points coincide
        for axis in grid.axes:
            often = Counter(grid.at(number)[axis.name] for number in found)
            low, high = count // len(axis.values), -(-count // len(axis.values))
            assert all(low <= often[value] <= high for value in axis.values)


def test_other_seeds_give_other_samples() -> None:
    grid = grid_of([100, 100])
    assert random_combinations(grid, 10, 0) != random_combinations(grid, 10, 1)
    assert latin_hypercube(grid, 10, 0) != latin_hypercube(grid, 10, 1)


def test_a_grid_larger_than_any_list_can_be_sampled() -> None:
    grid = Grid({}, tuple(Axis(Param(f"p{i}", ParamType.INT, 0), range(10**6)) for i in range(5)))
    assert len(random_combinations(grid, 20, 0)) == 20
    assert len(latin_hypercube(grid, 20, 0)) == 20
    with pytest.raises(UsageError, match="--sample N or --latin N"):
        all_combinations(grid)


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (["c=1"], "no parameter 'c'"),
        (["a=1", "a=2"], "given twice"),
        (["a=1.5"], "not a whole number"),
        (["a"], "write NAME=VALUE"),
        (["threshold=1:0:0.1"], "never gets from"),
    ],
)
def test_mistakes_are_named(assignments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_grid(DECLARED, assignments)
