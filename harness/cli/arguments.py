"""What commands work on: transcripts, and tests that are run first."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.api.transcripts import Given, OpenedTranscripts, open_transcripts
from harness.cli.output import remark
from harness.errors import UsageError
from harness.options import (
    DownloadOptions,
    ExecutionOptions,
    InterfaceOptions,
    LibraryOptions,
    OverwriteOptions,
    ParamOptions,
    Writes,
    declared_options,
    option,
)
from harness.site.find_test import is_test


class TestRunOptions(
    InterfaceOptions, ParamOptions, ExecutionOptions, LibraryOptions, DownloadOptions, OverwriteOptions
):
    """How a test that is named instead of a transcript is run."""

    output: Path | None = option(
        "-o, --output FILE", "Where the transcript of a test that is run goes.", default=None, writes=Writes.TRANSCRIPT
    )


def find_transcripts(words: Sequence[str], options: DownloadOptions, *, told_apart: bool = True) -> OpenedTranscripts:
    """The transcripts that the user named; says where they came from before they are read."""
    opened = open_transcripts(words, options, told_apart=told_apart)
    for note in opened.notes:
        remark(f"hate: {note}")
    return OpenedTranscripts(opened.sources)


def find_or_run(words: Sequence[str], options: TestRunOptions, *, told_apart: bool = True) -> OpenedTranscripts:
    """The same for words that may be tests, which are run first."""
    tests = [is_test(word, options.libraries) for word in words]
    if options.output is not None and sum(tests) != 1:
        raise UsageError("-o FILE is where the transcript of a test goes; name one test")
    if not any(tests):
        refuse_run_options(options, f"{words[0]} is a transcript, or not the name of a test")
    if options.output is not None and options.output.exists():
        # What is read beside the test is not overwritten by its run, whatever it is called.
        beside = [word for word, test in zip(words, tests, strict=True) if not test and word != "-"]
        if beside:
            open_transcripts(beside, options, told_apart=False)
    texts = [_run_test(word, options) if test else word for word, test in zip(words, tests, strict=True)]
    return find_transcripts(texts, replace(options, output=None), told_apart=told_apart)


def find_ranks(words: Sequence[str], options: TestRunOptions) -> list[Given]:
    """The same for words that may also be similarity matrices, which are left as they are."""
    from harness.api.identification import is_matrix

    others = [word for word in words if not is_matrix(word)]
    if not others:
        refuse_run_options(options, f"{words[0]} is a similarity matrix")
    sources = iter(find_or_run(others, options).sources if others else [])
    return [next(sources) if word in others else word for word in words]


def refuse_run_options(options: TestRunOptions, why: str) -> None:
    """Raise an error if an option says how a test is run, and none is."""
    declared = [
        known for kind in (InterfaceOptions, ParamOptions, ExecutionOptions) for known in declared_options(kind)
    ]
    flags = {"output": "-o"} | {known.name: known.flag for known in declared}
    given = options.changed()
    for name, flag in flags.items():
        if name in given:
            raise UsageError(f"{flag} is for a test that is run; {why}")


def _run_test(test: str, options: TestRunOptions) -> str:
    """Run a test as `hate run` does; its transcript's path."""
    from harness.api.progress import run_progress
    from harness.api.runs import PlanOptions, failure_remarks, make_plan
    from harness.engine.plan import spare_inputs
    from harness.engine.run import refuse_blind, run
    from harness.engine.target import Target

    plan = make_plan(test, options.interface, PlanOptions.taken_from(options))
    spare_inputs(options, plan.cases.script, plan.interface)
    refuse_blind(plan)
    # Without -o, --force is for a picture: it replaces no run.
    finished = run(plan, Target(options.output, force=options.force and options.output is not None), run_progress())
    for text in failure_remarks(plan, finished):
        remark(text)
    remark(f"transcript: {finished.path}")
    return str(finished.path)
