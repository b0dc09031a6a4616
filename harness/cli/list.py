"""`hate list`: tests and transcripts, here and at the sites; interfaces that are here."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.bundled import bundled
from harness.cli.options import FormatOptions, command_options
from harness.cli.output import emit, output_format, remark
from harness.errors import HateError
from harness.interface.contract import FILES
from harness.interface.load import bundled_interfaces, load_interface
from harness.interface.python_source import read_python
from harness.options import LibraryOptions, option
from harness.report.blocks import Cell, Table
from harness.report.formats import Format
from harness.script.cases import load_cases
from harness.script.library import find_all, library_folders, scripts_in
from harness.script.load import Script, load_script
from harness.site.config import configured_sites
from harness.site.fetch import fetch_data
from harness.site.find_transcripts import KnownTranscripts
from harness.site.local_runs import ROOT, age, glance_at_run, timestamp, transcript_files
from harness.transcript.format import changed_params, params_text
from harness.transcript.read import TranscriptSummary

if TYPE_CHECKING:
    from harness.plugins import PluginGroup
    from harness.site.catalogue import Catalogue
    from harness.site.layout import TestEntry, TranscriptEntry


# Nobody reads a longer list; a site has pages and indexes for that.
MAX_TRANSCRIPTS = 1000


def tests_at_sites() -> list[dict[str, Any]]:
    """The latest version of every test at the sites; a site that cannot be used is a remark."""
    return _from_all(lambda catalogue, site: [_site_test(entry, site) for entry in catalogue.tests()])


def transcripts_at_sites() -> list[dict[str, Any]]:
    """The transcripts at the sites, each with the name by which other commands know it; of large sites, the first."""
    return _from_all(_first_transcripts)


def _from_all(look: Callable[["Catalogue", str], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """What is found at all sites together."""
    if not configured_sites():
        return []
    from harness.site.sites import sites

    entries: list[dict[str, Any]] = []
    among = sites()
    for config, catalogue in among:
        try:
            entries += look(catalogue, config.name)
        except HateError as error:
            among.refuse(error)
    for note in among.notes:
        remark(f"hate: {note}")
    return entries


def _first_transcripts(catalogue: "Catalogue", site: str) -> list[dict[str, Any]]:
    published = (
        _site_transcript(test.name, entry, site)
        for test in catalogue.tests()
        if test.transcripts
        for entry in catalogue.transcripts(catalogue.index_of(test))
    )
    entries = list(islice(published, MAX_TRANSCRIPTS + 1))
    if len(entries) > MAX_TRANSCRIPTS:
        remark(f"{site}: only the first {MAX_TRANSCRIPTS:,} transcripts are listed")
    return entries[:MAX_TRANSCRIPTS]


def _site_transcript(test: str, entry: "TranscriptEntry", site: str) -> dict[str, Any]:
    return {
        # When it was published: the index of a site does not say when it was run, or with which parameters.
        "when": timestamp(entry.published) or 0.0,
        "test": test,
        "version": entry.version,
        "algorithm": entry.algorithm,
        "tests": entry.tests,
        "rate": (entry.TP + entry.TN) / entry.tests if entry.tests else 0.0,
        "complete": True,
        "site": site,
        "path": f"{test}@{entry.version}/{entry.name}",
        "started": None,
        "params": None,
        "changed": None,
        "extent": {},
        "part": "",
    }


def _site_test(entry: "TestEntry", site: str) -> dict[str, Any]:
    return {
        "name": entry.name,
        "version": entry.version,
        "synopsis": entry.synopsis,
        "task": entry.task,
        "cases": entry.cases,
        "site": site,
        "digest": entry.digest,
    }


# For programs: the oldest keys first, the path last, since it may contain blanks.
TRANSCRIPT_COLUMNS = (
    "test",
    "version",
    "algorithm",
    "tests",
    "rate",
    "complete",
    "site",
    "started",
    "changed",
    "part",
    "path",
)
LOCAL_SITES = ".", "bundled"


def transcript_list(style: Format) -> tuple[Table, dict[str, Any]]:
    """The table, and all of it for JSON."""
    entries = [*_local_transcripts(), *transcripts_at_sites()]
    entries.sort(key=lambda entry: entry["when"], reverse=True)
    table = _for_people(entries) if style is Format.TABLE else _for_programs(entries)
    return table, {"transcripts": [{k: v for k, v in entry.items() if k != "when"} for entry in entries]}


def _local_transcripts() -> Iterator[dict[str, Any]]:
    """Those below the working folder's `transcripts`, and those that ship with the harness."""
    known = KnownTranscripts()
    shipped = bundled("transcripts")
    files = [(path, ".") for path in transcript_files(ROOT)]
    # In a checkout of the harness the two folders are one.
    if not (ROOT.is_dir() and shipped.is_dir() and ROOT.samefile(shipped)):
        files += [(path, "bundled") for path in transcript_files(shipped)]
    for path, site in files:
        try:
            yield _entry(path, glance_at_run(path), site, known)
        except HateError as error:
            remark(f"skipped: {error}")
        except OSError as error:
            remark(f"skipped: {path}: {error.strerror}")


def _entry(path: Path, summary: TranscriptSummary, site: str, known: KnownTranscripts) -> dict[str, Any]:
    header, started = summary.header, timestamp(summary.header.started)
    return {
        "when": path.stat().st_mtime if started is None else started,
        "test": header.test.name,
        "version": header.test.version,
        "algorithm": header.algorithm.name,
        "tests": summary.counts.tests,
        "rate": None if header.is_blind else summary.counts.rate,
        "complete": summary.complete,
        "site": site,
        "path": str(path),
        "started": header.started or None,
        "params": header.params,
        "changed": changed_params(header, known.published_header(header)),
        "extent": header.part,
        "part": summary.part_text if summary.complete else "",
    }


def _for_people(entries: Sequence[dict[str, Any]]) -> Table:
    """What fits a terminal."""
    columns = ["age", "test", "algorithm", "cases", "rate", "transcript"]
    rows: list[list[Cell]] = []
    for entry in entries:
        algorithm = f"{entry['algorithm']} {params_text(entry['changed'] or {})}".rstrip()
        cases = entry["part"] or str(entry["tests"]) if entry["complete"] else f"{entry['tests']} incomplete"
        rows.append([age(entry["when"]), entry["test"], algorithm, cases, entry["rate"], _name(entry)])
    if all(entry["site"] in LOCAL_SITES for entry in entries):
        return Table(columns, rows)
    return Table([*columns, "site"], [[*row, entry["site"]] for row, entry in zip(rows, entries, strict=True)])


def _name(entry: dict[str, Any]) -> str:
    """What other commands take: the path of the file in `transcripts`, or the name of a published one."""
    path = Path(entry["path"])
    if entry["site"] == "bundled":
        return f"{path.parent.name}/{path.name.partition('.jsonl')[0]}"
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def _for_programs(entries: Sequence[dict[str, Any]]) -> Table:
    header = [
        "parameters" if name == "changed" else "extent" if name == "part" else name for name in TRANSCRIPT_COLUMNS
    ]
    return Table(header, [[_cell(entry[name]) for name in TRANSCRIPT_COLUMNS] for entry in entries])


def _cell(value: Any) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return params_text(value) if isinstance(value, dict) else value


class ListOptions(LibraryOptions, FormatOptions):
    """Options of `hate list`."""

    interfaces: bool = option("--interfaces", "List interfaces instead of tests.", default=False)
    transcripts: bool = option("--transcripts", "List transcripts instead of tests.", default=False)
    plugins: bool = option("--plugins", "List plug-ins: what other packages bring in.", default=False)


@click.command("list")
@command_options(ListOptions)
def list_command(options: ListOptions) -> None:
    """List the tests that are here and at the configured sites, with their synopses.

    \b
    hate list
    hate list --transcripts
    """
    style = output_format(options.style)
    if options.transcripts:
        table, payload = transcript_list(style)
    elif options.plugins:
        table, payload = _plugins()
    else:
        table, payload = _interfaces() if options.interfaces else _tests(options.libraries)
    emit(style, table, payload)


def _tests(libraries: Sequence[str]) -> tuple[Table, dict[str, Any]]:
    """Every valid test; a remark says what is wrong with each of the others."""
    entries: list[dict[str, Any]] = []
    known = {entry.path: entry for entry in find_all(libraries)}
    for _, folder in library_folders(libraries):
        for path in scripts_in(folder):
            site = known[path].site if path in known else ""
            try:
                entries += [] if any(e["path"] == path.resolve() for e in entries) else [_test(path, site)]
            except HateError as error:
                remark(f"skipped: {str(error).splitlines()[0]}")
    for entry in entries:
        del entry["path"]
    entries += tests_at_sites()
    table = Table(
        ["name", "version", "task", "cases", "site", "synopsis"],
        [[e["name"], e["version"], e["task"], e["cases"], e["site"], e["synopsis"]] for e in entries],
    )
    return table, {"tests": entries}


def _test(path: Path, site: str) -> dict[str, Any]:
    script = load_script(path)
    return {
        "path": path.resolve(),
        "name": script.name,
        "version": script.version,
        "synopsis": script.file.test.synopsis,
        "task": script.task.name,
        "cases": _count(script),
        "site": site,
        "digest": script.digest,
    }


def _count(script: Script) -> int | None:
    """How many cases; None where that takes a download or an archive, since a list fetches and unpacks nothing."""
    if script.file.cases.glob is None:
        return len(load_cases(script, {}))
    packed = any(data.url is not None or data.unpack for data in script.file.data.values())
    return None if packed else len(load_cases(script, fetch_data(script)))


def _interfaces() -> tuple[Table, dict[str, Any]]:
    files = [("here", Path(name)) for name in FILES if Path(name).is_file()]
    files += list(bundled_interfaces().items())
    entries: list[dict[str, Any]] = []
    for name, path in files:
        try:
            entries.append({"name": name, **_interface(path)})
        except HateError as error:
            # A bundled interface is valid, but the user may have to copy and compile it first.
            unbuilt = f"{name} must be built first: copy {path.parent} and run make there"
            remark(f"skipped: {error}" if name == "here" else unbuilt)
    rows = [
        [
            *(e[key] for key in ("name", "algorithm", "version", "kind")),
            ", ".join(f"{k}={v}" for k, v in e["params"].items()),
        ]
        for e in entries
    ]
    return Table(["name", "algorithm", "version", "kind", "parameters"], rows), {"interfaces": entries}


def _interface(path: Path) -> dict[str, Any]:
    """What an interface file says about itself; no code is run to list it."""
    if path.suffix == ".py":
        source = read_python(path)
        return {"algorithm": source.name, "version": source.version, "kind": "python", "params": source.params}
    loaded = load_interface(str(path))
    params = {key: param.default for key, param in loaded.params.items()}
    return {"algorithm": loaded.name, "version": loaded.version, "kind": loaded.kind, "params": params}


def plugin_groups() -> "tuple[PluginGroup[Any], ...]":
    """All groups of entry points."""
    from harness import measures, tasks
    from harness.cli import commands
    from harness.options.entries import GROUPS
    from harness.transcript.importing import registry

    return tasks.PLUGINS, measures.PLUGINS, registry.PLUGINS, commands.PLUGINS, *GROUPS


def _plugins() -> tuple[Table, dict[str, Any]]:
    """Every plug-in that is installed, loaded and checked."""
    columns = ["package", "version", "group", "name", "problem"]
    entries = [
        dict(zip(columns, (plugin.package, plugin.version, plugin.group, plugin.name, problem), strict=True))
        for group in plugin_groups()
        for plugin, problem in group.all()
    ]
    return Table(columns, [[entry[name] or "" for name in columns] for entry in entries]), {"plugins": entries}
