"""Two runs from a 2 x 2 table that somebody typed, such as one in a paper: compared like any others."""

from collections.abc import Sequence

import numpy as np

from harness.analysis.align import Run
from harness.errors import UsageError
from harness.stats.arrays import IntArray
from harness.transcript.columns import OUTCOMES, Coded, Columns
from harness.transcript.format import AlgorithmInfo, Header, TestInfo

MAX_CASES = 10_000_000
# The outcomes of a positive case, by whether it succeeded.
_OUTCOME = [[one.value for one in OUTCOMES].index(name) for name in ("FN", "TP")]


def runs_of_table(words: Sequence[str]) -> list[Run]:
    """Cases on which both failed, only A succeeded, only B succeeded, and both succeeded, in this order."""
    counts = [_count(word) for word in words]
    if len(counts) != 4:
        raise UsageError(
            f"--table: {len(counts)} numbers; expected four: both failed, only A right, only B right, both"
        )
    if not 0 < sum(counts) <= MAX_CASES:
        raise UsageError(f"--table: {sum(counts):,} cases; expected 1 to {MAX_CASES:,}")
    a = np.repeat([0, 1, 0, 1], counts)
    b = np.repeat([0, 0, 1, 1], counts)
    ids = [str(number) for number in range(a.size)]
    return [_run(name, success, ids) for name, success in (("A", a), ("B", b))]


def _count(word: str) -> int:
    if not (word.isascii() and word.isdigit()):
        raise UsageError(f"--table: '{word}' is not a count of cases; write four whole numbers, such as 58 31 9 902")
    return int(word)


def _run(name: str, success: IntArray, ids: list[str]) -> Run:
    n = success.size
    header = Header(
        hate="transcript",
        format=1,
        test=TestInfo("typed", "table", "", cases=n),
        algorithm=AlgorithmInfo(name),
    )
    nothing, absent = np.full(n, np.nan), Coded(np.full(n, -1, np.int32), [])
    columns = Columns(
        header=header,
        complete=True,
        ids=ids,
        outcome=np.array(_OUTCOME, dtype=np.int8)[success],
        score=nothing,
        seconds=nothing,
        memory=nothing,
        rank=nothing,
        repeat=np.ones(n, dtype=np.int32),
        expect=absent,
        truth=absent,
        actual=absent,
        error=absent,
        stratum=absent,
        psu=absent,
    )
    return Run(columns, name, name)
