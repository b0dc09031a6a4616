"""Where the papers on replication contradict arithmetic: every claim of docs/explanation/replication.md is checked."""

from itertools import combinations, product

import numpy as np
import pytest

from harness.stats.replication.galois import field
from harness.stats.replication.hadamard import hadamard

EQUATION_8 = """
++-+---
+-+---+
+----++
---++-+
--++-+-
-++--+-
-++----
+++++++
"""
EQUATION_12_ROW_3 = "++--++-"
EQUATION_13 = (2, 1, 2, 2, 2, 1, 2)


def test_efficient_evaluation_equation_8_as_transcribed_is_not_balanced() -> None:
    printed = np.array([[1 if sign == "+" else -1 for sign in row] for row in EQUATION_8.split()])
    assert printed.shape == (8, 7)
    crossed = (printed.T @ printed)[np.triu_indices(7, 1)]
    assert (crossed != 0).any()
    assert (printed.sum(axis=0) != 0).any()
    balanced = hadamard(8).rows(0, 8)[:, 1:].astype(int)
    np.testing.assert_array_equal(balanced.T @ balanced, 8 * np.eye(7))
    np.testing.assert_array_equal(balanced.sum(axis=0), 0)


def test_stratified_methodology_equation_13_is_not_the_third_row_of_equation_12() -> None:
    assert tuple(1 if sign == "+" else 2 for sign in EQUATION_12_ROW_3) != EQUATION_13


def test_a_random_subset_of_half_samples_is_unbiased_and_only_noisier() -> None:
    """Both papers call it biased. All pairs of the 2^5 half-samples: the mean is right, single ones are far off."""
    gaps = np.random.default_rng(0).normal(size=5)
    squares = [float(np.dot(signs, gaps / 2) ** 2) for signs in product((1, -1), repeat=5)]
    textbook = float((gaps**2).sum() / 4)
    subsets = [(one + other) / 2 for one, other in combinations(squares, 2)]
    assert np.mean(subsets) == pytest.approx(textbook, rel=1e-12)
    assert np.std(subsets) > 0.5 * textbook


def test_stratified_methodology_equation_21_doubles_the_order() -> None:
    base = hadamard(4).rows(0, 4).astype(int)
    built = np.block([[base, base], [-base, base]])
    assert built.shape == (8, 8)
    np.testing.assert_array_equal(built @ built.T, 8 * np.eye(8))


def test_stratified_methodology_equation_23_is_x_cubed_plus_one() -> None:
    np.testing.assert_array_equal(np.polymul([1, 2, 1], [1, 1]) % 3, [1, 0, 0, 1])


def test_stratified_methodology_a_power_that_is_one_does_not_make_a_generating_element() -> None:
    """Appendix B.2 requires g^(p^n - 1) = 1, which every element except zero satisfies; the order must be p^n - 1."""
    whole = field(3, 2)
    element = whole.powers[2]
    assert not np.array_equal(element, whole.powers[0])
    np.testing.assert_array_equal(whole.powers[2 * 8 % 8], whole.powers[0])
    assert len({2 * t % 8 for t in range(8)}) == 4
