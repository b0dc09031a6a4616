"""Transcripts for the tests of reports."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.analysis.transcripts import transcript

HOSTILE = "<img src=x onerror=alert(1)>\"'`| @you [a](javascript:alert(1)) </script><script>alert(2)</script>"


def hostile_run(path: Path, number: int) -> Path:
    """Every name and value is hostile."""
    cases = range(24)
    fields: dict[str, Any] = {
        "expect": [HOSTILE] * 24,
        "actual": [f"{HOSTILE}{number}"] * 24,
        "stratum": [f"{HOSTILE}{case % 3}" for case in cases],
        "columns": [{HOSTILE: f"{HOSTILE}{case % 3}"} for case in cases],
    }
    return transcript(
        path,
        [bool((case * number) % 3) for case in cases],
        positive=[case % 2 == 0 for case in cases],
        name=f"{HOSTILE}{number}",
        test={"name": HOSTILE, "version": HOSTILE},
        params={HOSTILE: HOSTILE},
        design={"stratum": HOSTILE, "cofactors": [HOSTILE]},
        ids=[f"{HOSTILE}{case}" for case in cases],
        **fields,
    )


def scored_run(path: Path, cases: int, *, shift: float = 0.0) -> Path:
    """A verification test in 10 strata, with cofactors, one of them a number."""
    positive = np.random.default_rng(cases).random(cases) < 0.5
    rng = np.random.default_rng([cases, len(path.stem)])
    score = np.round(rng.normal(size=cases) + (1.5 + shift) * positive, 5)
    indices = np.arange(cases)
    return transcript(
        path,
        (score >= 0.7) == positive,
        positive=positive.tolist(),
        test={"task": "score", "name": "voices"},
        params={"threshold": 0.7},
        design={"stratum": "place", "psu": "speaker", "cofactors": ["noise", "channel"]},
        score=score.tolist(),
        stratum=[f"s{index % 10}" for index in indices],
        psu=[f"s{index % 10}-{index // 10 % (max(cases // 40, 2))}" for index in indices],
        columns=[{"noise": int(index % 5), "channel": f"c{index % 3}"} for index in indices],
        seconds=np.round(rng.random(cases), 4).tolist(),
    )
