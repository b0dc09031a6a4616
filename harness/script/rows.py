"""A row of a table as a case."""

from typing import Any

from harness.errors import ScriptError
from harness.files.tables import Row
from harness.model import Case, plain_text

TRUTH = {"true": True, "1": True, "false": False, "0": False, "": True}
NO_ID = "a case without an id; give each its own in column id"


def case_of(row: Row) -> Case:
    """A case from a row of a table; what is not a fixed column stays in `columns`. Takes the row for itself."""
    case_id = row.pop("id", None)
    if type(case_id) is not str:
        case_id = "" if isinstance(case_id, (dict, list)) else plain_text(case_id)
    if not case_id:
        raise ScriptError(NO_ID)
    return Case(
        case_id,
        row.pop("input", ""),
        _text(row, "expect"),
        truth_value(row.pop("positive", True)),
        _text(row, "truth"),
        row,
    )


def _text(row: Row, name: str) -> str:
    value = row.pop(name, "")
    if type(value) is str:
        return value.strip()
    if isinstance(value, (dict, list)):
        raise ScriptError(f"{name} {value!r:.60} is not a label or number")
    return plain_text(value)


def truth_value(value: Any) -> bool:
    """`positive` as it is written."""
    if type(value) is bool:
        return value
    text = plain_text(value).strip().lower()
    if text not in TRUTH:
        raise ScriptError(f"positive '{value}' is not true or false, 1 or 0")
    return TRUTH[text]
