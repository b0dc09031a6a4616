"""The cases on which two runs of a test differ: `diff`, `hate diff`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.cases import Differences, find_differences
from harness.analysis.run_identity import identity_json, run_names
from harness.api.cases import run_payload
from harness.api.result import Result
from harness.api.transcripts import Given, open_transcripts
from harness.errors import UsageError
from harness.options.cases import DiffOptions
from harness.report.blocks import Block
from harness.report.cases import difference_lines, difference_table
from harness.report.numbers import self_reported_notes
from harness.site.judged import judge_sources


@dataclass(frozen=True, repr=False)
class DifferencesResult(Result):
    """The cases on which two runs differ: `differences.pairs` has both records of each."""

    differences: Differences
    names: Sequence[str]
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        """Both runs, how often they differ, and the cases."""
        differences = self.differences
        return {
            "test": identity_json(differences.a.header.test),
            "a": {"name": self.names[0], **run_payload(differences.a)},
            "b": {"name": self.names[1], **run_payload(differences.b)},
            "cases": differences.common,
            "n_sf": differences.n_sf,
            "n_fs": differences.n_fs,
            "other_answers": differences.other_answers,
            "only_a": differences.only_a,
            "only_b": differences.only_b,
            "matching": differences.matching,
            "differences": [{"id": pair.a.id, "a": pair.a, "b": pair.b} for pair in differences.pairs],
        }

    def blocks(self) -> Sequence[Block]:
        return [difference_table(self.differences)]


def diff(a: Given, b: Given, *, options: DiffOptions) -> DifferencesResult:
    """The cases on which two runs of a test differ, with the records of both.

    >>> print(harness.diff("wisard", "witch", outcome="FP", sort="-score_a", limit=5))

    In `where` and `sort`, `score_a` is the score of the first and `score_b` that of the second; `where="score=1"` holds
    when it does for either. A TranscriptError if the records of one contradict its test.

    Args:
        a: A transcript: a name, path or URL, or what `read`, `load` or `run` returned.
        b: Another one.
    """
    opened = open_transcripts([a, b], options)
    if len(opened.sources) != 2:
        number = len(opened.sources)
        raise UsageError(f"{number} {'transcript' if number == 1 else 'transcripts'}; two are compared case by case")
    first, second = opened.sources
    differences = find_differences((first.path, second.path), (first.name, second.name), options)
    headers = [differences.a.header, differences.b.header]
    names = run_names([header.algorithm.name for header in headers], [source.stem for source in opened.sources])
    remarks = [
        *opened.notes,
        *difference_lines(differences, names, answers=options.answers),
        *self_reported_notes(names, judge_sources(opened.sources, headers)),
    ]
    return DifferencesResult(differences, names, remarks)
