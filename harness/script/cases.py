"""The cases of a script, read anew each time they are gone through, so that memory does not grow with them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import ScriptError
from harness.files.mistakes import Mistakes
from harness.files.tables import Row, rows
from harness.model import Case, Question, plain_text
from harness.script.design import DesignCheck, Key, group_key
from harness.script.load import Script, is_table
from harness.script.references import References

_TRUTH = {"true": True, "1": True, "false": False, "0": False, "": True}
_PLACEHOLDER = re.compile(r"^\{([A-Za-z_][A-Za-z0-9_]*)\}/(.+)$")


@dataclass(frozen=True)
class CaseSet:
    """The cases of a test whose data is at hand; going through them reads the source again."""

    script: Script
    places: Mapping[str, Path]
    count: int
    positives: int
    strata: int | None
    stratum: Key | None
    psu: Key | None
    weights: dict[str, float] | None

    def __iter__(self) -> Iterator[Case]:
        return (case_of(row) for _, row in _source(self.script, self.places))

    def __len__(self) -> int:
        return self.count

    @property
    def references(self) -> References:
        """Where the inputs are."""
        return References(self.places)


def load_cases(script: Script, places: Mapping[str, Path]) -> CaseSet:
    """Check every case; a ScriptError with all mistakes otherwise. `places` says where each data entry is."""
    mistakes = Mistakes(str(script.path))
    weights = stratum_weights(script)
    check = _CaseCheck(script, References(places), DesignCheck(script.file.design, weights))
    try:
        for place, row in _source(script, places):
            check.row(place, row, mistakes)
    except ScriptError as error:
        mistakes.add(str(error))
    if not check.ids and not mistakes.count:
        mistakes.add("no cases; a test needs one at least")
    mistakes.raise_if_any()
    design = script.file.design
    return CaseSet(
        script=script,
        places=places,
        count=len(check.ids),
        positives=check.positives,
        strata=len(check.strata) if design.stratum is not None else None,
        stratum=group_key(design.stratum),
        psu=group_key(design.psu),
        weights=weights,
    )


class _CaseCheck:
    """Goes through the rows once and remembers what a later row could contradict."""

    def __init__(self, script: Script, references: References, design: DesignCheck) -> None:
        self.script = script
        self.references = references
        self.design = design
        self.ids: set[str] = set()
        self.strata: set[str] = set()
        self.positives = 0

    def row(self, place: str, row: Row, mistakes: Mistakes) -> None:
        try:
            case = case_of(row)
        except ScriptError as error:
            mistakes.add(str(error), place=place)
            return
        if case.id in self.ids:
            mistakes.add(f"id '{case.id}' is there twice; ids must differ", place=place)
        self.ids.add(case.id)
        self.positives += case.positive
        for text in self._mistakes(case):
            mistakes.add(text, place=place)

    def _mistakes(self, case: Case) -> Iterator[str]:
        task = self.script.task
        if case.positive and task.needs_expect and not case.expect:
            yield f"case '{case.id}' is positive and has no ground truth; fill in expect"
        elif case.expect and (text := task.mistake(case, self.script.rules)):
            yield text
        try:
            self.references.check(case.input)
        except ScriptError as error:
            yield f"input {error}"
        if self.design.asks:
            if text := self.design.mistake(case):
                yield text
            elif self.design.stratum is not None:
                self.strata.add(self.design.stratum(case))


def case_of(row: Row) -> Case:
    """A case from a row of a table; what is not a fixed column stays in `columns`. Takes the row for itself."""
    case_id = row.pop("id", None)
    if type(case_id) is not str:
        case_id = "" if isinstance(case_id, (dict, list)) else plain_text(case_id)
    if not case_id:
        raise ScriptError("a case without an id; give each its own in column id")
    return Case(
        case_id,
        row.pop("input", ""),
        _text(row, "expect"),
        _positive(row.pop("positive", True)),
        _text(row, "truth"),
        row,
    )


def _text(row: Row, name: str) -> str:
    value = row.pop(name, "")
    if type(value) is str:
        return value
    if isinstance(value, (dict, list)):
        raise ScriptError(f"{name} {value!r:.60} is not a label or number")
    return plain_text(value)


def _positive(value: Any) -> bool:
    if type(value) is bool:
        return value
    text = plain_text(value).strip().lower()
    if text not in _TRUTH:
        raise ScriptError(f"positive '{value}' is not true or false, 1 or 0")
    return _TRUTH[text]


def _source(script: Script, places: Mapping[str, Path]) -> Iterator[tuple[str, Row]]:
    """Each row with its place, from whichever source the script has."""
    cases = script.file.cases
    if cases.table is not None:
        for line, row in rows(script.folder / cases.table):
            yield f"{cases.table}:{line}", row
    elif cases.glob is not None:
        yield from _glob(cases.glob, cases.pattern, places)
    else:
        for number, row in enumerate(cases.case or [], 1):
            yield f"[[cases.case]] number {number}", dict(row)


def _glob(glob: str, pattern: str | None, places: Mapping[str, Path]) -> Iterator[tuple[str, Row]]:
    found = _PLACEHOLDER.match(glob)
    if found is None or found[1] not in places:
        raise ScriptError(f"cases.glob: '{glob}' must begin with a data entry, such as {{images}}/test/*.png")
    root, expression = places[found[1]], _compile(pattern)
    try:
        files = sorted(path for path in root.glob(found[2]) if path.is_file())
    except (ValueError, NotImplementedError) as error:
        raise ScriptError(f"cases.glob: '{glob}': {error}") from None
    for path in files:
        name = path.relative_to(root).as_posix()
        groups: dict[str, Any] = {}
        if expression is not None:
            match = expression.search(name)
            if match is None:
                raise ScriptError(f"cases.pattern does not match '{name}'; narrow the glob, or widen the pattern")
            groups = {key: value for key, value in match.groupdict().items() if value is not None}
        yield name, {"id": name, "input": f"{{{found[1]}}}/{name}"} | groups


def _compile(pattern: str | None) -> re.Pattern[str] | None:
    try:
        return None if pattern is None else re.compile(pattern)
    except re.error as error:
        raise ScriptError(f"cases.pattern: not a regular expression: {error}") from None


def stratum_weights(script: Script) -> dict[str, float] | None:
    """The weight of each stratum, where the script has a table of them."""
    weights = script.file.design.weights
    if isinstance(weights, dict):
        return dict(weights)
    if not is_table(weights):
        return None
    found: dict[str, float] = {}
    for line, row in rows(script.folder / weights):
        try:
            found[plain_text(row["stratum"])] = float(row["weight"])
        except (KeyError, ValueError, TypeError):
            raise ScriptError(f"{weights}:{line}: a table of weights has columns stratum and weight") from None
    return found


def training(script: Script, places: Mapping[str, Path]) -> Iterator[Question]:
    """What an algorithm may learn from, with its labels; nothing where the script has no [train]."""
    if script.file.train is None:
        return
    references = References(places)
    for index, (line, row) in enumerate(rows(script.folder / script.file.train.table)):
        row.setdefault("id", str(index + 1))
        try:
            case = case_of(row)
            references.check(case.input)
        except ScriptError as error:
            raise ScriptError(f"{script.path}: {script.file.train.table}:{line}: {error}") from None
        yield Question(index, case.id, references.resolve(case.input), case.expect, case.columns)
