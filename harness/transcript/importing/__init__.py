"""Import the results of other tools as transcripts: `tools/` has one file for each, the rest is what they share."""

from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions, Reader
from harness.transcript.importing.file import ForeignFile

__all__ = ["ForeignFile", "ImportOptions", "ImportedAnswer", "ImportedRun", "Reader"]
