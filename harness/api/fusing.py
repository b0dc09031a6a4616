"""Several runs as one: `hate fuse`, `harness.fuse`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, structs

from harness.api.runs import RunResult
from harness.api.storing import store_whole
from harness.api.transcripts import OpenedTranscripts, Transcripts, open_transcripts
from harness.engine.unit_tally import has_design
from harness.files.digest import file_sha256
from harness.model import Case, Counts, ErrorKind, ErrorRule, Question, Reply, Trial
from harness.options import DownloadOptions, Range, SeedOptions, Writes, option
from harness.site.local_runs import one_line
from harness.tasks.judge import Judge
from harness.transcript.format import AlgorithmInfo, Header, InterfaceInfo, new_header
from harness.transcript.read import open_transcript

if TYPE_CHECKING:
    from harness.analysis.fusion import FusedAnswers

RULES = ("majority", "mean", "ranks", "logistic")
TIES = ("refuse", "first")


class FuseOptions(SeedOptions, DownloadOptions):
    """Options of `fuse`."""

    rule: str = option(
        "--rule", default="majority", choices=RULES,
        help="Votes; the mean of scores, by median and spread or by ranks; or weights by logistic regression.",
    )  # fmt: skip
    ties: str = option(
        "--ties", default="refuse", choices=TIES, help="What a tie gives: a refusal, or the first run's answer."
    )
    learn: tuple[str, ...] = option(
        "--learn", default=(), metavar="T", completion="transcript",
        help="Logistic: a transcript of the same algorithm on other cases; one for each, in the same order.",
    )  # fmt: skip
    folds: int | None = option(
        "--folds", default=None, within=Range(2), metavar="K",
        help="Logistic: learn on K - 1 of K parts of the sampling units, and fuse the other part.",
    )  # fmt: skip
    psu: tuple[str, ...] | None = option(
        "--psu", default=None, separator=",", metavar="COLUMN,...",
        help="Columns that make the sampling units, for --folds; by default those of the test.",
    )  # fmt: skip
    threshold: float | None = option(
        "--threshold", default=None, metavar="X", help="Threshold of the fused score; by default it follows the rule."
    )
    algorithm: str | None = option(
        "--algorithm", default=None, metavar="NAME", help="Name of the result; by default A+B."
    )
    output: Path | None = option(
        "-o", "--output", default=None, writes=Writes.TRANSCRIPT, metavar="FILE",
        help="The transcript; with .gz it is compressed.",
    )  # fmt: skip
    force: bool = option("--force", default=False, help="Overwrite an existing transcript.")


def fuse(transcripts: Transcripts, options: FuseOptions | None = None, **settings: Any) -> RunResult:
    """Combine runs of one test into one: `harness.fuse(["wisard", "witch"], rule="ranks", output="both.jsonl")`."""
    from harness.analysis.fusion import FuseRequest, FusionRule, fuse_runs
    from harness.analysis.run_rates import rate_of_transcript

    options = FuseOptions.given(options, settings)
    opened = open_transcripts(transcripts, options)
    learn = open_transcripts(options.learn, options, told_apart=False) if options.learn else OpenedTranscripts([])
    request = FuseRequest(
        rule=FusionRule(options.rule),
        first_in_ties=options.ties == "first",
        threshold=options.threshold,
        learn=learn.runs(),
        folds=options.folds,
        seed=options.seed,
        psu=options.psu,
    )
    fused = fuse_runs(opened.runs(), request)
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
    found = judge.trial(case, reply)
    timed = found.seconds if seconds == seconds else UNSET
    return structs.replace(found, stratum=trial.stratum, psu=trial.psu, seconds=timed)
