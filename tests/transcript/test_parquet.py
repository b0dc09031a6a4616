"""Parquet, a second form of a transcript: the same bytes when it is turned back, and nothing that is not one."""

import hashlib
import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.bundled import bundled
from harness.errors import TranscriptError
from harness.model import Trial
from harness.transcript import parquet
from harness.transcript.columns import read_columns
from harness.transcript.parquet_columns import read_parquet_columns
from harness.transcript.read import glance, summarise
from harness.transcript.storage import store_as
from tests.simulation import examples
from tests.site.serving import body, serving
from tests.transcript.imports import import_one, refused
from tests.transcript.test_kept_columns import assert_same, big
from tests.transcript.transcript_files import read, trials, write
from tests.workshop import Workshop, wait_until

HEADER = (
    '{"hate":"transcript","format":1,"test":{"name":"t","version":"1","digest":"1:a"},"algorithm":{"name":"ünï"}}\n'
)


def stored(path: Path, *lines: str) -> Path:
    """A complete transcript with these lines as records, whoever wrote them."""
    text = HEADER + "".join(lines)
    digest = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(f'{text}{{"end":true,"tests":{len(lines)},"sha256":"{digest}"}}\n', encoding="utf-8", newline="")
    return path


def there_and_back(path: Path) -> Path:
    table, back = path.with_name("there.parquet"), path.with_name("back.jsonl")
    store_as(path, table)
    store_as(table, back)
    assert back.read_bytes() == path.read_bytes()
    return table


@examples(60)
@given(st.lists(trials, max_size=10))
def test_records_keep_every_byte(tmp_path_factory: pytest.TempPathFactory, given_trials: Sequence[Trial]) -> None:
    path = write(tmp_path_factory.mktemp("t") / "t.jsonl", given_trials)
    table = there_and_back(path)
    assert read(table) == read(path)
    assert glance(table) == summarise(path)


@examples(100)
@given(st.lists(trials, max_size=12), st.booleans(), st.integers(1, 12), st.sampled_from(["", " "]))
def test_columns_are_those_of_the_lines(
    tmp_path_factory: pytest.TempPathFactory, given_trials: Sequence[Trial], lean: bool, rows: int, space: str
) -> None:
    """Straight from the columns of the file, whatever its groups; also of lines in other words, as json writes them."""
    path = write(tmp_path_factory.mktemp("t") / "t.jsonl", given_trials)
    if space:
        records = [json.loads(line) for line in path.read_bytes().splitlines()[1:-1]]
        stored(
            path,
            *(json.dumps(record) + "\n" if index % 2 else _compact(record) for index, record in enumerate(records)),
        )
    table = path.with_name("t.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "GROUP_ROWS", rows)
        patch.setattr("harness.transcript.read.BLOCK", 200)
        store_as(path, table)
        found = read_parquet_columns(table, lean=lean)
    assert found is not None
    assert_same(found, read_columns(path, lean=lean))


@pytest.mark.parametrize("name", ["shapes/blobs", "hdigits/wisard"])
def test_columns_of_published_runs_are_those_of_their_lines(tmp_path: Path, name: str) -> None:
    """Boxes too."""
    path = bundled("transcripts") / f"{name}.jsonl"
    store_as(path, tmp_path / "t.parquet")
    for lean in (False, True):
        found = read_parquet_columns(tmp_path / "t.parquet", lean=lean)
        assert found is not None
        assert_same(found, read_columns(path, lean=lean))


def _compact(record: Any) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


LINES = (
    '{"outcome":"TP","id":"other order"}\n',
    '{"id": "spaces", "outcome": "TP"}\n',
    '{"id":"\\u00fc \\ud83d\\ude00 escaped","outcome":"TP"}\n',
    '{"id":"unknown key","outcome":"TP","judge":{"name":"x"}}\n',
    '{"id":"nulls","outcome":"FN","score":null,"seconds":null,"error":null,"actual":null}\n',
    '{"id":"whole score","outcome":"TP","score":5}\n',
    '{"id":"exponent","outcome":"TP","score":1E5,"seconds":-0.0}\n',
    '{"id":"large","outcome":"TP","columns":{"n":123456789012345678901234567890}}\n',
    '{"id":"nested","outcome":"TP","actual":{"a":[1,2,{"b":null}]},"values":{"f1":0.5,"none":null}}\n',
    '{"id":"twice","outcome":"TP","outcome":"FN"}\n',
    '{"id":"carriage return","outcome":"TP"}\r\n',
    "\n  \n",
    '{"id":"after empty lines","outcome":"TP","message":"\\u0000\\u001f\\n"}\n',
    '{"id":"numbers","outcome":"TP","actual":1.50,"rank":3,"repeat":2,"memory":9007199254740993}\n',
    '{"id":"' + "x" * 100_000 + '","outcome":"TP"}\n',
    '{"id":"last","outcome":"TP","stratum":"","psu":"","columns":{}}\n',
    "\n",
)


def test_lines_of_other_programs_keep_every_byte(tmp_path: Path) -> None:
    path = stored(tmp_path / "t.jsonl", *LINES)
    table = there_and_back(path)
    assert read(table) == read(path)
    assert pq.read_table(table).column("id").to_pylist()[:2] == ["other order", "spaces"]
    for lean in (False, True):
        found = read_parquet_columns(table, lean=lean)
        assert found is not None
        assert_same(found, read_columns(path, lean=lean))


def test_other_tools_find_columns_of_types(tmp_path: Path) -> None:
    path = big(tmp_path / "a.jsonl", "a")
    table = pq.read_table(there_and_back(path))
    assert table.num_rows == 300
    assert table.column("score").to_pylist() == read_columns(path).score.tolist()
    assert table.column("expect").to_pylist()[:3] == ["0", "1", "2"]
    assert json.loads(table.column("columns")[5].as_py()) == {"writer": "w1"}
    assert table.column("line").null_count == 300


def test_small_groups_of_rows_make_the_same_file_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1)
    monkeypatch.setattr("harness.transcript.read.BLOCK", 1000)
    table = there_and_back(big(tmp_path / "a.jsonl", "a"))
    assert pq.ParquetFile(table).metadata.num_row_groups > 10


def test_a_loss_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A converter with a bug writes nothing."""
    original = parquet._known
    monkeypatch.setattr(parquet, "_known", lambda trial: original(trial) | {"expect": "other"})
    path = big(tmp_path / "a.jsonl", "a")
    with pytest.raises(TranscriptError, match="without a loss"):
        store_as(path, tmp_path / "a.parquet")
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"]


def test_every_command_reads_it(shop: Workshop) -> None:
    (shop.folder / "lines").mkdir()
    for name in ("a", "b"):
        big(shop.folder / f"lines/{name}.jsonl", name)
        done = shop.call("convert", f"lines/{name}.jsonl", f"{name}.parquet")
        assert done.status == 0, done.err
    for words in (
        ("compare", "A", "B"), ("rate", "A"), ("roc", "A"), ("confusion", "A"), ("show", "A"), ("diff", "A", "B"),
    ):  # fmt: skip
        names = [{"A": "lines/a.jsonl", "B": "lines/b.jsonl"}.get(word, word) for word in words]
        tables = [{"A": "a.parquet", "B": "b.parquet"}.get(word, word) for word in words]
        by_lines, by_table = (shop.call(*paths, "--format", "json") for paths in (names, tables))
        assert by_table.status == 0, by_table.err
        assert by_table.out == by_lines.out


@pytest.mark.slow
def test_a_run_writes_it_and_a_killed_one_is_resumed(shop: Workshop) -> None:
    shop.script(40)
    waiting = "import time\n\ndef answer(case, params):\n    time.sleep(0.05)\n    return case.input\n"
    shop.interface(waiting)
    process = shop.start("run", "toy", "-o", "out.parquet")
    part = shop.folder / "out.parquet.part"
    wait_until("some records", lambda: part.exists() and part.read_bytes().count(b"\n") > 5, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (shop.folder / "out.parquet").exists()
    done = shop.call("run", "toy", "-o", "out.parquet", "--resume")
    assert done.status == 0, done.err
    assert not part.exists()
    assert "exists" in shop.call("run", "toy", "-o", "out.parquet").err
    assert shop.call("run", "toy", "-o", "out.parquet", "--resume").status == 0
    assert shop.call("convert", "out.parquet", "out.jsonl").status == 0
    assert [record["id"] for record in shop.records("out.jsonl")] == [f"c{number}" for number in range(40)]
    assert shop.call("check", "out.parquet").status == 0
    assert shop.call("status", "out.parquet").status == 0
    copy = shop.call("run", "toy", "-o", "other.parquet", "--format", "transcript")
    assert json.loads(copy.out.splitlines()[-1])["tests"] == 40


@pytest.mark.slow
def test_one_is_found_by_name_and_can_be_published(shop: Workshop) -> None:
    shop.script(6)
    shop.interface()
    assert shop.call("run", "toy", "--isolate", "-o", "transcripts/toy/mine.parquet").status == 0
    listed = shop.call("list", "--transcripts", "--format", "json")
    assert "mine.parquet" in listed.out
    assert shop.call("rate", "mine").status == 0
    done = shop.call("publish", "toy", "transcripts/toy/mine.parquet", "--to", "site")
    assert done.status == 0, done.err
    (shop.folder / "transcripts/toy/mine.parquet").unlink()
    shop.env["HATE_SITES"] = str(shop.folder / "site")
    there = shop.hate("rate", "toy/mine", "--format", "json")
    assert there.status == 0, there.err
    assert there.json["transcripts"][0]["tests"] == 6


def test_they_can_be_downloaded(shop: Workshop) -> None:
    for name in ("a", "b"):
        store_as(big(shop.folder / f"{name}.jsonl", name), shop.folder / f"{name}.parquet")
    pages = {f"/{name}.parquet": body((shop.folder / f"{name}.parquet").read_bytes()) for name in ("a", "b")}
    with serving(pages) as server:
        there = shop.call("compare", *map(server.url, pages), "--format", "json")
    assert there.status == 0, there.err
    assert there.out == shop.call("compare", "a.jsonl", "b.jsonl", "--format", "json").out


@pytest.mark.slow
def test_one_comes_on_standard_input(shop: Workshop) -> None:
    store_as(big(shop.folder / "a.jsonl", "a"), shop.folder / "a.parquet")
    for command in ("rate", "show"):
        with (shop.folder / "a.parquet").open("rb") as table:
            there = shop.hate(command, "-", "--format", "json", stdin=table)
        assert there.status == 0, there.err
        assert there.out == shop.call(command, "a.jsonl", "--format", "json").out
    with (shop.folder / "a.parquet").open("rb") as table:
        assert shop.hate("convert", "-", "b.jsonl", stdin=table).status == 0
    assert (shop.folder / "b.jsonl").read_bytes() == (shop.folder / "a.jsonl").read_bytes()


def test_a_transcript_is_not_imported_and_a_table_is_no_transcript(shop: Workshop) -> None:
    store_as(big(shop.folder / "a.jsonl", "a"), shop.folder / "a.parquet")
    assert "already a transcript" in refused(shop, "a.parquet")
    rows = {"id": ["c1", "c2", "c3"], "y_true": ["a", "b", "c"], "y_pred": ["a", "a", None], "n": [1.5, None, 2.0]}
    pq.write_table(pa.table(rows), shop.folder / "t.parquet")
    _, imported = import_one(shop, "t.parquet", "--value", "n")
    pq.write_table(pa.table(rows).slice(0, 0), shop.folder / "empty.parquet")
    assert "no rows" in refused(shop, "empty.parquet")
    shop.write("t.csv", "id,y_true,y_pred,n\nc1,a,a,1.5\nc2,b,a,\nc3,c,,2.0\n")
    assert import_one(shop, "t.csv", "--value", "n")[1] == imported
    for words in (("rate", "t.parquet"), ("convert", "t.parquet", "u.jsonl"), ("status", "t.parquet")):
        done = shop.call(*words)
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert "`hate import` reads tables" in done.err
    shop.write("broken.parquet", b"PAR1 and more")
    assert "Parquet" in refused(shop, "broken.parquet")


def test_numbers_that_json_has_not_are_no_numbers(tmp_path: Path) -> None:
    """Another program may have written them; a transcript in lines says null."""
    for number in (float("nan"), float("inf")):
        table(score=pa.array([number]))(tmp_path / "t.parquet")
        assert [trial.score for trial in read(tmp_path / "t.parquet")] == [None]


def test_converting_refuses_what_it_should(shop: Workshop) -> None:
    path = big(shop.folder / "a.jsonl", "a")
    shop.write("b.parquet", "mine")
    assert "--force" in shop.call("convert", "a.jsonl", "b.parquet").err
    assert shop.call("convert", "a.jsonl", "b.parquet", "--force").status == 0
    whole = path.read_bytes().splitlines(keepends=True)
    shop.write("part.jsonl", b"".join(whole[:-1]))
    assert "incomplete" in shop.call("convert", "part.jsonl", "c.parquet").err
    shop.write("changed.jsonl", b"".join([*whole[:5], *whole[6:]]))
    assert "sha256" in shop.call("convert", "changed.jsonl", "c.parquet").err
    assert shop.call("convert", "a.jsonl", "new/c.jsonl").status == 0
    assert (shop.folder / "new" / "c.jsonl").read_bytes() == path.read_bytes()
    assert shop.call("convert", "a.jsonl", "a.jsonl/c.jsonl").status == 2
    assert "name a file" in shop.call("convert", "a.jsonl", "-").err
    assert not list(shop.folder.glob("c.parquet*"))


def table(**changes: Any) -> Callable[[Path], None]:
    """A Parquet file like that of a transcript, with some columns changed; None leaves one out."""

    def make(path: Path) -> None:
        schema = parquet._schema(pa)
        row: dict[str, Any] = dict.fromkeys(schema.names) | {"id": "c1", "outcome": "TP"}
        metadata = changes.get("metadata", {b"hate.header": HEADER.encode(), b"hate.end": b'{"end":true,"tests":1}\n'})
        arrays = {
            name: changes.get(name, pa.array([row[name]], kind))
            for name, kind in zip(schema.names, schema.types, strict=True)
        }
        arrays = {name: array for name, array in arrays.items() if array is not None}
        pq.write_table(pa.table(arrays).replace_schema_metadata(metadata), path)

    return make


def repeated(text: str, count: int) -> Callable[[Path], None]:
    """A small file that stands for very much text."""

    def make(path: Path) -> None:
        schema = parquet._schema(pa)
        metadata = {b"hate.header": HEADER.encode(), b"hate.end": b'{"end":true}\n'}
        values = {"id": text, "outcome": "TP"}
        arrays = [
            pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([values[name]]))
            if name in values
            else pa.nulls(count, kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ]
        made = pa.table(arrays, names=schema.names).replace_schema_metadata(metadata)
        pq.write_table(made, path, compression="zstd")

    return make


def forged(make: Callable[[Path], None]) -> Callable[[Path], None]:
    """The same file with a hash that is right."""

    def remake(path: Path) -> None:
        make(path)
        made = pq.read_table(path)
        metadata: Any = dict(made.schema.metadata)
        with (
            path.open("wb") as file,
            pq.ParquetWriter(file, made.schema.remove_metadata(), compression="zstd") as writer,
        ):
            writer.write_table(made.replace_schema_metadata(None))
            file.flush()
            content = path.read_bytes() + metadata[b"hate.header"] + metadata[b"hate.end"]
            metadata[b"hate.sha256"] = hashlib.sha256(content).hexdigest().encode()
            writer.add_key_value_metadata(metadata)

    return remake


def test_columns_are_read_only_if_the_hash_is_right(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table()(path)
    assert read_parquet_columns(path) is None
    forged(table())(path)
    assert read_parquet_columns(path) is not None
    forged(table(columns=pa.array([json.dumps({str(number): "" for number in range(1_001)})])))(path)
    assert read_parquet_columns(path) is None
    with pytest.raises(TranscriptError, match="more than 1,000 columns"):
        read_columns(path)


def truncated(path: Path) -> None:
    table()(path)
    path.write_bytes(path.read_bytes()[:-30])


def flipped(path: Path) -> None:
    store_as(big(path.with_name("big.jsonl"), "a"), path)
    data = bytearray(path.read_bytes())
    data[200:260] = bytes(60)
    path.write_bytes(data)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.write_bytes(b"PAR1"), "Parquet"),
        (lambda path: path.write_bytes(b"PAR1" + b"\0" * 100 + b"PAR1"), "Parquet"),
        (truncated, "Parquet"),
        (flipped, ""),
        (table(metadata={}), "no header"),
        (table(metadata={b"hate.header": b"{}\n", b"hate.end": b""}), "not a transcript"),
        (table(metadata={b"hate.header": HEADER.encode(), b"hate.end": b'{"end":true,"sha256":"0"}'}), "sha256"),
        (table(id=pa.array([5], pa.int64())), "column 'id' is int64, not string"),
        (table(id=None), "column 'id' is missing"),
        (table(id=pa.array([None], pa.string())), "id"),
        (table(outcome=pa.array(["XP"])), "'XP'"),
        (table(score=pa.array([[1.0]])), "column 'score'"),
        (table(rest=pa.array(["{"])), "a record that cannot be used"),
        (table(rest=pa.array(['{"what":1}'])), "a record that cannot be used"),
        (table(columns=pa.array(["no JSON"])), ""),
        (table(line=pa.array([b'{"id":"\xff"}'])), "not UTF-8"),
        (repeated("x" * 1_000_000, 20_000), "times its size"),
        (forged(table(id=pa.array([None], pa.string()))), "id"),
        (forged(table(outcome=pa.array(["XP"]))), "'XP'"),
        (forged(table(outcome=pa.array([None], pa.string()))), "outcome"),
        (forged(table(error=pa.array(["because"]))), "'because'"),
        (forged(table(rank=pa.array([0], pa.int64()))), "rank"),
        (forged(table(repeat=pa.array([1 << 31], pa.int64()))), "repeat"),
        (forged(table(memory=pa.array([-1], pa.int64()))), "memory"),
        (forged(table(rest=pa.array(['{"score":"high"}']))), "score"),
        (forged(table(rest=pa.array(['{"what":1}']))), "a record that cannot be used"),
        (forged(table(columns=pa.array(["[1]"]))), "columns"),
        (forged(table(columns=pa.array(['{"a":' * 5_000 + "1" + "}" * 5_000]))), ""),
        (forged(table(values=pa.array(['{"f1":"x"}']))), "values"),
        (forged(table(line=pa.array([b'{"id":"c2"}']))), "outcome"),
        (forged(table(line=pa.array([b'{"id":"\xff"}']))), "not UTF-8"),
        (forged(table(id=pa.array([b"\xff"]).cast(pa.string(), safe=False))), ""),
        (forged(repeated("x" * 1_000_000, 20_000)), "times its size"),
    ],
)
def test_a_hostile_file_is_refused_in_a_line(
    shop: Workshop, make: Callable[[Path], None], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "ALLOWANCE", 1 << 20)
    make(shop.folder / "t.parquet")
    for words in (("rate", "t.parquet"), ("show", "t.parquet"), ("convert", "t.parquet", "u.jsonl")):
        done = shop.call(*words)
        assert done.status == 2, done.out
        assert done.err.count("\n") == 1
        assert said in done.err
    assert not (shop.folder / "u.jsonl").exists()


def test_without_pyarrow_there_is_a_hint(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    store_as(big(shop.folder / "a.jsonl", "a"), shop.folder / "a.parquet")
    shop.script(2)
    shop.interface()
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    for words in (("rate", "a.parquet"), ("convert", "a.jsonl", "b.parquet"), ("run", "toy", "-o", "c.parquet")):
        done = shop.call(*words)
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert "pip install 'hate-harness[parquet]'" in done.err
    assert not list(shop.folder.glob("[bc].parquet*"))
