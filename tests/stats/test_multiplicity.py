"""Adjusted p-values against R's p.adjust, and against the definitions as closed tests."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.multiplicity import benjamini_hochberg, hochberg, holm

REFERENCE = json.loads((Path(__file__).parents[1] / "data/paired/reference.json").read_text())
p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=7)


@pytest.mark.parametrize("row", REFERENCE["p_adjust"], ids=lambda r: f"{len(r['p'])} tests")
def test_matches_r(row: dict[str, list[float]]) -> None:
    for method, wanted in [(holm, "holm"), (hochberg, "hochberg"), (benjamini_hochberg, "BH")]:
        np.testing.assert_allclose(method(row["p"]), row[wanted], rtol=1e-12)


@given(p=p_lists)
def test_holm_is_the_closed_bonferroni_test(p: list[float]) -> None:
    # Rejected when Bonferroni rejects every set of hypotheses that holds it: the definition by closure.
    everyone = range(len(p))
    subsets = [s for size in range(1, len(p) + 1) for s in combinations(everyone, size)]
    closed = [max(min(1.0, len(s) * min(p[k] for k in s)) for s in subsets if i in s) for i in everyone]
    np.testing.assert_allclose(holm(p), closed, rtol=1e-12)


@given(p=p_lists)
def test_order_of_the_methods(p: list[float]) -> None:
    fdr, sharper, safe = benjamini_hochberg(p), hochberg(p), holm(p)
    assert (np.asarray(p) <= fdr + 1e-15).all()
    assert (fdr <= sharper + 1e-12).all()
    assert (sharper <= safe + 1e-12).all()
    assert (safe <= np.minimum(1, len(p) * np.asarray(p)) + 1e-12).all()


@given(p=p_lists, seed=st.integers(0, 99))
def test_permuting_the_tests_permutes_the_answers(p: list[float], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(p))
    for method in (holm, hochberg, benjamini_hochberg):
        np.testing.assert_allclose(method(np.asarray(p)[order]), method(p)[order], rtol=1e-12)


def test_unknown_p_is_left_out() -> None:
    np.testing.assert_allclose(holm([0.01, np.nan, 0.04]), [0.02, np.nan, 0.04])
    assert holm([]).size == 0


def test_refuses() -> None:
    with pytest.raises(ValueError, match=r"1.5 is not a p-value"):
        holm([0.1, 1.5])
    with pytest.raises(ValueError, match="shape"):
        benjamini_hochberg([[0.1]])
