"""The cases of a script. They are read again for each iteration, so memory does not grow with their number."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.errors import ScriptError
from harness.files.digest import Stamps, stamps
from harness.files.external_sort import TextHashes
from harness.files.mistakes import Mistakes
from harness.files.tables import rows
from harness.model import Case, Question
from harness.params import Value
from harness.script.case_source import CaseSource, case_of, case_source, source_name
from harness.script.design import DesignCheck, GroupKey, group_key, stratum_weights
from harness.script.expansion import ORIGINAL, Expansion, InputMaker
from harness.script.gallery import VirtualExperiment, load_gallery, read_gallery
from harness.script.load import Script
from harness.script.references import References
from harness.tasks.judge import BlindJudge, Judge
from harness.tasks.rank import Gallery
from harness.tasks.task import TaskRules


@dataclass(frozen=True, repr=False)
class CaseSet:
    """A test with its data: an iterable of cases, which are read from their source for each iteration."""

    script: Script
    data_paths: Mapping[str, Path]
    count: int
    positives: int
    strata: int | None
    weights: dict[str, float] | None
    gallery: Gallery | None = None
    # None if the whole gallery and all cases are used.
    experiment: VirtualExperiment | None = None
    # Whether only the originals of a test are used, not the versions that a section makes of them.
    originals_only: bool = False
    # What the system said of the test's files, if a program holds it: its digest and its number are those of then.
    stamps: Mapping[Path, Stamps] = field(default_factory=dict, compare=False)

    def held(self) -> "CaseSet":
        """The same, for a program that may use it when its files were changed."""
        return replace(self, stamps={path: stamps(path) for path in map(Path.absolute, self.script.paths)})

    def check_held(self) -> "CaseSet":
        """The same; a ScriptError if its files were changed since it was loaded."""
        for path, known in self.stamps.items():
            now = stamps(path)
            if now.keys() != known.keys() or any(now[name].is_replaced(stamp) for name, stamp in known.items()):
                raise ScriptError(f"{self.name}: {path} was changed since the test was loaded; load it again")
        return self

    def __iter__(self) -> Iterator[Case]:
        source = case_source(self.script, self.data_paths)
        cases: Iterator[Case] = map(source.make, source.raws)
        if (expansion := self.script.expansion) is not None:
            cases = expansion.originals(cases) if self.originals_only else expansion.versions(cases)
        return cases if self.experiment is None else self.experiment.of(cases)

    def as_judged(self) -> Iterator[Case]:
        """The original cases, for a check of their truths: `positive` is what a row says, else what its truth says.

        A run takes it from the truth in any case, so that what is said can only be right or a mistake.
        """
        source, complete, rules = case_source(self.script, self.data_paths), self.script.task.complete, self.rules
        for raw in source.raws:
            said = source.says_positive(raw)
            case = source.make(raw)
            yield case if said else complete(case, rules)

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        kind = f"{self.script.task.name} test"
        return f"<{self.name} {self.script.version}, a {kind} of {self.count:,} cases ({self.positives:,} positive)>"

    @property
    def name(self) -> str:
        return self.script.name

    def input_of(self, case: Case) -> Any:
        """What a program is given as the input of a case: the path of a file if the input is one of the test's data."""
        maker = self.input_maker()
        return self.references.resolve(case.input) if maker is None else maker.make(case)[1]

    def input_maker(self) -> InputMaker | None:
        """What makes the inputs of this test; None if they are used as they are."""
        if self.script.expansion is None or self.originals_only:
            return None
        return self.script.expansion.maker(self.data_paths, self.script.task, self.script.rules)

    def originals(self) -> "CaseSet":
        """The cases as they were written down, without the versions that a section makes of them."""
        if self.script.expansion is None or self.originals_only:
            return self
        versions = self.script.expansion.count
        return replace(self, originals_only=True, count=self.count // versions, positives=self.positives // versions)

    @property
    def whole(self) -> int:
        """The number of cases of the whole test, with all versions."""
        expansion = self.script.expansion
        return self.count * (expansion.count if expansion is not None and self.originals_only else 1)

    @property
    def versions_extent(self) -> dict[str, Any]:
        """What the extent of a run says of versions that are left out: the section that makes them, and false."""
        return {self.script.expansion.name: False} if self.script.expansion is not None and self.originals_only else {}

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
        errors = self.script.file.test.errors
        groups = {"stratum": self.stratum, "psu": self.psu}
        kind = BlindJudge if self.script.is_blind else Judge
        return kind(self.script.task, self.rules, params, errors=errors, repeated=repeated, **groups)

    @property
    def records_answers(self) -> bool:
        """Whether records have all that their outcomes follow from, so that they can be judged again."""
        task, expansion = self.script.task, self.script.expansion
        # The truth of a version that was moved is made with its input, which an audit does without.
        return task.records_answers and not (expansion is not None and expansion.moves_truth(task))

    @property
    def digest(self) -> str:
        """The identity of the test: of its script, and of the selected part."""
        return self.script.digest if self.experiment is None else self.script.digest_with(self.experiment.words)

    @property
    def references(self) -> References:
        return References(self.data_paths)


def load_cases(script: Script, data_paths: Mapping[str, Path]) -> CaseSet:
    """Check every case, or raise a ScriptError with all mistakes; `data_paths` says where each data entry is."""
    mistakes = Mistakes(str(script.path))
    cases = read_cases(script, data_paths, mistakes)
    mistakes.raise_if_any()
    return cases


def read_cases(script: Script, data_paths: Mapping[str, Path], mistakes: Mistakes) -> CaseSet:
    """The cases, with all mistakes of the gallery, the weights and the cases themselves added."""
    before, design, weights = mistakes.count, script.file.design, None
    gallery = read_gallery(script, data_paths, mistakes)
    # Without a gallery, every probe would be of somebody unknown.
    rules = None if mistakes.count > before else replace(script.rules, gallery=gallery)
    try:
        weights = stratum_weights(script)
    except ScriptError as error:
        mistakes.add(str(error))
        design = design.model_copy(update={"weights": "cases"})
    references = References(data_paths, script.file.data, confined=script.confined)
    if rules is not None:
        rules = replace(rules, resolve=references.resolve)
    check = CaseCheck(script, rules, references, DesignCheck(design, weights))
    case_mistakes = check.all(script, data_paths)
    if check.twice:
        # Only now are ids kept. The cases are read again, so that all mistakes are in order.
        check = CaseCheck(script, rules, references, DesignCheck(design, weights), check.twice)
        case_mistakes = check.all(script, data_paths)
    mistakes.extend(case_mistakes)
    if not check.ids.count and mistakes.count == before:
        mistakes.add(f"{source_name(script)}: no cases; a test needs at least one")
    versions = 1 if script.expansion is None else script.expansion.count
    return CaseSet(
        script=script,
        data_paths=data_paths,
        count=check.ids.count * versions,
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


def training(script: Script, data_paths: Mapping[str, Path]) -> Iterator[Question]:
    """What an algorithm may learn from, with labels; nothing if the script has no [train]."""
    references = References(data_paths)
    for index, case in enumerate(training_cases(script, data_paths)):
        label, columns = case.real_class, case.columns
        if script.task.shows_claim:
            # To learn from a claim, a program must know whether it is true.
            label, columns = case.expect, {**columns, "positive": case.positive}
        yield Question(index, case.id, references.resolve(case.input), label, columns)


def training_cases(script: Script, data_paths: Mapping[str, Path]) -> Iterator[Case]:
    """The rows of [train] as they are in its table."""
    if script.file.train is None:
        return
    references = References(data_paths, script.file.data, confined=script.confined)
    table = script.file.train.table
    mistakes = Mistakes(str(script.path))
    for number, (line, row) in enumerate(rows(script.folder / table), 1):
        row.setdefault("id", str(number))
        try:
            case = case_of(row, structured=script.task.structured_expect)
            references.check(case.input)
        except ScriptError as error:
            mistakes.add(str(error), location=f"{table}:{line}")
        else:
            yield case
    mistakes.raise_if_any()


class CaseCheck:
    """Checks that each case can be read, has what its task and the design need, and an id of its own."""

    def __init__(
        self,
        script: Script,
        rules: TaskRules | None,
        references: References,
        design: DesignCheck,
        twice: Collection[int] = (),
    ) -> None:
        self.task = script.task
        self.expansion = script.expansion
        self.data = frozenset(script.file.data)
        self.rules = rules
        self.references = references
        self.design = design
        # The hashes of ids that come twice, known after all cases, and the ids with such a hash, if given before.
        self.twice: Collection[int] = twice
        self.seen: set[str] = set()
        self.ids = TextHashes()
        self.strata: set[str] = set()
        self.positives = 0
        # The truth is elsewhere.
        self.blind = script.is_blind

    def all(self, script: Script, data_paths: Mapping[str, Path]) -> Mistakes:
        """The mistakes of all cases, in order."""
        mistakes = Mistakes(str(script.path))
        with self.ids:
            try:
                self._all(case_source(script, data_paths), mistakes)
            except ScriptError as error:
                mistakes.add(str(error))
            self.twice = self.ids.repeated()
        return mistakes

    def _all(self, source: CaseSource, mistakes: Mistakes) -> None:
        make, add_id, has_columns = source.make, self.ids.add, self.design.has_columns
        for raw in source.raws:
            try:
                case = make(raw)
            except ScriptError as error:
                mistakes.add(str(error), location=source.location())
                continue
            if add_id(case.id) in self.twice:
                if case.id in self.seen:
                    mistakes.add(f"id '{case.id}' appears twice; ids must differ", location=source.location())
                self.seen.add(case.id)
            if self.expansion is not None:
                for text in self._original_mistakes(case, self.expansion):
                    mistakes.add(text, location=source.location())
                # One version stands for all: they differ in nothing that is checked.
                case = next(self.expansion.versions([case]))
            if self.task.truth_is_at_hand and case.expect and self.rules is not None:
                case = case if self.task.case_mistake(case, self.rules) else self.task.complete(case, self.rules)
            self.positives += case.positive
            has_reference = type(case.input) is not str or "{" in case.input or self.references.confined
            if has_columns or not case.expect or self.task.checks_cases or has_reference:
                for text in self._mistakes(case):
                    mistakes.add(text, location=source.location())

    def _original_mistakes(self, case: Case, expansion: Expansion) -> Iterator[str]:
        for name in (*expansion.columns, ORIGINAL):
            if name in case.columns:
                yield f"case '{case.id}' has a column '{name}', which [{expansion.name}] makes; rename one of them"
        yield from expansion.case_mistakes(case, self.data)

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
