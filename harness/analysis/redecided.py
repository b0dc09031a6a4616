"""Transcripts decided on anew: the same answers, another value of the decision parameter, other outcomes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from harness.analysis.deciding import deciding, limits_of
from harness.model import Outcome, Trial
from harness.transcript.format import Header
from harness.transcript.read import open_transcript
from harness.transcript.write import Writer


def write_redecided(sources: Sequence[Path], target: Path, header: Header) -> None:
    """The records of one run, or of several that are parts of one, as the parameters in the header decide on them."""
    writer = Writer.create(target, header, force=True)
    try:
        for index, trial in enumerate(_redecided(sources, header)):
            writer.append(index, trial)
        writer.finish()
    finally:
        writer.close()


def _redecided(sources: Sequence[Path], header: Header) -> Iterator[Trial]:
    limits, limit = limits_of(header), deciding(header)
    value = float(header.params[limits.param])
    for source in sources:
        with open_transcript(source) as reader:
            for trial in (trial for block in reader.blocks() for trial in block):
                positive = trial.outcome.positive
                own = limit(trial, positive)
                outcome = Outcome.of(positive=positive, accepted=own >= value if limits.falling else own <= value)
                yield trial if outcome is trial.outcome else replace(trial, outcome=outcome)
