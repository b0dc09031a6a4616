"""Read transcripts: line by line, to continue one, or in blocks, for speed; or only header and counts."""

import codecs
import gzip
import hashlib
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from harness.errors import TranscriptError
from harness.model import BlindTrial, Counts, Trial
from harness.transcript.format import FORMAT, End, Header

LONGEST_LINE = 64 << 20
# Longer than any last line, in bytes.
TAIL = 1 << 16
BLOCK = 4 << 20
LONGEST_SHOWN = 60
# What msgspec raises for anything but the expected JSON.
UNUSABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)

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
class RecordLine:
    """A record and where its line begins and ends in the file."""

    trial: Trial
    start: int
    stop: int


@dataclass(frozen=True)
class TranscriptSummary:
    """A transcript without its records."""

    header: Header
    counts: Counts
    complete: bool


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
        self._number = 1
        first = self._read_line()
        self.header = self._decode_header(first)
        self.head = len(first)
        self._digest.update(first)

    def __enter__(self) -> "TranscriptReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def blocks(self) -> Iterator[list[Trial]]:
        """The records, many at a time, for speed."""
        self._check_outcomes()
        rest = b""
        while block := self._read_block():
            whole, newline, rest = (rest + block).rpartition(b"\n")
            if newline:
                yield self._decode_block(whole + newline)
            elif len(rest) > LONGEST_LINE:
                raise TranscriptError(f"{self.name}:{self._number + 1}: a line of more than {LONGEST_LINE >> 20} MiB")
        if rest:
            yield from self._last_line(rest)

    def lines(self) -> Iterator[RecordLine]:
        """The records, each with its place in the file."""
        self._check_outcomes()
        start = self.head
        while block := self._read_line():
            if not block.endswith(b"\n"):
                for trials in self._last_line(block):
                    yield from (RecordLine(trial, start, start + len(block)) for trial in trials)
                return
            for trial in self._decode_block(block):
                yield RecordLine(trial, start, start + len(block))
            start += len(block)

    def _check_outcomes(self) -> None:
        if self.header.is_blind and not self._reads_blind:
            raise TranscriptError(f"{self.name}: {WITHHELD}")

    def _last_line(self, line: bytes) -> Iterator[list[Trial]]:
        """A line without a newline: an end line whose newline was lost, or a torn record."""
        if self.end is not None or _is_end(line):
            self._decode_block(line)
        else:
            self.torn = len(line)
        yield []

    def _decode_block(self, data: bytes) -> list[Trial]:
        """The records in complete lines; an end line ends the transcript."""
        if self.end is not None:
            if data.strip():
                raise self._more_after_end(self._number + 1)
            return []
        place = data.rfind(b"\n", 0, len(data.rstrip())) + 1
        body, last = (data[:place], data[place:]) if _is_end(data[place:]) else (data, b"")
        self._digest.update(body)
        trials = self._decode_records(body)
        if last:
            self.end = self._decode_end(last)
        return trials

    def _decode_records(self, body: bytes) -> list[Trial]:
        try:
            trials: list[Trial] = self._records.decode_lines(body)
        except UNUSABLE:
            self._find_bad_line(body)
            raise
        self._number += body.count(b"\n")
        return trials

    def _find_bad_line(self, body: bytes) -> None:
        """Raise an error that names the bad line."""
        for number, line in enumerate(body.split(b"\n"), self._number + 1):
            try:
                if line.strip():
                    self._records.decode(line)
            except UNUSABLE as error:
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
            raise TranscriptError(f"{self.name}:1: not a transcript: {_text(error)}") from None

    def _decode_end(self, line: bytes) -> End:
        try:
            end = _end.decode(line)
        except UNUSABLE as error:
            raise TranscriptError(f"{self.name}:{self._number + 1}: {_text(error)}") from None
        if end.sha256 and end.sha256 != self._digest.hexdigest():
            raise TranscriptError(f"{self.name}: its content does not have its sha256; it was changed or damaged")
        self._number += 1
        return end

    def _read_line(self) -> bytes:
        try:
            return self._stream.readline(LONGEST_LINE)
        except (OSError, EOFError, zlib.error) as error:
            raise TranscriptError(f"{self.name}: cannot be read: {error}") from None

    def _read_block(self) -> bytes:
        try:
            return self._stream.read(BLOCK)
        except (OSError, EOFError, zlib.error) as error:
            raise TranscriptError(f"{self.name}: cannot be read: {error}") from None


def _is_end(line: bytes) -> bool:
    """Whether a line is the end line; other tools may write its keys in any order."""
    if b'"end"' not in line:
        return False
    try:
        keys = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except UNUSABLE:
        return False
    return "id" not in keys and bytes(keys.get("end", b"")) == b"true"


def _text(error: Exception) -> str:
    return "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


def _explain(line: bytes, error: Exception) -> str:
    if isinstance(error, msgspec.ValidationError):
        try:
            outcome = msgspec.json.decode(line).get("outcome")
            if outcome not in ("TP", "TN", "FP", "FN"):
                return f"outcome {outcome!r} is not one of TP, TN, FP, FN"
        except (*UNUSABLE, AttributeError):
            pass
        if "`$.values" in str(error):
            return _explain_values(line) or _text(error)
    return _text(error)


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
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def open_transcript(path: Path, *, name: str | None = None, record: Any = Trial) -> TranscriptReader:
    """Open a transcript, plain or gzipped; `-` is standard input. `name` is for messages, by default the path."""
    if str(path) == "-":
        return TranscriptReader(sys.stdin.buffer, "standard input")
    try:
        stream = _open(path)
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


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path)) if packed else path.open("rb")


def summarise(path: Path) -> TranscriptSummary:
    """Header and counts; every record is checked."""
    tally = Counts()
    with open_transcript(path) as reader:
        for block in reader.blocks():
            part = Counts.of(block)
            tally = Counts(*(a + b for a, b in zip(_fields(tally), _fields(part), strict=True)))
    if reader.end is not None and _fields(reader.end.counts) != _fields(tally):
        raise TranscriptError(f"{path}: its last line says {reader.end.counts}, its records are {tally}")
    return TranscriptSummary(reader.header, tally, reader.end is not None)


def glance(path: Path) -> TranscriptSummary:
    """Header and counts from the first and last lines alone; an incomplete transcript is read as by `summarise`."""
    with open_transcript(path) as reader:
        header = reader.header
    try:
        last = _tail(path).rstrip().rpartition(b"\n")[2]
        if not _is_end(last):
            return summarise(path)
        end = _end.decode(last)
        # As many as there are answers; what they are worth is not known here.
        withheld = Counts(FN=end.tests, ER=end.ER)
        return TranscriptSummary(header, withheld if header.is_blind else end.counts, complete=True)
    except (OSError, EOFError, zlib.error, *UNUSABLE) as error:
        raise TranscriptError(f"{path}: cannot be read: {error}") from None


def _tail(path: Path) -> bytes:
    """The last bytes of a transcript; a compressed one has to be decompressed for that."""
    with _open(path) as stream:
        if not isinstance(stream, gzip.GzipFile):
            stream.seek(max(0, path.stat().st_size - TAIL))
            return stream.read()
        tail = b""
        while block := stream.read(BLOCK):
            tail = (tail + block)[-TAIL:]
        return tail


def _fields(counts: Counts) -> tuple[int, ...]:
    return msgspec.structs.astuple(counts)
