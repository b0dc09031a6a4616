"""`hate list --transcripts`: runs of one's own, published ones, and what is at the sites, newest first."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.bundled import bundled
from harness.cli.output import remark
from harness.cli.site_lists import transcripts_at_sites
from harness.errors import HateError
from harness.report.table import Cell, Format, Table
from harness.site.own import ROOT, OwnRun, age, look_at, transcript_files
from harness.site.published import Published, published, usual_run
from harness.transcript.extent import part_of
from harness.transcript.read import Summary
from harness.transcript.settings import changed_params, in_words

# For programs: those of old first, a path last, since it may have blanks.
COLUMNS = ("test", "version", "algorithm", "tests", "rate", "complete", "site", "started", "changed", "part", "path")
HERE = ".", "bundled"


def transcript_list(style: Format) -> tuple[Table, dict[str, Any]]:
    """The table, and all of it for JSON."""
    entries = [*_entries(), *transcripts_at_sites()]
    entries.sort(key=lambda entry: entry["when"], reverse=True)
    table = _for_people(entries) if style is Format.TABLE else _for_programs(entries)
    return table, {"transcripts": [{k: v for k, v in entry.items() if k != "when"} for entry in entries]}


def _entries() -> Iterator[dict[str, Any]]:
    """Those below the working folder's `transcripts`, and those that ship with the harness."""
    known = published()
    for path, site in _files():
        try:
            summary = look_at(path)
            yield _entry(OwnRun(path, summary.header, path.stat().st_mtime), summary, site, known)
        except HateError as error:
            remark(f"passed over: {error}")
        except OSError as error:
            remark(f"passed over: {path}: {error.strerror}")


def _files() -> Iterator[tuple[Path, str]]:
    """In a checkout of the harness the two folders are one."""
    shipped = bundled("transcripts")
    yield from ((path, ".") for path in transcript_files(ROOT))
    if not (ROOT.is_dir() and shipped.is_dir() and ROOT.samefile(shipped)):
        yield from ((path, "bundled") for path in transcript_files(shipped))


def _entry(run: OwnRun, summary: Summary, site: str, known: Sequence[Published]) -> dict[str, Any]:
    header = run.header
    return {
        "when": run.began,
        "test": header.test.name,
        "version": header.test.version,
        "algorithm": header.algorithm.name,
        "tests": summary.counts.tests,
        "rate": summary.counts.rate,
        "complete": summary.complete,
        "site": site,
        "path": str(run.path),
        "started": header.started or None,
        "params": header.params,
        "changed": changed_params(header, usual_run(header, known)),
        "extent": header.part,
        "part": part_of(summary) if summary.complete else "",
    }


def _for_people(entries: Sequence[dict[str, Any]]) -> Table:
    """What fits a terminal; files are in transcripts/TEST unless their folder is said."""
    columns = ["age", "test", "algorithm", "cases", "rate", "transcript"]
    rows = [_row(entry) for entry in entries]
    if all(entry["site"] in HERE for entry in entries):
        return Table(columns, rows)
    return Table([*columns, "site"], [[*row, entry["site"]] for row, entry in zip(rows, entries, strict=True)])


def _row(entry: dict[str, Any]) -> list[Cell]:
    words = in_words(entry["changed"] or {})
    return [age(entry["when"]), entry["test"], f"{entry['algorithm']} {words}".rstrip(), _cases(entry),
            entry["rate"], _name(entry)]  # fmt: skip


def _cases(entry: dict[str, Any]) -> str:
    if not entry["complete"]:
        return f"{entry['tests']} incomplete"
    return entry["part"] or str(entry["tests"])


def _name(entry: dict[str, Any]) -> str:
    """The file; of a published one, the name that finds it."""
    path = Path(entry["path"])
    if entry["site"] == "bundled":
        return f"{path.parent.name}/{path.name.partition('.jsonl')[0]}"
    return path.name if path.parent == ROOT / entry["test"] else entry["path"]


def _for_programs(entries: Sequence[dict[str, Any]]) -> Table:
    header = ["parameters" if name == "changed" else "extent" if name == "part" else name for name in COLUMNS]
    return Table(header, [[_cell(entry[name]) for name in COLUMNS] for entry in entries])


def _cell(value: Any) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return in_words(value) if isinstance(value, dict) else value
