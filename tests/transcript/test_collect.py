"""Records decoded by the keys met so far: the same columns as from a decoder of all keys, or the same refusal."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import TranscriptError
from harness.model import ErrorKind, Outcome, Trial
from harness.transcript import collect as collecting
from harness.transcript import read
from harness.transcript.collect import collect
from harness.transcript.columns import Coded, Columns
from tests.simulation import examples
from tests.transcript.transcript_files import FIRST_LINE, write

PLAIN = st.text(st.characters(codec="utf-8", exclude_characters='"\\,', min_codepoint=32), max_size=20)
LINE = b'{"id":"%d","outcome":"TP","positive":true,"expect":"a","score":%d.5,"columns":{"who":"w%d"}}\n'


def regular(keys: frozenset[str], *, of: st.SearchStrategy[str]) -> st.SearchStrategy[Trial]:
    """Trials that all have the same keys."""
    fields: dict[str, st.SearchStrategy[Any]] = {
        "positive": st.booleans(),
        "expect": of,
        "truth": of,
        "actual": of,
        "score": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**15), 10**15) | st.none(),
        "rank": st.integers(1, 1000),
        "best_wrong": st.floats(-1, 1),
        "error": st.sampled_from(ErrorKind),
        "message": of,
        "seconds": st.floats(0, 1e6),
        "memory": st.integers(0, 2**50),
        "repeat": st.integers(1, 9),
        "stratum": of,
        "psu": of,
        "columns": st.fixed_dictionaries({"a": of, "ü": of}),
        "values": st.fixed_dictionaries({"f1": st.floats(-1, 1) | st.none()}),
    }
    given_fields = {name: strategy for name, strategy in fields.items() if name in keys}
    return st.builds(Trial, id=of, outcome=st.sampled_from(Outcome), **given_fields)


KEYS = st.frozensets(
    st.sampled_from(sorted(set(Trial.__struct_fields__) - {"id", "outcome", "pixels", "boxes"})), max_size=8
)
# One or two kinds of records, some of which have commas, quotes and the like in their texts.
TRIALS = st.lists(KEYS, min_size=1, max_size=2).flatmap(
    lambda kinds: st.lists(
        st.one_of([regular(keys, of=PLAIN) for keys in kinds] * 3 + [regular(kinds[0], of=st.text(max_size=80))]),
        min_size=1,
        max_size=12,
    )
)


def contents(columns: Columns) -> dict[str, Any]:
    """All that there is, ready to be compared."""
    texts = {name: getattr(columns, name) for name in ("expect", "truth", "actual", "error", "stratum", "psu")}
    numbers = {name: getattr(columns, name) for name in ("outcome", "score", "seconds", "memory", "rank", "repeat")}
    coded = {**texts, **{f"columns.{name}": column for name, column in columns.columns.items()}}
    numbers |= {f"values.{name}": column for name, column in columns.values.items()}
    return {
        "ids": list(columns.ids),
        **{
            name: [None if np.isnan(number) else number for number in column.tolist()]
            for name, column in numbers.items()
        },
        **{name: (column.codes.tolist(), list(column.labels)) for name, column in coded.items()},
    }


def outcome_of(path: Path, *, lean: bool) -> dict[str, Any] | str:
    try:
        return contents(collect(path, lean=lean))
    except TranscriptError as error:
        return str(error)


@pytest.fixture(scope="module")
def decoded() -> "Callable[..., Any]":
    """The twin: every line by the decoder of all keys."""

    def read_in_full(path: Path, *, lean: bool) -> dict[str, Any] | str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(collecting, "_guess_decoder", lambda *_: None)
            return outcome_of(path, lean=lean)

    return read_in_full


def guessed(path: Path, *, lean: bool, size: int = 1) -> dict[str, Any] | str:
    """By the keys of the blocks before, which have `size` bytes or a line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "BLOCK", size)
        return outcome_of(path, lean=lean)


@examples(200)
@given(TRIALS, st.booleans(), st.integers(1, 500))
def test_columns_are_those_of_the_decoder(
    tmp_path_factory: pytest.TempPathFactory,
    decoded: "Callable[..., Any]",
    trials: Sequence[Trial],
    lean: bool,
    size: int,
) -> None:
    path = write(tmp_path_factory.mktemp("t") / "t.jsonl", trials)
    expected = decoded(path, lean=lean)
    assert outcome_of(path, lean=lean) == expected
    assert guessed(path, lean=lean, size=size) == expected


@examples(300)
@given(TRIALS, st.booleans(), st.integers(1, 500), st.data())
def test_damaged_lines_are_refused_or_read_as_by_the_decoder(
    tmp_path_factory: pytest.TempPathFactory,
    decoded: "Callable[..., Any]",
    trials: Sequence[Trial],
    lean: bool,
    size: int,
    data: st.DataObject,
) -> None:
    path = write(tmp_path_factory.mktemp("t") / "t.jsonl", trials)
    first, *lines, _ = path.read_bytes().splitlines(keepends=True)
    body = bytearray(b"".join(lines))
    for _ in range(data.draw(st.integers(1, 3))):
        offset = data.draw(st.integers(0, len(body) - 1))
        piece = data.draw(
            st.sampled_from([b'"', b",", b"}", b"{", b"[1]", b"\\", b"\n", b"\x00", b"\xff", b"1", b" ", b""])
        )
        body[offset : offset + data.draw(st.integers(0, 2))] = piece
    path.write_bytes(first + bytes(body))
    expected = decoded(path, lean=lean)
    assert outcome_of(path, lean=lean) == expected
    assert guessed(path, lean=lean, size=size) == expected


@pytest.mark.parametrize(
    ("lines", "bad"),
    [
        (b'{\n"id":"a","outcome":"TP"}\n', 2),
        (b'{"id":"a","columns":{"x":"y"}\n,"outcome":"TP"}\n', 2),
        (b'{"id":"a","outcome":"TP"}{"id":"b","outcome":"TP"}\n', 2),
        # As many lines as records.
        (b'{"id":"a","outcome":"TP"} {"id":"b","outcome":"TP"}\n{"id":"c",\n"outcome":"TP"}\n', 2),
    ],
)
@pytest.mark.parametrize("size", [1, 30, 500])
def test_a_record_is_a_line(tmp_path: Path, lines: bytes, bad: int, size: int) -> None:
    path = write(tmp_path / "t.jsonl", [])
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0] + lines)
    refused = guessed(path, lean=False, size=size)
    assert isinstance(refused, str)
    assert f"t.jsonl:{bad}: " in refused
    assert refused == outcome_of(path, lean=True)


@pytest.mark.parametrize("gap", [b"\n", b"\r\n", b" \n", b"\n\n", b"\n \n\r\n"])
def test_blank_lines_are_nothing(tmp_path: Path, gap: bytes) -> None:
    path = write(tmp_path / "t.jsonl", [])
    first = path.read_bytes().splitlines(keepends=True)[0]
    records = [b'{"id":"%d","outcome":"TP"}' % number for number in range(3)]
    path.write_bytes(first + gap.join([*records, b""]))
    for size in (1, 40, 500):
        read_back = guessed(path, lean=False, size=size)
        assert isinstance(read_back, dict)
        assert read_back["ids"] == ["0", "1", "2"]


@pytest.fixture
def decoded_in_full(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The lines that were decoded with all keys, each a block of its own."""
    found: list[bytes] = []
    decode = read.TranscriptReader.decode

    def noted(self: read.TranscriptReader, body: bytes) -> list[Trial]:
        found.append(body)
        return decode(self, body)

    monkeypatch.setattr(read, "BLOCK", 1)
    monkeypatch.setattr(read.TranscriptReader, "decode", noted)
    return found


@pytest.mark.parametrize("spaces", [b"", b" "])
def test_lines_that_look_alike_are_decoded_by_their_keys(
    tmp_path: Path, decoded_in_full: list[bytes], spaces: bytes
) -> None:
    line = LINE.replace(b":", b":" + spaces).replace(b",", b"," + spaces)
    path = tmp_path / "t.jsonl"
    path.write_bytes(FIRST_LINE + b"".join(line % (i, i, i % 3) for i in range(100)))
    who = collect(path).columns["who"]
    assert decoded_in_full == [line % (0, 0, 0)]
    assert [who.labels[code] for code in who.codes] == [f"w{i % 3}" for i in range(100)]


def test_only_lines_with_new_keys_are_decoded_in_full(tmp_path: Path, decoded_in_full: list[bytes]) -> None:
    odd = b'{"id":"a, b","outcome":"FN","error":"crash"}\n'
    path = tmp_path / "t.jsonl"
    path.write_bytes(FIRST_LINE + b"".join([LINE % (1, 2, 3), LINE % (4, 5, 6), odd, LINE % (7, 8, 9), odd]))
    columns = collect(path)
    assert decoded_in_full == [LINE % (1, 2, 3), odd]
    assert columns.error.codes.tolist() == [-1, -1, 0, -1, 0]
    assert list(columns.ids) == ["1", "4", "a, b", "7", "a, b"]


def test_lines_of_two_kinds_are_both_decoded_by_their_keys(tmp_path: Path, decoded_in_full: list[bytes]) -> None:
    other = LINE.replace(b'"expect":"a"', b'"expect":"a","truth":"b"')
    path = tmp_path / "t.jsonl"
    path.write_bytes(FIRST_LINE + b"".join((LINE, other)[i % 2] % (i, i, i) for i in range(50)))
    truth = collect(path).truth
    assert decoded_in_full == [LINE % (0, 0, 0), other % (1, 1, 1)]
    assert truth.codes.tolist() == [-1, 0] * 25


@pytest.mark.parametrize("key", ["", "a b", 'a"b', "a\\b", "a\nb", "ü", "id", "key_1", "__class__", "a.b", "\x7f"])
def test_a_key_of_any_name_has_its_column(tmp_path: Path, decoded: "Callable[..., Any]", key: str) -> None:
    trials = [Trial(f"{i}", Outcome.TP, columns={"x": "y", key: f"{i}"}, values={key: i}) for i in range(5)]
    path = write(tmp_path / "t.jsonl", trials)
    assert list(collect(path).columns) == ["x", key]
    assert guessed(path, lean=False) == decoded(path, lean=False) == outcome_of(path, lean=False)


def test_lines_without_any_key_in_common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "BLOCK", 1)
    trials = [Trial(f"a,{i}", Outcome.TP, columns={f"c{i}": "x, y"}) for i in range(300)]
    columns = collect(write(tmp_path / "t.jsonl", trials)).columns
    assert list(columns) == [f"c{i}" for i in range(300)]
    assert [column.codes.tolist().index(0) for column in columns.values()] == list(range(300))


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"1","id":"2","outcome":"TP"}',
        b'{"id":"1","outcome":"TP","columns":{"a":{"b":"c"}}}',
        b'{"id":"1","outcome":"TP","actual":[1]}',
        b'{"id":"1","outcome":"TP"',
        b'{"id":"1","outcome":"TP"}}',
        b'{"id":"1\\u0041","outcome":"TP"}',
        b'{"id":"1","outcome":"TP","\\u0065xpect":"a"}',
        b'{"id":"1","outcome":"TP","columns":{"who":"a","who":"b"}}',
        b'{"id":"1","outcome":"TP","columns":null}',
        b'{"id":"1","outcome":"TP","expect":null,"score":null}',
        b'{"id":"1","outcome":"TP","columns":{"who":true,"n":1,"x":1.0}}',
        b'{"id":"1","outcome":"TP","columns":{"who":1e400}}',
        b'{"id":"1","outcome":"TP","values":{"f1":"a"}}',
        b'{"id":"1","outcome":"XX","columns":{"who":["a"]}}',
        b'["id"]',
    ],
)
def test_odd_lines_are_read_as_by_the_decoder(tmp_path: Path, decoded: "Callable[..., Any]", line: bytes) -> None:
    path = tmp_path / "t.jsonl"
    usual = [LINE % (i, i, i) for i in range(3)]
    for lines in ([line + b"\n"], [*usual, line + b"\n", *usual], [line + b"\n", *usual]):
        path.write_bytes(FIRST_LINE + b"".join(lines))
        for lean in (False, True):
            assert guessed(path, lean=lean) == decoded(path, lean=lean) == outcome_of(path, lean=lean)


def test_a_text_that_was_met_long_ago_has_its_code_again(tmp_path: Path) -> None:
    """More texts than the table of recent ones has places, of many lengths, each met several times."""
    texts = [f"{i * 7919 % 9001}" + "x" * (i * 7919 % 9001 % 40) for i in range(30_000)]
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        FIRST_LINE + b"".join(b'{"id":"%d","outcome":"TP","psu":"%s"}\n' % (i, t.encode()) for i, t in enumerate(texts))
    )
    psu: Coded = collect(path).psu
    assert list(psu.labels) == list(dict.fromkeys(texts))
    assert [psu.labels[code] for code in psu.codes.tolist()] == texts


def test_a_quote_without_an_escape_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    good, bad = LINE % (1, 1, 1), (LINE % (2, 2, 2)).replace(b'"expect":"a"', b'"expect":"a"b"')
    path.write_bytes(FIRST_LINE + good * 3 + bad)
    with pytest.raises(TranscriptError, match=":5: "):
        collect(path)


def test_a_record_without_an_id_is_none(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(FIRST_LINE + b'{"outcome":"TP","name":"a"}\n' * 3)
    with pytest.raises(TranscriptError, match=":2: Object missing required field `id`"):
        collect(path)
