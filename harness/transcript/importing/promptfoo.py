"""promptfoo: `-o FILE.json` (all results of an evaluation) and `-o FILE.jsonl` (one result per line)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from harness.errors import ForeignError
from harness.model import ErrorKind
from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions, Mark, Reader
from harness.transcript.importing.file import ForeignFile, as_metric, as_text, decode, flat

PASS = "pass"  # noqa: S105 - the verdict, not a secret
# ResultFailureReason of promptfoo: 0 none, 1 an assertion failed, 2 an error.
_BY_ERROR = 2


class _Test(Struct, frozen=True, rename="camel"):
    """A test case."""

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
    """Options of the command line."""

    repeat: int | None = None


class _Settings(Struct, frozen=True):
    """The configuration."""

    description: str | None = None


class _Results(Struct, frozen=True):
    """The results of an evaluation."""

    results: list[_Row]


class _Evaluation(Struct, frozen=True, rename="camel"):
    """The whole file."""

    results: _Results | list[_Row]
    config: _Settings | None = None
    runtime_options: _Runtime | None = None


def is_evaluation(file: ForeignFile) -> bool:
    """Whether the keys of a JSON file are those of promptfoo."""
    results = (file.document or {}).get("results")
    rows = results.get("results") if isinstance(results, Mapping) else results
    return isinstance(rows, list) and bool(rows) and isinstance(rows[0], Mapping) and is_row(rows[0])


def is_row(line: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a result of promptfoo."""
    return "success" in line and "provider" in line and ("vars" in line or "testCase" in line)


def begins_with_row(file: ForeignFile) -> bool:
    """Whether a file has one result of promptfoo per line."""
    return file.first_object is not None and is_row(file.first_object)


def read_json(source: ForeignFile, _options: ImportOptions) -> list[ImportedRun]:
    """A file with a whole evaluation."""
    whole = decode(source.data, _Evaluation, source.name)
    rows = whole.results.results if isinstance(whole.results, _Results) else whole.results
    repeat = (whole.runtime_options or _Runtime()).repeat or 1
    name = (whole.config or _Settings()).description or source.stem
    return list(_runs(source, rows, name, repeat))


def read_lines(source: ForeignFile, _options: ImportOptions) -> list[ImportedRun]:
    """A file with one result per line; it does not name the evaluation."""
    rows = []
    for number, line in source.lines():
        try:
            rows.append(msgspec.convert(line, type=_Row))
        except msgspec.ValidationError as error:
            raise ForeignError(f"{source.name}:{number}: not as expected: {error}") from None
    return list(_runs(source, rows, source.stem, 1))


def _runs(source: ForeignFile, rows: Sequence[_Row], name: str, repeat: int) -> Iterator[ImportedRun]:
    """A run for each provider with each prompt; they have the same tests, so they can be compared."""
    runs: dict[tuple[int | None, str, str], list[_Row]] = {}
    for row in rows:
        runs.setdefault((row.prompt_idx, _provider(row), _prompt(row)), []).append(row)
    prompts = list(dict.fromkeys(prompt for _, _, prompt in runs))
    taken: dict[str, int] = {}
    for (_, provider, prompt), members in runs.items():
        algorithm = provider if len(prompts) == 1 else f"{provider} prompt {prompts.index(prompt) + 1}"
        taken[algorithm] = taken.get(algorithm, 0) + 1
        if taken[algorithm] > 1:
            algorithm = f"{algorithm} {taken[algorithm]}"
        results = [_result(source, row, case, repeat_number) for row, case, repeat_number in _in_order(members, repeat)]
        yield ImportedRun(source.name, name, algorithm, results, tool="promptfoo", verdict=PASS)


def _provider(row: _Row) -> str:
    if isinstance(row.provider, Mapping):
        return as_text(row.provider.get("label") or row.provider.get("id"))
    return as_text(row.provider)


def _prompt(row: _Row) -> str:
    """The label of the prompt, by default its template."""
    return as_text(row.prompt.get("label") or row.prompt.get("raw")) if isinstance(row.prompt, Mapping) else ""


def _in_order(rows: Sequence[_Row], repeat: int) -> Iterator[tuple[_Row, int, int]]:
    """Rows in the order of the tests, each with its test and repeat; `--repeat K` numbers every test K times."""
    numbered = [(number if row.test_idx is None else row.test_idx, row) for number, row in enumerate(rows)]
    numbered.sort(key=lambda pair: pair[0])
    first = {index: row for index, row in numbered if index % repeat == 0}
    regular = all(_same(first.get(index - index % repeat), row) for index, row in numbered)
    for index, row in numbered:
        yield (row, index // repeat, index % repeat + 1) if regular else (row, index, 1)


def _same(first: _Row | None, other: _Row) -> bool:
    return first is not None and first.test == other.test


def _result(source: ForeignFile, row: _Row, case: int, repeat_number: int) -> ImportedAnswer:
    place = f"{source.name}: test {case} of {_provider(row)}"
    failed = row.failure_reason == _BY_ERROR or (row.failure_reason is None and row.error and not row.grading_result)
    test = row.test
    description: dict[str, Any] = {"description": test.description} if test.description else {}
    return ImportedAnswer(
        id=str(case),
        place=place,
        marks=_marks(row, place),
        expect=_expected(test),
        actual=None if failed else _output(row.response),
        error=ErrorKind.CRASH if failed else None,
        message=(row.error or "") if failed else "",
        seconds=None if row.latency_ms is None else row.latency_ms / 1000,
        repeat=repeat_number,
        columns=description | flat(row.vars or test.vars or {}) | flat(test.metadata or {}),
    )


def _marks(row: _Row, place: str) -> dict[str, Mark]:
    marks: dict[str, Mark] = {PASS: float(row.success)}
    if row.score is not None:
        marks["score"] = as_metric(row.score, f"{place}: score")
    return marks | {name: as_metric(value, f"{place}: {name}") for name, value in (row.named_scores or {}).items()}


def _expected(test: _Test) -> str:
    """What the assertions require: the value of the only one, or all of them."""
    assertions = test.assertions or []
    if len(assertions) == 1 and isinstance(assertions[0].get("value"), str):
        return as_text(assertions[0]["value"])
    return as_text([{key: item.get(key) for key in ("type", "value")} for item in assertions]) if assertions else ""


def _output(response: object) -> Any:
    output = response.get("output") if isinstance(response, Mapping) else response
    return output if output is None or isinstance(output, str | int | float) else as_text(output)


_WHAT = "an evaluation of promptfoo"
READERS = (
    Reader("promptfoo", _WHAT, begins_with_row, read_lines),
    Reader("promptfoo", _WHAT, is_evaluation, read_json),
)
