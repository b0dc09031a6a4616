"""The weights of strata, where a script has a table of them."""

import math
from typing import Any

from harness.errors import ScriptError
from harness.files.tables import rows
from harness.model import plain_text
from harness.script.load import Script
from harness.script.schema import is_table


def stratum_weights(script: Script) -> dict[str, float] | None:
    """The weight of each stratum, where the script has a table of them."""
    weights = script.file.design.weights
    if isinstance(weights, dict):
        return dict(weights)
    if not is_table(weights):
        return None
    found: dict[str, float] = {}
    for line, row in rows(script.folder / weights):
        if not {"stratum", "weight"} <= row.keys():
            raise ScriptError(f"{weights}:{line}: a table of weights has columns stratum and weight")
        name = plain_text(row["stratum"])
        if name in found:
            raise ScriptError(f"{weights}:{line}: stratum '{name}' is there twice")
        found[name] = _weight(row["weight"], f"{weights}:{line}")
    return found


def _weight(value: Any, place: str) -> float:
    try:
        weight = float(value)
    except (ValueError, TypeError):
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise ScriptError(f"{place}: weight '{value}' is not a number from 0 up")
    return weight
