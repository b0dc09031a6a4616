"""A comparison under the names that the documentation promises."""

import math
from typing import Any

import msgspec

from harness.analysis.comparing.comparison import Comparison, Pair
from harness.analysis.comparing.further import Further
from harness.analysis.comparing.further_json import of_all, of_pair, of_run
from harness.analysis.comparing.replicated import Replicated
from harness.stats.rates import Interval


def as_json(found: Comparison, further: Further | None = None) -> dict[str, Any]:
    """Everything, as JSON has it."""
    further = further or Further()
    test = found.aligned.headers[0].test
    return {
        "test": {"name": test.name, "version": test.version, "digest": test.digest},
        **of_all(found, further),
        "transcripts": [_transcript(found, number) | of_run(further, number) for number in range(len(found.runs))],
        "better": found.better,
        "cochran_q": {
            "statistic": found.cochran.statistic,
            "df": found.cochran.df,
            "p_value": found.cochran.p_value,
        },
        "wald": None if found.wald is None else _finite(msgspec.to_builtins(found.wald)),
        "groups": found.groups,
        "pairs": [_pair(found, pair) | of_pair(further, number) for number, pair in enumerate(found.pairs)],
        "combined": {"oracle": found.oracle, "majority": found.majority},
        "confidence": found.plan.confidence,
        "left_out": found.aligned.left_out,
    }


def _transcript(found: Comparison, number: int) -> dict[str, Any]:
    run, counts = found.runs[number], found.aligned.counts[number]
    return {
        "name": run.name,
        "tests": counts.tests,
        **msgspec.structs.asdict(counts),
        "rate": run.rate,
        "interval": _interval(run.interval),
        "value": run.value,
        "letters": found.letters[number],
        "replication": None if run.replication is None else _replication(found, run.replication),
    }


def _pair(found: Comparison, pair: Pair) -> dict[str, Any]:
    names = found.aligned.names
    return {
        "a": names[pair.a],
        "b": names[pair.b],
        "n_ff": pair.n_ff,
        "n_sf": pair.n_sf,
        "n_fs": pair.n_fs,
        "n_ss": pair.n_ss,
        "z": pair.z,
        "p_chi2": pair.p_chi2,
        "p_exact": pair.p_exact,
        "p_mid": pair.p_mid,
        "p_one_sided": pair.p_one_sided,
        "p_adjusted": pair.p_adjusted,
        "z_design": pair.z_design,
        "p_design": pair.p_design,
        "confidence_differ": pair.confidence_differ,
        "confidence_better": pair.confidence_better,
        "better": None if pair.better is None else names[pair.better],
        "difference": pair.difference,
        "interval": _interval(pair.interval),
        "replication": None if pair.replication is None else _replication(found, pair.replication),
    }


def _replication(found: Comparison, one: Replicated) -> dict[str, Any]:
    sampling = found.sampling
    return _finite({
        "method": one.method,
        "target": sampling.target,
        "stratum": sampling.stratum,
        "psu": sampling.psu,
        "weights": sampling.weights,
        "strata": sampling.sample.strata,
        "units": sampling.sample.units,
        "replicates": one.replicates,
        "groupings": one.groupings,
        "collapsed": [list(names) for names in sampling.sample.collapsed],
        "fay": one.fay,
        "seed": found.plan.seed,
        "estimate": one.estimate,
        "se": one.se,
        "df": one.df,
        "interval": _interval(one.interval),
        "p_value": one.p_value,
        "p_adjusted": one.p_adjusted,
        "design_effect": one.design_effect,
        "icc": one.icc,
    })  # fmt: skip


def _interval(interval: Interval) -> list[float]:
    return [interval.low, interval.high]


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: null where a number is none."""
    return {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in values.items()}
