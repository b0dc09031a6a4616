"""Property tests: any text is a script or a script error, and tables come back as they were written."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HateError
from harness.model import crossed
from harness.script.load import load_script
from tests.script.scripts import HEAD, TABLE, cases, load, script_in
from tests.simulation import examples

quickly = examples(80)
KEYS = [
    "format", "test", "name", "version", "task", "data", "images", "path", "url", "sha256", "train", "table", "cases",
    "glob", "pattern", "case", "params", "threshold", "type", "default", "decision", "design", "stratum", "psu",
    "weights", "cofactors", "tolerance", "absolute", "nonsense", "list[str]", "[key]", "int",
]  # fmt: skip
values = st.recursive(
    st.sampled_from(["1", "true", "nan", "-0.5", '"label"', '"cases.csv"', '"{images}/*"', "2020-01-01", '""', "''"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.sampled_from(KEYS[:20]), inner, max_size=3).map(
            lambda table: "{" + ", ".join(f"{key} = {value}" for key, value in table.items()) + "}"
        )
    ),
    max_leaves=4,
)
lines = st.one_of(
    st.tuples(st.sampled_from(KEYS), values).map(lambda pair: f"{json.dumps(pair[0])} = {pair[1]}"),
    st.lists(st.sampled_from(KEYS), min_size=1, max_size=3).map(lambda path: f"[{'.'.join(map(json.dumps, path))}]"),
    st.sampled_from(HEAD.splitlines() + TABLE.splitlines()),
)


@quickly
@given(st.lists(lines, max_size=12), st.booleans())
def test_any_toml_is_a_script_or_a_script_error(
    tmp_path_factory: pytest.TempPathFactory, some_lines: list[str], has_head: bool
) -> None:
    """Whatever is in the file, the user gets a message about it, and no internal error."""
    path = script_in(tmp_path_factory.mktemp("t"), (HEAD + TABLE if has_head else "") + "\n".join(some_lines))
    result = _load_result(path)
    assert result == "2 cases" or str(path) in result
    assert "pydantic" not in result


def _load_result(path: Path) -> str:
    try:
        return f"{len(load(path))} cases"
    except HateError as error:
        return str(error)


@quickly
@given(st.binary(max_size=60))
def test_any_bytes_are_a_script_or_a_script_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("t") / "t.hate.toml"
    path.write_bytes(content)
    with pytest.raises(HateError, match=r"t\.hate\.toml"):
        load_script(path)


@quickly
@given(st.binary(max_size=80), st.sampled_from(["cases.csv", "cases.tsv", "cases.jsonl"]))
def test_any_bytes_are_a_table_or_a_script_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    toml = f'{HEAD}[cases]\ntable = "{name}"\n'
    path = script_in(tmp_path_factory.mktemp("t"), toml, {name: b"id\tid,expect\n" + content})
    with pytest.raises(HateError, match=rf"t\.hate\.toml: (.|\n)*{name}"):
        load(path)


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=10)
rows = st.lists(st.tuples(texts.filter(bool), texts, texts.filter(str.strip), st.booleans(), texts),
                unique_by=lambda row: row[0], min_size=1, max_size=6)  # fmt: skip


@quickly
@given(rows, st.sampled_from(["cases.csv", "cases.tsv", "cases.jsonl"]))
def test_cases_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, some_rows: list[tuple[str, str, str, bool, str]], name: str
) -> None:
    header = ("id", "input", "expect", "positive", "day")
    if name.endswith(".jsonl"):
        content = "".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in some_rows)
    else:
        out = io.StringIO()
        delimiter = "\t" if name.endswith(".tsv") else ","
        csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([header, *some_rows])
        content = out.getvalue()
    found = cases(script_in(tmp_path_factory.mktemp("t"), f'{HEAD}[cases]\ntable = "{name}"\n', {name: content}))
    assert [(c.id, c.input, c.expect, c.positive, c.columns["day"]) for c in found] == [
        (case_id, case_input, expect.strip(), positive, day) for case_id, case_input, expect, positive, day in some_rows
    ]


@quickly
@given(st.lists(texts, min_size=1, max_size=3), st.lists(texts, min_size=1, max_size=3))
def test_combinations_stay_distinct(one: list[str], other: list[str]) -> None:
    if len(one) == len(other):
        assert (crossed(one) == crossed(other)) is (one == other)


@pytest.mark.slow
def test_two_hundred_thousand_cases(tmp_path: Path) -> None:
    table = "id,input,expect,writer\n" + "".join(f"{i},text {i},{i % 10},{i % 13}\n" for i in range(200_000))
    loaded = load(script_in(tmp_path, HEAD + TABLE + '[design]\nstratum = "expect"\n', {"cases.csv": table}))
    assert (len(loaded), loaded.positives, loaded.strata) == (200_000, 200_000, 10)
    assert sum(1 for _ in loaded) == 200_000
