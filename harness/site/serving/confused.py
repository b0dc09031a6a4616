"""What a transcript's page shows beside its counts."""

from harness.analysis.comparing.align import Run
from harness.analysis.comparing.sampling import DesignOptions
from harness.analysis.confusion import Choice, confusions
from harness.errors import HateError
from harness.report.confusion import confusion_blocks
from harness.report.document import Block, Heading
from harness.site.layout import TranscriptEntry
from harness.site.serving.site import State
from harness.transcript.columns import Columns, read_columns
from harness.transcript.format import Header
from harness.transcript.read import open_transcript

# A matrix of more classes is none for a page, and one of very many would take all memory.
MOST_CLASSES = 20
LONGEST_CLASS = 60
MOST_RECORDS = 500_000
MOST_PAIRS = 10
CONFIDENCE = 0.95


def header_of(state: State, entry: TranscriptEntry) -> Header:
    """Where a transcript came from."""
    with open_transcript(state.catalogue.place.file(entry.file), name=entry.name) as reader:
        return reader.header


def confusion_of(state: State, entry: TranscriptEntry, task: str) -> list[Block]:
    """Who is taken for whom; nothing where that makes no sense."""
    if task != "label" or entry.tests > MOST_RECORDS:
        return []
    columns = read_columns(state.catalogue.place.file(entry.file), name=entry.name)
    if not _small(columns):
        return []
    try:
        # No weights: a matrix counts every record once, and a header must not name files of ours.
        choice = Choice(confidence=CONFIDENCE, design=DesignOptions(weights="cases"))
        found = confusions([Run(columns, entry.name, entry.name)], choice)
    except HateError:
        return []
    return [Heading("Who is taken for whom"), *confusion_blocks(found, CONFIDENCE, MOST_PAIRS)[1:]]


def _small(columns: Columns) -> bool:
    labels = {*columns.truth.labels, *columns.expect.labels, *columns.actual.labels}
    return len(labels) <= MOST_CLASSES and all(len(label) <= LONGEST_CLASS for label in labels)
