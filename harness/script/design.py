"""The sampling design of a test, applied to its cases: strata, PSUs and weights."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.errors import ScriptError
from harness.files.tables import rows
from harness.model import Case, PsuStrata, crossed, plain_text
from harness.params import nearest
from harness.script.load import Script
from harness.script.schema import DesignSection, is_table

FIXED_COLUMNS = ("id", "input", "expect", "positive", "truth")
GroupKey = Callable[[Case], str]


def column_names(columns: str | Sequence[str]) -> list[str]:
    """One column or several, as a list."""
    return [columns] if isinstance(columns, str) else list(columns)


def group_key(columns: str | Sequence[str] | None) -> GroupKey | None:
    """A function that returns the group of a case, by one column or by several combined; None without columns."""
    if columns is None:
        return None
    names = column_names(columns)
    if len(names) == 1:
        name = names[0]
        return lambda case: case.column(name)
    return lambda case: crossed(case.column(name) for name in names)


class DesignCheck:
    """Checks, case by case, that the cases agree with the declared design."""

    def __init__(self, design: DesignSection, weights: dict[str, float] | None) -> None:
        self.names = column_names(design.stratum or []) + column_names(design.psu or []) + list(design.cofactors)
        if isinstance(design.weights, str) and weights is None and design.weights not in ("cases", "equal"):
            self.weight_column: str | None = design.weights
            self.names.append(design.weights)
        else:
            self.weight_column = None
        self.weights = weights
        self.stratum = group_key(design.stratum)
        self.psu = group_key(design.psu)
        self.psu_columns = column_names(design.psu or [])
        self._strata = PsuStrata()
        self._missing: set[str] = set()

    @property
    def has_columns(self) -> bool:
        """Whether the design names any columns that a case must have."""
        return bool(self.names)

    def mistake(self, case: Case) -> str | None:
        """What is wrong with a case, if anything; a missing column is reported once, not for every case."""
        for name in self.names:
            if name not in FIXED_COLUMNS and name not in case.columns:
                if name in self._missing:
                    return None
                self._missing.add(name)
                return f"no column '{name}', which the design names; {nearest(name, [*FIXED_COLUMNS, *case.columns])}"
        return self._weight_mistake(case) or self._psu_mistake(case)

    def _weight_mistake(self, case: Case) -> str | None:
        if self.weight_column is not None:
            text = case.column(self.weight_column)
            try:
                valid = 0 <= float(text) < float("inf")
            except ValueError:
                valid = False
            return None if valid else f"weight '{text}' in column '{self.weight_column}' is not a number from 0 up"
        if self.weights is not None and self.stratum is not None and self.stratum(case) not in self.weights:
            return f"stratum '{self.stratum(case)}' has no weight in design.weights"
        return None

    def _psu_mistake(self, case: Case) -> str | None:
        """A unit in two strata is a mistake: its cases are not independent across them."""
        if self.psu is None:
            return None
        if not any(case.column(name) for name in self.psu_columns):
            return f"no value for the psu, {' and '.join(self.psu_columns)}; cases without one would form one unit"
        if self.stratum is None:
            return None
        return self._strata.clash(self.psu(case), self.stratum(case))


def stratum_weights(script: Script) -> dict[str, float] | None:
    """The weight of each stratum, if the script has a table of them."""
    weights = script.file.design.weights
    if isinstance(weights, dict):
        return dict(weights)
    return read_weights(script.folder, weights) if is_table(weights) else None


def read_weights(folder: Path, table: str) -> dict[str, float]:
    """The weight of each stratum from a table; a ScriptError names the line of a mistake."""
    weight_of: dict[str, float] = {}
    for line, row in rows(folder / table):
        if not {"stratum", "weight"} <= row.keys():
            raise ScriptError(f"{table}:{line}: a table of weights has columns stratum and weight")
        name = plain_text(row["stratum"])
        if name in weight_of:
            raise ScriptError(f"{table}:{line}: stratum '{name}' appears twice")
        value: Any = row["weight"]
        try:
            weight_of[name] = float(value)
        except (ValueError, TypeError):
            weight_of[name] = math.nan
        if not 0 <= weight_of[name] < math.inf:
            raise ScriptError(f"{table}:{line}: weight '{value}' is not a number from 0 up")
    return weight_of
