"""The cases of a script. They are read again for each iteration, so memory does not grow with their number."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import ScriptError, UsageError
from harness.files.mistakes import Mistakes
from harness.files.tables import Delimited, TableRow, delimited, rows
from harness.model import Case, Question
from harness.params import Value, nearest
from harness.script.design import FIXED_COLUMNS, DesignCheck, GroupKey, group_key, stratum_weights
from harness.script.gallery import VirtualExperiment, load_gallery, read_gallery
from harness.script.load import Script
from harness.script.references import References
from harness.script.rows import NO_ID, TRUTH, case_of, glob_rows, truth_value
from harness.script.vary import varied_mistakes
from harness.tasks.gallery import Gallery
from harness.tasks.judge import BlindJudge, Judge
from harness.tasks.task import TaskRules

if TYPE_CHECKING:
    from harness.script.versions import VersionMaker

# Shared by all cases without columns; never written to.
_NO_COLUMNS: dict[str, Any] = {}


@dataclass(frozen=True, repr=False)
class CaseSet:
    """A test with its data: an iterable of cases, which are read from their source for each iteration."""

    script: Script
    places: Mapping[str, Path]
    count: int
    positives: int
    strata: int | None
    weights: dict[str, float] | None
    gallery: Gallery | None = None
    # None if the whole gallery and all cases are used.
    experiment: VirtualExperiment | None = None
    # Whether only the originals of a test with [vary] are used.
    originals_only: bool = False

    def __iter__(self) -> Iterator[Case]:
        source = _source(self.script, self.places)
        cases: Iterator[Case] = map(source.make, source.raws)
        if (variation := self.script.variation) is not None:
            cases = variation.originals(cases) if self.originals_only else variation.versions(cases)
        return cases if self.experiment is None else self.experiment.of(cases)

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        kind = f"{self.script.task.name} test"
        return f"<{self.name} {self.script.version}, a {kind} of {self.count:,} cases ({self.positives:,} positive)>"

    @property
    def name(self) -> str:
        """The test's name."""
        return self.script.name

    def input_of(self, case: Case) -> Any:
        """What a program is given as the input of a case: the path of a file if the input is one of the test's data."""
        maker = self.version_maker()
        return self.references.resolve(case.input) if maker is None else maker.make(case)[1]

    def version_maker(self) -> "VersionMaker | None":
        """What makes the inputs of this test, which are varied; None if they are used as they are."""
        if self.script.variation is None or self.originals_only:
            return None
        from harness.script.versions import VersionMaker

        return VersionMaker(self.script.variation, self.places, self.script.task, self.script.rules)

    def originals(self) -> "CaseSet":
        """The test without the versions that [vary] makes: the originals alone."""
        if self.script.variation is None:
            raise UsageError(f"--no-vary: {self.script.name} has no [vary], so all of its cases are originals")
        versions = 1 if self.originals_only else self.script.variation.count
        return replace(self, originals_only=True, count=self.count // versions, positives=self.positives // versions)

    @property
    def whole(self) -> int:
        """The number of cases of the whole test, with all versions."""
        variation = self.script.variation
        return self.count * (variation.count if variation is not None and self.originals_only else 1)

    @property
    def stratum(self) -> GroupKey | None:
        """The stratum of a case; None if the design has none."""
        return group_key(self.script.file.design.stratum)

    @property
    def psu(self) -> GroupKey | None:
        """The primary sampling unit of a case; None if the design has none."""
        return group_key(self.script.file.design.psu)

    @property
    def rules(self) -> TaskRules:
        """How answers are judged, apart from the decision parameters."""
        return replace(self.script.rules, gallery=self.gallery, resolve=self.references.resolve)

    def judge(self, params: Mapping[str, Value], *, repeated: bool = False) -> Judge:
        """The judge of the answers to these cases."""
        errors = self.script.file.test.errors
        groups = {"stratum": self.stratum, "psu": self.psu}
        kind = BlindJudge if self.script.is_blind else Judge
        return kind(self.script.task, self.rules, params, errors=errors, repeated=repeated, **groups)

    @property
    def digest(self) -> str:
        """The identity of the test: of its script, and of the selected part."""
        return self.script.digest if self.experiment is None else self.script.digest_with(self.experiment.words)

    @property
    def references(self) -> References:
        """Where the inputs are."""
        return References(self.places)


def load_cases(script: Script, places: Mapping[str, Path]) -> CaseSet:
    """Check every case, or raise a ScriptError with all mistakes; `places` says where each data entry is."""
    mistakes = Mistakes(str(script.path))
    cases = read_cases(script, places, mistakes)
    mistakes.raise_if_any()
    return cases


def read_cases(script: Script, places: Mapping[str, Path], mistakes: Mistakes) -> CaseSet:
    """The cases, with all mistakes of the gallery, the weights and the cases themselves added."""
    before, design, weights = mistakes.count, script.file.design, None
    gallery = read_gallery(script, places, mistakes)
    # Without a gallery, every probe would be of somebody unknown.
    rules = None if mistakes.count > before else replace(script.rules, gallery=gallery)
    try:
        weights = stratum_weights(script)
    except ScriptError as error:
        mistakes.add(str(error))
        design = design.model_copy(update={"weights": "cases"})
    references = References(places, script.file.data, foreign=script.foreign)
    if rules is not None:
        rules = replace(rules, resolve=references.resolve)
    check = _CaseCheck(script, rules, references, DesignCheck(design, weights))
    check.blind = script.is_blind
    try:
        check.all(_source(script, places), mistakes)
        if not check.ids and mistakes.count == before:
            mistakes.add(f"{_source_name(script)}: no cases; a test needs at least one")
    except ScriptError as error:
        mistakes.add(str(error))
    versions = 1 if script.variation is None else script.variation.count
    return CaseSet(
        script=script,
        places=places,
        count=len(check.ids) * versions,
        positives=check.positives * versions,
        strata=len(check.strata) if design.stratum is not None else None,
        weights=weights,
        gallery=gallery,
    )


def cases_without_data(script: Script) -> CaseSet:
    """The cases of a test that was checked before: answers are judged without the inputs.

    The script must not make its cases from the names of data files (`glob`).
    """
    cases = CaseSet(script, {}, 0, 0, None, stratum_weights(script), load_gallery(script, None))
    count = positives = 0
    for case in cases:
        count, positives = count + 1, positives + case.positive
    return replace(cases, count=count, positives=positives)


class _CaseCheck:
    """Checks the cases one by one, and remembers what a later one could contradict."""

    def __init__(self, script: Script, rules: TaskRules | None, references: References, design: DesignCheck) -> None:
        self.task = script.task
        self.variation = script.variation
        self.data = frozenset(script.file.data)
        self.rules = rules
        self.references = references
        self.design = design
        self.ids: set[str] = set()
        self.strata: set[str] = set()
        self.positives = 0
        # The truth is elsewhere.
        self.blind = False

    def all(self, source: "_Source", mistakes: Mistakes) -> None:
        make, ids, has_columns = source.make, self.ids, self.design.has_columns
        for raw in source.raws:
            try:
                case = make(raw)
            except ScriptError as error:
                mistakes.add(str(error), place=source.place())
                continue
            if case.id in ids:
                mistakes.add(f"id '{case.id}' appears twice; ids must differ", place=source.place())
            ids.add(case.id)
            if self.variation is not None:
                # One version stands for all: they differ in nothing that is checked.
                for text in varied_mistakes(case, self.variation, self.data):
                    mistakes.add(text, place=source.place())
                case = next(self.variation.versions([case]))
            case = self._completed(case)
            self.positives += case.positive
            has_reference = type(case.input) is not str or "{" in case.input or self.references.foreign
            if has_columns or not case.expect or self.task.checks_cases or has_reference:
                for text in self._mistakes(case):
                    mistakes.add(text, place=source.place())

    def _completed(self, case: Case) -> Case:
        """The case with what its truth says, if that is at hand and has no mistake."""
        if not (self.task.truth_is_at_hand and case.expect) or self.rules is None:
            return case
        return case if self.task.case_mistake(case, self.rules) else self.task.complete(case, self.rules)

    def _mistakes(self, case: Case) -> Iterator[str]:
        # A truth image has to be there even if it is empty: its size says how large an answer is.
        needed = (case.positive or self.task.expect_is_file) and self.task.needs_expect and not self.blind
        if needed and not case.expect:
            kind = "positive" if case.positive else "negative"
            yield f"case '{case.id}' is {kind} and has no ground truth; fill in expect"
        elif case.expect and self.rules is not None and (text := self.task.case_mistake(case, self.rules)):
            yield text
        try:
            self.references.check(case.input)
        except ScriptError as error:
            yield f"input {error}"
        if self.task.expect_is_file and case.expect:
            try:
                self.references.check(case.expect)
            except ScriptError as error:
                yield f"expect {error}"
        if self.design.has_columns:
            if text := self.design.mistake(case):
                yield text
            elif self.design.stratum is not None:
                self.strata.add(self.design.stratum(case))


@dataclass(frozen=True)
class _Source:
    """Raw rows, how to make a case from one, and the place of the last one read."""

    raws: Iterator[Any]
    make: Callable[[Any], Case]
    place: Callable[[], str]


def _source_name(script: Script) -> str:
    cases = script.file.cases
    return cases.table or (f"cases.glob: '{cases.glob}'" if cases.glob is not None else "[[cases.case]]")


def _source(script: Script, places: Mapping[str, Path]) -> _Source:
    """The cases, from the source that the script names."""
    cases = script.file.cases
    if cases.table is not None:
        table = delimited(script.folder / cases.table)
        if table is not None:
            return _Source(iter(table), _maker(table), lambda: f"{cases.table}:{table.line}")
        found: Iterator[tuple[str, TableRow]] = (
            (f"{cases.table}:{line}", row) for line, row in rows(script.folder / (cases.table or ""))
        )
    elif cases.glob is not None:
        found = glob_rows(cases.glob, cases.pattern, places)
    else:
        found = ((f"[[cases.case]] number {n}", dict(row)) for n, row in enumerate(cases.case or [], 1))
    return _with_places(found, structured=script.task.structured_expect)


def _with_places(rows_with_places: Iterator[tuple[str, TableRow]], *, structured: bool) -> _Source:
    last = [""]

    def raws() -> Iterator[TableRow]:
        for place, row in rows_with_places:
            last[0] = place
            yield row

    return _Source(raws(), partial(case_of, structured=structured), lambda: last[0])


def _maker(table: Delimited) -> Callable[[list[str]], Case]:
    """`case_of` for the rows of this table, which are lists; with a million cases, most of the time is spent here."""
    header, width = table.header, len(table.header)
    if "id" not in header:
        raise ScriptError(f"{table.name}:1: no column 'id' in the header; {nearest('id', header)}")
    # A missing column is the empty field that is added to each row.
    fixed = [header.index(name) if name in header else len(header) for name in FIXED_COLUMNS]
    at_id, at_input, at_expect, at_positive, at_truth = fixed
    others = [(name, number) for number, name in enumerate(header) if name not in FIXED_COLUMNS]

    def make(row: list[str]) -> Case:
        if len(row) != width:
            raise ScriptError(table.ragged(row) or "")
        row.append("")
        if not row[at_id]:
            raise ScriptError(NO_ID)
        positive = TRUTH.get(row[at_positive])
        return Case(
            row[at_id],
            row[at_input],
            row[at_expect].strip(),
            truth_value(row[at_positive]) if positive is None else positive,
            row[at_truth].strip(),
            {name: row[number] for name, number in others} if others else _NO_COLUMNS,
        )

    return make


def training(script: Script, places: Mapping[str, Path]) -> Iterator[Question]:
    """What an algorithm may learn from, with labels; nothing if the script has no [train]."""
    references = References(places)
    for index, case in enumerate(training_cases(script, places)):
        label, columns = case.real_class, case.columns
        if script.task.shows_claim:
            # To learn from a claim, a program must know whether it is true.
            label, columns = case.expect, {**columns, "positive": case.positive}
        yield Question(index, case.id, references.resolve(case.input), label, columns)


def training_cases(script: Script, places: Mapping[str, Path]) -> Iterator[Case]:
    """The rows of [train] as they are in its table."""
    if script.file.train is None:
        return
    references = References(places, script.file.data, foreign=script.foreign)
    table = script.file.train.table
    mistakes = Mistakes(str(script.path))
    for number, (line, row) in enumerate(rows(script.folder / table), 1):
        row.setdefault("id", str(number))
        try:
            case = case_of(row, structured=script.task.structured_expect)
            references.check(case.input)
        except ScriptError as error:
            mistakes.add(str(error), place=f"{table}:{line}")
        else:
            yield case
    mistakes.raise_if_any()
