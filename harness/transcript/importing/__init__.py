"""Results of other tools as transcripts: a registry of readers, one file for each tool, recognised by content."""

from harness.transcript.importing.file import ForeignFile
from harness.transcript.importing.results import ImportedAnswer, ImportedRun, ImportOptions, Reader

__all__ = ["ForeignFile", "ImportOptions", "ImportedAnswer", "ImportedRun", "Reader"]
