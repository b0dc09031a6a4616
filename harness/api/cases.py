"""The cases of a transcript: the result of `show`, `hate show` and `Transcript.cases`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from harness.analysis.cases import CaseSelection, TranscriptOverview, select_cases
from harness.analysis.run_identity import identity_json
from harness.api.result import Result
from harness.options.cases import CaseOptions
from harness.report.blocks import Block
from harness.report.cases import view_line, view_table
from harness.report.formats import Format, json_parts, render_parts
from harness.site.find_transcripts import Source


@dataclass(frozen=True, repr=False)
class CasesResult(Result):
    """Cases of a transcript."""

    view: CaseSelection
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        """The run, and the cases as records."""
        return {**self._about(), "cases": list(self.view.trials)}

    def _about(self) -> dict[str, Any]:
        run = self.view.run
        return {"test": identity_json(run.header.test), **run_payload(run), "matching": self.view.matching}

    def blocks(self) -> Sequence[Block]:
        return [view_table(self.view)]

    def parts(self, style: Format, width: int = 100, *, everything: bool = False) -> Iterator[str]:
        """What `render` returns, in parts: there may be more cases than fit into memory."""
        if style is Format.JSON:
            return json_parts(self._about(), "cases", self.view.trials)
        if style is Format.PLAIN:
            return render_parts(self.table(), style)
        return super().parts(style, width, everything=everything)


def show_cases(source: Source, options: CaseOptions, notes: Sequence[str] = ()) -> CasesResult:
    """The cases of a transcript that are asked for; a remark says of which run they are."""
    view = select_cases(source.path, source.name, options)
    return CasesResult(view, [*notes, view_line(view)])


def run_payload(run: TranscriptOverview) -> dict[str, Any]:
    """What JSON says of a run beside its cases."""
    return {
        "algorithm": run.header.algorithm,
        "params": run.header.params,
        "complete": run.complete,
        "tests": run.counts.tests,
        **msgspec.structs.asdict(run.counts),
    }
