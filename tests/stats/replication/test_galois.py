"""Finite fields and orthogonal arrays: the field axioms, full balance, and the papers' wrong bound."""

import itertools

import numpy as np
import pytest

from harness.stats.replication.galois import (
    OrthogonalArray,
    field,
    is_prime,
    orthogonal_array,
    prime_factors,
    prime_power,
    primitive_polynomial,
)

ARRAYS = [(2, 3), (2, 5), (3, 2), (3, 4), (4, 2), (4, 3), (5, 2), (5, 3), (7, 2), (8, 2), (9, 2), (11, 2), (13, 2)]


def test_primes() -> None:
    assert [n for n in range(30) if is_prime(n)] == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    assert prime_factors(360) == (2, 3, 5)
    assert [prime_power(n) for n in (1, 6, 7, 8, 81, 1331, 1000)] == [None, None, (7, 1), (2, 3), (3, 4), (11, 3), None]


def test_first_primitive_polynomials() -> None:
    """Known: x^4 + x + 1 over GF(2), x^2 + x + 2 over GF(3), and for GF(11) the root 2, of x - 2."""
    assert primitive_polynomial(2, 4) == (1, 1, 0, 0)
    assert primitive_polynomial(3, 2) == (2, 1)
    assert field(11, 1).codes[1] in (2, 6, 7, 8)


@pytest.mark.parametrize(("prime", "degree"), [(2, 1), (2, 6), (3, 5), (5, 3), (7, 2), (11, 2), (13, 3)])
def test_powers_of_the_root_are_all_elements(prime: int, degree: int) -> None:
    whole = field(prime, degree)
    assert sorted(whole.codes) == list(range(1, whole.size))
    # Frobenius: x -> x^p is additive, which holds in a field of characteristic p and fails for a wrong table.
    one, two = whole.powers[1 % (whole.size - 1)], whole.powers[2 % (whole.size - 1)]
    log = int(whole.logarithms[whole.encode((one + two) % prime)])
    image = (
        whole.powers[prime % (whole.size - 1)] + whole.powers[2 * prime % (whole.size - 1)]
    ) % prime  # root^p + root^(2p)
    if log >= 0:
        np.testing.assert_array_equal(whole.powers[log * prime % (whole.size - 1)], image)
    else:
        assert not image.any()


@pytest.mark.parametrize("bad", [(4, 2), (3, 0)])
def test_no_such_field(bad: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no field"):
        primitive_polynomial(*bad)


@pytest.mark.parametrize(("levels", "exponent"), ARRAYS)
def test_every_pair_of_symbols_equally_often(levels: int, exponent: int) -> None:
    array = OrthogonalArray(levels, exponent)
    rows = array.rows(0, array.count, array.columns)
    for one, other in itertools.islice(itertools.combinations(range(array.columns), 2), 300):
        pairs = np.bincount(rows[:, one] * levels + rows[:, other], minlength=levels**2)
        np.testing.assert_array_equal(pairs, array.count // levels**2)


@pytest.mark.parametrize(("levels", "exponent"), ARRAYS)
def test_selected_sums_the_values_that_rows_select(levels: int, exponent: int) -> None:
    array = OrthogonalArray(levels, exponent)
    strata = array.columns - 1 or 1
    values = np.random.default_rng(7).normal(size=(strata, levels, 2))
    rows = array.rows(0, array.count, strata)
    expected = values[np.arange(strata), rows].sum(axis=1)
    np.testing.assert_allclose(array.selected(values), expected, atol=1e-11)


def test_smallest_array() -> None:
    sizes = {(3, 4): 9, (3, 5): 27, (3, 121): 243, (3, 122): 729, (3, 364): 729, (2, 7): 8, (5, 6): 25, (5, 7): 125}
    assert {(p, strata): orthogonal_array(p, strata).count for p, strata in sizes} == sizes


def textbook_share(levels: int, exponent: int, strata: int, rng: np.random.Generator) -> float:
    """The replicate variance over the textbook variance, with this many strata on the array's rotations."""
    array = OrthogonalArray(levels, exponent)
    values = rng.normal(size=(strata, levels))
    rows = array.rows(0, array.count, strata)
    means = values[np.arange(strata), rows].sum(axis=1) - values.mean(axis=1).sum()
    return float((means**2).sum() / (array.count * (levels - 1)) / (values.var(axis=1, ddof=1).sum() / levels))


@pytest.mark.parametrize(("levels", "exponent"), [(3, 3), (5, 2), (7, 2)])
def test_the_papers_bound_is_too_high(levels: int, exponent: int) -> None:
    """The papers allow p^b - 1 strata; past (p^b - 1) / (p - 1) columns repeat, and the variance is off."""
    array, rng = OrthogonalArray(levels, exponent), np.random.default_rng(3)
    assert textbook_share(levels, exponent, array.columns, rng) == pytest.approx(1, abs=1e-12)
    off = [abs(textbook_share(levels, exponent, array.count - 1, rng) - 1) for _ in range(20)]
    assert max(off) > 0.25
    assert min(off) > 1e-6


def test_too_many_strata_are_refused() -> None:
    with pytest.raises(ValueError, match="can balance at most 4"):
        OrthogonalArray(3, 2).selected(np.zeros((5, 3, 1)))


def test_levels_that_are_not_a_prime_power() -> None:
    with pytest.raises(ValueError, match="6 units per stratum"):
        orthogonal_array(6, 3)
