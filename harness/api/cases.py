"""The cases of a transcript, and those on which two differ: `hate show`, `hate diff`, `Transcript.cases`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from harness.analysis.cases import CaseSelection, Differences, TranscriptOverview, find_differences, select_cases
from harness.analysis.run_identity import identity_json, run_names
from harness.api.result import Result
from harness.options.cases import CaseOptions, DiffOptions
from harness.report.blocks import Block
from harness.report.cases import difference_lines, difference_table, view_line, view_table
from harness.report.formats import Format, json_parts, render_parts
from harness.report.numbers import self_reported_notes
from harness.site.find_transcripts import Source
from harness.site.judged import judge_sources


@dataclass(frozen=True, repr=False)
class CasesResult(Result):
    """Cases of a transcript."""

    view: CaseSelection

    @property
    def heading(self) -> list[str]:
        return [view_line(self.view)]

    def payload(self) -> Any:
        """The run, and the cases as records."""
        return {**self._about(), "cases": list(self.view.trials)}

    def _about(self) -> dict[str, Any]:
        run = self.view.run
        return {"test": identity_json(run.header.test), **_run_payload(run), "matching": self.view.matching}

    def blocks(self) -> Sequence[Block]:
        return [view_table(self.view)]

    def parts(self, style: Format, width: int = 100, *, everything: bool = False) -> Iterator[str]:
        """What `render` returns, in parts: there may be more cases than fit into memory."""
        if style is Format.JSON:
            return json_parts(self._about(), "cases", self.view.trials)
        if style is Format.PLAIN:
            return render_parts(self.table(), style)
        return super().parts(style, width, everything=everything)


@dataclass(frozen=True, repr=False)
class DifferencesResult(Result):
    """The cases on which two runs differ."""

    differences: Differences
    names: Sequence[str]
    # Whether cases of the same outcome are among them.
    answers: bool
    # Why each was not judged again by its test; empty if it was, None if nobody asked.
    self_reported: Sequence[str | None]

    @property
    def heading(self) -> list[str]:
        lines = difference_lines(self.differences, self.names, answers=self.answers)
        return [*lines, *self_reported_notes(self.names, self.self_reported)]

    def payload(self) -> Any:
        """Both runs, how often they differ, and the cases."""
        differences = self.differences
        return {
            "test": identity_json(differences.a.header.test),
            "a": {"name": self.names[0], **_run_payload(differences.a)},
            "b": {"name": self.names[1], **_run_payload(differences.b)},
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


def show_cases(source: Source, options: CaseOptions) -> CasesResult:
    """The cases of a transcript that are asked for."""
    return CasesResult(select_cases(source.path, source.name, options))


def compare_cases(a: Source, b: Source, options: DiffOptions) -> DifferencesResult:
    """The cases on which two transcripts differ; a TranscriptError if the records of one contradict its test."""
    differences = find_differences((a.path, b.path), (a.name, b.name), options)
    names = run_names([run.header.algorithm.name for run in (differences.a, differences.b)], [a.stem, b.stem])
    judged = judge_sources([a, b], [differences.a.header, differences.b.header])
    return DifferencesResult(differences, names, options.answers, judged)


def _run_payload(run: TranscriptOverview) -> dict[str, Any]:
    return {
        "algorithm": run.header.algorithm,
        "params": run.header.params,
        "complete": run.complete,
        "tests": run.counts.tests,
        **msgspec.structs.asdict(run.counts),
    }
