"""Hadamard matrices: orthogonality, the column of ones, transforms against their rows, and the available orders."""

import numpy as np
import pytest

from harness.stats.replication.hadamard import StoredHadamard, fast_length, hadamard, smallest_order

# Orders below 1,000 without a Paley matrix or its doubling (OEIS A046116); products add none of them.
UNAVAILABLE = """
92 116 156 172 184 188 232 236 260 268 292 324 356 372 376 404 412 428 436 452 472 476 508 520 532 536 584 596 604 612
652 668 712 716 732 756 764 772 808 836 852 856 872 876 892 904 932 940 944 952 956 964 980 988 996
"""


def orders_up_to(limit: int) -> list[int]:
    orders, strata = [], 1
    while strata < limit:
        orders.append(smallest_order(strata))
        strata = orders[-1]
    return orders


def test_available_orders() -> None:
    reached = orders_up_to(1000)
    assert reached[:2] == [2, 4]
    assert [order for order in range(4, 1000, 4) if order not in reached] == [int(n) for n in UNAVAILABLE.split()]


@pytest.mark.parametrize("order", orders_up_to(260))
def test_orthogonal_with_a_column_of_ones(order: int) -> None:
    rows = hadamard(order).rows(0, order).astype(np.float64)
    assert set(np.unique(rows)) <= {-1.0, 1.0}
    np.testing.assert_array_equal(rows[:, 0], 1)
    np.testing.assert_array_equal(rows.T @ rows, order * np.eye(order))
    np.testing.assert_array_equal(rows[3:7], hadamard(order).rows(3, 7)[: max(0, order - 3)])


@pytest.mark.parametrize("order", orders_up_to(260))
def test_transform_is_the_product_with_the_rows(order: int) -> None:
    values = np.random.default_rng(order).normal(size=(order - 1, 2))
    rows = hadamard(order).rows(0, order)[:, : order - 1]
    np.testing.assert_allclose(hadamard(order).transform(values), rows @ values, atol=1e-10)


LARGE = [order for order in orders_up_to(2001) if order > 260]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "order", [*LARGE[::6], *(pytest.param(n, marks=pytest.mark.slow) for n in LARGE if n not in LARGE[::6])]
)
def test_larger_orders_keep_lengths_and_sums(order: int) -> None:
    """H^T H = n I if and only if |H x|^2 = n |x|^2 for all x; a random x would reveal a violation."""
    values = np.random.default_rng(order).normal(size=(order, 2))
    moved = hadamard(order).transform(values)
    np.testing.assert_allclose((moved**2).sum(axis=0), order * (values**2).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moved.sum(axis=0), order * values[0], atol=1e-8)


@pytest.mark.parametrize(
    ("strata", "order"),
    [(1, 2), (2, 4), (3, 4), (4, 8), (7, 8), (8, 12), (12, 16), (16, 20), (28, 32), (91, 96), (481, 484), (2000, 2004)],
)
def test_smallest_sufficient_order(strata: int, order: int) -> None:
    assert smallest_order(strata) == order


@pytest.mark.parametrize(("strata", "order"), [(2001, 2004), (2004, 2012), (2047, 2048), (10_000, 10_008)])
def test_beyond_two_thousand_strata_the_transform_is_fast(strata: int, order: int) -> None:
    """Powers of two, or q + 1 for a prime q = 3 mod 4: 2003, 2011, 10007."""
    assert smallest_order(strata) == order
    assert not isinstance(hadamard(order), StoredHadamard)


def test_an_unavailable_order_is_refused() -> None:
    with pytest.raises(ValueError, match="order 92"):
        hadamard(92)


def test_fast_length_has_small_factors() -> None:
    assert [fast_length(n) for n in (1, 7, 11, 13, 97, 1025)] == [1, 8, 12, 15, 100, 1080]
