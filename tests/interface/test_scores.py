"""[scores]: answers computed earlier, in tables and matrices."""

import pytest

from harness.interface.load import load_interface
from tests.workshop import Workshop, errors

ROWS = "id,input,expect,positive\nc0,a,x0,true\nc1,b,y1,false\nc2,c,z,true\n"
THRESHOLD = '[params.threshold]\ntype = "float"\ndefault = 0.5\ndecision = true\n'

TABLES = {
    "csv": ("t.csv", "id,label,score\nc0,x0,1.5\nc1,x1,2\n"),
    "csv with a byte order mark": ("t.csv", "\ufeffid,label,score\nc0,x0,1.5\nc1,x1,2\n"),
    "csv with further columns and ids": ("t.csv", "id,why,label,score\nc0,w,x0,1.5\nc1,w,x1,2\nc9,w,x,1\n"),
    "tsv": ("t.tsv", "id\tlabel\tscore\nc0\tx0\t1.5\nc1\tx1\t2\n"),
    "jsonl": ("t.jsonl", '{"id":"c0","label":"x0","score":1.5}\n{"id":"c1","answer":["x1",2]}\n'),
    "jsonl of scores": ("t.jsonl", '{"id":"c0","scores":{"x0":2,"q":0.5}}\n{"id":"c1","scores":{"x1":3,"q":1}}\n'),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table(kind: str, shop: Workshop) -> None:
    name, text = TABLES[kind]
    shop.script(rows=ROWS)
    shop.write(name, text)
    shop.toml(f'[scores]\ntable = "{name}"\n')
    records = shop.run()
    assert [(r.get("actual"), r.get("score")) for r in records] == [("x0", 1.5), ("x1", 2.0), (None, None)]
    assert errors(records) == {"c2": "interface"}
    assert "c2" in records[2]["message"]
    assert name in records[2]["message"]


def test_an_empty_score_is_none_and_an_empty_label_a_refusal(shop: Workshop) -> None:
    shop.script(rows=ROWS)
    shop.write("t.csv", "id,label,score\nc0,x0,\nc1,,\nc2,z,0\n")
    shop.toml('[scores]\ntable = "t.csv"\n')
    records = shop.run("--param", "threshold=1")
    assert [r["outcome"] for r in records] == ["TP", "TN", "FN"]


MATRIX = ",x0,y1,z\na,1,0.5,0.25\nc1,0.1,0.6,0.2\n"


def test_a_matrix_of_claims(shop: Workshop) -> None:
    """docs/reference/interfaces.md: in a score test the entry in the column of the claim; rows are inputs or ids."""
    shop.script(task="score", sections=THRESHOLD, rows=ROWS)
    shop.write("m.csv", MATRIX)
    shop.toml('[scores]\nmatrix = "m.csv"\n')
    records = shop.run()
    assert [(r["outcome"], r.get("score")) for r in records] == [("TP", 1.0), ("FP", 0.6), ("FN", None)]
    assert errors(records) == {"c2": "interface"}


def test_a_matrix_of_labels(shop: Workshop) -> None:
    shop.script(rows=ROWS)
    shop.write("m.tsv", MATRIX.replace(",", "\t"))
    shop.toml('[scores]\nmatrix = "m.tsv"\n')
    records = shop.run()
    assert [(r.get("actual"), r.get("score")) for r in records[:2]] == [("x0", 0.5), ("y1", pytest.approx(0.4))]


def test_a_claim_without_a_column(shop: Workshop) -> None:
    shop.script(task="score", sections=THRESHOLD, rows=ROWS.replace("x0", "nobody"))
    shop.write("m.csv", MATRIX)
    shop.toml('[scores]\nmatrix = "m.csv"\n')
    records = shop.run()
    assert errors(records) == {"c0": "interface", "c2": "interface"}
    assert "nobody" in records[0]["message"]


MISTAKES: dict[str, tuple[str, str | bytes, str]] = {
    "twice": ("table", "id,label\nc0,a\nc0,b\n", ":3: id 'c0' appears twice"),
    "no id": ("table", "name,label\nc0,a\n", "needs a column id"),
    "no answer": ("table", "id,lable\nc0,a\n", "one of label, score"),
    "ragged": ("table", "id,label\nc0\n", ":2: 1 fields"),
    "not UTF-8": ("table", b"id,label\nc0,\xff\n", "not UTF-8"),
    "empty": ("table", "", "no header"),
    "ragged matrix": ("matrix", ",a,b\nc0,1\n", ":2: 2 fields, the header has 3"),
    "row twice": ("matrix", ",a\nc0,1\nc0,2\n", ":3: row 'c0' appears twice"),
    "label twice": ("matrix", ",a,a\nc0,1,2\n", "'a' appears twice"),
    "empty matrix": ("matrix", "", "no header"),
    "matrix without labels": ("matrix", "id\nc0\n", "no labels"),
    "matrix that is not UTF-8": ("matrix", b",a\nc0,\xff\n", "not UTF-8"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_name_the_file_and_line(mistake: str, shop: Workshop) -> None:
    key, text, word = MISTAKES[mistake]
    shop.script(rows=ROWS)
    shop.write("t.csv", text)
    shop.toml(f'[scores]\n{key} = "t.csv"\n')
    done = shop.call("run", "toy")
    assert done.status == 2
    assert "t.csv" in done.err
    assert word in done.err
    assert done.err.count("\n") == 1


def test_other_answers_change_the_digest(shop: Workshop) -> None:
    """Design: --resume refuses another interface; the digest covers the table of scores."""
    shop.toml('[scores]\ntable = "t.csv"\n')
    shop.write("t.csv", "id,label\nc0,a\n")
    before = load_interface(None).sha256
    shop.write("t.csv", "id,label\nc0,b\n")
    assert load_interface(None).sha256 != before
