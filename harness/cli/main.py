"""The entry point: every way a command can end becomes a line and an exit status, never a traceback.

Nothing slow is imported before `main` has taken over Ctrl-C, which would otherwise end in a traceback.
"""

import _signal as signal  # type: ignore[import-not-found]  # what `signal` wraps, without the import of enum
import os
import sys

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import Any, NoReturn

    import click

INTERRUPTED = 130
# Records come by the million and have no cycles; looking for cycles as often as Python does takes a tenth of the time.
GARBAGE = (20_000, 20, 20)
# Whether Ctrl-C was pressed: an import that it breaks may fail with another error.
_ctrl_c = {"pressed": False}


def main(args: "Sequence[str] | None" = None) -> None:
    """Run a command line and exit."""
    signal.signal(signal.SIGINT, _quit)
    sys.unraisablehook = _unraisable
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 (for as long as we live)
    import gc

    import harness.cli.commands  # noqa: F401 (the slow part, which nobody need interrupt cleanly)

    gc.set_threshold(*GARBAGE)
    signal.signal(signal.SIGINT, _interrupt)
    status = call(sys.argv[1:] if args is None else args)
    signal.signal(signal.SIGINT, _quit)
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    sys.exit(status)


def _quit(_signum: int = signal.SIGINT, _frame: "FrameType | None" = None) -> "NoReturn":
    """End at once: there is nothing to save before a command has begun, or after it has ended."""
    os.write(2, b"hate: interrupted\n")
    os._exit(INTERRUPTED)


def _interrupt(_signum: int, _frame: "FrameType | None") -> "NoReturn":
    if _ctrl_c["pressed"]:
        _quit()
    _ctrl_c["pressed"] = True
    raise KeyboardInterrupt


def _unraisable(problem: "Any") -> None:
    """Python would print an interrupt that falls into a destructor, and go on."""
    if isinstance(problem.exc_value, KeyboardInterrupt):
        _quit()
    sys.__unraisablehook__(problem)


def call(args: "Sequence[str]") -> int:
    """Run a command line; returns its exit status."""
    import click

    from harness.cli.commands import KnownCommands, command_hint, modern_spelling
    from harness.errors import HateError, Interrupted, UsageError

    try:
        status = _invoke(modern_spelling(args, KnownCommands()) or ["--help"])
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.ClickException as error:
        return complain(_click_text(error) + command_hint(args, KnownCommands()), 2)
    except UsageError as error:
        return complain(str(error) + command_hint(args, KnownCommands()), error.exit_code, error.note)
    except (HateError, Interrupted) as error:
        return complain(str(error), error.exit_code, error.note)
    except (KeyboardInterrupt, click.Abort):
        return complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader has seen enough (`| head`).
        _drop_output()
        return 0
    except Exception as error:
        pressed = _ctrl_c["pressed"]
        if "HATE_DEBUG" in os.environ and not pressed:
            raise
        return complain("interrupted", INTERRUPTED) if pressed else complain(_unforeseen(error), 2)


def _invoke(args: list[str]) -> object:
    """Not through `hate.main`, which handles broken pipes in its own way, except when a shell completes a word."""
    from harness.cli.commands import hate

    if "_HATE_COMPLETE" in os.environ:
        return hate.main(args, prog_name="hate")
    with hate.make_context("hate", args) as context:
        from harness.api.progress import show_downloads  # not for a list of commands

        with show_downloads():
            return hate.invoke(context)


def _drop_output() -> None:
    """Drop what is still buffered: nobody reads it, and Python would try to write it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(text: str, status: int, note: str = "") -> int:
    """Say what is wrong, and how to fix it."""
    from harness.report.text import safe, say

    say(f"hate: {text.rstrip() or 'error'}")
    if note:
        say(f"hate: {safe(note)}")
    return status


def _unforeseen(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    if isinstance(error, MemoryError):
        return "not enough memory"
    from harness.plugins import culprit

    where, whom = (name, " to its authors") if (name := culprit(error)) else ("internal error", "")
    return f"{where}: {type(error).__name__}: {error}; HATE_DEBUG=1 shows where; please report it{whom}"


def _click_text(error: "click.ClickException") -> str:
    import click

    text = " ".join(error.format_message().split())  # a list of choices has a line for each
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{text} (see `{error.ctx.command_path} --help`)"
    return text


if __name__ == "__main__":
    main()
