"""Arguments that are transcripts, or tests to run first: what `hate roc` and its kin work on."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.cli.options import PATH, interface_options, library_option, running_options
from harness.cli.output import remark
from harness.cli.sources import complete_transcript, http_options, opened
from harness.errors import UsageError
from harness.site.sources import Source

F = TypeVar("F", bound=Callable[..., Any])
# Options that say nothing of a transcript.
OF_RUNS = (("interface", "--interface"), ("assignments", "--param"), ("timeout", "--timeout"), ("limit", "--limit"))


def sources_argument(command: F) -> F:
    """T...: any number of transcripts or tests, and how to run the latter."""
    words = click.argument("words", nargs=-1, required=True, metavar="T...", shell_complete=complete_transcript)
    output = click.option("-o", "--output", type=PATH, metavar="FILE", help="Of a test: where its transcript goes.")
    for option in (library_option, http_options, running_options, output, interface_options, words):
        command = option(command)
    return command


def partial_option(command: F) -> F:
    """--partial."""
    return click.option("--partial", is_flag=True, help="Take incomplete transcripts too.")(command)


def read_runs(words: Sequence[str], given: dict[str, Any]) -> list[Any]:
    """The transcripts, as columns; tests are run first."""
    from harness.analysis.comparing.align import Run
    from harness.transcript.columns import read_columns

    sources = find_sources(words, given)
    return [Run(read_columns(source.path, name=source.name), source.name, source.stem) for source in sources]


def find_sources(words: Sequence[str], given: dict[str, Any]) -> list[Source]:
    """Where the transcripts are; tests are run first."""
    tests = [is_test(word, given["libraries"]) for word in words]
    _check(words, tests, given)
    texts = [_run(word, given) if test else word for word, test in zip(words, tests, strict=True)]
    one_curve = bool(given.get("swept") or given.get("repeated"))
    return opened(texts, given["http_timeout"], given["http_limit"], one_curve=one_curve)


def is_test(word: str, libraries: Sequence[str]) -> bool:
    """Whether a test is meant, and not a transcript."""
    from harness.cli.finding import is_known
    from harness.script.load import SUFFIX
    from harness.site.releases import is_test_address
    from harness.site.script_at import is_script_address

    path = Path(word)
    if word == "-" or "://" in word:
        return is_test_address(word) or is_script_address(word)
    if word.endswith(".toml") or (path.is_dir() and any(path.glob(f"*{SUFFIX}"))):
        return True
    if path.exists() or "/" in word:
        return False
    return is_known(word, libraries)


def _check(words: Sequence[str], tests: Sequence[bool], given: dict[str, Any]) -> None:
    if given["output"] is not None and sum(tests) != 1:
        raise UsageError("-o FILE is where the transcript of a test goes; name one test")
    if any(tests):
        return
    for option, name in OF_RUNS:
        if given[option]:
            raise UsageError(f"{name} is for a test that is run; {words[0]} is a transcript, or no test of that name")


def _run(test: str, given: dict[str, Any]) -> str:
    """Run a test as `hate run` does; its transcript's path."""
    from harness.cli.plan import make_plan
    from harness.cli.progress import progress
    from harness.engine.run import Options, run
    from harness.engine.target import Output

    options = Options(given["jobs"], given["timeout"], 1, given["limit"])
    choice = given.get("gallery", ()), given.get("probes", ())
    plan = make_plan(test, given["libraries"], given["interface"], given["assignments"], options, choice)
    result = run(plan, Output(given["output"]), progress())
    remark(f"transcript: {result.path}")
    return str(result.path)
