"""The records of an imported transcript: the outcome and the sampling groups of every answer."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import ForeignError
from harness.model import Answer, Case, ErrorKind, Outcome, PsuStrata, Trial, crossed, plain_text
from harness.params import nearest
from harness.tasks.judge import outcome_of_error, record
from harness.transcript.importing.contract import ImportedAnswer, ImportOptions
from harness.transcript.importing.metrics import KeptValues, SuccessRule

FIXED = ("id", "expect", "truth")
# No PSU, in place of one that the log declares; unless a column has that name.
NONE = "none"


class GroupColumns:
    """Columns that group cases: one, or several separated by commas, crossed."""

    def __init__(self, option: str, text: str, columns: Mapping[str, object]) -> None:
        self.option = option
        known = [*FIXED, *columns]
        self.names = [text] if text in known else [name.strip() for name in text.split(",")]
        for name in self.names:
            if name not in known:
                raise ForeignError(f"--{option} {text}: no column '{name}'; {nearest(name, known)}")

    @property
    def declared(self) -> str | list[str]:
        """The value for the header of a transcript."""
        return self.names[0] if len(self.names) == 1 else self.names

    def of(self, result: ImportedAnswer) -> str:
        """The group of a case."""
        parts = [self._value(result, name) for name in self.names]
        return parts[0] if len(parts) == 1 else crossed(parts)

    def _value(self, result: ImportedAnswer, name: str) -> str:
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
class ImportedDesign:
    """What the options say about how the cases were drawn."""

    stratum: GroupColumns | None
    psu: GroupColumns | None

    @staticmethod
    def of(columns: Mapping[str, object], options: ImportOptions, declared: str | None = None) -> "ImportedDesign":
        """The columns that the options name, which must exist; `declared` is the PSU that the log itself names."""
        stratum, psu = options.stratum, declared if options.psu is None else options.psu
        if psu == NONE and psu not in columns:
            psu = None
        if psu is not None and options.psu is None and psu not in columns:
            raise ForeignError(
                f"the log declares '{psu}' as cluster, but no sample has it; --psu COLUMN names another column, "
                "--psu none takes samples as independent"
            )
        return ImportedDesign(
            None if stratum is None else GroupColumns("stratum", stratum, columns),
            None if psu is None else GroupColumns("psu", psu, columns),
        )

    @property
    def names(self) -> set[str]:
        """All columns that it uses."""
        return {name for part in (self.stratum, self.psu) if part is not None for name in part.names}

    @property
    def declared(self) -> dict[str, Any]:
        """The entries for the header of a transcript."""
        parts = {"stratum": self.stratum, "psu": self.psu}
        return {key: part.declared for key, part in parts.items() if part is not None}


# By whether the case is positive, and whether the answer is right: `Outcome.of` is slow for a million records.
_OUTCOMES = {
    (positive, right): Outcome.of(positive=positive, accepted=positive == right)
    for positive in (False, True)
    for right in (False, True)
}
# A longer text is a document, not a group; it is kept only if the design uses it.
LONGEST_COLUMN = 200


class RecordMaker:
    """Turns results into trials."""

    def __init__(self, rule: SuccessRule, values: KeptValues, design: ImportedDesign, *, repeated: bool) -> None:
        self._rule = rule
        self._values = values
        self._design = design
        self._repeated = repeated
        self._design_columns = design.names

    def trials(self, results: Iterable[ImportedAnswer]) -> Iterator[Trial]:
        """A record for each result; repeats of a case are consecutive and numbered from 1."""
        if not self._repeated and self._design.psu is None and self._design.stratum is None:
            yield from (self._trial(result, None, None, None) for result in results)
            return
        strata = PsuStrata()
        stratum, psu = self._design.stratum, self._design.psu
        # A case of its own cannot be in two strata, and there may be too many to remember.
        alone = psu is None and not self._repeated
        repeat, last = 0, ""
        for result in results:
            repeat, last = (repeat + 1 if result.id == last else 1), result.id
            group, unit = stratum.of(result) if stratum else None, psu.of(result) if psu else None
            clash = None if alone else strata.clash(result.id if unit is None else unit, group or "", option="--")
            if clash:
                raise ForeignError(f"{result.place}: {clash}")
            yield self._trial(result, repeat if self._repeated else None, group, unit)

    def _trial(self, result: ImportedAnswer, repeat: int | None, stratum: str | None, psu: str | None) -> Trial:
        """The other tool decided what is right; everything else is as in a run."""
        metric, at = self._rule.metric, self._rule.at
        mark, error, message = result.marks.get(metric), result.error, result.message
        if error is None and mark is None:
            error, message = ErrorKind.ANSWER, f"no mark by {metric}"
        case = Case(result.id, None, result.expect, result.positive, result.truth, self._columns(result))
        values = self._values.of_result(result) if self._values.names else None
        if error is not None or mark is None:
            outcome, actual, score = outcome_of_error(result.positive), None, None
        else:
            outcome = _OUTCOMES[result.positive, mark >= (1.0 if at is None else at)]
            actual = result.answers.get(metric, result.actual) if result.answers else result.actual
            # With --success-at it is the mark that was compared with a threshold.
            score = result.score if at is None else mark
        answer = Answer(actual, score, values=values, pixels=result.pixels, boxes=result.boxes)
        return record(case, answer, outcome, error, message, result.seconds, None, repeat, stratum, psu)

    def _columns(self, result: ImportedAnswer) -> dict[str, Any]:
        """The columns of the case, not of the answer, without long texts."""
        columns = result.columns
        if not result.values and isinstance(columns, dict):
            for value in columns.values():
                if _is_document(value):
                    break
            else:
                return columns
        return {
            name: value
            for name, value in columns.items()
            if name in self._design_columns or (name not in result.values and not _is_document(value))
        }


def _is_document(value: object) -> bool:
    return isinstance(value, str) and len(value) > LONGEST_COLUMN
