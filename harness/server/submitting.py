"""Hand transcripts in at a site that is served: `harness.submit`, which `hate submit` calls."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.api.result import Result
from harness.api.runs import note
from harness.api.transcripts import Given, Transcript, listed, open_transcripts
from harness.errors import HateError, UsageError, quoting
from harness.files.mistakes import made_of_all
from harness.options import DownloadOptions, option
from harness.report.blocks import Block, Table
from harness.site.publish_candidates import NOT_A_RUN
from harness.site.urls import is_exposed, is_url, masked

if TYPE_CHECKING:
    from harness.server.submission_checks import CheckedTranscript, SubmissionClient

TOKEN = "HATE_TOKEN"  # noqa: S105 (the name of a variable)


class SubmitOptions(DownloadOptions):
    """Where transcripts are handed in, and by whom."""

    to: str = option("--to URL", "The site, as `hate serve` prints its address.")
    name: str = option("--name NAME", "Submit under this name instead of the file's.", default="")
    token_file: Path | None = option("--token-file FILE", f"Your token is in FILE; otherwise in {TOKEN}.", default=None)
    dry_run: bool = option("--dry-run", "Check what the server will check; send nothing.", default=False)


class SubmittedTranscript(NamedTuple):
    """A transcript that was handed in, or would be."""

    # TEST@VERSION/NAME.
    name: str
    # What the server said, such as "published"; or "would be sent".
    result: str
    # The address of its page; None if it has none.
    page: str | None


@dataclass(frozen=True, repr=False)
class SubmitResult(Result):
    """What a site has accepted."""

    site: str
    submitted: Sequence[SubmittedTranscript]
    remarks: Sequence[str] = ()

    def payload(self) -> dict[str, Any]:
        return {"site": self.site, "submitted": [transcript._asdict() for transcript in self.submitted]}

    def blocks(self) -> Sequence[Block]:
        """A row for each transcript."""
        rows = [[transcript.name, transcript.result, transcript.page or ""] for transcript in self.submitted]
        return [Table(["what", "result", "page"], rows)]


class PartlyRefused(UsageError):
    """Some transcripts were refused; `result` has those that were accepted."""

    def __init__(self, text: str, result: SubmitResult) -> None:
        super().__init__(text)
        self.result = result


def submit(
    transcripts: Given | Iterable[Given | Sequence[Given]], *, options: SubmitOptions, token: str | None = None
) -> SubmitResult:
    """Hand transcripts in at a site that is served, with a token from its owner.

    >>> harness.submit("mine.jsonl", to="http://localhost:8000", token_file="token.txt")

    What the server will check is checked here first, with the same code, and a mistake in one of them means that none
    is sent. The result has what the server said of each, `.submitted`. If it refuses one, that is a HateError; a
    `PartlyRefused` has what it said of the others, `.result`.

    Args:
        transcripts: Names, paths, or what `run`, `read` and `fuse` returned; one or several.
        token: Your token itself, instead of a file or the environment.
    """
    if not is_url(options.to):
        raise UsageError(f"--to {options.to}: not an address; `hate publish T... --to FOLDER` writes to a folder")
    several = listed(transcripts)
    refuse_imports(several)
    if options.name and len(several) != 1:
        raise UsageError("--name is for one transcript; name one")
    if token is not None and options.token_file is not None:
        raise UsageError("token and --token-file exclude one another; give one of them")
    token = _read_token(options.token_file) if token is None else _checked_token(token, "the argument token")
    if is_exposed(options.to):
        note(f"your token goes to {masked(options.to)} unencrypted; use https if the site has it")
    from harness.server.submission_checks import SubmissionClient

    opened = open_transcripts(several, options, told_apart=False)
    files = {source.path: options.name or _word_name(source.typed) for source in opened.sources}
    client = SubmissionClient(options.to, token)
    checked = made_of_all(files.items(), lambda file: client.check(*file), cannot="submitted")
    told = [text for submission in checked for text in submission.notes]
    remarks = [*opened.notes, *filter(None, [client.note]), *told]
    if options.dry_run:
        submitted = [SubmittedTranscript(known.full_name, "would be sent", None) for known in checked]
        return SubmitResult(options.to, submitted, remarks)
    return _send(client, checked, remarks)


def refuse_imports(given: Iterable[object]) -> None:
    """A UsageError if what `load` returned is to be published, under the name of the file that it was made of."""
    for item in given:
        if isinstance(item, Transcript) and item.header.is_imported:
            raise UsageError(f"{item.source.name}: {NOT_A_RUN}")


def _send(client: "SubmissionClient", checked: "Sequence[CheckedTranscript]", remarks: Sequence[str]) -> SubmitResult:
    """Send one after the other; what the server refuses does not stop the others."""
    submitted: list[SubmittedTranscript] = []
    messages = [*remarks]
    refusals: list[HateError] = []
    for transcript in checked:
        try:
            receipt = client.send(transcript)
        except HateError as error:
            refusals.append(error)
            continue
        page = f"{client.address.rstrip('/')}{receipt.page}" if receipt.page else None
        submitted.append(SubmittedTranscript(transcript.full_name, receipt.result, page))
        messages += [quoting(receipt.message, receipt.message)] if receipt.message else []
    result = SubmitResult(client.address, submitted, messages)
    if not refusals:
        return result
    if len(refusals) == 1 and not submitted:
        raise refusals[0]
    several = [f"{len(refusals)} were not accepted"] if len(refusals) > 1 else []
    text = "\n  ".join([*several, *map(str, refusals)])
    raise PartlyRefused(text, result) if submitted else UsageError(text)


def _word_name(word: str) -> str:
    """The name for a transcript that was given by name; empty for a file, which has one."""
    return "" if Path(word).exists() or is_url(word) else word.rpartition("/")[2]


def _read_token(path: Path | None) -> str:
    """The token in a file, or in the environment."""
    if path is None:
        return _checked_token(os.environ.get(TOKEN, ""), TOKEN)
    try:
        return _checked_token(path.read_text(encoding="utf-8"), f"--token-file {path}")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--token-file {path}: {getattr(error, 'strerror', None) or error}") from None


def _checked_token(text: str, source: str) -> str:
    if not isinstance(text, str):
        raise UsageError(f"{source}: not text but {type(text).__name__}; a token is a word such as NAME:SECRET")
    token = text.strip()
    if not token:
        raise UsageError(f"no token in {source}; the site's owner makes one with `hate token add NAME --tokens FILE`")
    if ":" not in token or not token.isascii() or len(token.split()) != 1:
        raise UsageError(f"{source}: not a token, which is one word such as NAME:SECRET")
    return token
