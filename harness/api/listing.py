"""What is here and at the sites: `list_tests`, `list_transcripts`, `list_interfaces`, `list_plugins`, `hate list`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from harness.api.result import Result
from harness.bundled import bundled
from harness.errors import HateError
from harness.interface.contract import FILES
from harness.interface.load import bundled_interfaces, load_interface
from harness.interface.python_source import read_python
from harness.options import LibraryOptions, OfflineOptions
from harness.report.blocks import Block, Cell, Table
from harness.report.formats import Format, render
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
LOCAL_SITES = ".", "bundled"
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
TEST_KEYS = ("name", "version", "synopsis", "task", "cases", "site", "digest")
PLUGIN_COLUMNS = ("package", "version", "group", "name", "problem")

Entry = dict[str, Any]


@dataclass(frozen=True, repr=False)
class ListResult(Result):
    """A list, with an entry for each item; the remarks say what was left out, and why."""

    # The key of the list in JSON, and the keys of an entry that people see.
    key: ClassVar[str]
    columns: ClassVar[Sequence[str]]

    entries: Sequence[Entry]
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        return {self.key: self.entries}

    def blocks(self) -> Sequence[Block]:
        return [Table(self.columns, [[entry[name] for name in self.columns] for entry in self.entries])]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


@dataclass(frozen=True, repr=False)
class ListedTests(ListResult):
    """Tests, each with `name`, `version`, `synopsis`, `task`, `cases`, `site` and `digest`."""

    key = "tests"
    columns = ("name", "version", "task", "cases", "site", "synopsis")


@dataclass(frozen=True, repr=False)
class ListedTranscripts(ListResult):
    """Transcripts, the newest first; `path` is what other functions take."""

    key = "transcripts"

    # When each was run or, of those at a site, published: seconds since 1970.
    times: Sequence[float] = ()

    def blocks(self) -> Sequence[Block]:
        """All columns, for programs."""
        heads = {"changed": "parameters", "part": "extent"}
        rows = [[_transcript_cell(entry[name]) for name in TRANSCRIPT_COLUMNS] for entry in self.entries]
        return [Table([heads.get(name, name) for name in TRANSCRIPT_COLUMNS], rows)]

    def render(self, style: Format | str = Format.PLAIN, width: int = 100, *, everything: bool = False) -> str:
        """As the command prints it: on a terminal, what fits there."""
        if style == Format.TABLE:
            return render(self._for_people(), Format.TABLE, terminal_width=width)
        return super().render(style, width, everything=everything)

    def _for_people(self) -> Table:
        columns = ["age", "test", "algorithm", "cases", "rate", "transcript"]
        rows: list[list[Cell]] = []
        for entry, time in zip(self.entries, self.times, strict=True):
            algorithm = f"{entry['algorithm']} {params_text(entry['changed'] or {})}".rstrip()
            cases = entry["part"] or str(entry["tests"]) if entry["complete"] else f"{entry['tests']} incomplete"
            rows.append([age(time), entry["test"], algorithm, cases, entry["rate"], _transcript_name(entry)])
        if all(entry["site"] in LOCAL_SITES for entry in self.entries):
            return Table(columns, rows)
        rows = [[*row, entry["site"]] for row, entry in zip(rows, self.entries, strict=True)]
        return Table([*columns, "site"], rows)


@dataclass(frozen=True, repr=False)
class ListedInterfaces(ListResult):
    """Interfaces, each with `name`, `algorithm`, `version`, `kind` and `params`."""

    key = "interfaces"

    def blocks(self) -> Sequence[Block]:
        columns = ["name", "algorithm", "version", "kind"]
        rows = [
            [*(entry[name] for name in columns), ", ".join(f"{k}={v}" for k, v in entry["params"].items())]
            for entry in self.entries
        ]
        return [Table([*columns, "parameters"], rows)]


@dataclass(frozen=True, repr=False)
class ListedPlugins(ListResult):
    """What other packages bring in; `problem` says why one cannot be used."""

    key = "plugins"

    def blocks(self) -> Sequence[Block]:
        return [Table(PLUGIN_COLUMNS, [[entry[name] or "" for name in PLUGIN_COLUMNS] for entry in self.entries])]


def list_tests(*, options: LibraryOptions) -> ListedTests:
    """The tests that are here and at the configured sites; a remark says what is wrong with others.

    >>> [test["name"] for test in harness.list_tests()]

    Nothing is downloaded or unpacked to count cases: where that would be needed, `cases` is None.
    """
    remarks: list[str] = []
    known = {entry.path: entry for entry in find_all(options.libraries)}
    entries: dict[Path, Entry] = {}
    for _, folder in library_folders(options.libraries):
        for path in scripts_in(folder):
            site = known[path].site if path in known else ""
            try:
                if path.resolve() not in entries:
                    entries[path.resolve()] = _test_entry(load_script(path), site)
            except HateError as error:
                remarks.append(f"skipped: {str(error).splitlines()[0]}")
    published = _at_sites(lambda catalogue, site: [_site_test(entry, site) for entry in catalogue.tests()], remarks)
    return ListedTests([*entries.values(), *published], remarks)


def _test_entry(script: Script, site: str) -> Entry:
    about = (script.name, script.version, script.file.test.synopsis, script.task.name, _case_count(script))
    return dict(zip(TEST_KEYS, (*about, site, script.digest), strict=True))


def _case_count(script: Script) -> int | None:
    """How many cases; None where that takes a download or an archive, since a list fetches and unpacks nothing."""
    if script.file.cases.glob is None:
        return len(load_cases(script, {}))
    packed = any(data.url is not None or data.unpack for data in script.file.data.values())
    return None if packed else len(load_cases(script, fetch_data(script)))


def _site_test(entry: "TestEntry", site: str) -> Entry:
    return {name: site if name == "site" else getattr(entry, name) for name in TEST_KEYS}


def _at_sites(look: Callable[["Catalogue", str], list[Entry]], remarks: list[str]) -> list[Entry]:
    """What is found at all sites together; a site that cannot be used is a remark."""
    if not configured_sites():
        return []
    from harness.site.sites import sites

    entries: list[Entry] = []
    among = sites()
    for config, catalogue in among:
        try:
            entries += look(catalogue, config.name)
        except HateError as error:
            among.refuse(error)
    remarks += among.notes
    return entries


def list_transcripts(*, options: OfflineOptions) -> ListedTranscripts:
    """The transcripts that are here, those that ship with the harness, and those at the sites; the newest first.

    >>> for run in harness.list_transcripts():
    ...     print(run["test"], run["algorithm"], run["rate"], run["path"])

    Of a site with very many, only the first are listed.
    """
    remarks: list[str] = []

    def first(catalogue: "Catalogue", site: str) -> list[Entry]:
        published = (
            _site_transcript(test.name, entry, site)
            for test in catalogue.tests()
            if test.transcripts
            for entry in catalogue.transcripts(catalogue.index_of(test))
        )
        entries = list(islice(published, MAX_TRANSCRIPTS + 1))
        if len(entries) > MAX_TRANSCRIPTS:
            remarks.append(f"{site}: only the first {MAX_TRANSCRIPTS:,} transcripts are listed")
        return entries[:MAX_TRANSCRIPTS]

    entries = [*_local_transcripts(remarks), *_at_sites(first, remarks)]
    entries.sort(key=lambda entry: entry["when"], reverse=True)
    times = [entry.pop("when") for entry in entries]
    return ListedTranscripts(entries, remarks, times)


def _site_transcript(test: str, entry: "TranscriptEntry", site: str) -> Entry:
    return {
        # When it was published: the index of a site does not say when it was run, or with which parameters.
        "when": timestamp(entry.published) or 0.0,
        "test": test,
        "version": entry.version,
        "algorithm": entry.algorithm,
        "tests": entry.tests,
        "rate": entry.ranked_by.value if entry.ranked_by.measure == "rate" else entry.rate,
        "complete": True,
        "site": site,
        "path": f"{test}@{entry.version}/{entry.name}",
        "started": None,
        "params": None,
        "changed": None,
        "extent": {},
        "part": "",
    }


def _local_transcripts(remarks: list[str]) -> Iterator[Entry]:
    """Those below the working folder's `transcripts`, and those that ship with the harness."""
    known = KnownTranscripts()
    shipped = bundled("transcripts")
    files = [(path, ".") for path in transcript_files(ROOT)]
    # In a checkout of the harness the two folders are one.
    if not (ROOT.is_dir() and shipped.is_dir() and ROOT.samefile(shipped)):
        files += [(path, "bundled") for path in transcript_files(shipped)]
    for path, site in files:
        try:
            yield _local_transcript(path, glance_at_run(path), site, known)
        except HateError as error:
            remarks.append(f"skipped: {error}")
        except OSError as error:
            remarks.append(f"skipped: {path}: {error.strerror}")


def _local_transcript(path: Path, summary: TranscriptSummary, site: str, known: KnownTranscripts) -> Entry:
    header, started = summary.header, timestamp(summary.header.started)
    return {
        "when": path.stat().st_mtime if started is None else started,
        "test": header.test.name,
        "version": header.test.version,
        "algorithm": header.algorithm.name,
        "tests": summary.counts.tests,
        "rate": _rate(path, summary),
        "complete": summary.complete,
        "site": site,
        "path": str(path),
        "started": header.started or None,
        "params": header.params,
        "changed": changed_params(header, known.published_header(header)),
        "extent": header.part,
        "part": summary.part_text if summary.complete else "",
    }


def _rate(path: Path, summary: TranscriptSummary) -> float | None:
    """By the weights of the design, for which all records are read; None if it is not known here."""
    if summary.header.is_blind:
        return None
    if not summary.header.is_weighted:
        return summary.counts.rate
    from harness.analysis.rate_errors import rate_of_transcript

    found = rate_of_transcript(path, partial=True).estimate
    return None if found is None else found.value


def _transcript_name(entry: Entry) -> str:
    """What other commands take: the path of the file in `transcripts`, or the name of a published one."""
    path = Path(entry["path"])
    if entry["site"] == "bundled":
        return f"{path.parent.name}/{path.name.partition('.jsonl')[0]}"
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def _transcript_cell(value: Any) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return params_text(value) if isinstance(value, dict) else value


def list_interfaces() -> ListedInterfaces:
    """The interface in the working folder, and those that ship with the harness; no code is run.

    >>> harness.list_interfaces().to_frame()
    """
    remarks: list[str] = []
    files = [("here", Path(name)) for name in FILES if Path(name).is_file()]
    files += list(bundled_interfaces().items())
    entries: list[Entry] = []
    for name, path in files:
        try:
            entries.append({"name": name, **_interface_entry(path)})
        except HateError as error:
            # A bundled interface is valid, but the user may have to copy and compile it first.
            unbuilt = f"{name} must be built first: copy {path.parent} and run make there"
            remarks.append(f"skipped: {error}" if name == "here" else unbuilt)
    return ListedInterfaces(entries, remarks)


def _interface_entry(path: Path) -> Entry:
    """What an interface file says about itself."""
    if path.suffix == ".py":
        source = read_python(path)
        return {"algorithm": source.name, "version": source.version, "kind": "python", "params": source.params}
    loaded = load_interface(str(path))
    params = {key: param.default for key, param in loaded.params.items()}
    return {"algorithm": loaded.name, "version": loaded.version, "kind": loaded.kind, "params": params}


def list_plugins() -> ListedPlugins:
    """What other packages bring in, each plug-in loaded and checked.

    >>> [plugin["name"] for plugin in harness.list_plugins() if plugin["problem"]]
    """
    entries = [
        dict(zip(PLUGIN_COLUMNS, (plugin.package, plugin.version, plugin.group, plugin.name, problem), strict=True))
        for group in plugin_groups()
        for plugin, problem in group.all()
    ]
    return ListedPlugins(entries)


def plugin_groups() -> "tuple[PluginGroup[Any], ...]":
    """All groups of entry points."""
    from harness import measures, tasks
    from harness.options.entries import GROUPS
    from harness.plugins import load_object
    from harness.transcript.importing import registry

    # By name, as rooms are found: commands stand above this package.
    commands: PluginGroup[Any] = load_object("harness.cli.commands:PLUGINS", "hate.commands:")
    return tasks.PLUGINS, measures.PLUGINS, registry.PLUGINS, commands, *GROUPS.values()
