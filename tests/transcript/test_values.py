"""Values, the further numbers of a record: what is read, and the errors for the rest."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import TranscriptError
from harness.model import MAX_VALUES, Outcome, Trial
from harness.transcript.columns import read_columns
from tests.transcript.transcript_files import FIRST_LINE, read, write
from tests.workshop import Workshop

RECORD = b'{"id":"1","outcome":"TP","values":%b}\n'


def with_values(folder: Path, values: bytes) -> Path:
    path = folder / "t.jsonl"
    path.write_bytes(FIRST_LINE + RECORD % b'{"f1":0.5}' + RECORD % values)
    return path


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (b'{"f1":0.1,"rouge":"much"}', "values: 'rouge' is \"much\", not a finite number"),
        (b'{"f1":"NaN"}', "values: 'f1' is \"NaN\", not a finite number"),
        (b'{"f1":true}', "values: 'f1' is true, not a finite number"),
        (b'{"f1":1e999}', "values: 'f1' is 1e999, not a finite number"),
        (b'{"f1":1' + b"0" * 400 + b"}", "values: 'f1' is 1000000000"),
        (b'{"f1":{"deep":[1]}}', "values: 'f1' is {\"deep\":[1]}, not a finite number"),
        ('{"schärfe":[1]}'.encode(), "values: 'schärfe' is [1], not a finite number"),
        (b"[0.5]", "values [0.5] is not a mapping of names to numbers; leave it out if there are none"),
        (b"null", "values null is not a mapping"),
        (b'{"f1":NaN}', "malformed"),
        # More than one mistake: the first is reported, if not by its name.
        (b'{"f1":"x"},,', "$.values"),
        (b'{"f1":"x"},"values":{"f1":1}', "$.values"),
    ],
)
def test_a_bad_value_is_named_with_file_line_and_key(tmp_path: Path, values: bytes, said: str) -> None:
    path = with_values(tmp_path, values)
    with pytest.raises(TranscriptError) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:3: ")
    assert said in message
    assert len(message) < len(str(path)) + 200


def test_a_bad_value_is_one_line_and_status_2(shop: Workshop) -> None:
    with_values(shop.folder, b'{"f1":"x"}')
    done = shop.call("show", "t.jsonl")
    assert (done.status, done.out) == (2, "")
    assert done.err == "hate: t.jsonl:3: values: 'f1' is \"x\", not a finite number; leave it out if there is none\n"


JSON_VALUES = st.dictionaries(
    st.text(max_size=5),
    st.none() | st.booleans() | st.integers(-(10**320), 10**320) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5) | st.lists(st.integers(), max_size=2),
    max_size=5,
)  # fmt: skip


def usable(value: Any) -> bool:
    """Whether it is a number that a double can hold, or null."""
    try:
        return value is None or (type(value) in (int, float) and math.isfinite(float(value)))
    except OverflowError:
        return False


@given(JSON_VALUES)
def test_values_are_read_exactly_or_the_first_bad_one_is_named(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any]
) -> None:
    path = with_values(tmp_path_factory.mktemp("t"), json.dumps(values).encode())
    bad = [name for name, value in values.items() if not usable(value)]
    if bad:
        with pytest.raises(TranscriptError, match=r"t\.jsonl:3: values: ") as caught:
            read(path)
        assert f"values: {bad[0]!r} is " in str(caught.value)
    else:
        assert read(path)[1].values == {name: None if v is None else float(v) for name, v in values.items()}


def test_nan_is_written_as_null(tmp_path: Path) -> None:
    """JSON has no NaN: a record with one has a gap, and the file stays readable."""
    path = write(tmp_path / "t.jsonl", [Trial("1", Outcome.TP, values={"f1": math.nan, "em": 1.0})])
    assert read(path)[0].values == {"f1": None, "em": 1.0}
    columns = read_columns(path)
    assert math.isnan(columns.values["f1"][0])
    assert columns.values["em"].tolist() == [1.0]


def test_without_values_there_are_no_columns_of_them_and_lean_reads_none(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain.jsonl", [Trial("1", Outcome.TP)])
    assert read_columns(plain).values == {}
    assert read_columns(with_values(tmp_path, b'{"f1":0.5}'), lean=True).values == {}
    assert read_columns(with_values(tmp_path, b"{}")).values["f1"].shape == (2,)


@pytest.mark.parametrize("spread", [True, False])
def test_too_many_names_are_refused(tmp_path: Path, spread: bool) -> None:
    """In one record, or one name per record: the arrays would fill any memory."""
    names = [f"m{n}" for n in range(MAX_VALUES + 1)]
    records = [{name: 1.0} for name in names] if spread else [dict.fromkeys(names, 1.0)]
    trials = [Trial(str(n), Outcome.TP, values={**values}) for n, values in enumerate(records)]
    path = write(tmp_path / "t.jsonl", trials)
    with pytest.raises(TranscriptError, match=r"t\.jsonl: values with more than 100 names; leave some out"):
        read_columns(path)
    fewer = [Trial(t.id, t.outcome, values=dict(list((t.values or {}).items())[:100])) for t in trials[:100]]
    assert len(read_columns(write(tmp_path / "u.jsonl", fewer)).values) == MAX_VALUES


def test_a_resumed_run_keeps_its_values(shop: Workshop) -> None:
    shop.script(6)
    shop.interface()
    shop.run()
    header, first, *_ = shop.lines()
    first["values"] = {"f1": 0.25}
    shop.write("out.jsonl", "".join(json.dumps(line) + "\n" for line in (header, first)))
    shop.run("--resume")
    assert [record.get("values") for record in shop.records()] == [{"f1": 0.25}] + [None] * 5
    assert shop.call("check", "out.jsonl").status == 0


def test_values_are_shown_and_can_be_selected(shop: Workshop) -> None:
    values = ({"f1": 0.5, "score": 3.0}, {"f1": 0.25}, {"score": 1.0})
    trials = [Trial(str(n), Outcome.TP, values={**given}) for n, given in enumerate(values)]
    write(shop.folder / "t.jsonl", trials)
    done = shop.call("show", "t.jsonl", "--format", "csv")
    header, *rows = (line.split(",") for line in done.out.splitlines())
    assert [[row[header.index(name)] for name in ("f1", "values.score")] for row in rows] == [
        ["0.5", "3.0"], ["0.25", ""], ["", "1.0"],
    ]  # fmt: skip
    assert shop.call("show", "t.jsonl", "--format", "json").json["cases"][0]["values"] == values[0]
    best = shop.call("show", "t.jsonl", "--sort", "-values.score", "--where", "values.score>2", "--format", "json")
    assert [case["id"] for case in best.json["cases"]] == ["0"]
    assert [c["id"] for c in shop.call("show", "t.jsonl", "--sort", "f1", "--format", "json").json["cases"]] == [
        "1", "0", "2",
    ]  # fmt: skip
    assert "did you mean 'f1'?" in shop.call("show", "t.jsonl", "--sort", "f11").err


def test_a_column_comes_before_a_value_with_the_same_name(shop: Workshop) -> None:
    write(shop.folder / "t.jsonl", [Trial("1", Outcome.TP, columns={"size": "big"}, values={"size": 2.0})])
    assert shop.call("show", "t.jsonl", "--where", "size=big", "--format", "json").json["matching"] == 1
    assert shop.call("show", "t.jsonl", "--where", "values.size=2", "--format", "json").json["matching"] == 1
