"""Check every case of a test: that it can be read, has what its task and the design need, and an id of its own."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from harness.errors import ScriptError
from harness.files.mistakes import Mistakes
from harness.files.repeats import TextHashes
from harness.model import Case
from harness.script.case_source import CaseSource, case_source
from harness.script.design import DesignCheck
from harness.script.expansion import ORIGINAL, Expansion
from harness.script.load import Script
from harness.script.references import References
from harness.tasks.task import TaskRules


class CaseCheck:
    """Checks the cases one by one, and remembers what a later one could contradict."""

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

    def all(self, script: Script, places: Mapping[str, Path]) -> Mistakes:
        """The mistakes of all cases, in order."""
        mistakes = Mistakes(str(script.path))
        with self.ids:
            try:
                self._all(case_source(script, places), mistakes)
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
                mistakes.add(str(error), place=source.place())
                continue
            if add_id(case.id) in self.twice:
                if case.id in self.seen:
                    mistakes.add(f"id '{case.id}' appears twice; ids must differ", place=source.place())
                self.seen.add(case.id)
            if self.expansion is not None:
                for text in self._original_mistakes(case, self.expansion):
                    mistakes.add(text, place=source.place())
                # One version stands for all: they differ in nothing that is checked.
                case = next(self.expansion.versions([case]))
            case = self._completed(case)
            self.positives += case.positive
            has_reference = type(case.input) is not str or "{" in case.input or self.references.confined
            if has_columns or not case.expect or self.task.checks_cases or has_reference:
                for text in self._mistakes(case):
                    mistakes.add(text, place=source.place())

    def _original_mistakes(self, case: Case, expansion: Expansion) -> Iterator[str]:
        for name in (*expansion.columns, ORIGINAL):
            if name in case.columns:
                yield f"case '{case.id}' has a column '{name}', which [{expansion.name}] makes; rename one of them"
        yield from expansion.case_mistakes(case, self.data)

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
