"""What a report is made of: transcripts that are read once, their test if it is here, and what was asked for."""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from harness.analysis.align import AlignedRuns, Run
from harness.analysis.breakdown import Breakdown, break_down
from harness.analysis.cells import Measurement
from harness.analysis.notable_cases import CasesById
from harness.analysis.rate import distinct_groups
from harness.api.report_options import ReportOptions
from harness.api.transcripts import OpenedTranscripts
from harness.errors import HateError
from harness.options import OptionSet
from harness.options.declaration import declared_options
from harness.report.blocks import Paragraphs
from harness.report.page.cases import case_parts
from harness.report.page.document import Facts, Part, ReportSection
from harness.report.page.provenance import RunOrigin, origin_section, test_facts_part
from harness.script.design import column_names
from harness.site.find_transcripts import Source
from harness.site.local_tests import CaseInput, TestHere, find_test_here
from harness.stats.replication.method import Replication
from harness.transcript.format import Header
from harness.transcript.read import read_end

# Columns that are broken down if none are named.
MAX_COLUMNS = 8
# Groups that a column may have that nobody asked for.
MAX_GROUPS = 12


@dataclass(frozen=True)
class ReportMaterial:
    """The transcripts of a report, and what was asked for."""

    opened: OpenedTranscripts
    options: ReportOptions
    # Their test, if it is known already.
    known_test: TestHere | None = None

    @cached_property
    def runs(self) -> list[Run]:
        """All of them, read."""
        return self.opened.runs()

    @property
    def baseline(self) -> str | None:
        """The name under which the run is shown that all others are compared with."""
        return self.opened.shown_name(self.options.baseline, self.runs)

    @property
    def header(self) -> Header:
        """Of the first."""
        return self.runs[0].columns.header

    @cached_property
    def test(self) -> TestHere | None:
        """Their test, if it is here."""
        return self.known_test or find_test_here(self.opened.paths[0], self.header)

    @property
    def synopsis(self) -> str:
        """What the test is about; empty if it is not here."""
        return "" if self.test is None else self.test.cases.script.file.test.synopsis

    @property
    def replication(self) -> Replication:
        """How errors are estimated."""
        return Replication(confidence=self.options.confidence, seed=self.options.seed)

    def facts(self) -> Facts:
        """What was tested."""
        script = None if self.test is None else self.test.cases.script
        return test_facts_part(self.header.test, script, self.header.design)

    def origin(self, names: Sequence[str]) -> ReportSection:
        """Where the numbers come from, and how to get them again."""
        origins = [
            RunOrigin(name, source.known_as, run.columns.header, read_end(source.path), run.self_reported)
            for name, source, run in zip(names, self.opened.sources, self.runs, strict=True)
        ]
        flags = _changed_flags(replace(self.options, baseline=self.baseline))
        return origin_section(origins, _command("report", self.opened.sources, *flags, "-o", "report.html"))

    def breakdowns(self, study: Measurement, pairs: Sequence[tuple[int, int]]) -> list[Breakdown]:
        """By the columns that were named; else by the declared ones, and others with few groups."""
        if self.options.by:
            return [break_down(study, pairs, by) for by in self.options.by]
        declared = _declared(study.aligned)
        columns = [*declared, *study.aligned.column_names()]
        found: list[Breakdown] = []
        for by, groups in distinct_groups(study.aligned, columns, apart=study.sampling.psu).items():
            if len(found) == MAX_COLUMNS or (by not in declared and len(groups.labels) > MAX_GROUPS):
                continue
            with suppress(HateError):  # no group of it has a value
                found.append(break_down(study, pairs, by))
        return found

    def case_section(self, aligned: AlignedRuns) -> ReportSection | None:
        """Cases to look at, with their inputs: those on which runs differ, and those that none of them solves."""
        most, cases, alone = self.options.cases, CasesById(aligned), len(aligned.names) == 1
        kinds = [
            (cases.differing(most), "cases on which they differ"),
            (cases.unsteady(most), "cases that are solved at times"),
            (cases.failed(most), "cases that failed" if alone else "cases that none of them solves"),
        ]
        inputs = self._inputs([case.id for found, _ in kinds for case in found.cases])
        parts: list[Part] = []
        for found, what in kinds:
            parts += case_parts(found, aligned.names, inputs, what=what)
        if not parts:
            return None
        for command in _command("show" if alone else "diff", self.opened.sources[:2]):
            parts.append(Paragraphs([f"`{command}` looks into all cases."]))
        return ReportSection("cases", "Cases to look at", parts)

    def _inputs(self, ids: Sequence[str]) -> Mapping[str, CaseInput]:
        try:
            return {} if self.test is None else self.test.inputs(ids)
        except HateError:  # the data was changed since
            return {}


def _command(verb: str, sources: Sequence[Source], *flags: str) -> list[str]:
    """A command about transcripts; none if one of them was piped, since nobody can read it again."""
    piped = any(source.piped for source in sources)
    return [] if piped else [shlex.join(["hate", verb, *(source.known_as for source in sources), *flags])]


def _declared(aligned: AlignedRuns) -> list[str]:
    """The columns that the test declares, and that these cases have; strata of several columns are one."""
    design, there = aligned.headers[0].design, aligned.column_names()
    strata, cofactors = (column_names(design.get(key) or []) for key in ("stratum", "cofactors"))
    kept = [name for name in strata if name in there] or ["stratum"] * bool(strata)
    return [*kept, *(name for name in cofactors if name in there)]


def _changed_flags(options: OptionSet) -> list[str]:
    """The options that were given, as one would type them; without where the report goes."""
    words, changed = list[str](), options.changed()
    for declared in declared_options(type(options)):
        if declared.name not in changed or declared.name == "output":
            continue
        value, flag = changed[declared.name], declared.spec.flags[-1]
        if isinstance(value, tuple) and declared.spec.separator is None:
            words += [word for one in value for word in (flag, str(one))]
        elif isinstance(value, tuple):
            words += [flag, (declared.spec.separator or ",").join(map(str, value))]
        else:
            words += [flag] if value is True else [flag, str(value)]
    return words
