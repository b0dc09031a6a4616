"""`hate import`, end to end: where transcripts go, what is printed, and how they can be used."""

import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.api import storing
from harness.model import Trial
from harness.transcript.importing import convert
from harness.transcript.importing.convert import store
from harness.transcript.write import TranscriptWriter
from tests.workshop import Workshop

TABLE = "id,y_true,y_pred,group\n1,a,a,x\n2,b,a,x\n3,b,b,y\n4,a,a,y\n"


@pytest.fixture
def tables(shop: Workshop) -> Workshop:
    shop.write("svm.csv", TABLE)
    shop.write("knn.csv", TABLE.replace("2,b,a", "2,b,b"))
    return shop


def test_transcripts_go_to_the_same_place_as_those_of_runs(tables: Workshop) -> None:
    done = tables.call("import", "svm.csv", "knn.csv", "--format", "json")
    again = tables.call("import", "svm.csv", "--format", "json")
    assert done.json["transcripts"] == ["transcripts/imported/svm.jsonl", "transcripts/imported/knn.jsonl"]
    assert again.json["transcripts"] == ["transcripts/imported/svm-2.jsonl"]
    row = done.json["rows"][1]
    assert [row[key] for key in ("test", "algorithm", "tests", "TP", "FN", "ER", "rate")] == [
        "imported", "knn", 4, 4, 0, 0, 1.0,
    ]  # fmt: skip
    assert tables.call("check", "transcripts").status == 0


def test_names_can_be_chosen(tables: Workshop) -> None:
    done = tables.call("import", "svm.csv", "--test", "pets", "--test-version", "2.1", "--algorithm", "my/svm")
    assert done.status == 0
    header = tables.lines("transcripts/pets/my_svm.jsonl")[0]
    assert (header["test"]["name"], header["test"]["version"], header["algorithm"]["name"]) == ("pets", "2.1", "my/svm")
    assert "--test Pets!" in tables.call("import", "svm.csv", "--test", "Pets!").err


def test_an_existing_file_is_kept(tables: Workshop) -> None:
    assert tables.call("import", "svm.csv", "-o", "out.jsonl.gz").status == 0
    before = (tables.folder / "out.jsonl.gz").read_bytes()
    done = tables.call("import", "knn.csv", "-o", "out.jsonl.gz")
    assert (done.status, done.err) == (2, "hate: out.jsonl.gz: exists; --force overwrites it\n")
    assert (tables.folder / "out.jsonl.gz").read_bytes() == before
    assert tables.call("import", "knn.csv", "-o", "out.jsonl.gz", "--force").status == 0
    header = json.loads(gzip.decompress((tables.folder / "out.jsonl.gz").read_bytes()).splitlines()[0])
    assert header["algorithm"]["name"] == "knn"
    assert sorted(path.name for path in tables.folder.iterdir()) == ["knn.csv", "out.jsonl.gz", "svm.csv"]


def test_several_do_not_fit_into_one_file(tables: Workshop) -> None:
    done = tables.call("import", "svm.csv", "knn.csv", "-o", "out.jsonl")
    assert done.status == 2
    assert "2 transcripts do not fit into one file" in done.err
    assert not (tables.folder / "out.jsonl").exists()


def test_with_one_bad_file_nothing_is_written(tables: Workshop) -> None:
    tables.write("bad.csv", "id,y_true,y_pred\n1,a\n")
    assert tables.call("import", "svm.csv", "bad.csv").status == 2
    assert not (tables.folder / "transcripts").exists()


def test_options_for_tables_are_refused_for_logs(tables: Workshop) -> None:
    tables.write("m.json", '{\n"a": true\n}')
    done = tables.call("import", "m.json", "--success", "x")
    assert "--success names a column of a table, but this is a mapping of ids to results" in done.err


def test_a_number_must_be_finite(tables: Workshop) -> None:
    assert "'--success-at': 'nan' is not a finite number" in tables.call("import", "svm.csv", "--success-at", "nan").err


@pytest.mark.parametrize("style", ["table", "plain", "csv", "tex", "md"])
def test_every_format_prints_names_and_counts(tables: Workshop, style: str) -> None:
    done = tables.call("import", "svm.csv", "--format", style)
    assert done.status == 0
    assert "svm" in done.out
    assert "0.7500" in done.out or "0.75" in done.out


def test_imported_results_can_be_compared_case_by_case(tables: Workshop) -> None:
    assert tables.call("import", "svm.csv", "knn.csv", "--psu", "group").status == 0
    done = tables.call("diff", "transcripts/imported/svm.jsonl", "transcripts/imported/knn.jsonl", "--format", "json")
    assert done.status in (0, 1)
    assert '"2"' in done.out


def test_help_does_not_import_numpy() -> None:
    code = (
        "import sys; from harness.cli.main import call; call(['import', '--help']); "
        "print({'numpy', 'scipy', 'requests', 'zstandard'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "FILE" in done.stdout
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize("after", [1, 50, 100])
@pytest.mark.parametrize("older", [False, True])
def test_a_transcript_is_complete_or_absent(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, after: int, older: bool
) -> None:
    """A signal after some of 100 records are on disk: nothing is left, and an older transcript is unchanged."""
    extend = TranscriptWriter.extend

    def extend_and_end(writer: TranscriptWriter, trials: Sequence[Trial]) -> None:
        extend(writer, trials)
        if writer.counts.tests == after:
            assert writer.path.read_bytes().count(b"\n") == after + 1
            signal.raise_signal(signal.SIGTERM)

    shop.write("t.csv", "y_true,y_pred\n" + "a,a\n" * 100)
    if older:
        assert shop.call("import", "t.csv", "-o", "out/t.jsonl").status == 0
    before = {path: path.read_bytes() for path in (shop.folder / "out").glob("*")}
    monkeypatch.setattr(convert, "BLOCK", 1)
    monkeypatch.setattr(TranscriptWriter, "extend", extend_and_end)
    done = shop.call("import", "t.csv", "-o", "out/t.jsonl", *(["--force"] if older else []))
    assert (done.status, done.out, done.err) == (143, "", "hate: terminated\n")
    assert {path: path.read_bytes() for path in (shop.folder / "out").glob("*")} == before


def test_a_signal_after_the_last_record_leaves_a_complete_transcript(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def store_and_end(writer: TranscriptWriter, trials: Sequence[Trial]) -> Path:
        store(writer, trials)
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("the signal had no effect")

    shop.write("t.csv", "y_true,y_pred\n" + "a,a\n" * 100)
    monkeypatch.setattr(storing, "store", store_and_end)
    assert shop.call("import", "t.csv").status == 143
    done = shop.call("check", "transcripts/imported/t.jsonl")
    assert done.status == 0
    assert "a valid transcript: imported, t, 100 records" in done.out
