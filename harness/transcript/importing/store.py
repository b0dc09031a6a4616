"""Write an imported transcript: whole, or not at all."""

from collections.abc import Sequence
from pathlib import Path

from harness.errors import OutputError
from harness.model import Trial
from harness.transcript.write import Writer


def store(writer: Writer, trials: Sequence[Trial]) -> Path:
    """All records and the last line; a file that cannot be finished is removed."""
    try:
        for index, trial in enumerate(trials):
            writer.append(index, trial)
        return writer.finish()
    except BaseException as error:
        writer.close()
        writer.path.unlink(missing_ok=True)
        if isinstance(error, OutputError):
            # What the writer advises is for runs, which can be resumed.
            raise OutputError(f"{str(error).partition(';')[0]}; make room, or choose another place with -o") from None
        raise
