"""All replicate ratios of 10,000 strata: fast transforms against a matrix product, and R's survey if installed.

    python -m benchmarks.bench_replication

The time to build the matrix of the product is not counted. A matrix that would not fit into memory is multiplied in
slabs. R gets fewer strata, because it keeps every replicate weight.
"""

import shutil
import subprocess
import tracemalloc
from collections.abc import Callable

import numpy as np

from benchmarks.timing import Timing, best, perf_counter, print_timings, seconds
from harness.stats.arrays import FloatArray
from harness.stats.replication.balanced import balanced
from harness.stats.replication.replicates import Replicates
from harness.stats.replication.sample import make_sample, unit_sums

STRATA = 10_000
SLAB = 1000
R_STRATA = 1000
TURNS = 7

R_SCRIPT = """
suppressMessages(library(survey))
n <- 2 * {strata}; set.seed(1)
x <- data.frame(h = (1:n + 1) %/% 2, i = 1:n, w = runif(n), a = rbinom(n, 1, .7), b = rbinom(n, 1, .5))
d <- as.svrepdesign(svydesign(id = ~i, strata = ~h, weights = ~w, data = x), type = "BRR")
t <- Sys.time(); invisible(svyratio(~a, ~b, d)); cat(as.numeric(Sys.time() - t, units = "secs"))
"""


def peak_megabytes(run: Callable[[], object]) -> float:
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def make_replicates(strata: int, units: int) -> tuple[Replicates, FloatArray]:
    rng = np.random.default_rng(units)
    n = strata * units
    sample = make_sample(n, strata=np.repeat(np.arange(strata), units), weights=rng.uniform(0.5, 2, n))
    successes = np.stack([rng.binomial(1, 0.7, n), rng.binomial(1, 0.5, n)], axis=1)
    return balanced(sample), unit_sums(sample, successes)


def ratio_variance(replicates: Replicates, sums: FloatArray) -> float:
    totals = replicates.totals(sums)
    full = sums.sum(axis=0)
    return float(replicates.variance(totals[:, 0] / totals[:, 1], float(full[0] / full[1])))


def product_seconds(replicates: Replicates, sums: FloatArray) -> tuple[float, float]:
    """Seconds of factors @ sums over all replicates, and the variance, to compare it."""
    spent = 0.0
    totals: list[FloatArray] = []
    for factors in replicates.weights(block=SLAB):
        spent += seconds(lambda factors=factors: totals.append(factors @ sums), clock=perf_counter)  # type: ignore[misc]
    replicate, full = np.concatenate(totals), sums.sum(axis=0)
    return spent, float(replicates.variance(replicate[:, 0] / replicate[:, 1], float(full[0] / full[1])))


def signs_product_seconds(replicates: Replicates, sums: FloatArray) -> float:
    """The same for two units, with a matrix of signs: half as many columns, all in memory."""
    steps = sums[0::2] - sums[1::2]
    signs = np.concatenate([factors[:, 0::2] - 1 for factors in replicates.weights(block=SLAB)])
    (spent,) = best(lambda: signs @ steps, clock=perf_counter)
    return spent


def survey_seconds(strata: int) -> float | None:
    if shutil.which("Rscript") is None:
        return None
    run = subprocess.run(
        ["Rscript", "-e", R_SCRIPT.format(strata=strata)], capture_output=True, text=True, check=False, timeout=600
    )
    return float(run.stdout) if run.returncode == 0 else None


def fast_seconds(replicates: Replicates, sums: FloatArray) -> float:
    (spent,) = best(lambda: ratio_variance(replicates, sums), turns=TURNS, clock=perf_counter)
    return spent


def measure(units: int) -> None:
    replicates, sums = make_replicates(STRATA, units)
    fast = fast_seconds(replicates, sums)
    memory = f"{peak_megabytes(lambda: ratio_variance(replicates, sums)):.1f} MB"
    rows = [Timing("fast transform, ratio and variance", fast, note=memory)]
    if units == 2:
        rows.append(Timing("signs @ differences, whole matrix", signs_product_seconds(replicates, sums), fast))
    product, variance = product_seconds(replicates, sums)
    rows.append(Timing("factors @ values, in slabs", product, fast))
    agreement = abs(variance / ratio_variance(replicates, sums) - 1)
    title = f"{STRATA:,} strata of {units} units, {replicates.count:,} replicates; variances agree to {agreement:.0e}"
    print_timings(rows, title=title, unit="ms")


def measure_against_survey() -> None:
    survey = survey_seconds(R_STRATA)
    if survey is None:
        print("R's survey package: not installed")
        return
    fast = fast_seconds(*make_replicates(R_STRATA, 2))
    rows = [Timing("fast transform, ratio and variance", fast), Timing("R survey", survey, fast)]
    title = f"{R_STRATA:,} strata of 2 units, against R's survey (svyratio on ready replicate weights)"
    print_timings(rows, title=title, unit="ms")


if __name__ == "__main__":
    for size in (2, 3):
        measure(size)
    measure_against_survey()
