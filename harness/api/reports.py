"""Reports from Python: `make_report` of one transcript, its data sheet, or of several, their comparison."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness import __version__
from harness.analysis.align import AlignedRuns, align
from harness.analysis.cells import Measurement
from harness.analysis.compare import compare_runs
from harness.analysis.comparison import Comparison
from harness.analysis.rate import RunMeasures, rate_runs
from harness.api.report_curves import confusion_section, curve_section, error_section, further_sentences
from harness.api.report_material import ReportMaterial
from harness.api.report_options import ReportOptions
from harness.api.transcripts import Transcripts, baseline_remark, metric_remark, open_transcripts
from harness.errors import OutputError, UsageError
from harness.files.outputs import write_output
from harness.model import join_names
from harness.options.comparing import CompareOptions, RateOptions
from harness.report.blocks import Paragraphs
from harness.report.numbers import self_reported_notes
from harness.report.page import comparison as several
from harness.report.page import data_sheet as sheet
from harness.report.page.document import KeyFigures, Part, ReportPage, ReportSection
from harness.report.page.groups import GroupStudy, group_section
from harness.report.page.html import page_html
from harness.report.page.markdown import page_markdown
from harness.report.page.pdf import page_pdf, pdf_library
from harness.report.verdicts import error_lines
from harness.transcript.format import now

SUFFIXES = (".html", ".htm", ".md", ".pdf")
# Pairs that are compared in each group, and names in a title.
MAX_PAIRS = 6
MAX_NAMES = 3


@dataclass(frozen=True)
class Report:
    """A report, ready to be written; the pages of a site can take its sections."""

    page: ReportPage
    remarks: Sequence[str] = ()

    def html(self) -> str:
        """One page with everything in it."""
        return page_html(self.page)

    def markdown(self) -> str:
        """For a pull request."""
        return page_markdown(self.page)

    def pdf(self) -> bytes:
        """On A4; needs the extra `pdf`."""
        return page_pdf(self.page)

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write it to a file, .html, .md or .pdf, which must not be there unless forced."""
        path = Path(path)
        check_report(path)
        made: dict[str, Callable[[], str | bytes]] = {".md": self.markdown, ".pdf": self.pdf}
        content = made.get(path.suffix.lower(), self.html)()
        write_output(path, content, force=force, what="the report")


def check_report(path: Path) -> None:
    """Raise an error before anything is computed if the report cannot be written."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"-o {path}: the name of a report must end in .html, .md or .pdf")
    if not path.parent.is_dir():
        raise OutputError(f"-o {path}: no folder {path.parent}; create it first")
    if path.suffix.lower() == ".pdf":
        pdf_library()


def make_report(transcripts: Transcripts, options: ReportOptions | None = None, **settings: Any) -> Report:
    """The data sheet of one transcript, or the comparison of several: `make_report("wisard").write("sheet.html")`.

    Options are those of the command, with underscores.
    """
    options = ReportOptions.given(options, settings)
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
    study = Measurement(run.aligned.measure(name), run.aligned, run.sampling, replication)
    groups = GroupStudy([run.name], [], study.measure, replication, material.breakdowns(study, []))
    return _sheet(
        material,
        run.aligned,
        sheet.key_figures(run, replication),
        _present(
            sheet.sampling_section(run, material.facts()),
            sheet.measure_section(run, replication, further_sentences(material)),
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
    found = compare_runs(material.runs, options)
    study = Measurement(found.measure, found.aligned, found.sampling, found.replication)
    pairs = found.run_pairs if len(found.run_pairs) <= MAX_PAIRS else []
    groups = GroupStudy(found.names, pairs, found.measure, found.replication, material.breakdowns(study, pairs))
    remarks = [metric_remark(found.names, found.aligned.headers), baseline_remark(material.header.test, found.names)]
    return Report(
        ReportPage(
            title=material.options.title or _title(found),
            kind="Comparison",
            about=material.synopsis,
            lead=several.verdict_parts(found),
            sections=_present(
                several.ranking_section(found),
                several.pair_section(found),
                curve_section(material),
                group_section(groups) if groups.columns else None,
                several.complement_section(found),
                _section("agreement", "Agreement of the answers", several.agreement_parts(found)),
                material.case_section(found.aligned),
                _section("resources", "Time and memory", several.resource_parts(found)),
                several.sampling_section(found, material.facts()),
                material.origin(found.names),
            ),
            colophon=_colophon(),
        ),
        [*material.opened.notes, *filter(None, remarks)],
    )


def _title(found: Comparison) -> str:
    test, names = found.aligned.headers[0].test, found.names
    who = join_names(names) if len(names) <= MAX_NAMES else f"{len(names)} runs"
    return f"{who} on {test.name} {test.version}"


def _colophon() -> str:
    return f"Made by hate {__version__}, a harness for algorithm testing and exploration, on {now()}."


def _section(key: str, title: str, parts: Sequence[Part]) -> ReportSection | None:
    return ReportSection(key, title, parts) if parts else None


def _present(*sections: ReportSection | None) -> list[ReportSection]:
    return [section for section in sections if section is not None]
