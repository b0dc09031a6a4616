"""All replicate ratios of 10,000 strata: fast transforms against the bare matrix product, and R's survey if at hand.

    python benchmarks/bench_replication.py

The product's matrix is built first and its build is not counted. Where the whole matrix would not fit it is multiplied
in slabs, each built before its clock starts. R is given fewer strata, since it keeps every replicate weight.
"""

import shutil
import subprocess
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.stats.replication.arrays import FloatArray
from harness.stats.replication.balanced import balanced
from harness.stats.replication.replicates import ScaledReplicates
from harness.stats.replication.sample import make_sample, unit_sums

STRATA = 10_000
SLAB = 1000
R_STRATA = 1000
REPEATS = 7

R_SCRIPT = """
suppressMessages(library(survey))
n <- 2 * {strata}; set.seed(1)
x <- data.frame(h = (1:n + 1) %/% 2, i = 1:n, w = runif(n), a = rbinom(n, 1, .7), b = rbinom(n, 1, .5))
d <- as.svrepdesign(svydesign(id = ~i, strata = ~h, weights = ~w, data = x), type = "BRR")
t <- Sys.time(); invisible(svyratio(~a, ~b, d)); cat(as.numeric(Sys.time() - t, units = "secs"))
"""


@dataclass(frozen=True)
class Row:
    what: str
    seconds: float
    megabytes: float | None = None


def best(run: Callable[[], object], repeats: int = REPEATS) -> float:
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_megabytes(run: Callable[[], object]) -> float:
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def drawn(strata: int, units: int) -> tuple[ScaledReplicates, FloatArray]:
    rng = np.random.default_rng(units)
    n = strata * units
    sample = make_sample(n, strata=np.repeat(np.arange(strata), units), weights=rng.uniform(0.5, 2, n))
    successes = np.stack([rng.binomial(1, 0.7, n), rng.binomial(1, 0.5, n)], axis=1)
    return balanced(sample), unit_sums(sample, successes)


def ratio_variance(replicates: ScaledReplicates, sums: FloatArray) -> float:
    totals = replicates.totals(sums)
    full = sums.sum(axis=0)
    return float(replicates.variance(totals[:, 0] / totals[:, 1], float(full[0] / full[1])))


def product_seconds(replicates: ScaledReplicates, sums: FloatArray) -> tuple[float, float]:
    """Seconds of factors @ sums over all replicates, and its variance to be compared."""
    spent, totals = 0.0, []
    for factors in replicates.weights(block=SLAB):
        start = time.perf_counter()
        totals.append(factors @ sums)
        spent += time.perf_counter() - start
    replicate, full = np.concatenate(totals), sums.sum(axis=0)
    return spent, float(replicates.variance(replicate[:, 0] / replicate[:, 1], float(full[0] / full[1])))


def signs_product_seconds(replicates: ScaledReplicates, sums: FloatArray) -> float:
    """The same for two units with the smaller matrix of signs: half as many columns, whole in memory."""
    steps = sums[0::2] - sums[1::2]
    signs = np.concatenate([factors[:, 0::2] - 1 for factors in replicates.weights(block=SLAB)])
    return best(lambda: signs @ steps, repeats=3)


def survey_seconds(strata: int) -> float | None:
    if shutil.which("Rscript") is None:
        return None
    run = subprocess.run(
        ["Rscript", "-e", R_SCRIPT.format(strata=strata)], capture_output=True, text=True, check=False, timeout=600
    )
    return float(run.stdout) if run.returncode == 0 else None


def measure(units: int) -> None:
    replicates, sums = drawn(STRATA, units)
    fast = best(lambda: ratio_variance(replicates, sums))
    rows = [Row("fast transform, ratio and variance", fast, peak_megabytes(lambda: ratio_variance(replicates, sums)))]
    if units == 2:
        rows.append(Row("signs @ differences, whole matrix", signs_product_seconds(replicates, sums)))
    product, variance = product_seconds(replicates, sums)
    rows.append(Row("factors @ values, in slabs", product))
    agreement = abs(variance / ratio_variance(replicates, sums) - 1)
    print(f"\n{STRATA:,} strata of {units} units, {replicates.count:,} replicates; variances agree to {agreement:.0e}")
    show(rows, fast)


def measure_against_survey() -> None:
    seconds = survey_seconds(R_STRATA)
    if seconds is None:
        print("\nR's survey package: not installed")
        return
    replicates, sums = drawn(R_STRATA, 2)
    fast = best(lambda: ratio_variance(replicates, sums))
    print(f"\n{R_STRATA:,} strata of 2 units, against R's survey (svyratio on ready replicate weights)")
    show([Row("fast transform, ratio and variance", fast), Row("R survey", seconds)], fast)


def show(rows: list[Row], fast: float) -> None:
    for row in rows:
        memory = f"{row.megabytes:7.1f} MB" if row.megabytes is not None else ""
        print(f"  {row.what:36} {row.seconds * 1000:10.2f} ms {row.seconds / fast:8.1f} x  {memory}")


if __name__ == "__main__":
    for size in (2, 3):
        measure(size)
    measure_against_survey()
