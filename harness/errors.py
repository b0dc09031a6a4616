"""The exceptions: what the user is told, and the exit status of each."""

from signal import SIGINT


class Quoting(str):
    """A text with words of others in it, such as what a program said, which nobody puts into other words."""

    quoted: tuple[str, ...] = ()


def quoting(text: str, *quoted: str) -> str:
    """A text that quotes these words, or the words that these quote."""
    if not quoted:
        return text
    made = Quoting(text)
    made.quoted = tuple(words for part in quoted for words in (quoted_in(part) or (str(part),)))
    return made


def quoted_in(text: str) -> tuple[str, ...]:
    """The words of others in a text."""
    return text.quoted if isinstance(text, Quoting) else ()


class HateError(Exception):
    """Anything a user can put right; the text gives place, value and remedy in one line."""

    exit_code = 2
    # What was saved, and how to carry on; printed after the text.
    note = ""


class UsageError(HateError):
    """The command line asks for something that does not exist or does not fit."""


class ScriptError(HateError):
    """A test script, its tables or its data do not follow the format."""


class InterfaceError(HateError):
    """An interface cannot be loaded, or its program cannot be started."""


class TranscriptError(HateError):
    """A transcript cannot be read, or cannot be used for the request."""


class ForeignError(HateError):
    """Results of another tool cannot be read, or lack what a transcript needs."""


class OutputError(HateError):
    """A result cannot be written: full disk, no permission, or the file exists."""


class DataError(HateError):
    """Data cannot be obtained: a download, a digest or an archive is wrong."""


class DataSpoilt(DataError):
    """The data of a test was changed while an algorithm was reading it."""

    exit_code = 1


class Unreachable(DataError):
    """A server does not answer at the moment; an older copy may be used instead."""


class MissingExtra(HateError):
    """An optional library is not installed; the text says how to install it."""


def missing_extra(needs: str, error: ImportError, extra: str) -> MissingExtra:
    """What to install for a library that cannot be imported."""
    return MissingExtra(f"{needs} {(error.name or '').partition('.')[0]}: pip install 'hate-harness[{extra}]'")


class RunAborted(HateError):
    """A case ended in an error, and the script says that errors end the run."""

    exit_code = 1


class Interrupted(BaseException):
    """A signal ended the run. Not an `Exception`, so that an interface does not swallow it by accident."""

    note = ""

    def __init__(self, signum: int) -> None:
        super().__init__("interrupted" if signum == SIGINT else "terminated")
        self.exit_code = 128 + signum
