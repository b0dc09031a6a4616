"""The entry point: every way a command can end becomes a line and an exit status, never a traceback."""

import os
import sys
from collections.abc import Sequence

import click

from harness import __version__
from harness.cli.commands import COMMANDS, LazyGroup, command_hint, modern_spelling
from harness.cli.progress import show_downloads
from harness.errors import HateError, Interrupted, UsageError

INTERRUPTED = 130
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=LazyGroup, context_settings=HELP)
@click.version_option(__version__, prog_name="hate")
def hate() -> None:
    """A Harness for Algorithm Testing and Exploration.

    Run an algorithm on a published test, let the harness decide what is right, and compare the transcripts.
    """


def main(args: Sequence[str] | None = None) -> None:
    """Run a command line and exit."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115 (for as long as we live)
    status = call(sys.argv[1:] if args is None else args)
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    sys.exit(status)


def call(args: Sequence[str]) -> int:
    """Run a command line; returns its exit status."""
    try:
        status = _invoke(modern_spelling(args, COMMANDS) or ["--help"])
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.ClickException as error:
        return complain(_click_text(error) + command_hint(args, COMMANDS), 2)
    except UsageError as error:
        return complain(str(error) + command_hint(args, COMMANDS), error.exit_code)
    except HateError as error:
        return complain(str(error), error.exit_code, error.note)
    except Interrupted as error:
        return complain("interrupted" if error.exit_code == INTERRUPTED else "terminated", error.exit_code, error.note)
    except (KeyboardInterrupt, click.Abort):
        return complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader has seen enough (`| head`).
        _drop_output()
        return 0
    except Exception as error:
        if "HATE_DEBUG" in os.environ:
            raise
        return complain(_unforeseen(error), 2)


def _invoke(args: list[str]) -> object:
    """Not through `hate.main`, which handles broken pipes in its own way, except when a shell completes a word."""
    if "_HATE_COMPLETE" in os.environ:
        return hate.main(args, prog_name="hate")
    with show_downloads(), hate.make_context("hate", args) as context:
        return hate.invoke(context)


def _drop_output() -> None:
    """Drop what is still buffered: nobody reads it, and Python would try to write it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(text: str, status: int, note: str = "") -> int:
    """Say what is wrong, and how to fix it."""
    from harness.report.text import safe

    lines = [safe(line) for line in text.splitlines()] or ["error"]
    lines[0] = f"hate: {lines[0]}"
    print("\n".join([*lines, *([f"hate: {safe(note)}"] if note else [])]), file=sys.stderr)
    return status


def _unforeseen(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    if isinstance(error, MemoryError):
        return "not enough memory"
    return f"internal error: {type(error).__name__}: {error}; HATE_DEBUG=1 shows where; please report it"


def _click_text(error: click.ClickException) -> str:
    text = error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{text} (see `{error.ctx.command_path} --help`)"
    return text


if __name__ == "__main__":
    main()
