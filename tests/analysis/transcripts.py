"""Transcripts for the tests of comparisons, written record by record."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.align import AlignedRuns, Run, align
from harness.transcript.columns import read_columns

Record = dict[str, Any]


def transcript(
    path: Path,
    successes: Sequence[bool] | npt.NDArray[np.bool_],
    *,
    ids: Sequence[str] | None = None,
    positive: Sequence[bool] | None = None,
    complete: bool = True,
    test: Record | None = None,
    name: str | None = None,
    design: Record | None = None,
    params: Record | None = None,
    more: Record | None = None,
    **fields: Sequence[Any],
) -> Path:
    """Write a transcript; `more` are keys of the header, and each of `fields` one of the records, a value per case."""
    header = {
        "hate": "transcript",
        "format": 1,
        "test": {"name": "toy", "version": "1.0", "digest": "1:00", "task": "label"} | (test or {}),
        "algorithm": {"name": name or path.stem},
        "design": design or {},
        "params": params or {},
    } | (more or {})
    lines = [json.dumps(header)]
    counts = dict.fromkeys(("TP", "TN", "FP", "FN"), 0)
    for i, good in enumerate(successes):
        sign = True if positive is None else bool(positive[i])
        outcome = ("TP" if good else "FN") if sign else ("TN" if good else "FP")
        counts[outcome] += 1
        record: Record = {"id": ids[i] if ids else f"c{i:05d}", "outcome": outcome, "positive": sign}
        lines.append(json.dumps(record | {key: values[i] for key, values in fields.items()}))
    body = "\n".join(lines) + "\n"
    end = {"end": True, "tests": len(lines) - 1, **counts, "sha256": hashlib.sha256(body.encode()).hexdigest()}
    path.write_text(body + (json.dumps(end) + "\n" if complete else ""), encoding="utf-8")
    return path


def aligned(*paths: Path, **options: bool) -> AlignedRuns:
    return align([Run(read_columns(path), path.name, path.stem) for path in paths], **options)


def figure_5(folder: Path) -> list[Path]:
    """Three algorithms with the successes that the tutorial's figure 5 counts."""
    kinds = ["witch"] * 180 + ["wisard"] * 130 + ["wisard warlock"] * 1124
    return [
        transcript(folder / f"{name}.jsonl", [name in kind.split() for kind in kinds])
        for name in ("wisard", "witch", "warlock")
    ]


def clustered(folder: Path, seed: int, *, strata: int, units: int, size: int, spread: float = 1.0) -> list[Path]:
    """Two algorithms on units of similar cases, with the units in strata."""
    rng = np.random.default_rng(seed)
    n = strata * units * size
    unit = np.repeat(np.arange(strata * units), size)
    stratum = np.repeat(np.arange(strata), units * size)
    ease = rng.normal(0, spread, strata * units)[unit]
    paths = []
    for number, lift in enumerate((1.0, 0.6)):
        own = rng.normal(0, spread, strata * units)[unit]
        good = ease + own + lift + rng.logistic(size=n) > 0
        names: dict[str, Any] = {"stratum": [f"s{s}" for s in stratum], "psu": [f"u{u}" for u in unit]}
        columns = [{"day": str(s % 2), "weight": str(1 + u % 3)} for s, u in zip(stratum, unit, strict=True)]
        design = {"stratum": "s", "psu": "u"}
        path = folder / f"{'ab'[number]}.jsonl"
        paths.append(transcript(path, good, design=design, columns=columns, **names))
    return paths
