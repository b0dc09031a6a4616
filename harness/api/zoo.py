"""The biometric zoo from Python: `zoo`, as `hate rate --zoo` gives it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.run_names import identity_json
from harness.analysis.zoo import Zoo, zoo_runs
from harness.api.result import Result
from harness.api.transcripts import Transcripts, open_transcripts
from harness.errors import UsageError
from harness.options import DownloadOptions
from harness.report.blocks import Block, Table
from harness.report.zoo import subject_table, zoo_blocks
from harness.transcript.format import TestInfo


@dataclass(frozen=True, repr=False)
class ZooResult(Result):
    """Goats, lambs, wolves, worms, doves, chameleons and phantoms of every transcript."""

    test: TestInfo
    columns: tuple[str, str]
    found: Sequence[Zoo]
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        """As documented for the command."""
        return {"test": identity_json(self.test), "columns": self.columns, "transcripts": self.found}

    def blocks(self) -> Sequence[Block]:
        """Tests, counts, and the people with the lowest genuine scores."""
        return zoo_blocks(self.test, self.found)

    def table(self) -> Table:
        """A row for each person."""
        return subject_table(self.found)


def zoo(transcripts: Transcripts, subjects: str, *, partial: bool = False, **downloads: Any) -> ZooResult:
    """Who verifies badly, who is imitated, who imitates: `harness.zoo("mine.jsonl", "claimed,real")`.

    `subjects` are two columns: who was claimed, and who it was. Further options are those of downloads.
    """
    names = tuple(name.strip() for name in subjects.split(","))
    if len(names) != 2 or not all(names):
        raise UsageError(f"--zoo {subjects}: name two columns, who was claimed and who it was: CLAIMED,REAL")
    opened = open_transcripts(transcripts, DownloadOptions.of(downloads))
    runs, columns = opened.runs(), (names[0], names[1])
    return ZooResult(runs[0].columns.header.test, columns, zoo_runs(runs, columns, partial=partial), opened.notes)
