"""The sampling design of imported results: which columns are strata and PSUs, and the group of each case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import ForeignError
from harness.model import crossed, plain_text
from harness.params import nearest
from harness.transcript.importing.results import Result, Wishes

FIXED = ("id", "expect", "truth")


class Grouping:
    """Columns that group cases, as one name or several with commas between them, crossed."""

    def __init__(self, option: str, wish: str, columns: Mapping[str, object]) -> None:
        self.option = option
        known = [*FIXED, *columns]
        self.names = [wish] if wish in known else [name.strip() for name in wish.split(",")]
        for name in self.names:
            if name not in known:
                raise ForeignError(f"--{option} {wish}: no column '{name}'; {nearest(name, known)}")

    @property
    def declared(self) -> str | list[str]:
        """As the header of a transcript has it."""
        return self.names[0] if len(self.names) == 1 else self.names

    def of(self, result: Result) -> str:
        """The group of a case."""
        parts = [self._value(result, name) for name in self.names]
        return parts[0] if len(parts) == 1 else crossed(parts)

    def _value(self, result: Result, name: str) -> str:
        if name == "id":
            return result.id
        if name == "expect":
            return result.expect
        if name == "truth":
            return result.truth or result.expect
        if name not in result.columns:
            raise ForeignError(f"{result.place}: no column '{name}', which --{self.option} names")
        return plain_text(result.columns[name])


@dataclass(frozen=True)
class Design:
    """What was said about how the cases were drawn."""

    stratum: Grouping | None
    psu: Grouping | None

    @staticmethod
    def of(results: Sequence[Result], wishes: Wishes) -> "Design":
        """The columns that were named, which must be there."""
        columns = dict.fromkeys(name for result in results for name in result.columns)
        stratum, psu = wishes.stratum, wishes.psu
        return Design(
            None if stratum is None else Grouping("stratum", stratum, columns),
            None if psu is None else Grouping("psu", psu, columns),
        )

    @property
    def names(self) -> set[str]:
        """All columns that it rests on."""
        return {name for part in (self.stratum, self.psu) if part is not None for name in part.names}

    @property
    def declared(self) -> dict[str, Any]:
        """As the header of a transcript has it."""
        parts = {"stratum": self.stratum, "psu": self.psu}
        return {key: part.declared for key, part in parts.items() if part is not None}


class Consistency:
    """A case lies in one stratum and one PSU, a PSU in one stratum; else its cases are not independent across them."""

    def __init__(self) -> None:
        self._stratum_of: dict[str, str] = {}

    def check(self, result: Result, stratum: str, psu: str) -> None:
        """Compare with what is known of the same PSU."""
        first = self._stratum_of.setdefault(psu, stratum)
        if first != stratum:
            raise ForeignError(
                f"{result.place}: PSU '{psu}' lies in two strata, '{first}' and '{stratum}'; drop --stratum, "
                "or take a column as --psu that tells the two apart if they were drawn apart"
            )
