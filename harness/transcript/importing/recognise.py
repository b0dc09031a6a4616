"""Which tool wrote a file: decided by its content, never by its name."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from harness.errors import ForeignError, UsageError
from harness.transcript.importing import inspect_log, lm_eval, mapping, promptfoo, table
from harness.transcript.importing.content import BAD_JSON, Source, decode
from harness.transcript.importing.results import Imported, Wishes

Read = Callable[[Source, Wishes], list[Imported]]
KNOWN = (
    "samples of lm-evaluation-harness, logs of inspect_ai, output of promptfoo, CSV or JSON lines, "
    "or a JSON mapping of ids to results"
)


def read(source: Source, wishes: Wishes) -> list[Imported]:
    """The results of a file, by whichever tool they are; one for each algorithm in it."""
    reader = recognise(source, wishes)
    return reader(source, wishes)


def recognise(source: Source, wishes: Wishes) -> Read:
    """What can read a file."""
    reader = _recognise(source, named=bool(wishes.fields.judging))
    if wishes.fields.judging and reader not in (table.read_delimited, table.read_lines, table.read_list):
        option = wishes.fields.judging[0]
        raise UsageError(f"{source.name}: --{option} names a column of a table, and this is {_WHAT[reader]}")
    return reader


_WHAT: dict[Read, str] = {
    lm_eval.read: "a file of samples of lm-evaluation-harness",
    inspect_log.read_archive: "a log of inspect_ai",
    inspect_log.read_json: "a log of inspect_ai",
    promptfoo.read_json: "an evaluation of promptfoo",
    promptfoo.read_lines: "an evaluation of promptfoo",
    mapping.read_mapping: "a mapping of ids to results",
    mapping.read_lists: "a report of resolved ids",
}


def _recognise(source: Source, *, named: bool) -> Read:
    start = source.start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        raise ForeignError(f"{source.name}: an empty file")
    if start.startswith(b"PK"):
        return inspect_log.read_archive
    if start[:1] == b"[":
        return table.read_list
    if start[:1] == b"{":
        return _json(source, named=named)
    if table.looks_delimited(start):
        return table.read_delimited
    raise ForeignError(f"{source.name}: not recognised; it should be {KNOWN}")


def _json(source: Source, *, named: bool) -> Read:
    first = _first_line(source, named=named)
    if first is not None:
        return _json_lines(source, first, named=named)
    document = decode(source.data, dict[str, Any], source.name)
    if inspect_log.is_log(document):
        return inspect_log.read_json
    if lm_eval.is_summary(document):
        raise ForeignError(f"{source.name}: a summary without documents; import samples_*.jsonl (--log_samples)")
    if promptfoo.is_evaluation(document):
        return promptfoo.read_json
    if mapping.is_lists(document):
        return mapping.read_lists
    if mapping.is_mapping(document):
        return mapping.read_mapping
    raise ForeignError(f"{source.name}: JSON, but not recognised; it should be {KNOWN}")


def _first_line(source: Source, *, named: bool) -> Mapping[str, Any] | None:
    """The first object of JSON lines; None for a file that is one document."""
    line, newline, rest = source.data.lstrip().partition(b"\n")
    try:
        first = msgspec.json.decode(line)
    except BAD_JSON:
        try:
            first = json.loads(line)
        except BAD_JSON:
            return None
    if not isinstance(first, Mapping):
        return None
    alone = not (newline and rest.strip())
    return None if alone and not (named or lm_eval.is_sample(first) or promptfoo.is_row(first)) else first


def _json_lines(source: Source, first: Mapping[str, Any], *, named: bool) -> Read:
    if first.get("hate") == "transcript":
        raise ForeignError(f"{source.name}: a transcript already; there is nothing to import")
    if named:
        return table.read_lines
    if lm_eval.is_sample(first):
        return lm_eval.read
    return promptfoo.read_lines if promptfoo.is_row(first) else table.read_lines
