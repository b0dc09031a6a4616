"""promptfoo: `-o FILE.json` (all results of an evaluation) and `-o FILE.jsonl` (one result per line)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct, field

from harness.errors import ForeignError
from harness.model import ErrorKind
from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions, Mark, Reader
from harness.transcript.importing.file import ForeignFile, as_metric, as_text, decode, flat

PASS = "pass"  # noqa: S105 - the verdict, not a secret
# As much of a prompt as the header keeps.
MAX_PROMPT_LENGTH = 10_000
# Variables that the tool adds: they tell the turns of one test apart, not tests.
RUNTIME = ("__evalId", "__evalStepId", "__repeatIndex", "sessionId", "_conversation")
# ResultFailureReason of promptfoo: 0 none, 1 an assertion failed, 2 an error.
_BY_ERROR = 2


class _Test(Struct, frozen=True, rename="camel"):
    description: str | None = None
    assertions: list[dict[str, Any]] | None = field(default=None, name="assert")
    vars: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class _Row(Struct, frozen=True, rename="camel"):
    """A result: one prompt and provider on one test."""

    success: bool
    score: float | None = None
    test_idx: int | None = None
    prompt_idx: int | None = None
    prompt: Any = None
    provider: Any = None
    response: Any = None
    named_scores: dict[str, Any] | None = None
    latency_ms: float | None = None
    failure_reason: int | str | None = None
    error: str | None = None
    vars: dict[str, Any] | None = None
    test_case: _Test | None = None
    grading_result: Any = None

    @property
    def test(self) -> _Test:
        """The test case; empty if an old version left it out."""
        return self.test_case or _Test(vars=self.vars)


class _Runtime(Struct, frozen=True, rename="camel"):
    repeat: int | None = None


class _Settings(Struct, frozen=True):
    description: str | None = None


class _Results(Struct, frozen=True):
    """The results of an evaluation; `prompts` are the columns of its table."""

    results: list[_Row]
    prompts: list[Any] | None = None


class _Evaluation(Struct, frozen=True, rename="camel"):
    results: _Results | list[_Row]
    config: _Settings | None = None
    runtime_options: _Runtime | None = None


def is_evaluation(file: ForeignFile) -> bool:
    """Whether the keys of a JSON file are those of promptfoo."""
    results = (file.document or {}).get("results")
    rows = results.get("results") if isinstance(results, Mapping) else results
    return isinstance(rows, list) and bool(rows) and isinstance(rows[0], Mapping) and is_row(rows[0])


def is_row(line: Mapping[str, Any]) -> bool:
    return "success" in line and "provider" in line and ("vars" in line or "testCase" in line)


def begins_with_row(file: ForeignFile) -> bool:
    """Whether a file has one result of promptfoo per line."""
    return file.first_object is not None and is_row(file.first_object)


def read_json(source: ForeignFile, _options: ImportOptions) -> list[ImportedRun]:
    whole = decode(source.data, _Evaluation, source.name)
    of_version = whole.results if isinstance(whole.results, _Results) else _Results(whole.results)
    name = (whole.config or _Settings()).description or source.stem
    repeat = (whole.runtime_options or _Runtime()).repeat
    return _runs(source, _Log(name, of_version.results, of_version.prompts or [], repeat))


def read_lines(source: ForeignFile, _options: ImportOptions) -> list[ImportedRun]:
    """A file with one result per line; it does not name the evaluation."""
    rows = []
    for number, line in source.lines():
        try:
            rows.append(msgspec.convert(line, type=_Row))
        except msgspec.ValidationError as error:
            raise ForeignError(f"{source.name}:{number}: not as expected: {error}") from None
    return _runs(source, _Log(source.stem, rows))


@dataclass(frozen=True)
class _Log:
    """An evaluation, as far as a file tells."""

    name: str
    rows: Sequence[_Row]
    # The columns of the tool's table, each a provider with a prompt, and how often tests were asked, if it is known.
    prompts: Sequence[Any] = ()
    repeat: int | None = None


def _runs(source: ForeignFile, log: _Log) -> list[ImportedRun]:
    """A run for each provider with each prompt, a column of the tool's table; the order of the rows does not matter."""
    columns: dict[tuple[bool, int, str, str], list[_Row]] = {}
    for row in log.rows:
        # Old versions do not number the columns.
        key = (False, row.prompt_idx, "", "") if row.prompt_idx is not None else (True, 0, _provider(row), _label(row))
        columns.setdefault(key, []).append(row)
    ordered = sorted(columns.items())
    prompts = [_prompt(log, column[1], rows) for column, rows in ordered]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(prompts), 1)}
    cases = _Cases.of(log)
    taken: dict[str, int] = {}
    runs = []
    for (_, rows), prompt in zip(ordered, prompts, strict=True):
        provider = min(map(_provider, rows))
        algorithm = provider if len(numbers) == 1 else f"{provider} prompt {numbers[prompt]}"
        taken[algorithm] = taken.get(algorithm, 0) + 1
        if taken[algorithm] > 1:
            algorithm = f"{algorithm} {taken[algorithm]}"
        results = [_result(source, row, case, repeat) for row, case, repeat in cases.in_order(rows)]
        params = {"prompt": prompt[:MAX_PROMPT_LENGTH]} if prompt else {}
        # All its scores are shares of what was asserted.
        names = dict.fromkeys(name for result in results for name in result.marks)
        runs.append(
            ImportedRun(
                source.name,
                log.name,
                algorithm,
                results,
                tool="promptfoo",
                verdict=PASS,
                params=params,
                directions=dict.fromkeys(names, True),
            )
        )
    return runs


def _provider(row: _Row) -> str:
    if isinstance(row.provider, Mapping):
        return as_text(row.provider.get("label") or row.provider.get("id"))
    return as_text(row.provider)


def _label(row: _Row) -> str:
    """The label of the prompt, by default its template."""
    return as_text(row.prompt.get("label")) if isinstance(row.prompt, Mapping) else ""


def _prompt(log: _Log, index: int, rows: Sequence[_Row]) -> str:
    """The prompt of a column: its template, or where the file does not have that, its label."""
    column = log.prompts[index] if index < len(log.prompts) else None
    template = column.get("raw") if isinstance(column, Mapping) else None
    return as_text(template) if template else min(map(_label, rows))


@dataclass(frozen=True)
class _Cases:
    """Which tests are one case, asked several times: `--repeat` numbers each of its turns as a test of its own."""

    # The numbers of the tests that are the same, by what they ask, in order.
    turns: Mapping[bytes, Sequence[int]]
    case: Mapping[bytes, int]
    repeated: bool

    @staticmethod
    def of(log: _Log) -> "_Cases":
        """From all rows: a column may lack some tests."""
        numbers: dict[bytes, set[int]] = {}
        for row in log.rows:
            numbers.setdefault(_question(row), set()).update([] if row.test_idx is None else [row.test_idx])
        turns = {question: sorted(tests) for question, tests in numbers.items()}
        ordered = sorted(turns, key=lambda question: (turns[question][:1], question))
        # A file that says that tests were asked once may still have the same test twice.
        repeated = log.repeat != 1 and any(len(tests) > 1 for tests in turns.values())
        return _Cases(turns, {question: number for number, question in enumerate(ordered)}, repeated)

    def in_order(self, rows: Sequence[_Row]) -> list[tuple[_Row, int, int]]:
        """The rows of one column by case and turn, each with both."""
        unnumbered: dict[bytes, int] = {}
        ordered = []
        # Old versions do not number the tests: turns of one case then come in some order, which is always the same.
        for row in sorted(rows, key=lambda row: sha256(_encode(row)).digest()):
            question = _question(row)
            if row.test_idx is None:
                unnumbered[question] = unnumbered.get(question, 0) + 1
                ordered.append((row, self.case[question], unnumbered[question]))
            elif self.repeated:
                ordered.append((row, self.case[question], self.turns[question].index(row.test_idx) + 1))
            else:
                ordered.append((row, row.test_idx, 1))
        return sorted(ordered, key=lambda turn: turn[1:])


def _question(row: _Row) -> bytes:
    """What a test asks, without what the tool adds when it runs."""
    test = row.test
    variables = [
        {name: value for name, value in part.items() if name not in RUNTIME}
        for part in (row.vars or {}, test.vars or {})
    ]
    return _encode([test.description, test.assertions, test.metadata, variables])


_encode = msgspec.json.Encoder(order="sorted").encode


def _result(source: ForeignFile, row: _Row, case: int, repeat_number: int) -> ImportedAnswer:
    location = f"{source.name}: test {case} of {_provider(row)}"
    failed = row.failure_reason == _BY_ERROR or (row.failure_reason is None and row.error and not row.grading_result)
    output = row.response.get("output") if isinstance(row.response, Mapping) else row.response
    test = row.test
    description: dict[str, Any] = {"description": test.description} if test.description else {}
    marks: dict[str, Mark] = {PASS: float(row.success)}
    if row.score is not None:
        marks["score"] = as_metric(row.score, f"{location}: score")
    marks |= {name: as_metric(value, f"{location}: {name}") for name, value in (row.named_scores or {}).items()}
    return ImportedAnswer(
        id=str(case),
        location=location,
        marks=marks,
        expect=_expected(test),
        actual=None if failed else output if isinstance(output, str | int | float | None) else as_text(output),
        error=ErrorKind.CRASH if failed else None,
        message=(row.error or "") if failed else "",
        seconds=None if row.latency_ms is None else row.latency_ms / 1000,
        repeat=repeat_number,
        columns=description | flat(row.vars or test.vars or {}) | flat(test.metadata or {}),
    )


def _expected(test: _Test) -> str:
    """What the assertions require: the value of the only one, or all of them."""
    assertions = test.assertions or []
    if len(assertions) == 1 and isinstance(assertions[0].get("value"), str):
        return as_text(assertions[0]["value"])
    return as_text([{key: item.get(key) for key in ("type", "value")} for item in assertions]) if assertions else ""


_WHAT = "an evaluation of promptfoo"
READERS: tuple[Reader, ...] = (
    Reader("promptfoo", _WHAT, begins_with_row, read_lines),
    Reader("promptfoo", _WHAT, is_evaluation, read_json),
)
