"""Analysis of variance by design: against statsmodels' sums of squares and clustered Wald tests, and by simulation."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm

from harness.lab.anova.statistics import Factor, VarianceTerm, variance_terms
from harness.stats.arrays import FloatArray, IntArray
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import rate
from tests.simulation import experiments, slack

MAIN = "y ~ C(day, Sum) + C(writer, Sum)"
FULL = "y ~ C(day, Sum) * C(writer, Sum)"
# The model that a term is tested in, the term, and its row in the textbook's table.
ROWS: list[tuple[str, tuple[str, ...], str]] = [
    (MAIN, ("day",), "C(day, Sum)"),
    (MAIN, ("writer",), "C(writer, Sum)"),
    (FULL, ("day", "writer"), "C(day, Sum):C(writer, Sum)"),
]


def balanced(seed: int = 0, times: int = 10) -> pd.DataFrame:
    """Three days, four writers, ten cases in each cell."""
    rng = np.random.default_rng(seed)
    day, writer = (np.tile(np.repeat(one, times), 1) for one in np.divmod(np.arange(12), 4))
    y = (rng.random(day.size) < 0.5 + 0.15 * day - 0.1 * writer * (day == 1)).astype(float)
    return pd.DataFrame({"y": y, "day": day, "writer": writer})


def values(column: "pd.Series[float]") -> FloatArray:
    return np.asarray(column, dtype=np.float64)


def codes(column: "pd.Series[int]") -> IntArray:
    return np.asarray(column, dtype=np.intp)


def terms(table: pd.DataFrame, units: IntArray | None = None) -> dict[tuple[str, ...], VarianceTerm]:
    factors = [Factor(name, codes(table[name])) for name in ("day", "writer")]
    sample = make_sample(len(table), units=units)
    return {one.factors: one for one in variance_terms(values(table["y"])[None, :], factors, sample)}


def test_shares_are_those_of_the_textbook_table() -> None:
    """Omega squared from statsmodels' sums of squares, of the model that each term is tested in."""
    table = balanced()
    found = terms(table)
    for formula, term, row in ROWS:
        anova = anova_lm(smf.ols(formula, table).fit())
        total, error = anova["sum_sq"].sum(), anova.loc["Residual", "mean_sq"]
        expected = (anova.loc[row, "sum_sq"] - anova.loc[row, "df"] * error) / (total + error)
        assert found[term].df == anova.loc[row, "df"]
        assert found[term].share == pytest.approx(max(expected, 0.0), abs=1e-12)


def test_tests_of_independent_cases_are_near_the_textbook_ones() -> None:
    """Of values with one variance: the textbook assumes it, and this F does not."""
    table = balanced(times=400)
    table["y"] = 0.1 * table["day"] + np.random.default_rng(1).normal(size=len(table))
    found = terms(table)
    for formula, name, row in ROWS:
        test = found[name].test
        assert test is not None
        assert test.f == pytest.approx(anova_lm(smf.ols(formula, table).fit()).loc[row, "F"], rel=0.08)


@pytest.mark.parametrize("seed", [0, 1])
def test_statistics_are_those_of_a_clustered_covariance(seed: int) -> None:
    """Wald's statistic of statsmodels without its small-sample factor; here units over units - 1 is in."""
    table = balanced(seed)
    units = np.random.default_rng(seed).integers(0, 30, len(table))
    found, count = terms(table, units), np.unique(units).size
    cluster = {"groups": units, "use_correction": False}
    for formula, names in ((MAIN, [("day",), ("writer",)]), (FULL, [("day", "writer")])):
        fit = smf.ols(formula, table).fit(cov_type="cluster", cov_kwds=cluster)
        for name in names:
            own = [
                i
                for i, label in enumerate(fit.params.index)
                if tuple(part[2:].split(",")[0] for part in label.split(":")) == name
            ]
            wald = fit.wald_test(np.eye(fit.params.size)[own], use_f=False, scalar=True).statistic
            test = found[name].test
            assert test is not None
            assert test.df == len(own)
            assert test.statistic == pytest.approx(float(wald) * (count - 1) / count, rel=1e-8)


def test_two_runs_and_no_column_are_a_pair() -> None:
    """The algorithm's F is the square of the pair's t, with strata and units."""
    rng = np.random.default_rng(2)
    success = (rng.random((2, 120)) < np.array([[0.7], [0.5]])).astype(float)
    sample = make_sample(120, strata=np.arange(120) // 60, units=np.arange(120) // 5)
    (term,) = variance_terms(success, [Factor("algorithm", np.arange(2), of_runs=True)], sample)
    pair = make_estimates(sample, rate(success.T)).difference(0, 1)
    assert term.test is not None
    assert term.test.f == pytest.approx((pair.value / pair.se) ** 2, rel=1e-9)
    assert term.test.df_error == pair.df == 22


def test_weights_are_multiplicities_for_the_shares() -> None:
    table = balanced(3, times=4)
    times = np.random.default_rng(3).integers(1, 4, len(table)).astype(float)
    factors = [Factor(name, codes(table[name])) for name in ("day", "writer")]
    found = variance_terms(values(table["y"])[None, :], factors, make_sample(len(table), weights=times))
    fit = smf.wls(MAIN, table, weights=times).fit()
    without = smf.wls("y ~ C(writer, Sum)", table, weights=times).fit()
    total = float(times @ (values(table["y"]) - np.average(table["y"], weights=times)) ** 2)
    expected = (without.ssr - fit.ssr - 2 * fit.mse_resid) / (total + fit.mse_resid)
    assert found[0].share == pytest.approx(max(expected, 0.0), abs=1e-9)


def test_a_column_that_follows_from_another_has_no_effect_of_its_own() -> None:
    """Month is known from day; and every day has its own writers."""
    rng = np.random.default_rng(4)
    day = np.arange(120) % 4
    y = (rng.random((1, 120)) < 0.6).astype(float)
    factors = [Factor("day", day), Factor("month", day // 2)]
    found = {one.factors: one for one in variance_terms(y, factors, make_sample(120))}
    assert (found[("month",)].df, found[("month",)].test) == (0, None)
    assert found[("day", "month")].df == 0
    assert found[("day",)].df == 3


def test_a_group_in_a_single_unit_has_no_test() -> None:
    units = np.arange(60) // 6
    day = (units == 0).astype(np.intp)
    (term,) = variance_terms(np.tile([0.0, 1.0], (1, 30)), [Factor("day", day)], make_sample(60, units=units))
    assert term.df == 1
    assert term.test is None


def test_too_many_groups_are_refused() -> None:
    factors = [Factor(name, np.arange(600) % levels) for name, levels in (("a", 30), ("b", 31))]
    with pytest.raises(ValueError, match="930 coefficients are too many"):
        variance_terms(np.zeros((1, 600)), factors, make_sample(600))


@experiments(2000, quick=200)
def test_clusters_do_not_make_a_day_matter(experiments: int) -> None:
    """No effect, 30 units of 8 with icc 0.3, each on one day: cases taken as independent reject in four of ten."""
    rng, units = np.random.default_rng(5), np.repeat(np.arange(30), 8)
    factors = [Factor("day", units % 3), Factor("writer", np.arange(240) % 2)]
    ours, naive = make_sample(240, units=units), make_sample(240)
    rejected = np.zeros((2, 3))
    for _ in range(experiments):
        y = (rng.random((1, 240)) < rng.beta(0.8 * 7 / 3, 0.2 * 7 / 3, 30)[units]).astype(float)
        for row, sample in enumerate((ours, naive)):
            tests = [one.test for one in variance_terms(y, factors, sample)]
            rejected[row] += [one is not None and one.p_value <= 0.05 for one in tests]
    by_design, as_independent = rejected / experiments
    assert (by_design <= 0.05 + slack(0.015, full=2000, experiments=experiments)).all()
    assert by_design[0] > 0.005
    assert as_independent[0] > 0.3
