"""The exception tree: what a user is told, and the exit status that goes with it."""


class HateError(Exception):
    """Anything a user can put right; the text gives place, value and remedy in a line."""

    exit_code = 2
    # What was saved, and how to carry on; printed after the text.
    note = ""


class UsageError(HateError):
    """The command line asks for something that does not exist or does not fit."""


class ScriptError(HateError):
    """A test script, its tables or its data are not what the format says."""


class InterfaceError(HateError):
    """An interface cannot be loaded, or its program cannot be started."""


class TranscriptError(HateError):
    """A transcript cannot be read, or does not fit what is asked of it."""


class ForeignError(HateError):
    """Results of another tool cannot be read, or do not say what a transcript needs."""


class OutputError(HateError):
    """The machine refused a result: full disk, no permission, a file in the way."""


class DataError(HateError):
    """Data cannot be had: a download, a digest or an archive is wrong."""


class Unreachable(DataError):
    """A server does not answer at the moment; an older copy may do."""


class MissingExtra(HateError):
    """An optional library is not installed; the text says how to install it."""


class RunAborted(HateError):
    """There was an error, and the script says that an error ends the run."""

    exit_code = 1


class Interrupted(BaseException):
    """A signal ended the run. Not an Exception, so that no interface can swallow it by accident."""

    note = ""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.exit_code = 128 + signum
