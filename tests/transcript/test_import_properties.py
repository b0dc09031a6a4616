"""Any content of a file is imported or leads to a message; what is imported can be written."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from harness.errors import HateError
from harness.model import Trial
from harness.transcript.importing.contract import ImportOptions
from harness.transcript.importing.convert import convert
from harness.transcript.importing.file import ForeignFile
from harness.transcript.importing.registry import read
from tests.transcript.imports import INSPECT, document

KEYS = [
    "id", "doc_id", "doc", "target", "resps", "filtered_resps", "filter", "metrics", "acc", "eval", "status",
    "samples", "task", "model", "scores", "value", "error", "epoch", "results", "success", "provider", "vars",
    "testCase", "assert", "testIdx", "resolved", "resolved_ids", "submitted_ids", "y_true", "y_pred", "y_score",
    "proba_1", "dataset",
]  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(["C", "success"])
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(KEYS), parts, max_size=6),
    max_leaves=20,
)
WISHES = [
    ImportOptions(),
    ImportOptions(metric="acc", success_at=0.5, partial=True),
    ImportOptions(success="success", psu="id"),
    ImportOptions(success="success", values=("y_score", "value,epoch")),
    ImportOptions(values=("acc",)),
]


def outcome(text: str, options: ImportOptions) -> str | Sequence[Trial]:
    """The message or the records of an import; any other exception fails the test."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_text(text, encoding="utf-8")
        try:
            return [t for imported in read(ForeignFile(path), options) for t in convert(imported, options).trials]
        except HateError as error:
            return str(error)


@given(st.lists(DOCUMENTS, min_size=1, max_size=3), st.booleans(), st.sampled_from(WISHES))
def test_any_document_is_a_transcript_or_an_error(documents: list[object], alone: bool, options: ImportOptions) -> None:
    found = outcome(json.dumps(documents[0], indent=1) if alone else "\n".join(map(json.dumps, documents)), options)
    assert found
    for trial in [] if isinstance(found, str) else found:
        again = msgspec.json.decode(msgspec.json.encode(trial), type=Trial)
        assert again.id == trial.id
        # No number was lost, as one that is not finite would be.
        assert again.values == trial.values
        assert again.values is UNSET or None not in again.values.values()


@given(st.data())
def test_any_change_to_a_real_log_is_imported_or_an_error(data: st.DataObject) -> None:
    log = document(INSPECT / "graded.json")
    parent, key = data.draw(st.sampled_from(list(keys_within(log))))
    parent[key] = data.draw(DOCUMENTS)
    assert outcome(json.dumps(log), ImportOptions(metric="overlap", success_at=0.5))


def keys_within(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a document that could hold something else."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from keys_within(value[key])
