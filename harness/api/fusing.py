"""Several runs as one: `hate fuse`, `harness.fuse`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, structs

from harness.api.runs import RunResult
from harness.api.storing import store_whole
from harness.api.transcripts import OpenedTranscripts, Transcripts, open_transcripts
from harness.engine.tallies import has_design
from harness.files.digest import file_sha256
from harness.model import Case, Counts, ErrorKind, ErrorRule, Question, Reply, Trial
from harness.options.comparing import FuseOptions
from harness.site.local_runs import one_line
from harness.tasks.judge import Judge
from harness.transcript.format import AlgorithmInfo, Header, InterfaceInfo, new_header
from harness.transcript.read import open_transcript

if TYPE_CHECKING:
    from harness.analysis.fusion import FusedAnswers


def fuse(transcripts: Transcripts, *, options: FuseOptions) -> RunResult:
    """Combine the answers of several runs of one test into a transcript like any other.

    >>> harness.fuse(["wisard", "witch"], rule="ranks", output="both.jsonl")

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned.
    """
    from harness.analysis.fusion import fuse_runs
    from harness.analysis.rate_errors import rate_of_transcript

    opened = open_transcripts(transcripts, options)
    learn = open_transcripts(options.learn, options, told_apart=False) if options.learn else OpenedTranscripts([])
    fused = fuse_runs(opened.runs(), options, learn.runs())
    header = _header(fused, opened, learn, options)
    trials = _trials(fused, opened, header)
    path = store_whole(header, trials, options.output, force=options.force, spared=[*opened.paths, *learn.paths])
    designed = has_design(header.design) or header.repeat
    notes = [*opened.notes, *learn.notes, *fused.notes, f"transcript: {path}"]
    design = rate_of_transcript(path) if designed else None
    return RunResult(header.params, Counts.of(trials), path, design, remarks=notes)


def _header(fused: "FusedAnswers", opened: OpenedTranscripts, learn: OpenedTranscripts, options: FuseOptions) -> Header:
    """The header of the first run, with what was fused in place of what was run."""
    aligned, first = fused.aligned, fused.aligned.headers[0]
    told: dict[str, Any] = {"rule": options.rule, "ties": options.ties, "sources": _sources(opened, aligned.headers)}
    if learn.sources:
        headers = [run.columns.header for run in learn.runs(lean=True)]
        told["learn"] = _sources(learn, headers)
    if options.folds is not None:
        told |= {"folds": options.folds, "seed": options.seed}
    return new_header(
        first.test,
        AlgorithmInfo(options.algorithm or "+".join(aligned.names)),
        InterfaceInfo(kind=f"fuse: {options.rule}"),
        plugins=[],
        params={"threshold": fused.threshold},
        design=first.design,
        repeat=first.repeat,
        limit=first.limit,
        train=first.train,
        extent=first.part or UNSET,
        fused=told | fused.learnt,
    )


def _sources(opened: OpenedTranscripts, headers: Sequence[Header]) -> list[dict[str, Any]]:
    """Which transcripts these are: the algorithm, the file and its digest."""
    return [
        {
            "name": header.algorithm.name,
            "version": header.algorithm.version,
            "params": header.params,
            # Of what was downloaded or piped, what it was called: its file is a copy.
            "file": source.path.name if source.name == one_line(str(source.path)) else source.name,
            "sha256": file_sha256(source.path),
        }
        for source, header in zip(opened.sources, headers, strict=True)
    ]


def _trials(fused: "FusedAnswers", opened: OpenedTranscripts, header: Header) -> list[Trial]:
    """The fused answers, judged as any other; what is known of a case is taken from the first run."""
    with open_transcript(opened.paths[0]) as reader:
        first = [trial for block in reader.blocks() for trial in block]
    rule = ErrorRule(header.test.errors) if isinstance(header.test.errors, str) else ErrorRule.FAILURE
    task = header.test.find_task()
    judge = Judge(task, header.test.rules, header.params, errors=rule, repeated=header.repeat is not UNSET)
    seconds = fused.aligned.seconds.sum(axis=0).tolist()
    return [
        _trial(judge, trial, fused, index, seconds[index]) for index, trial in enumerate(first[: len(fused.answers)])
    ]


def _trial(judge: Judge, trial: Trial, fused: "FusedAnswers", index: int, seconds: float) -> Trial:
    """One case: all programs have run, so it takes as long as all of them."""
    columns = trial.columns if isinstance(trial.columns, dict) else {}
    case = Case(trial.id, None, trial.expect or "", trial.outcome.positive, trial.truth or "", columns)
    turn = trial.repeat if isinstance(trial.repeat, int) else 1
    failed = fused.failed[index]
    reply = Reply(
        Question(index, trial.id, None, repeat=turn),
        fused.answers[index],
        ErrorKind(trial.error) if failed and trial.error else None,
        f"every run has an error; the first: {trial.message or trial.error}" if failed else "",
        seconds if seconds == seconds else 0.0,
    )
    judged = judge.trial(case, reply)
    timed = judged.seconds if seconds == seconds else UNSET
    return structs.replace(judged, stratum=trial.stratum, psu=trial.psu, seconds=timed)
