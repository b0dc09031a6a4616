"""The registry of importers: which tools' files can be read, and which tool wrote a file, judging by its content.

To add a format, add a file to `tools/` and its readers to `TOOLS`, or write a plug-in (entry point `hate.importers`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from harness.errors import ForeignError, HateError, UsageError
from harness.params import nearest
from harness.plugins import PluginGroup, installed
from harness.tasks.boxes import BOXES
from harness.transcript.importing.contract import ImportedRun, ImportOptions, Reader
from harness.transcript.importing.file import ForeignFile
from harness.transcript.importing.tools import (
    coco,
    id_results,
    inspect_ai,
    lm_eval,
    promptfoo,
    score_lists,
    table,
    trec,
)
from harness.transcript.storage import is_parquet_transcript

T = TypeVar("T")
# Tried in this order. No tool's file can be mistaken for another's.
TOOLS: Sequence[Reader] = (
    *inspect_ai.READERS,
    *lm_eval.READERS,
    *promptfoo.READERS,
    *coco.READERS,
    *trec.READERS,
    *score_lists.READERS,
)
# Tried last, after the plug-ins: nearly any file could be one of these.
GENERAL: Sequence[Reader] = (*id_results.READERS, *table.READERS)
READERS: Sequence[Reader] = (*TOOLS, *GENERAL)


def read(file: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """The results in a file, whichever tool wrote it; one run for each algorithm in it."""
    reader = find_reader(file, options)
    plugin = PLUGINS.plugin(reader.name)
    runs = list(_call(reader, file, lambda: reader.read(file, options)))
    if plugin is None:
        return runs
    if not all(isinstance(run, ImportedRun) for run in runs):
        raise UsageError(f"{plugin}: read returns something other than ImportedRun")
    return [replace(run, plugin=plugin) for run in runs]


def _call(reader: Reader, file: ForeignFile, function: Callable[[], T]) -> T:
    """Call a reader's function; an error in a plug-in becomes a message that names the plug-in."""
    try:
        return function()
    except HateError:
        raise
    except Exception as error:
        plugin = PLUGINS.plugin(reader.name)
        if plugin is None:
            raise
        text = " ".join(str(error).split())
        raise ForeignError(f"{file.name}: {plugin}: {type(error).__name__}: {text}") from None


def find_reader(file: ForeignFile, options: ImportOptions) -> Reader:
    """The reader of a file: the first that recognises it, or that has the name that --from gives."""
    if not file.begin:
        raise ForeignError(f"{file.name}: an empty file")
    columns, first = options.judging, file.first_object
    in_lines = first is not None and first.get("hate") == "transcript" and (file.is_lines or columns)
    if in_lines or (table.is_parquet(file) and is_parquet_transcript(file.content)):
        raise ForeignError(f"{file.name}: already a transcript, which can be used as it is; there is nothing to import")
    reader = _recognise(file, options)
    if columns and not reader.takes_columns:
        raise UsageError(f"{file.name}: --{columns[0]} names a column of a table, but this is {reader.what}")
    if options.positive_label is not None and not reader.takes_columns:
        raise UsageError(f"{file.name}: --positive-label is for predictions in a table, but this is {reader.what}")
    if options.truth is not None and not reader.takes_truth:
        raise UsageError(f"{file.name}: --truth names the truth of detections, but this is {reader.what}")
    if options.kind != BOXES.name and not reader.takes_truth:
        raise UsageError(f"{file.name}: --as {options.kind} is for COCO's detections, but this is {reader.what}")
    if options.key is not None and not reader.takes_key:
        raise UsageError(f"{file.name}: --key is for lists of trials and TREC runs, but this is {reader.what}")
    return reader


def formats() -> dict[str, str]:
    """Descriptions of the files that can be read, by the name of the reader, without plug-ins."""
    words: dict[str, list[str]] = {}
    for reader in READERS:
        words.setdefault(reader.name, []).append(reader.what)
    return {name: ", or ".join(dict.fromkeys(parts)) for name, parts in words.items()}


def _recognise(file: ForeignFile, options: ImportOptions) -> Reader:
    # If the user names columns, JSON lines are a table, whichever tool wrote them.
    if options.judging and options.reader is None and file.first_object is not None:
        return table.LINES
    for reader in _candidates(options.reader):
        if _call(reader, file, lambda reader=reader: reader.sniff(file)):  # type: ignore[misc]
            return reader
    kind = "JSON, but " if file.begin[:1] == b"{" else ""
    expected = (
        list(formats().values()) if options.reader is None else [reader.what for reader in _named(options.reader)]
    )
    raise ForeignError(f"{file.name}: {kind}not recognised; it should be {'; '.join(dict.fromkeys(expected))}")


def _candidates(name: str | None) -> Iterator[Reader]:
    if name is not None:
        yield from _named(name)
        return
    yield from TOOLS
    # A plug-in that cannot be loaded is an error; if it were skipped, its files would be read as tables.
    yield from (PLUGINS.load(plugin) for plugin in installed(PLUGINS.group))
    yield from GENERAL


def _named(name: str) -> list[Reader]:
    if built_in := [reader for reader in READERS if reader.name == name]:
        return built_in
    if (reader := PLUGINS.find(name)) is not None:
        return [reader]
    known = [*formats(), *PLUGINS.names()]
    raise UsageError(f"--from {name}: no such importer; {nearest(name, known)}")


def _mistakes(reader: Reader) -> Iterator[str]:
    for name in ("sniff", "read"):
        if not callable(getattr(reader, name)):
            yield f"{name} is not a function"
    if not isinstance(reader.what, str) or not reader.what:
        yield "what is missing: a description of its files, such as 'a log of inspect_ai'"


PLUGINS = PluginGroup("hate.importers", Reader, _mistakes, {reader.name for reader in READERS}.__contains__)
