"""Import the results of other tools as transcripts: one file for each tool, which recognises its files by content."""

from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions, Reader
from harness.transcript.importing.file import ForeignFile

__all__ = ["ForeignFile", "ImportOptions", "ImportedAnswer", "ImportedRun", "Reader"]
