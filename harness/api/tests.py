"""What a test is about, and its cases: `describe`, `cases`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from harness.api.result import Result
from harness.api.runs import AnyTest, load_test
from harness.errors import UsageError
from harness.model import Question, plain_text
from harness.options import LibraryOptions
from harness.options.cases import CaseListOptions
from harness.report.blocks import Block, Cell, Heading, Paragraphs, Table
from harness.report.brief import brief_text
from harness.report.description import description_page, facts_page, facts_text, test_facts
from harness.report.formats import Format, encode_json
from harness.report.text import json_text
from harness.script.cases import CaseSet, training
from harness.script.expansion import Expansion
from harness.script.gallery import enrolment

# Cases of a test that a notebook shows.
MAX_SHOWN = 20


@dataclass(frozen=True, repr=False)
class DescribeResult(Result):
    """What is known of a test: its data, training material, parameters, design and numbers of cases."""

    facts: dict[str, Any]
    expansion: Expansion | None

    def payload(self) -> Any:
        return self.facts

    def plain(self) -> str:
        """A page in Markdown."""
        return facts_page(self.facts, self.expansion)

    @property
    def page(self) -> str:
        """What the author says about the test, in Markdown."""
        return description_page(self.facts)

    def lists(self, width: int = 100) -> str:
        """Data, parameters and design, for a terminal."""
        return facts_text(self.facts, self.expansion, width)

    def render(self, style: Format | str = Format.PLAIN, width: int = 100, *, everything: bool = False) -> str:
        """The page, in Markdown too; for a terminal, with lists that fit it."""
        if style == Format.MD:
            return self.plain()
        if style == Format.TABLE:
            return f"{self.page}\n{self.lists(width)}"
        return super().render(style, width, everything=everything)

    def blocks(self) -> Sequence[Block]:
        """The author's words, and a row for each fact."""
        words = [self.facts["synopsis"], self.facts["description"].strip()]
        return [
            Heading(f"{self.facts['name']} {self.facts['version']}"),
            Paragraphs(list(filter(None, words))),
            Table(["fact", "value"], list(_fact_rows(self.facts))),
        ]


def _fact_rows(facts: dict[str, Any], prefix: str = "") -> Iterator[list[Cell]]:
    """Each fact by its name in JSON, nested ones with dots."""
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from _fact_rows(value, f"{prefix}{name}.")
        elif name != "description":
            yield [f"{prefix}{name}", _cell(value)]


def describe(test: AnyTest, *, options: LibraryOptions) -> DescribeResult:
    """What a test is about: data and training material and where it is, parameters, design, numbers of cases.

    >>> print(harness.describe("hdigits"))
    """
    cases = load_test(test, libraries=options.libraries, offline=options.offline)
    return DescribeResult(test_facts(cases), cases.script.expansion)


@dataclass(frozen=True, repr=False)
class CaseListResult(Result):
    """The cases of a test as a program is told of them; going through it reads them again each time.

    Each is a dictionary: `id`, `input`, the claim `expect` where a program is told it, and `columns`.
    """

    test: CaseSet
    options: CaseListOptions

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return islice(self._records(), self.options.limit)

    def __len__(self) -> int:
        if self.options.part == "cases":
            total = len(self.test)
            return total if self.options.limit is None else min(total, self.options.limit)
        return sum(1 for _ in self)

    def _records(self) -> Iterator[dict[str, Any]]:
        test = self.test
        if self.options.part == "cases":
            return _case_records(test, truth=self.options.truth)
        if self.options.part == "train":
            return map(_question_record, training(test.script, test.data_paths))
        return iter(()) if test.gallery is None else map(_question_record, enrolment(test.gallery, test.references))

    def payload(self) -> Any:
        return {"cases": list(self)}

    def parts(self, style: Format, width: int = 100, *, everything: bool = False) -> Iterator[str]:
        """What `render` returns, in parts: there may be more cases than fit into memory."""
        if style is Format.PLAIN:
            return (json_text(encode_json(record).decode()) + "\n" for record in self)
        return super().parts(style, width, everything=everything)

    def plain(self) -> str:
        """JSON lines, with every input as it is."""
        return "".join(self.parts(Format.PLAIN))

    def blocks(self) -> Sequence[Block]:
        return [self.table()]

    def summary(self) -> Sequence[Block]:
        """The first cases, and how many there are."""
        first, total = list(islice(self, MAX_SHOWN)), len(self)
        more = [Paragraphs([f"the first {len(first):,} of {total:,} cases"])] if len(first) < total else []
        return [_record_table(first), *more]

    def __repr__(self) -> str:
        first = _record_table(list(islice(self, MAX_SHOWN)))
        return brief_text(type(self).__name__, [first], self.further, rows=len(self))

    def table(self) -> Table:
        """A row for each case."""
        return _record_table(list(self))


def cases(test: AnyTest, *, options: CaseListOptions) -> CaseListResult:
    """The cases of a test as a program is told of them, to compute answers elsewhere.

    >>> for case in harness.cases("hdigits", limit=2):
    ...     print(case["id"], case["input"])
    """
    loaded = load_test(test, libraries=options.libraries, offline=options.offline)
    if options.truth and loaded.script.is_blind:
        raise UsageError(f"{loaded.name}: a blind test; what is true is with its site")
    if options.truth and options.part != "cases":
        raise UsageError(f"--truth is about the cases; --part {options.part} shows its labels anyway")
    if options.part == "gallery" and loaded.gallery is None:
        raise UsageError(f"{loaded.name} has no gallery; only rank tests have one")
    if options.part == "train" and next(training(loaded.script, loaded.data_paths), None) is None:
        raise UsageError(f"{loaded.name} has no training part")
    return CaseListResult(loaded, options)


def _case_records(test: CaseSet, *, truth: bool) -> Iterator[dict[str, Any]]:
    maker, resolve, shows_claim = test.input_maker(), test.references.resolve, test.script.task.shows_claim
    for case in test:
        value = resolve(case.input) if maker is None else maker.make(case)[1]
        record = _question_record(Question(0, case.id, value, case.expect if shows_claim else "", case.columns))
        if truth:
            record |= {"expect": case.expect, "positive": case.positive, "truth": case.real_class}
        yield record


def _question_record(question: Question) -> dict[str, Any]:
    record: dict[str, Any] = {"id": question.id, "input": question.input}
    record |= {"expect": question.expect} if question.expect else {}
    return record | ({"columns": question.columns} if question.columns else {})


def _record_table(records: Sequence[dict[str, Any]]) -> Table:
    """A column for each column of the cases, after those that every test has."""
    fixed = [
        name for name in ("id", "input", "expect", "positive", "truth") if any(name in record for record in records)
    ]
    columns = list(dict.fromkeys(name for record in records for name in record.get("columns", {})))
    rows: list[list[Cell]] = [
        [
            *(_cell(record.get(name)) for name in fixed),
            *(_cell(record.get("columns", {}).get(name)) for name in columns),
        ]
        for record in records
    ]
    return Table([*fixed, *columns], rows)


def _cell(value: Any) -> Cell:
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    if isinstance(value, (list, dict)):
        return json_text(encode_json(value).decode())
    return value if isinstance(value, str) else plain_text(value)
