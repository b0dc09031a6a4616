"""The sample: numbering by stratum, weighted sums, and wrong input."""

import numpy as np
import pytest

from harness.stats.replication.sample import make_sample, unit_sums


def test_units_are_numbered_stratum_by_stratum() -> None:
    sample = make_sample(6, strata=["b", "a", "b", "a", "a", "b"], units=[1, 2, 3, 4, 2, 1])
    assert (sample.cases, sample.units, sample.strata) == (6, 4, 2)
    assert sample.stratum_names == ("a", "b")
    np.testing.assert_array_equal(sample.stratum_of_unit, [0, 0, 1, 1])
    np.testing.assert_array_equal(sample.unit_of_case, [2, 0, 3, 1, 0, 2])
    np.testing.assert_array_equal(sample.stratum_sizes, [2, 2])


def test_labels_that_are_reused_in_every_stratum() -> None:
    sample = make_sample(4, strata=[1, 1, 2, 2], units=[1, 2, 1, 2], nested=True)
    assert sample.units == 4


@pytest.mark.parametrize("nested", [False, True])
def test_numbers_and_texts_as_labels_give_the_same_sample(nested: bool) -> None:
    """Numbers are counted, texts are sorted; those of four digits sort alike. Lone strata are joined by name."""
    rng = np.random.default_rng(1)
    home = rng.integers(0, 9, 40) * 3
    units = rng.integers(0, 40, 300) * 7
    strata = rng.integers(0, 9, 300) if nested else home[units // 7]
    samples = [
        make_sample(300, strata=make(strata), units=make(units), nested=nested)
        for make in (np.asarray, lambda numbers: [f"{number:04}" for number in numbers])
    ]
    for name in ("unit_of_case", "stratum_of_unit"):
        np.testing.assert_array_equal(*(getattr(sample, name) for sample in samples))
    assert [[f"{int(part):04}" for part in name.split("+")] for name in samples[0].stratum_names] == [
        name.split("+") for name in samples[1].stratum_names
    ]


def test_a_unit_in_two_strata() -> None:
    with pytest.raises(ValueError, match=r"unit 7 lies in strata 1 and 2.*say that units are nested"):
        make_sample(4, strata=[1, 1, 2, 2], units=[6, 7, 7, 8])


def test_weighted_sums_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    weights, units, values = rng.random(50), rng.integers(0, 7, 50), rng.normal(size=(50, 3))
    sample = make_sample(50, units=units, weights=weights)
    expected = [sum(weights[i] * values[i] for i in range(50) if units[i] == unit) for unit in range(7)]
    np.testing.assert_allclose(unit_sums(sample, values), expected, rtol=1e-12)
    np.testing.assert_allclose(unit_sums(sample, values[:, 1]), np.array(expected)[:, 1], rtol=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1], "case 1 has weight -1"),
        ([np.nan, 1], "case 0 has weight nan"),
        ([0, 0], "all are zero"),
        ([1], "one weight"),
    ],
)
def test_weights_that_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_sample(2, weights=weights)


def test_shapes_that_are_refused() -> None:
    with pytest.raises(ValueError, match="strata: shape"):
        make_sample(2, strata=[1, 1, 2])
    with pytest.raises(ValueError, match="at least one case"):
        make_sample(0)
    with pytest.raises(ValueError, match="3 values for 2 cases"):
        unit_sums(make_sample(2), [1, 2, 3])
    with pytest.raises(ValueError, match="3 dimensions"):
        unit_sums(make_sample(2), np.zeros((2, 1, 1)))


def test_mixed_labels_are_treated_as_text() -> None:
    sample = make_sample(4, strata=np.array(["a", 1, "a", 1], dtype=object))
    assert sample.stratum_names == ("1", "a")
