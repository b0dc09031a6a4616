"""Read transcripts: many records at a time, for speed, or only header and counts."""

import codecs
import gzip
import hashlib
import io
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import msgspec
from msgspec import UNSET

from harness.errors import TranscriptError
from harness.model import BlindTrial, Counts, Trial
from harness.transcript.format import FORMAT, End, Header
from harness.transcript.storage import open_lines

# What msgspec raises for anything but the expected JSON.
UNUSABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
MAX_LINE_BYTES = 64 << 20
MAX_SHOWN_LENGTH = 60
# Longer than any last line, in bytes.
TAIL = 1 << 16
# Small enough that a block and its records stay in the processor's cache, which more than doubles the speed.
BLOCK = 1 << 17

# What some editors and shells write in front of a text.
_MARKS = {
    codecs.BOM_UTF8: "begins with a byte order mark, which an editor or shell added; save it as UTF-8 without one",
    codecs.BOM_UTF16_LE: "UTF-16 text, as some shells write it after `>`; let `-o FILE` write the transcript",
    codecs.BOM_UTF16_BE: "UTF-16 text, as some shells write it after `>`; let `-o FILE` write the transcript",
}

WITHHELD = "a run of a blind test: its outcomes are with the site that judges it; hand it in with `hate submit`"
_trial = msgspec.json.Decoder(Trial)
_header = msgspec.json.Decoder(Header)
_end = msgspec.json.Decoder(End)
_number = msgspec.json.Decoder(float | None)


@dataclass(frozen=True)
class TranscriptSummary:
    """A transcript without its records."""

    header: Header
    counts: Counts
    complete: bool

    @property
    def part_text(self) -> str:
        """The part of the test that the run covers, in words; empty for the whole test."""
        part, test = self.header.part, self.header.test
        texts = ["originals only"] if self.header.originals_of else []
        # In a run with --repeat, each case has several records.
        repeat = self.header.repeat
        count = self.counts.tests // (repeat if isinstance(repeat, int) and repeat > 1 else 1)
        # Older and imported transcripts only show by their number of records that cases are missing.
        if "limit" in part or (test.cases is not None and not self.header.originals_of and count < test.cases):
            texts.append(f"{count} of {test.cases}" if test.cases is not None else f"{count} cases")
        if "without_fold" in part:
            texts.append(f"without fold {part['without_fold']}")
        gallery = test.gallery
        if gallery is not UNSET and (gallery.where is not UNSET or gallery.probes is not UNSET):
            texts.append("part of gallery or probes")
        return ", ".join(texts)


class TranscriptReader:
    """Reads a transcript once; `end` and `torn` are known after the last record."""

    def __init__(self, stream: IO[bytes], name: str, record: Any = Trial) -> None:
        self.name = name
        # What a record is decoded into: a trial, or a part of one.
        self._records = _trial if record is Trial else msgspec.json.Decoder(record)
        self.end: End | None = None
        # The length of an unfinished last line, as a killed run leaves it.
        self.torn = 0
        self._reads_blind = record is BlindTrial
        self._stream = stream
        self._digest = hashlib.sha256()
        # Lines so far; in a file, those in so many bytes more are counted only for a message.
        self._number = 1
        self._uncounted = 0
        self._is_file = stream.seekable()
        # Its first line, and what comes after the records, as they are in the file.
        try:
            self.first, self.last = stream.readline(MAX_LINE_BYTES), b""
        except (OSError, EOFError, zlib.error) as error:
            raise TranscriptError(f"{self.name}: cannot be read: {error}") from None
        self.header = self._decode_header(self.first)
        self.head = len(self.first)
        self._digest.update(self.first)

    def __enter__(self) -> "TranscriptReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def blocks(self) -> Iterator[list[Trial]]:
        """The records, many at a time, for speed."""
        for body in self.bodies():
            yield self.decode(body)

    def bodies(self) -> Iterator[bytes]:
        """The lines of the records, many at a time; give each to `decode`, or say you `passed` it."""
        if self.header.is_blind and not self._reads_blind:
            raise TranscriptError(f"{self.name}: {WITHHELD}")
        while block := self._read_block():
            whole, newline, rest = (block, b"", b"") if block.endswith(b"\n") else block.rpartition(b"\n")
            if whole:
                yield from self._split(whole + newline)
            # A line without a newline: an end line whose newline was lost, or a torn record.
            if rest and (self.end is not None or _is_end(rest)):
                yield from self._split(rest)
            elif rest:
                self.torn = len(rest)

    def _split(self, data: bytes) -> Iterator[bytes]:
        """The lines of records among complete lines; an end line ends the transcript."""
        if self.end is not None:
            self._digest.update(data)
            self.last += data
            if data.strip():
                raise self._more_after_end(self._line_number() + 1)
            return
        last_start = data.rfind(b"\n", 0, -1 if data[-2:-1] > b" " else len(data.rstrip())) + 1
        body, last = (data[:last_start], data[last_start:]) if _is_end(data[last_start:]) else (data, b"")
        self._digest.update(body)
        if body:
            yield body
        if last:
            self.end = self._decode_end(last)
            self._digest.update(last)
            self.last = last

    def decode(self, body: bytes) -> list[Trial]:
        """The records in some lines."""
        try:
            trials: list[Trial] = self._records.decode_lines(body)
        except UNUSABLE:
            self._find_bad_line(body)
            raise
        self.passed(body, len(trials))
        return trials

    def take_records(self, record: Any) -> None:
        """What to decode records into, if that was not known before the header."""
        self._records = msgspec.json.Decoder(record)
        self._reads_blind = record is BlindTrial

    def passed(self, body: bytes, records: int) -> None:
        """Note lines that have been decoded, into so many records."""
        # A record is a line: one in two lines would be read or not by where a block ends. Blank lines are nothing.
        if records and not (body.count(b"\n") == records == body.count(b"}\n{") + 1):
            self._find_bad_line(body)
        if self._is_file:
            self._uncounted += len(body)
        else:
            self._number += body.count(b"\n")

    def _line_number(self) -> int:
        """The number of the last line that was decoded; only for errors, since reading cannot go on after this."""
        if self._uncounted:
            self._stream.seek(self.head)
        while self._uncounted and (part := self._stream.read(min(BLOCK, self._uncounted))):
            self._number += part.count(b"\n")
            self._uncounted -= len(part)
        return self._number

    @property
    def is_plain(self) -> bool:
        """Whether what is read are the bytes of a file, and not those that it was made from."""
        return isinstance(self._stream, io.BufferedReader) and isinstance(self._stream.raw, io.FileIO)

    @property
    def sha256(self) -> str:
        """The SHA-256 of all that was read, uncompressed."""
        return self._digest.hexdigest()

    def _find_bad_line(self, body: bytes) -> None:
        """Raise an error that names the bad line, if there is one."""
        for index, line in enumerate(body.split(b"\n"), 1):
            try:
                if line.strip():
                    self._records.decode(line)
            except UNUSABLE as error:
                number = self._line_number() + index
                if _is_end(line):
                    raise self._more_after_end(number + 1) from None
                raise TranscriptError(f"{self.name}:{number}: {_explain(line, error)}") from None

    def _more_after_end(self, number: int) -> TranscriptError:
        return TranscriptError(f"{self.name}:{number}: there is more after the end line")

    def _decode_header(self, line: bytes) -> Header:
        if not line.strip():
            raise TranscriptError(f"{self.name}:1: empty; a transcript begins with a header")
        if mark := next((mark for mark in _MARKS if line.startswith(mark)), None):
            # Not skipped: the sha256 of a transcript is over its bytes, and these are not the bytes that were written.
            raise TranscriptError(f"{self.name}:1: {_MARKS[mark]}")
        try:
            kind = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
            if bytes(kind.get("hate", b"")) != b'"transcript"':
                raise msgspec.ValidationError("it does not begin with a transcript's header")
            if bytes(kind.get("format", b"")) != str(FORMAT).encode():
                version = bytes(kind.get("format", b"missing")).decode()
                raise TranscriptError(f"{self.name}:1: format {version} is not known here, only {FORMAT}")
            return _header.decode(line)
        except UNUSABLE as error:
            raise TranscriptError(f"{self.name}:1: not a transcript: {_error_text(error)}") from None

    def _decode_end(self, line: bytes) -> End:
        try:
            end = _end.decode(line)
        except UNUSABLE as error:
            raise TranscriptError(f"{self.name}:{self._line_number() + 1}: {_error_text(error)}") from None
        if end.sha256 and end.sha256 != self._digest.hexdigest():
            raise TranscriptError(f"{self.name}: its content does not have its sha256; it was changed or damaged")
        self._number += 1
        return end

    def _read_block(self) -> bytes:
        """Whole lines, except perhaps at the end of the file."""
        try:
            block = self._stream.read(BLOCK)
            rest = self._stream.readline(MAX_LINE_BYTES) if block else b""
        except (OSError, EOFError, zlib.error) as error:
            raise TranscriptError(f"{self.name}: cannot be read: {error}") from None
        if len(rest) == MAX_LINE_BYTES and not rest.endswith(b"\n"):
            number = self._line_number() + block.count(b"\n") + 1
            raise TranscriptError(f"{self.name}:{number}: a line of more than {MAX_LINE_BYTES >> 20} MiB")
        return block + rest


def _is_end(line: bytes) -> bool:
    """Whether a line is the end line; other tools may write its keys in any order."""
    if b'"end"' not in line:
        return False
    try:
        keys = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except UNUSABLE:
        return False
    return "id" not in keys and bytes(keys.get("end", b"")) == b"true"


def open_transcript(path: Path, *, name: str | None = None, record: Any = Trial) -> TranscriptReader:
    """Open a transcript, plain or gzipped; `-` is standard input. `name` is for messages, by default the path."""
    if str(path) == "-":
        return TranscriptReader(sys.stdin.buffer, "standard input", record)
    try:
        stream = open_lines(path)
    except OSError as error:
        raise TranscriptError(f"{name or path}: {error.strerror}") from None
    try:
        return TranscriptReader(stream, name or str(path), record)
    except TranscriptError:
        stream.close()
        raise


def record_type(header: Header) -> Any:
    """What the records of a transcript are decoded into, outcomes or not."""
    return BlindTrial if header.is_blind else Trial


def summarise(path: Path) -> TranscriptSummary:
    """Header and counts; every record is checked."""
    tally = Counts()
    with open_transcript(path) as reader:
        for block in reader.blocks():
            tally += Counts.of(block)
    if reader.end is not None and reader.end.counts != tally:
        raise TranscriptError(f"{path}: its last line says {reader.end.counts}, its records are {tally}")
    return TranscriptSummary(reader.header, tally, reader.end is not None)


def glance(path: Path) -> TranscriptSummary:
    """Header and counts from the first and last lines alone; an incomplete transcript is read as by `summarise`."""
    with open_transcript(path) as reader:
        header = reader.header
    try:
        end = read_end(path)
        if end is None:
            return summarise(path)
        # As many as there are answers; what they are worth is not known here.
        withheld = Counts(FN=end.tests, ER=end.ER)
        return TranscriptSummary(header, withheld if header.is_blind else end.counts, complete=True)
    except (OSError, EOFError, zlib.error, *UNUSABLE) as error:
        raise TranscriptError(f"{path}: cannot be read: {error}") from None


def read_end(path: Path) -> End | None:
    """The last line; None for a transcript that has none. It is not checked against what stands above it."""
    last = _tail(path).rstrip().rpartition(b"\n")[2]
    return _end.decode(last) if _is_end(last) else None


def _tail(path: Path) -> bytes:
    """The last bytes of a transcript; a compressed one has to be decompressed for that."""
    with open_lines(path) as stream:
        if end := getattr(getattr(stream, "raw", None), "end", b""):  # Parquet has it in its metadata
            return cast("bytes", end)
        if not isinstance(stream, gzip.GzipFile):
            stream.seek(max(0, path.stat().st_size - TAIL))
            return stream.read()
        tail = b""
        while block := stream.read(BLOCK):
            tail = (tail + block)[-TAIL:]
        return tail


def _error_text(error: Exception) -> str:
    """What is wrong, in words."""
    return "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


def _explain(line: bytes, error: Exception) -> str:
    """What is wrong with the line of a record."""
    if isinstance(error, msgspec.ValidationError):
        try:
            outcome = msgspec.json.decode(line).get("outcome")
            if outcome not in ("TP", "TN", "FP", "FN"):
                return f"outcome {outcome!r} is not one of TP, TN, FP, FN"
        except (*UNUSABLE, AttributeError):
            pass
        if "`$.values" in str(error):
            return _explain_values(line) or _error_text(error)
    return _error_text(error)


def _explain_values(line: bytes) -> str:
    """Which of the values is bad, as msgspec does not say; empty if the line is bad in another way, too."""
    try:
        values = msgspec.json.decode(line, type=dict[str, msgspec.Raw])["values"]
    except UNUSABLE:
        return ""
    if not bytes(values).startswith(b"{"):
        return f"values {_cut(values)} is not a mapping of names to numbers; leave it out if there are none"
    for name, raw in msgspec.json.decode(values, type=dict[str, msgspec.Raw]).items():
        try:
            _number.decode(raw)
        except UNUSABLE:
            return f"values: {name!r} is {_cut(raw)}, not a finite number; leave it out if there is none"
    return ""


def _cut(raw: msgspec.Raw) -> str:
    text = bytes(raw).decode(errors="replace")
    return text if len(text) <= MAX_SHOWN_LENGTH else f"{text[: MAX_SHOWN_LENGTH - 3]}..."
