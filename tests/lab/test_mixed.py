"""The logistic mixed model: against figures of lme4, whole matrices, quadrature, and regression."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, gammaln

from harness.lab.opinions.mixed import MixedRows, fit_mixed
from harness.stats.arrays import FloatArray

# Contagious bovine pleuropneumonia in herds (Lesnoff and others 2004), lme4's example: herd, incidence, size, period.
CBPP = """\
1,2,14,1 1,3,12,2 1,4,9,3 1,0,5,4 2,3,22,1 2,1,18,2 2,1,21,3 3,8,22,1 3,2,16,2 3,0,16,3 3,2,20,4 4,2,10,1 4,0,10,2
4,2,9,3 4,0,6,4 5,5,18,1 5,0,25,2 5,0,24,3 5,1,4,4 6,3,17,1 6,0,17,2 6,0,18,3 6,1,20,4 7,8,16,1 7,1,10,2 7,3,9,3
7,0,5,4 8,12,34,1 9,2,9,1 9,0,6,2 9,0,8,3 9,0,6,4 10,1,22,1 10,1,22,2 10,0,18,3 10,2,22,4 11,0,25,1 11,5,27,2
11,3,22,3 11,1,22,4 12,2,10,1 12,1,8,2 12,0,6,3 12,0,5,4 13,1,21,1 13,2,24,2 13,0,19,3 13,0,23,4 14,11,19,1 14,0,2,2
14,0,3,3 14,0,2,4 15,1,19,1 15,1,15,2 15,1,15,3 15,0,15,4
"""


def herds() -> MixedRows:
    """Each row is a case of its own within its herd."""
    data = np.array([[int(part) for part in row.split(",")] for row in CBPP.split()])
    columns = np.column_stack([np.ones(56), *(data[:, 3] == period for period in (2, 3, 4))]).astype(float)
    return MixedRows(data[:, 1].astype(float), data[:, 2].astype(float), columns, np.arange(56), data[:, 0] - 1)


def test_herds_are_as_lme4_has_them() -> None:
    """glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), family = binomial), Laplace.

    Figures of lme4 for this model, as the tests of lme4pureR have them, to a relative 1e-3: the standard deviation,
    four coefficients and the deviance. lme4 stops its inner iterations early, so its deviance is a little too large.
    """
    found = fit_mixed(herds(), cases=False)
    assert found.coefficients == pytest.approx([-1.3983429, -0.9919250, -1.1282162, -1.5797454], abs=1e-3)
    assert found.unit_sd == pytest.approx(0.6420622, abs=1e-3)
    assert 184.0531 - 0.001 < -2 * found.log_likelihood <= 184.0531


def written_out(rows: MixedRows, beta: FloatArray, case_sd: float, unit_sd: float) -> float:
    """Laplace's approximation with whole matrices and a general optimiser: minus twice the log-likelihood."""
    units = rows.units
    effects = np.zeros((rows.case.size, rows.cases + units))
    effects[np.arange(rows.case.size), rows.case] = case_sd
    effects[np.arange(rows.case.size), rows.cases + rows.unit_of_case[rows.case]] = unit_sd
    fixed, k, n = rows.columns @ beta, rows.successes, rows.trials

    def loss(u: FloatArray) -> tuple[float, FloatArray]:
        eta = fixed + effects @ u
        value = -(k @ eta - n @ np.logaddexp(0, eta)) + u @ u / 2
        return float(value), np.asarray(-effects.T @ (k - n * expit(eta)) + u)

    best = minimize(loss, np.zeros(effects.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-10})
    p = expit(fixed + effects @ best.x)
    hessian = np.eye(effects.shape[1]) + (effects.T * (n * p * (1 - p))) @ effects
    choices = (gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)).sum()
    return float(2 * (best.fun - choices) + np.linalg.slogdet(hessian)[1])


def test_both_kinds_of_effects_are_those_of_whole_matrices() -> None:
    """At the estimates, and that no step away from them is better."""
    rows = herds()
    found = fit_mixed(rows)
    beta, sd = found.coefficients, (found.case_sd, found.unit_sd)
    least = written_out(rows, beta, *sd)
    assert -2 * found.log_likelihood == pytest.approx(least, abs=1e-6)
    for place in range(4):
        for step in (-0.02, 0.02):
            assert written_out(rows, beta + step * np.eye(4)[place], *sd) > least
    for step in (-0.05, 0.05):
        assert written_out(rows, beta, sd[0] + step, sd[1]) > least
        assert written_out(rows, beta, sd[0], sd[1] + step) > least


@pytest.mark.slow
def test_standard_errors_are_the_curvature_of_whole_matrices() -> None:
    """The second derivatives of the deviance over all parameters, by differences of their own."""
    rows = herds()
    found = fit_mixed(rows, cases=False)
    at = np.append(found.coefficients, found.unit_sd)

    def deviance(x: FloatArray) -> float:
        return written_out(rows, x[:4], 0.0, float(x[4]))

    step, size = 0.01, at.size
    eye = step * np.eye(size)
    hessian = [
        [
            (deviance(at + a + b) - deviance(at + a - b) - deviance(at - a + b) + deviance(at - a - b)) / (4 * step**2)
            for a in eye
        ]
        for b in eye
    ]
    errors = np.sqrt(np.diag(np.linalg.inv(np.array(hessian) / 2)))
    assert found.se == pytest.approx(errors[:4], rel=0.01)


def test_the_approximation_is_that_of_quadrature_where_there_is_much_data() -> None:
    """One random effect and many trials: the integral by a fine grid over the effect."""
    rng = np.random.default_rng(1)
    effects = rng.normal(0, 0.8, 12)
    successes = rng.binomial(200, expit(0.3 + effects)).astype(float)
    rows = MixedRows(successes, np.full(12, 200.0), np.ones((12, 1)), np.arange(12), np.full(12, -1))
    found = fit_mixed(rows, units=False)
    grid = np.linspace(-8, 8, 20_001)
    density = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi) * (grid[1] - grid[0])

    def log_likelihood(intercept: float, sd: float) -> float:
        from scipy.stats import binom

        chances = expit(intercept + sd * grid)
        return float(sum(np.log(density @ binom.pmf(k, 200, chances)) for k in successes))

    best = log_likelihood(float(found.coefficients[0]), found.case_sd)
    assert found.log_likelihood == pytest.approx(best, abs=0.02)
    for step in (-0.05, 0.05):
        assert log_likelihood(float(found.coefficients[0]) + step, found.case_sd) < best


def test_without_random_effects_it_is_logistic_regression() -> None:
    rng = np.random.default_rng(2)
    x = np.column_stack([np.ones(300), rng.normal(size=300)])
    y = (rng.random(300) < expit(x @ [0.2, 0.7])).astype(float)
    found = fit_mixed(MixedRows(y, np.ones(300), x, np.arange(300), np.full(300, -1)), cases=False, units=False)
    import statsmodels.api as sm

    other = sm.Logit(y, x).fit(disp=0)
    assert found.coefficients == pytest.approx(other.params, abs=1e-4)
    assert found.se == pytest.approx(other.bse, abs=1e-3)


def test_splitting_trials_into_rows_of_the_same_case_changes_nothing() -> None:
    whole = herds()
    times = whole.trials.astype(int)
    single = np.concatenate([np.arange(n) < k for n, k in zip(times, whole.successes, strict=True)]).astype(float)
    rows = MixedRows(
        single, np.ones(single.size), np.repeat(whole.columns, times, axis=0), np.repeat(whole.case, times),
        whole.unit_of_case,
    )  # fmt: skip
    one, other = fit_mixed(whole), fit_mixed(rows)
    assert one.coefficients == pytest.approx(other.coefficients, abs=1e-4)
    assert (one.case_sd, one.unit_sd) == pytest.approx((other.case_sd, other.unit_sd), abs=1e-4)


def test_alike_units_can_be_one_with_their_number() -> None:
    """Twice the herds: the same estimates, half the variance."""
    whole = herds()
    double = MixedRows(
        successes=np.tile(whole.successes, 2),
        trials=np.tile(whole.trials, 2),
        columns=np.tile(whole.columns, (2, 1)),
        case=np.concatenate([whole.case, whole.case + 56]),
        unit_of_case=np.concatenate([whole.unit_of_case, whole.unit_of_case + 15]),
    )
    counted = MixedRows(whole.successes, whole.trials, whole.columns, whole.case, whole.unit_of_case, np.full(56, 2.0))
    one, other = fit_mixed(double), fit_mixed(counted)
    assert one.coefficients == pytest.approx(other.coefficients, abs=1e-4)
    assert one.se == pytest.approx(other.se, rel=1e-3)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-6)


def test_an_outcome_that_never_happens_has_no_estimate() -> None:
    rows = MixedRows(
        np.array([0.0, 5.0]), np.array([5.0, 5.0]), np.array([[1.0, 0.0], [1.0, 1.0]]), np.arange(2), np.full(2, -1)
    )
    with pytest.raises(ValueError, match="no finite estimate"):
        fit_mixed(rows, cases=False, units=False)
