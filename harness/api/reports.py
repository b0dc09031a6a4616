"""Reports from Python: `make_report` of one transcript, its data sheet, or of several, their comparison."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from harness import __version__
from harness.analysis.align import AlignedRuns, Run, align, names_of
from harness.analysis.breakdown import Breakdown, break_down
from harness.analysis.cells import Measurement
from harness.analysis.compare import compare_runs
from harness.analysis.confusion import confusions
from harness.analysis.curves.cmc import match_curve, ranks_of_run
from harness.analysis.curves.curve import find_crossings
from harness.analysis.curves.several_runs import make_curves
from harness.analysis.curves.single_run import free_response_curves
from harness.analysis.identification import identification
from harness.analysis.notable_cases import CasesById
from harness.analysis.rate import RunMeasures, distinct_groups, rate_runs
from harness.analysis.rate_errors import repeats_of
from harness.analysis.value_errors import errors_over_truth
from harness.api.curves import CMC, FROC, PR, ROC
from harness.api.runs import unit_words
from harness.api.transcripts import OpenedTranscripts, Transcripts, baseline_remark, metric_remark, open_transcripts
from harness.api.wording import ForReaders, in_python_words
from harness.errors import HateError, OutputError, UsageError
from harness.files.outputs import write_output
from harness.model import join_names
from harness.options import OptionSet
from harness.options.comparing import CompareOptions, ConfusionOptions, RateOptions, ReportOptions
from harness.options.curves import CmcOptions, CurveOptions, FrocOptions
from harness.options.declaration import declared_options
from harness.report.blocks import Heading, Paragraphs
from harness.report.brief import brief_text
from harness.report.numbers import self_reported_notes
from harness.report.page import comparison as several
from harness.report.page import data_sheet as sheet
from harness.report.page.cases import case_parts
from harness.report.page.curves import curve_parts, error_parts
from harness.report.page.data_sheet import confusion_parts
from harness.report.page.document import Facts, KeyFigures, Part, ReportPage, ReportSection, Verdicts
from harness.report.page.groups import GroupStudy, group_section
from harness.report.page.html import page_html
from harness.report.page.markdown import page_markdown
from harness.report.page.pdf import page_pdf, pdf_library
from harness.report.page.provenance import RunOrigin, origin_section, test_facts_part
from harness.report.run_sentences import identification_sentences, repeats_sentence
from harness.report.verdicts import error_lines
from harness.script.design import column_names
from harness.site.find_transcripts import Source
from harness.site.local_tests import CaseInput, TestHere, find_test_here
from harness.stats.replication.method import Replication
from harness.tasks import find_task
from harness.transcript.format import Header, now
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

    def breakdowns(self, measurement: Measurement, pairs: Sequence[tuple[int, int]]) -> list[Breakdown]:
        """By the columns that were named; else by the declared ones, and others with few groups."""
        if self.options.by:
            return [break_down(measurement, pairs, by) for by in self.options.by]
        declared = _declared(measurement.aligned)
        columns = [*declared, *measurement.aligned.column_names()]
        breakdowns: list[Breakdown] = []
        for by, groups in distinct_groups(measurement.aligned, columns, apart=measurement.sampling.psu).items():
            if len(breakdowns) == MAX_COLUMNS or (by not in declared and len(groups.labels) > MAX_GROUPS):
                continue
            with suppress(HateError):  # no group of it has a value
                breakdowns.append(break_down(measurement, pairs, by))
        return breakdowns

    def case_section(self, aligned: AlignedRuns) -> ReportSection | None:
        """Cases to look at, with their inputs: those on which runs differ, and those that none of them solves."""
        most, cases, alone = self.options.cases, CasesById(aligned), len(aligned.names) == 1
        kinds = [
            (cases.differing(most), "cases on which they differ"),
            (cases.unsteady(most), "cases that are solved at times"),
            (cases.failed(most), "cases that failed" if alone else "cases that none of them solves"),
        ]
        inputs: Mapping[str, CaseInput] = {}
        if self.test is not None:
            with suppress(HateError):  # the data was changed since
                inputs = self.test.inputs([case.id for notable, _ in kinds for case in notable.cases])
        parts: list[Part] = []
        for notable, what in kinds:
            parts += case_parts(notable, aligned.names, inputs, what=what)
        if not parts:
            return None
        for command in _command("show" if alone else "diff", self.opened.sources[:2]):
            parts.append(Paragraphs([f"`{command}` looks into all cases."]))
        return ReportSection("cases", "Cases to look at", parts)


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
        value, separator = changed[declared.name], declared.spec.separator
        values = value if isinstance(value, tuple) else (value,)
        if separator is not None:
            values = (separator.join(map(str, values)),)
        for item in values:
            words += [declared.spec.flags[-1], *([] if item is True else [str(item)])]
    return words


# Points of a curve: more cannot be seen, and all of them are in the page.
POINTS = 400
# Curves that can be told apart in one chart.
MAX_CURVES = 7


def curve_section(material: ReportMaterial) -> ReportSection | None:
    """The curve that the task has: over a threshold, or over ranks; None if there is none."""
    runs = material.runs[:MAX_CURVES]
    try:
        parts = _rank_parts(runs, material) if _uses_gallery(runs[0]) else _threshold_parts(runs, material)
    except HateError:  # no scores, or cases of one kind only
        return None
    return ReportSection("curve", "Curve" if len(runs) == 1 else "Curves", parts)


def _uses_gallery(run: Run) -> bool:
    task = find_task(run.columns.header.test.task)
    return task is not None and task.uses_gallery


def _rank_parts(runs: Sequence[Run], material: ReportMaterial) -> list[Part]:
    options = CmcOptions.taken_from(material.options)
    named = zip(runs, names_of(runs), strict=True)
    ranked = [ranks_of_run(run, name, options, partial=options.partial) for run, name in named]
    return curve_parts(CMC, [match_curve(ranks, options) for ranks in ranked], (), options.confidence)


def _threshold_parts(runs: Sequence[Run], material: ReportMaterial) -> list[Part]:
    options = replace(CurveOptions.taken_from(material.options), points=POINTS)
    curves = make_curves(runs, options)
    if all(curve.has_negatives for curve in curves):
        return curve_parts(ROC, curves, find_crossings(curves), options.confidence)
    precise = make_curves(runs, options, precise=True)
    free_response = free_response_curves(runs, FrocOptions.taken_from(options))
    precision_parts = curve_parts(PR, precise, (), options.confidence)
    recall_parts = curve_parts(FROC, free_response, (), options.confidence)
    # Both charts side by side, and then what is said about them.
    return [precision_parts[0], recall_parts[0], *precision_parts[1:], *recall_parts[1:]]


def confusion_section(material: ReportMaterial) -> ReportSection | None:
    """The confusion matrix of a single run; None if its answers are not classes."""
    options = ConfusionOptions.taken_from(material.options)
    try:
        [confusion] = confusions(material.runs, options)
    except HateError:
        return None
    return ReportSection(
        "confusion", "Which class is mistaken for which", confusion_parts(confusion, options.confidence)
    )


def error_section(run: RunMeasures, material: ReportMaterial) -> ReportSection | None:
    """The errors of answers that are numbers; None if they are not."""
    if not run.aligned.has_numbers:
        return None
    errors = errors_over_truth(run.aligned, run.sampling, material.replication)
    return ReportSection("errors", "Errors of the answers", error_parts(errors, material.options.confidence))


def further_sentences(material: ReportMaterial, *, weighted: bool) -> list[str]:
    """What `hate run` says beside the counts: of several answers to a case, and of an identification."""
    [run], lines = material.runs, list[str]()
    header, columns = material.header, run.columns
    if isinstance(header.repeat, int) and columns.complete and len(columns.ids) % header.repeat == 0:
        repeats = repeats_of(columns, header.repeat)
        lines.append(f"{repeats_sentence(repeats, unit_words(header), weighted=weighted)}.")
    if _uses_gallery(run):
        lines += [f"{line}." for line in identification_sentences(identification(material.opened.paths[0]))]
    return lines


SUFFIXES = (".html", ".htm", ".md", ".pdf")
# Pairs that are compared in each group, and names in a title.
MAX_PAIRS = 6
MAX_NAMES = 3


@dataclass(frozen=True, repr=False)
class Report(ForReaders):
    """A report, ready to be written; the pages of a site can take its sections."""

    page: ReportPage
    remarks: Sequence[str] = ()

    def __repr__(self) -> str:
        figures = [one for part in self.page.lead if isinstance(part, KeyFigures) for one in part.figures]
        verdicts = [pair[0] for part in self.page.lead if isinstance(part, Verdicts) for pair in part.pairs]
        numbers = [", ".join(f"{one.label} {one.value}" for one in figures)] if figures else []
        lines = Paragraphs([*numbers, *verdicts])
        return brief_text("Report", self.shown([Heading(self.page.title), lines]), ".write(path), .html(), .markdown()")

    def html(self) -> str:
        """One page with everything in it."""
        return page_html(self.page)

    def markdown(self) -> str:
        """For a pull request."""
        return page_markdown(self.page)

    def pdf(self) -> bytes:
        """On A4; needs the extra `pdf`."""
        return page_pdf(self.page)

    @in_python_words
    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write it to a file, .html, .md or .pdf, which must not be there unless forced."""
        self.write_file(Path(path), force=force)

    def write_file(self, path: Path, *, force: bool = False) -> None:
        """The same, called by the command."""
        check_report(path, "report")
        made: dict[str, Callable[[], str | bytes]] = {".md": self.markdown, ".pdf": self.pdf}
        content = made.get(path.suffix.lower(), self.html)()
        write_output(path, content, force=force, what="the report")


def check_report(path: Path, option: str = "-o") -> None:
    """Raise an error before anything is computed if the report cannot be written."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{option} {path}: the name of a report must end in .html, .md or .pdf")
    if not path.parent.is_dir():
        raise OutputError(f"{option} {path}: no folder {path.parent}; create it first")
    if path.suffix.lower() == ".pdf":
        pdf_library()


def make_report(transcripts: Transcripts, *, options: ReportOptions) -> Report:
    """The data sheet of one transcript, or the comparison of several.

    >>> harness.make_report("wisard").write("sheet.html")
    """
    return report_of(ReportMaterial(open_transcripts(transcripts, options), options))


def report_of(material: ReportMaterial) -> Report:
    """The report of transcripts that were opened before."""
    if len(material.runs) > 1:
        return _comparison(material)
    if (other := material.options.baseline) is not None:
        raise UsageError(f"--baseline {other}: one transcript has nothing to be compared with; name another")
    return _data_sheet(material)


def _data_sheet(material: ReportMaterial) -> Report:
    options, replication = material.options, material.replication
    aligned = align(material.runs, partial=options.partial)
    if aligned.n == 1:
        return _single_case(material, aligned)
    run = _measured(material)
    # The test's own measure comes first; a run that has none is grouped by its rate.
    name = options.statistic or next(iter(run.estimates))
    measurement = Measurement(run.aligned.measure(name), run.aligned, run.sampling, replication)
    groups = GroupStudy([run.name], [], measurement.measure, replication, material.breakdowns(measurement, []))
    return _sheet(
        material,
        run.aligned,
        sheet.key_figures(run, replication),
        _present(
            sheet.sampling_section(run, material.facts()),
            sheet.measure_section(run, replication, further_sentences(material, weighted=run.sampling.is_weighted)),
            curve_section(material),
            error_section(run, material),
            confusion_section(material),
            group_section(groups) if groups.columns else None,
            sheet.explained_section(run),
            material.case_section(run.aligned),
            sheet.resource_section(run, replication),
            material.origin([run.name]),
        ),
    )


def _measured(material: ReportMaterial) -> RunMeasures:
    """The usual measures, and the one that was asked for."""
    options = material.options
    usual = replace(RateOptions.taken_from(options), statistic=None, by=())
    [run] = rate_runs(material.runs, usual)
    if options.statistic is None or options.statistic in run.estimates:
        return run
    [more] = rate_runs(material.runs, replace(usual, statistic=options.statistic))
    return replace(
        run,
        measures=run.measures | more.measures,
        estimates=run.estimates | more.estimates,
        left_out=run.left_out | more.left_out,
    )


def _single_case(material: ReportMaterial, aligned: AlignedRuns) -> Report:
    """One case is not a sample: it has no errors by design, no curve and no groups."""
    sections = _present(
        ReportSection("test", "What was tested", [material.facts()]),
        material.case_section(aligned),
        material.origin(aligned.names),
    )
    return _sheet(material, aligned, sheet.count_figures(aligned.counts[0], material.options.confidence), sections)


def _sheet(
    material: ReportMaterial, aligned: AlignedRuns, figures: KeyFigures, sections: Sequence[ReportSection]
) -> Report:
    lines = error_lines([aligned]) + [f"{note}." for note in self_reported_notes(aligned.names, aligned.self_reported)]
    test, algorithm = material.header.test, material.header.algorithm
    page = ReportPage(
        title=material.options.title or f"{algorithm.name} on {test.name} {test.version}",
        kind="Data sheet",
        about=material.synopsis,
        lead=[figures, *([Paragraphs(lines)] if lines else [])],
        sections=sections,
        colophon=_colophon(),
    )
    return Report(page, material.opened.notes)


def _comparison(material: ReportMaterial) -> Report:
    # Groups are made below: by the named columns, or those of the test.
    options = replace(CompareOptions.taken_from(material.options), baseline=material.baseline, by=())
    comparison = compare_runs(material.runs, options)
    measurement = Measurement(comparison.measure, comparison.aligned, comparison.sampling, comparison.replication)
    pairs = comparison.run_pairs if len(comparison.run_pairs) <= MAX_PAIRS else []
    names, test = comparison.names, material.header.test
    groups = GroupStudy(
        names, pairs, comparison.measure, comparison.replication, material.breakdowns(measurement, pairs)
    )
    remarks = [metric_remark(names, comparison.aligned.headers), baseline_remark(test, names)]
    who = join_names(names) if len(names) <= MAX_NAMES else f"{len(names)} runs"
    return Report(
        ReportPage(
            title=material.options.title or f"{who} on {test.name} {test.version}",
            kind="Comparison",
            about=material.synopsis,
            lead=several.verdict_parts(comparison),
            sections=_present(
                several.ranking_section(comparison),
                several.pair_section(comparison),
                curve_section(material),
                group_section(groups) if groups.columns else None,
                several.complement_section(comparison),
                _section("agreement", "Agreement of the answers", several.agreement_parts(comparison)),
                material.case_section(comparison.aligned),
                _section("resources", "Time and memory", several.resource_parts(comparison)),
                several.sampling_section(comparison, material.facts()),
                material.origin(comparison.names),
            ),
            colophon=_colophon(),
        ),
        [*material.opened.notes, *filter(None, remarks)],
    )


def _colophon() -> str:
    return f"Made by hate {__version__}, a harness for algorithm testing and exploration, on {now()}."


def _section(key: str, title: str, parts: Sequence[Part]) -> ReportSection | None:
    return ReportSection(key, title, parts) if parts else None


def _present(*sections: ReportSection | None) -> list[ReportSection]:
    return [section for section in sections if section is not None]
