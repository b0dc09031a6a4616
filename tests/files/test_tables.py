"""Tables as spreadsheets and programs write them are read; errors name file and line."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import MissingExtra, ScriptError
from harness.files.tables import MAX_FIELD_LENGTH, rows
from tests.simulation import examples

quickly = examples(80)


def table(folder: Path, content: bytes | str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def mistake(path: Path) -> str:
    with pytest.raises(ScriptError) as caught:
        list(rows(path))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "id,input\n1,a\n2,ü\n"),
        ("t.CSV", "id,input\n1,a\n2,ü"),
        ("t.csv", "\ufeffid,input\r\n1,a\r\n\r\n2,ü\r\n"),
        ("t.csv", '"id" , input\n"1","a"\n2,ü\n'.replace('" ', '"')),
        ("t.tsv", "id\tinput\n1\ta\n2\tü\n"),
        ("t.jsonl", '{"id":"1","input":"a"}\n\n{"id":"2","input":"ü"}'),
        ("t.jsonl", '\ufeff{"id":"1","input":"a"}\r\n{"id":"2","input":"ü"}\r\n'),
    ],
)
def test_the_same_rows_in_every_format(tmp_path: Path, name: str, content: str) -> None:
    assert [row for _, row in rows(table(tmp_path, content, name))] == [
        {"id": "1", "input": "a"},
        {"id": "2", "input": "ü"},
    ]


cells = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@quickly
@given(st.lists(st.tuples(cells, cells), max_size=8), st.sampled_from([("t.csv", ","), ("t.tsv", "\t")]))
def test_what_the_csv_module_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, given_rows: list[tuple[str, str]], kind: tuple[str, str]
) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter=kind[1], quoting=csv.QUOTE_ALL).writerows([("a", "b"), *given_rows])
    path = table(tmp_path_factory.mktemp("t"), out.getvalue(), kind[0])
    assert [(row["a"], row["b"]) for _, row in rows(path)] == given_rows


@quickly
@given(st.lists(st.dictionaries(cells, cells | st.integers(-(2**60), 2**60) | st.booleans() | st.none()), max_size=8))
def test_what_the_json_module_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, given_rows: list[dict[str, object]]
) -> None:
    path = table(tmp_path_factory.mktemp("t"), "".join(json.dumps(row) + "\n" for row in given_rows), "t.jsonl")
    assert [row for _, row in rows(path)] == given_rows


def test_line_numbers_are_those_of_an_editor(tmp_path: Path) -> None:
    content = 'id,note\n1,"two\nlines"\n\n2,x\n'
    assert [line for line, _ in rows(table(tmp_path, content))] == [3, 5]
    assert [line for line, _ in rows(table(tmp_path, '{"a":1}\n\n{"a":2}\n', "t.jsonl"))] == [1, 3]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", b"id,input\n1,a\n2\n", "t.csv:3: 1 fields, the header has 2"),
        ("t.csv", b"id,input\n1,a\n2,b,c\n", "t.csv:3: 3 fields, the header has 2"),
        ("t.csv", b"", "t.csv:1: no header; the first line names the columns"),
        ("t.csv", b",,\n1,2,3\n", "t.csv:1: no header"),
        ("t.csv", b"id,a,a\n1,2,3\n", "t.csv:1: column 'a' appears twice in the header"),
        ("t.csv", b'id,input\n1,"a\n2,b\n', "a quote is not closed"),
        ("t.csv", b'id,input\n1,"a"b\n', "t.csv:2: "),
        ("t.csv", b"id,input\n1,a\n2,b\0c\n", "t.csv:3: a NUL character"),
        ("t.csv", b"id,in\0put\n1,a\n", "t.csv:1: a NUL character"),
        ("t.csv", b"id,input\n1,a\n2,\xff\n", "t.csv:3: not UTF-8; save the table as UTF-8"),
        ("t.csv", b"\xff\xfei\0d\0\n\0", "t.csv:1: not UTF-8"),
        ("t.csv", b"id,input\n" + b"1,a\n" * 20_000 + b"2,caf\xe9\n", "t.csv:20002: not UTF-8"),
        ("t.tsv", b"id\tinput\n1\ta\n2,b\n", "t.tsv:3: 1 fields, the header has 2"),
        ("t.jsonl", b'{"id":1}\n[1]\n', "t.jsonl:2: not a JSON object"),
        ("t.jsonl", b'{"id":1}\n{"id":\n', "t.jsonl:2: not a JSON object"),
        ("t.jsonl", b'{"id":1}\n{"id":NaN}\n', "t.jsonl:2: not a JSON object"),
        ("t.jsonl", b'{"id":"\xff"}\n', "t.jsonl:1: not UTF-8"),
        ("t.jsonl", b'{"id":' + b"[" * 5000 + b"]" * 5000 + b"}\n", "t.jsonl:1: not a JSON object"),
        ("t.xlsx", b"PK", "t.xlsx: a table is a .csv, .tsv, .jsonl or .parquet file"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    message = mistake(table(tmp_path, content, name))
    assert message.startswith(name)
    assert said in message


def test_large_fields_are_read_and_absurd_ones_refused(tmp_path: Path) -> None:
    document = "x" * (1 << 20)
    assert [row["input"] for _, row in rows(table(tmp_path, f"id,input\n1,{document}\n"))] == [document]
    absurd = table(tmp_path, b"id,input\n1,a\n2," + b"x" * (MAX_FIELD_LENGTH + 1) + b"\n")
    assert mistake(absurd).startswith("t.csv:3: a field of more than 16 MiB")


def test_missing_tables_and_folders_are_errors(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert mistake(tmp_path / "none.csv") == "none.csv: No such file or directory"
    assert mistake(tmp_path / "none.jsonl") == "none.jsonl: No such file or directory"
    assert mistake(tmp_path / "folder.csv") == "folder.csv: Is a directory"


def test_parquet_is_read(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet is an extra and is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet is an extra and is not installed")
    columns = {"id": [1, 2], "expect": ["a", None], "positive": [True, False], "writer": [1.0, None]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    assert list(rows(tmp_path / "t.parquet")) == [
        (1, {"id": 1, "expect": "a", "positive": True, "writer": 1.0}),
        (2, {"id": 2, "expect": None, "positive": False, "writer": None}),
    ]


def test_a_file_that_is_not_parquet_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet is an extra and is not installed")
    assert mistake(table(tmp_path, "id,input\n", "t.parquet")).startswith("t.parquet: not Parquet: ")
    assert mistake(table(tmp_path, "", "t.parquet")).startswith("t.parquet: not Parquet: ")


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"t\.parquet: Parquet needs pyarrow: pip install 'hate-harness\[parquet\]'"):
        list(rows(table(tmp_path, b"PAR1", "t.parquet")))
