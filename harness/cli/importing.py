"""`hate import`: results of other tools as transcripts; `hate convert`: transcripts in other forms."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

import click

from harness.api.importing import ConvertOptions, LoadOptions, convert, import_files
from harness.cli.arguments import find_transcripts
from harness.cli.completion import complete_transcript
from harness.cli.options import PATH, FormatOptions, command_options
from harness.cli.output import emit_result, remark
from harness.transcript.importing.registry import formats


class ImportCommandOptions(LoadOptions, FormatOptions):
    """Options of `hate import`, and how to print."""


def _help() -> str:
    """What the command does, and the formats that it knows, from the registry."""
    known = formats()
    column = max(map(len, known)) + 2
    listed = "\n".join(
        textwrap.fill(what, 76, initial_indent=f"  {name:<{column}}", subsequent_indent=" " * (column + 2))
        for name, what in known.items()
    )
    return f"""Turn results of other tools into transcripts, so that they can be compared.

FILE is recognised by its content. --from takes one of these names, or that of a plug-in:

\b
{listed}

Columns of a table are known by their usual names (y_true, y_pred, y_score), or named by options; nested keys have dots.

\b
hate import predictions.csv --test toy --algorithm mine
hate import logs/*.eval -o mine.jsonl
"""


@click.command("import", help=_help())
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
@command_options(ImportCommandOptions)
def import_command(files: Sequence[Path], options: ImportCommandOptions) -> None:
    emit_result(import_files(files, options), options.style)


@click.command("convert")
@click.argument("transcript", shell_complete=complete_transcript)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@command_options(ConvertOptions)
def convert_command(transcript: str, file: Path, options: ConvertOptions) -> None:
    """Store a transcript in another form, which the name of FILE tells: .parquet, .gz, or else JSON Lines.

    Nothing is lost: converted back, it has the very same bytes, with the same SHA-256 in its last line.

    \b
    hate convert run.jsonl run.parquet
    hate convert run.parquet run.jsonl.gz
    """
    for text in convert(find_transcripts([transcript], options).sources[0], file, options=options).remarks:
        remark(text)
