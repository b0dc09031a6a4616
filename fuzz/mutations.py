"""Damage to a file: of its bytes, of its text, of the values in it. The same random generator does the same damage."""

import csv
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Mutation = Callable[[bytes, Random], bytes]

# Values that programs trip over.
NUMBERS = (
    "0", "-0", "1", "-1", "2", "0.5", "-0.5", "1e308", "-1e308", "1e309", "1e-320", "1e400", "NaN", "Infinity", "inf",
    "-inf", "nan", "99999999999999999999", "-99999999999999999999", "9223372036854775808", "4294967296", "2147483648",
    "0x10", "1_000", "١٢", "+1", "1.", ".5", "1e5", "00", "1" + "0" * 400,
)  # fmt: skip
TEXTS = (
    "", " ", "\0", "\ufeff", "\u202e", "\x1b[2J", "\x1b]0;x\x07", "\ud800", "é", "e\u0301", "日本語", "😀", "a" * 5000,
    "{", "}", "{input}", "{images}", "{images}/../../etc/passwd", "/etc/passwd", "../x", "..", ".", "-", "--help", "-x",
    "a\nb", "a\rb", "a\tb", "a,b", '"', "'", "\\", "%s", "%00", "$HOME", "`", "<b>", "&amp;", "#", "[", "]", "(", "*",
    "**/**/**", "(a+)+$", "null", "true", "false", "TP", "FN", "XP", "c0", "x0", "label", "rank", "score", "id",
    "positive", "truth", "http://[::1", "http://a..b/", "\u2028", "=1+1", "a" * 300 + ".csv", "NUL", "CON",
)  # fmt: skip
BYTES = (b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3", b"\r", b"\n", b"\x1a", b"\x1b[31m")
DEEP = 3000


def bytes_of(data: bytes, rng: Random) -> bytes:
    """Damage that knows nothing of the format."""
    at, length = rng.randrange(len(data) + 1), rng.choice((1, 1, 2, 8, 64, 1000))
    part = data[at : at + length]
    other = rng.randrange(len(data) + 1)
    return rng.choice(
        (
            lambda: data[:at],
            lambda: data[at:],
            lambda: data[:at] + data[at + length :],
            lambda: data[:at] + part + data[at:],
            lambda: data[:other] + part + data[other:],
            lambda: data[:at] + rng.randbytes(len(part)) + data[at + length :],
            lambda: data[:at] + rng.choice(BYTES) + data[at:],
            lambda: data[:at] + bytes([part[0] ^ (1 << rng.randrange(8))]) + data[at + 1 :] if part else b"",
            lambda: data + data,
            lambda: b"",
        )
    )()


def text_of(data: bytes, rng: Random) -> bytes:
    """Damage to lines and words."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(6)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(other, lines[at])
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3:
        lines[at] += rng.choice(TEXTS)
    else:
        lines[at] = _other_word(lines[at], rng)
    return "\n".join(lines).encode("utf-8", "surrogatepass" if kind == 3 else "surrogateescape") if kind != 4 else (
        "\n".join(lines).encode("utf-8", "replace")
    )  # fmt: skip


def _other_word(line: str, rng: Random) -> str:
    """The line with one of its words, or of its numbers, replaced."""
    marks = ' \t,;:="[]{}'
    starts = [n for n, char in enumerate(line) if char not in marks and (n == 0 or line[n - 1] in marks)]
    if not starts:
        return line + rng.choice(NUMBERS)
    start = rng.choice(starts)
    stop = next((n for n in range(start, len(line)) if line[n] in marks), len(line))
    word = rng.choice(NUMBERS if line[start:stop].lstrip("-").replace(".", "", 1).isdigit() else TEXTS)
    return line[:start] + word.encode("utf-8", "replace").decode() + line[stop:]


def json_of(data: bytes, rng: Random) -> bytes:
    """Another value, key or type somewhere in a JSON document."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return bytes_of(data, rng)
    return _write(_changed(document, rng))


def _write(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    except RecursionError:
        return b"[" * DEEP + b"]" * DEEP


def _changed(value: Any, rng: Random, depth: int = 0) -> Any:
    if isinstance(value, dict) and value and (depth == 0 or rng.random() < 0.8):
        key = rng.choice(list(value))
        kind = rng.randrange(8)
        if kind == 0:
            return {name: part for name, part in value.items() if name != key}
        if kind == 1:
            return {**value, rng.choice(TEXTS): _value(rng)}
        if kind == 2:
            return {rng.choice(TEXTS) if name == key else name: part for name, part in value.items()}
        return {**value, key: _changed(value[key], rng, depth + 1)}
    if isinstance(value, list) and value and (depth == 0 or rng.random() < 0.8):
        at = rng.randrange(len(value))
        kind = rng.randrange(6)
        if kind == 0:
            return value[:at] + value[at + 1 :]
        if kind == 1:
            return [*value, value[at]]
        return [*value[:at], _changed(value[at], rng, depth + 1), *value[at + 1 :]]
    if isinstance(value, float) and rng.random() < 0.5:
        return rng.choice((value * 1e300, -value, value + 1e-12, 0.0, 1.0, float("nan")))
    return _value(rng)


def _value(rng: Random) -> Any:
    """Any JSON value."""
    nested: Any = 1
    kind = rng.randrange(10)
    if kind == 0:
        for _ in range(rng.choice((2, 60, 900))):
            nested = [nested] if rng.random() < 0.5 else {"a": nested}
        return nested
    if kind < 4:
        return rng.choice((0, 1, -1, 0.5, 1e308, -1e308, 1e-320, 10**30, -(10**30), float("nan"), float("inf"), 2**53))
    if kind < 7:
        return rng.choice(TEXTS)
    return rng.choice((None, True, False, [], {}, [1], {"a": 1}, ["a", None], "1", "0.5"))


def json_lines_of(data: bytes, rng: Random) -> bytes:
    """Another value in one or a few of the lines, each of which is JSON."""
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(lines))
        if lines[at].strip():
            lines[at] = json_of(lines[at], rng)
    return b"\n".join(lines)


def same_value_of(data: bytes, rng: Random) -> bytes:
    """One key of all lines gets the same value, or loses it: what a column that is empty or constant does."""
    lines = data.split(b"\n")
    try:
        keys = sorted({key for line in lines[1:-2] if line for key in json.loads(line)})
    except (ValueError, AttributeError, TypeError, RecursionError):
        return json_lines_of(data, rng)
    if not keys:
        return json_lines_of(data, rng)
    key, value, drop = rng.choice(keys), _value(rng), rng.random() < 0.2
    for at, line in enumerate(lines[1:-2], 1):
        record = json.loads(line) if line else None
        if isinstance(record, dict) and rng.random() < 0.95:
            record = {name: part for name, part in record.items() if name != key} | ({} if drop else {key: value})
            lines[at] = _write(record)
    return b"\n".join(lines)


def table_of(delimiter: str) -> Mutation:
    """Another value in a cell, a row or a column of a delimited table."""

    def mutate(data: bytes, rng: Random) -> bytes:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8", "replace")), delimiter=delimiter))
        if not rows or not rows[0]:
            return bytes_of(data, rng)
        row = rng.choice(rows)
        place, value = rng.randrange(max(1, len(row))), rng.choice((*NUMBERS, *TEXTS))
        kind = rng.randrange(5)
        if kind == 0:
            for other in rows[1:]:
                other[place : place + 1] = [value]
        elif kind == 1:
            for other in rows:
                del other[place : place + 1]
        elif kind == 2:
            rows.append(list(row))
        else:
            row[place : place + 1] = [value]
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
        return text.getvalue().encode("utf-8", "surrogatepass")

    return mutate


def npy_of(data: bytes, rng: Random) -> bytes:
    """Another header, or other numbers, in an array of numpy's format."""
    length = int.from_bytes(data[8:10], "little")
    header, body = data[10 : 10 + length], bytearray(data[10 + length :])
    if rng.random() < 0.5:
        old, new = rng.choice(_HEADERS)
        changed = header.replace(old, new) if rng.random() < 0.7 else bytes_of(header, rng)
        return data[:8] + rng.choice((len(changed), length)).to_bytes(2, "little", signed=False) + changed + bytes(body)
    for _ in range(rng.choice((1, 5, 50))):
        at = 8 * rng.randrange(max(1, len(body) // 8))
        body[at : at + 8] = rng.choice(_DOUBLES)
    return data[: 10 + length] + bytes(body)


_HEADERS = (
    (b"<f8", b"|O"), (b"<f8", b"<i8"), (b"<f8", b"|S8"), (b"<f8", b"<c16"), (b"<f8", b"<M8[s]"), (b"<f8", b"|b1"),
    (b"False", b"True"), (b"(", b"(("), (b"(", b"(1, "), (b"(", b"(-"), (b"(", b"(9999999999"), (b")", b""),
    (b"descr", b"descs"), (b"{", b"{" * 200), (b"'", b'"'), (b"shape", b"shapf"), (b"}", b""), (b"(", b"(0, "),
)  # fmt: skip
_DOUBLES = (
    bytes(8), b"\xff" * 8, b"\0\0\0\0\0\0\xf0\x7f", b"\0\0\0\0\0\0\xf0\xff", b"\0\0\0\0\0\0\xf8\x7f",
    b"\xff\xff\xff\xff\xff\xff\xef\x7f", b"\1\0\0\0\0\0\0\0", b"\0\0\0\0\0\0\xf0\x3f",
)  # fmt: skip


def with_sha256(mutate: Mutation) -> Mutation:
    """Damage to a transcript that its last line vouches for: a forger, or a tool with a bug, would do that."""

    def sealed(data: bytes, rng: Random) -> bytes:
        body, newline, last = mutate(data, rng).rstrip(b"\n").rpartition(b"\n")
        try:
            end = json.loads(last)
        except (ValueError, RecursionError):
            return body + newline + last
        if isinstance(end, dict) and "sha256" in end:
            end["sha256"] = hashlib.sha256(body + newline).hexdigest()
        return body + newline + _write(end) + b"\n"

    return sealed


def packed(mutate: Mutation) -> Mutation:
    """Damage to the content of a gzipped file; to its bytes if it is damaged already."""

    def mutate_content(data: bytes, rng: Random) -> bytes:
        try:
            content = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return bytes_of(data, rng)
        return gzip.compress(mutate(content, rng), mtime=0)

    return mutate_content


TOML: Sequence[Mutation] = (text_of, text_of, text_of, bytes_of)
CSV: Sequence[Mutation] = (table_of(","), table_of(","), text_of, bytes_of)
TSV: Sequence[Mutation] = (table_of("\t"), text_of, bytes_of)
LINES: Sequence[Mutation] = (json_lines_of, json_lines_of, same_value_of, text_of, bytes_of)
DOCUMENT: Sequence[Mutation] = (json_of, json_of, json_of, bytes_of)
BINARY: Sequence[Mutation] = (bytes_of,)
NPY: Sequence[Mutation] = (npy_of, npy_of, bytes_of)
TRANSCRIPT: Sequence[Mutation] = (
    with_sha256(json_lines_of),
    with_sha256(json_lines_of),
    with_sha256(same_value_of),
    with_sha256(text_of),
    with_sha256(bytes_of),
    json_lines_of,
    bytes_of,
)
PACKED_TRANSCRIPT: Sequence[Mutation] = (*map(packed, TRANSCRIPT[:4]), bytes_of)
