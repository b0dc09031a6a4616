"""Transcripts of scores, answers and counts for the tests of curves."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Record = dict[str, Any]
TEST = {"name": "toy", "version": "1.0", "digest": "1:" + "ab" * 32, "task": "score"}


def write_transcript(
    path: Path,
    records: Iterable[Record],
    *,
    algorithm: str = "mine",
    params: Record | None = None,
    design: Record | None = None,
    complete: bool = True,
    **test: Any,
) -> Path:
    """Write a transcript of these records, with a valid last line."""
    first = {
        "hate": "transcript", "format": 1, "test": TEST | test, "algorithm": {"name": algorithm},
        "params": params or {}, "design": design or {},
    }  # fmt: skip
    lines = [json.dumps(first), *map(json.dumps, records)]
    content = "".join(f"{line}\n" for line in lines).encode()
    outcomes = [json.loads(line)["outcome"] for line in lines[1:]]
    end: Record = {"end": True, "tests": len(outcomes)} | {
        name: outcomes.count(name) for name in ("TP", "TN", "FP", "FN")
    }
    end |= {"ER": sum('"error"' in line for line in lines[1:]), "sha256": hashlib.sha256(content).hexdigest()}
    path.write_bytes(content + (json.dumps(end).encode() + b"\n" if complete else b""))
    return path


def outcome(positive: bool, accepted: bool) -> str:
    return ("TP" if accepted else "FN") if positive else ("FP" if accepted else "TN")


def scores(
    values: Sequence[float | None] | npt.NDArray[np.float64],
    positive: Sequence[bool] | npt.NDArray[np.bool_],
    **columns: Sequence[Any],
) -> list[Record]:
    """Records of a score test; None is a refusal. `stratum` and `psu` go into the record, others into its columns."""
    made = []
    for number, (value, true) in enumerate(zip(values, positive, strict=True)):
        record: Record = {"id": f"c{number}", "positive": bool(true)}
        record["outcome"] = outcome(bool(true), value is not None and value >= 0)
        if value is not None:
            record |= {"actual": float(value), "score": float(value)}
        own = {name: column[number] for name, column in columns.items()}
        record |= {name: str(own.pop(name)) for name in ("stratum", "psu") if name in own}
        made.append(record | ({"columns": {name: str(one) for name, one in own.items()}} if own else {}))
    return made


def counts(accepted: Sequence[bool] | npt.NDArray[np.bool_], positive: npt.NDArray[np.bool_]) -> list[Record]:
    """Records of which only the outcome is known."""
    pairs = zip(accepted, positive, strict=True)
    return [
        {"id": f"c{i}", "positive": bool(p), "outcome": outcome(bool(p), bool(a))} for i, (a, p) in enumerate(pairs)
    ]


def random_scores(
    seed: int, n: int = 300, *, decimals: int = 1
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Scores with many ties, and their classes."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    values = np.asarray(np.round(rng.normal(size=n) + 1.2 * positive, decimals) + 0.0, dtype=np.float64)
    return values, positive
