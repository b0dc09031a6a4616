"""`hate convert`: a transcript in another form."""

from pathlib import Path

import click

from harness.cli.arguments import find_transcripts
from harness.cli.completion import complete_transcript
from harness.cli.options import command_options
from harness.cli.output import remark
from harness.errors import OutputError, TranscriptError, UsageError
from harness.files.outputs import check_free, refuse_inputs
from harness.options import DownloadOptions, OverwriteOptions
from harness.site.find_transcripts import Source
from harness.site.judged import remember_copy
from harness.transcript.read import open_transcript, record_type
from harness.transcript.storage import check_form, store_as


class ConvertOptions(DownloadOptions, OverwriteOptions):
    """Options of `hate convert`."""


@click.command("convert")
@click.argument("transcript", shell_complete=complete_transcript)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@command_options(ConvertOptions)
def convert_command(transcript: str, file: Path, options: ConvertOptions) -> None:
    """Store a transcript in another form, which the name of FILE tells: .jsonl, .jsonl.gz or .parquet.

    Nothing is lost: converted back, it has the very same bytes, with the same SHA-256 in its last line.

    \b
    hate convert run.jsonl run.parquet
    hate convert run.parquet run.jsonl.gz
    """
    [source] = find_transcripts([transcript], options).sources
    if str(file) == "-":
        raise UsageError("-: name a file; its name tells the form, .jsonl, .jsonl.gz or .parquet")
    refuse_inputs([("FILE", file)], [source.path])
    check_free([("FILE", file)], force=options.force)
    check_form(file)
    cases = _checked_cases(source)
    try:
        store_as(source.path, file)
    except OSError as error:
        raise OutputError(f"{file}: {error.strerror}; choose another place") from None
    remember_copy(source.path, file)
    remark(f"{file}: {cases:,} cases, {file.stat().st_size:,} bytes")


def _checked_cases(source: Source) -> int:
    """How many cases a complete transcript has; every record is checked, and the SHA-256 of all of them."""
    with open_transcript(source.path, name=source.name) as reader:
        reader.take_records(record_type(reader.header))
        cases = sum(map(len, reader.blocks()))
    if reader.end is None:
        raise TranscriptError(f"{source.name}: incomplete; finish it with --resume first")
    return cases
