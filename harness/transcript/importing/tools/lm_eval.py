"""lm-evaluation-harness: `samples_TASK_DATE.jsonl`, a line for each document and filter.

The names of model and task are in `results_DATE.json` beside it, and in the names of file and folder.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.errors import ForeignError
from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions, Mark, Reader
from harness.transcript.importing.file import ForeignFile, as_metric, as_text, decode, flat, is_mark
from harness.transcript.importing.metrics import NO_FILTER

_NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.:+-]+))?")
# The keys of a line that are not metrics.
_FIXED = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
# The measure of a whole task whose numbers by document are something else.
_PERPLEXITY = "perplexity"


def is_sample(line: Mapping[str, Any]) -> bool:
    """Whether a line of a JSON Lines file is one of lm-evaluation-harness."""
    return "doc_id" in line and ("filtered_resps" in line or "resps" in line)


def begins_with_sample(file: ForeignFile) -> bool:
    """Whether a file is `samples_TASK_DATE.jsonl`."""
    return file.first_object is not None and is_sample(file.first_object)


def is_summary(file: ForeignFile) -> bool:
    """Whether a file is the summary of a run, which has no documents."""
    return file.document is not None and {"results", "configs", "n-shot"} <= file.document.keys()


def refuse_summary(file: ForeignFile, _options: ImportOptions) -> list[ImportedRun]:
    raise ForeignError(f"{file.name}: a summary without documents; import samples_*.jsonl (--log_samples)")


def read(source: ForeignFile, _options: ImportOptions) -> list[ImportedRun]:
    """The results in a file, which are of one task."""
    match = _NAME.fullmatch(source.stem)
    task = match["task"] if match else source.stem
    # The summary that was written at the same time; empty if there is none.
    summary: dict[str, Any] = {}
    if match and match["date"] and (path := source.path.with_name(f"results_{match['date']}.json")).is_file():
        with contextlib.suppress(ForeignError):
            summary = decode(ForeignFile(path).data, dict[str, Any], str(path))
    versions = summary.get("versions")
    config = summary.get("config")
    model = summary.get("model_name") or (config.get("model") if isinstance(config, dict) else None)
    results = _results(source)
    imported = ImportedRun(
        source=source.name,
        test=task,
        version=as_text(versions.get(task)) if isinstance(versions, dict) else "",
        algorithm=as_text(model) or source.path.absolute().parent.name,
        results=results,
        tool="lm-evaluation-harness",
        directions=_directions(summary, task, results),
    )
    return [imported]


def _results(source: ForeignFile) -> list[ImportedAnswer]:
    documents: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, line in source.lines():
        if not is_sample(line):
            raise ForeignError(f"{source.name}:{number}: not a sample of lm-evaluation-harness: no doc_id or no resps")
        documents.setdefault(as_text(line["doc_id"]), []).append((number, line))
    # In the order of the documents, whatever that of the lines: numbers by their size, before other ids by their text.
    ids = sorted(documents, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name))
    return [_result(source, name, documents[name]) for name in ids]


def _directions(summary: Mapping[str, Any], task: str, results: Sequence[ImportedAnswer]) -> dict[str, bool]:
    """Whether more of a metric is better, as the summary says."""
    of_tasks = summary.get("higher_is_better")
    said = of_tasks.get(task) if isinstance(of_tasks, dict) else None
    known = (
        {name: larger for name, larger in said.items() if isinstance(larger, bool)} if isinstance(said, dict) else {}
    )
    names = dict.fromkeys(name for result in results for name in result.marks)
    directions = {name: known[metric] for name in names if (metric := name.partition(",")[0]) in known}
    for name in names:
        if name.partition(",")[0] == _PERPLEXITY:
            # The numbers of documents are log likelihoods: the perplexity is only made of their mean.
            marks = [mark for result in results if (mark := result.marks.get(name)) is not None]
            if marks and all(mark <= 0 for mark in marks):
                directions[name] = True
    return directions


def _filter(line: Mapping[str, Any]) -> str:
    return as_text(line.get("filter", NO_FILTER))


def _result(source: ForeignFile, doc_id: str, lines: list[tuple[int, dict[str, Any]]]) -> ImportedAnswer:
    """One document; each filter of its answer has metrics of its own, even if the file has no other filter."""
    marks: dict[str, Mark] = {}
    answers: dict[str, Any] = {}
    for number, line in lines:
        location = f"{source.name}:{number}"
        for metric, value in _metrics(line):
            name = metric if _filter(line) == NO_FILTER else f"{metric},{_filter(line)}"
            if name in marks:
                raise ForeignError(f"{location}: doc_id {doc_id} appears twice; a file holds one run of one task")
            marks[name] = as_metric(value, f"{location}: {metric}")
            answers[name] = _answer(line.get("filtered_resps", line.get("resps")), metric)
    number, line = lines[0]
    doc = line.get("doc")
    return ImportedAnswer(
        id=doc_id,
        location=f"{source.name}:{number}",
        marks=marks,
        answers=answers,
        expect=as_text(line.get("target")),
        columns=flat(doc) if isinstance(doc, dict) else {},
    )


def _metrics(line: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Metrics that are numbers; others (such as pairs of texts for BLEU) are only about the whole task."""
    names = line.get("metrics")
    for key in names if isinstance(names, list) else line:
        if isinstance(key, str) and key not in _FIXED and is_mark(line.get(key)):
            yield key, line[key]


def _answer(responses: object, metric: str) -> object:
    """The generated text; or the number of the likeliest choice, which is what `acc` judges."""
    while isinstance(responses, list) and len(responses) == 1 and not _is_likelihood(responses[0]):
        responses = responses[0]
    if isinstance(responses, list) and all(map(_is_likelihood, responses)):
        if metric != "acc" or not responses:
            return None
        likelihoods = [float(pair[0]) for pair in responses]
        return str(likelihoods.index(max(likelihoods)))
    return responses if isinstance(responses, str | int | float) else None


def _is_likelihood(value: object) -> bool:
    """Whether it is a log likelihood with a flag for the greedy choice; newer versions write both as texts."""
    if not (isinstance(value, list) and len(value) == 2 and str(value[1]) in ("True", "False")):
        return False
    try:
        float(value[0])
    except (TypeError, ValueError, OverflowError):
        return False
    return True


_NAME_OF_TOOL = "lm-evaluation-harness"
_WHAT = "a file of samples of lm-evaluation-harness"
READERS: tuple[Reader, ...] = (
    Reader(_NAME_OF_TOOL, _WHAT, begins_with_sample, read),
    Reader(_NAME_OF_TOOL, _WHAT, is_summary, refuse_summary),
)
