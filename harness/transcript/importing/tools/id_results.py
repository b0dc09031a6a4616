"""A mapping of ids to results, or lists of ids, as SWE-bench and similar tools write them.

`{"django__django-11099": {"resolved": true}}`, `{"a": true, "b": false}`,
`{"resolved_ids": [...], "submitted_ids": [...], "error_ids": [...]}`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.errors import ForeignError
from harness.model import ErrorKind
from harness.transcript.importing.contract import UNNAMED, ImportedAnswer, ImportedRun, ImportOptions, Mark, Reader
from harness.transcript.importing.file import ForeignFile, as_metric, decode, flat, is_mark

RESOLVED = "resolved"
# Keys that are the verdict of a mapping.
_VERDICTS = (RESOLVED, "success", "correct", "passed", "pass", "is_correct")
_LISTS = ("resolved_ids", "resolved")
# One of these must be present: the resolved ids alone do not show what else was tried.
_ALL = {
    "total_ids",
    "all_ids",
    "instance_ids",
    "submitted_ids",
    "completed_ids",
    "unresolved_ids",
    "unresolved",
    "failed",
}
_OTHERS = re.compile(r"(?:.+_ids|unresolved|no_generation|no_logs|failed|error|errors)")
_ERRORS = ("error_ids", "error", "errors")


def is_lists(file: ForeignFile) -> bool:
    """Whether a JSON object lists ids by their result."""
    return file.document is not None and any(_is_ids(file.document.get(key)) for key in _LISTS)


def is_mapping(file: ForeignFile) -> bool:
    """Whether every value of a JSON object can be the result of its key."""
    document = file.document or {}
    return bool(document) and all(
        is_mark(value) or (isinstance(value, Mapping) and any(map(is_mark, flat(value).values())))
        for value in document.values()
    )


def _is_ids(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def read_lists(source: ForeignFile, _options: ImportOptions) -> list[ImportedRun]:
    """The ids in any of the lists, and which of them were resolved."""
    document = decode(source.data, dict[str, Any], source.name)
    key = next(name for name in _LISTS if _is_ids(document.get(name)))
    lists = {name: ids for name, ids in document.items() if name != key and _OTHERS.fullmatch(name) and _is_ids(ids)}
    if not _ALL & set(lists):
        raise ForeignError(
            f"{source.name}: no list says which ids were tried and not resolved; list all under 'total_ids' as well"
        )
    resolved = set(document[key])
    errors = {name for key in _ERRORS for name in lists.get(key, ())} - resolved
    ids = sorted(resolved.union(*lists.values()))
    results = [
        ImportedAnswer(
            id=name,
            location=f"{source.name}: {name}",
            marks={RESOLVED: float(name in resolved)},
            error=ErrorKind.CRASH if name in errors else None,
            message="an error according to its report" if name in errors else "",
            columns=_repository(name),
        )
        for name in ids
    ]
    total, notes = document.get("total_instances"), []
    if isinstance(total, int) and total > len(ids):
        notes = [f"only {len(ids):,} of {total:,} instances are listed; only these are imported"]
    return [_imported(source, results, RESOLVED, notes)]


def read_mapping(source: ForeignFile, _options: ImportOptions) -> list[ImportedRun]:
    """A result for each id."""
    document = decode(source.data, dict[str, Any], source.name)
    _check_keys_differ(source)
    results = []
    for name, value in document.items():
        location = f"{source.name}: {name}"
        columns = flat(value) if isinstance(value, Mapping) else {}
        parts = {key: part for key, part in columns.items() if is_mark(part)} or {RESOLVED: value}
        marks: dict[str, Mark] = {key: as_metric(part, f"{location}: {key}") for key, part in parts.items()}
        results.append(ImportedAnswer(name, location, marks, columns=columns | _repository(name)))
    names = {key for result in results for key in result.marks}
    return [_imported(source, results, next((key for key in _VERDICTS if key in names), None), [])]


def _check_keys_differ(source: ForeignFile) -> None:
    """JSON allows the same key twice, and parsers silently use the last one."""

    def check_keys(pairs: Sequence[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ForeignError(f"{source.name}: '{key}' appears twice; ids must differ")
            seen.add(key)

    json.loads(source.data, object_pairs_hook=check_keys)


def _imported(source: ForeignFile, results: list[ImportedAnswer], verdict: str | None, notes: list[str]) -> ImportedRun:
    return ImportedRun(
        source.name, UNNAMED, source.stem, results, tool="a mapping of ids", verdict=verdict, notes=notes
    )


def _repository(name: str) -> dict[str, str]:
    """Of owner__name-number: issues of one repository are a cluster."""
    full, _, number = name.rpartition("-")
    owner, mark, repository = full.rpartition("__")
    return {"repo": f"{owner}/{repository}"} if mark and owner and repository and number.isdecimal() else {}


READERS: tuple[Reader, ...] = (
    Reader("mapping", "a report of resolved ids", is_lists, read_lists),
    Reader("mapping", "a mapping of ids to results", is_mapping, read_mapping),
)
