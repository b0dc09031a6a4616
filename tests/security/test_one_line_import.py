"""`hate import` says so when results would count as failures for a reason that is not the algorithm's."""

import gzip
from pathlib import Path

import pytest

from tests.workshop import Workshop

LOGS = Path(__file__).parent.parent / "data" / "import"


def test_numbers_that_are_compared_as_labels(shop: Workshop) -> None:
    shop.write("n.csv", "id,y_true,y_pred\n1,2.0,2.1\n2,3.0,3.0\n3,1.5,1.4\n")
    done = shop.call("import", "n.csv", "-o", "n.jsonl")
    assert done.status == 0
    assert "the answers are numbers, such as 2.1, and compared as labels: any other number is wrong" in done.err
    assert "--success" in done.err


@pytest.mark.parametrize("rows", ["1,3,3\n2,4,5\n", "1,2.0,2\n2,3.0,4.0\n", "1,1.5x,1.5\n2,b,a\n"])
def test_classes_with_numbers_as_names_are_labels(rows: str, shop: Workshop) -> None:
    """Whole numbers are names of classes, and pandas writes them as 2.0."""
    shop.write("n.csv", "id,y_true,y_pred\n" + rows)
    done = shop.call("import", "n.csv", "-o", "n.jsonl")
    assert (done.status, "compared as labels" in done.err) == (0, False)


@pytest.mark.parametrize(
    ("name", "text", "column"),
    [
        ("z.jsonl", '{"id": 1, "y_true": "a", "y_pred": null}\n{"id": 2, "y_true": "b", "y_pred": null}\n', "y_pred"),
        ("z.csv", "id,y_true,y_pred\n1,a,\n2,b,\n", "y_pred"),
        ("z.csv", "id,y_true,y_score\n1,1,\n2,0,\n", "y_score"),
    ],
)
def test_a_column_that_is_empty_everywhere(name: str, text: str, column: str, shop: Workshop) -> None:
    shop.write(name, text)
    done = shop.call("import", name, "-o", "out.jsonl", *(["--success-at", "1"] if column == "y_score" else []))
    assert done.status == 0
    assert f"column '{column}' is empty in every row, so no answer counts as accepted" in done.err


def test_a_column_that_is_empty_in_some_rows_is_not_worth_a_word(shop: Workshop) -> None:
    shop.write("z.csv", "id,y_true,y_pred\n1,a,\n2,b,b\n")
    assert "empty" not in shop.call("import", "z.csv", "-o", "out.jsonl").err


def test_marks_that_are_empty_everywhere_decide_nothing(shop: Workshop) -> None:
    shop.write("y.jsonl", '{"id": 1, "success": null}\n{"id": 2, "success": null}\n')
    done = shop.call("import", "y.jsonl", "-o", "out.jsonl")
    assert done.status == 2
    assert "y.jsonl: 'success' is empty in every answer, so nothing says what was right; name another" in done.err
    assert not (shop.folder / "out.jsonl").exists()


def test_ids_that_appear_twice(shop: Workshop) -> None:
    shop.write("d.csv", "id,time,y_true,y_pred\n1,1,a,a\n1,2,a,b\n")
    done = shop.call("import", "d.csv", "-o", "d.jsonl")
    remedy = "give each case an id of its own, or name the column that numbers repeated answers: --repeat COLUMN"
    assert f"d.csv: line 3: id '1' appears twice; {remedy}" in done.err
    assert shop.call("import", "d.csv", "-o", "d.jsonl", "--repeat", "time").status == 0


@pytest.mark.parametrize(
    ("log", "options"),
    [
        ("inspect_ai/graded.json", ["--metric", "overlap", "--success-at", "0.5"]),
        ("inspect_ai/capitals_deflate.eval", ["--metric", "match"]),
        ("promptfoo/capitals.jsonl", []),
    ],
)
def test_a_gzipped_log_is_the_log(log: str, options: list[str], shop: Workshop) -> None:
    """The twin: the same file, not packed."""
    path = LOGS / log
    shop.write(path.name, path.read_bytes())
    shop.write(f"packed/{path.name}.gz", gzip.compress(path.read_bytes()))
    plain = shop.call("import", path.name, *options, "--format", "json").json["rows"]
    assert shop.call("import", f"packed/{path.name}.gz", *options, "--format", "json").json["rows"] == plain


def test_a_gzipped_table_is_the_table(shop: Workshop) -> None:
    table = "id,y_true,y_pred\n1,a,a\n2,b,c\n"
    shop.write("r.csv.gz", gzip.compress(table.encode()))
    row = shop.call("import", "r.csv.gz", "-o", "r.jsonl", "--format", "json").row
    assert (row["algorithm"], row["TP"], row["FN"]) == ("r", 1, 1)
    shop.write("bad.csv.gz", gzip.compress(b"id,y_true,y_pred\n1,a\n"))
    assert shop.call("import", "bad.csv.gz").err == (
        "hate: bad.csv.gz: line 2: 2 fields, the header has 3; quote fields with delimiters\n"
    )


@pytest.mark.parametrize("cut", [3, 12, 30])
def test_a_damaged_gzip_file(cut: int, shop: Workshop) -> None:
    shop.write("r.csv.gz", gzip.compress(b"id,y_true,y_pred\n1,a,a\n2,b,c\n")[:cut])
    done = shop.call("import", "r.csv.gz")
    assert done.status == 2
    assert done.err.startswith("hate: r.csv.gz: ")
    assert done.err.endswith("; compress it again\n")
    assert done.err.count("\n") == 1
