"""What a shell completes: tests, interfaces, parameters, measures, transcripts.

Whatever is wrong with a file, a user who presses the tab key is not told: nothing is completed then.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from harness.errors import HateError

Completion = Callable[[click.Context, click.Parameter, str], list[Any]]


def _or_files(names: list[str], incomplete: str) -> list[CompletionItem]:
    """Names that go on as the word begins; where there is none, files."""
    items = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return items or [CompletionItem(incomplete, type="file")]


def complete_test(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of tests for the shell, and files."""
    from harness.script.library import find_all

    return _or_files(sorted({entry.name for entry in find_all()}), incomplete)


def complete_interface(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of bundled interfaces for the shell, and files."""
    from harness.interface.load import bundled_interfaces

    return _or_files(list(bundled_interfaces()), incomplete)


def complete_param(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Parameters of the test and of the interface that are on the command line already, as NAME=."""
    known = {**_test_params(ctx), **_interface_params(ctx)}
    return [
        CompletionItem(f"{name}=", help=f"by default {default}")
        for name, default in known.items()
        if f"{name}=".startswith(incomplete)
    ]


def _test_params(ctx: click.Context) -> dict[str, Any]:
    from harness.script.library import find_script
    from harness.script.load import load_script

    named = next((given for name in ("test", "tests", "transcripts") if (given := ctx.params.get(name))), None)
    # While an option still lacks its value, click has not given the words before it to the arguments.
    words = [named] if isinstance(named, str) else [*(named or ()), *ctx.args]
    if not words:
        return {}
    try:
        script = load_script(find_script(words[0], ctx.params.get("libraries") or ()))
    except HateError:
        return {}
    return {name: param.default for name, param in script.params.items()}


def _interface_params(ctx: click.Context) -> dict[str, Any]:
    """Code is read, not run."""
    from harness.interface.load import find_interface
    from harness.interface.python_source import read_python
    from harness.interface.toml import load_toml

    try:
        path: Path = find_interface(ctx.params.get("interface"))
        if path.suffix == ".py":
            return dict(read_python(path).params)
        return {name: param.default for name, param in load_toml(path).params.items()}
    except HateError:
        return {}


def complete_measure(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of measures for the shell."""
    from harness.measures import known_measures

    return [name for name in (*known_measures(), "rank1") if name.startswith(incomplete)]


def complete_goal(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Measures that can be tuned for, for the shell."""
    from harness.measures import goals

    return [name for name in goals() if name.startswith(incomplete)]


def complete_transcript(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of runs and of published transcripts, and files, for the shell."""
    from harness.site.find_transcripts import KnownTranscripts

    return _or_files(sorted(KnownTranscripts().names()), incomplete)


def complete_run(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the user's own runs, finished or not, and files, for the shell."""
    from harness.site.local_runs import runs_here

    return _or_files(sorted(set[str]().union(*(run.names for run in runs_here()))), incomplete)


# What a set's option may name as its completion.
COMPLETIONS: Mapping[str, Completion] = {
    "test": complete_test,
    "interface": complete_interface,
    "param": complete_param,
    "measure": complete_measure,
    "goal": complete_goal,
    "transcript": complete_transcript,
}
