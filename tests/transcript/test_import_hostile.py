"""Truncated, hostile and foreign files: each is one line, and nothing is left behind."""

import json
import struct
import sys
import tomllib
import zipfile
import zlib
from pathlib import Path

import pytest

from harness.transcript.importing.tools import inspect_ai
from tests.transcript.imports import INSPECT, LM_EVAL, import_one, refused
from tests.workshop import Workshop

SAMPLES = next((LM_EVAL / "toy__longest-word").glob("samples_colours_*.jsonl"))
HEADER = {"status": "success", "eval": {"task": "t", "model": "m"}}
DEEP = 100_000


def archive(shop: Workshop, **members: str | bytes) -> Path:
    path = shop.folder / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", json.dumps(HEADER))
        for number, content in members.items():
            file.writestr(f"samples/{number}_epoch_1.json", content)
    return path


def sample(**more: object) -> str:
    return json.dumps({"id": 1, "epoch": 1, "target": "x", "scores": {"s": {"value": "C"}}} | more)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "an empty file"),
        (b"\x89PNG\r\n\x1a\n\0\0", "not recognised"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "the compressed data ends early; compress it again"),
        (b"hello", "not recognised"),
        (b"{", "not JSON"),
        (b"[1, 2]", "not as expected"),
        (b'{"a": "b"}', "JSON, but not recognised"),
        (b"[" * DEEP, "not as expected"),
        (b"[{" + b'"a":[' * DEEP, "not JSON"),
        (b'{"a":' * DEEP, "not JSON"),
        (b'{"a": NaN}', "not JSON|neither a finite number"),
        (b'{"a": 1e999}', "Number out of range"),
        (b'{"a": true, "a": false}', "'a' appears twice"),
        (b'{"x": "\\ud800", "y": NaN}', "not JSON"),
        (b"id,y_true,y_pred\n1,a\n", "2 fields, the header has 3"),
        (b"id,y_true,y_pred\n1,a,b\n1,b,b\n", "id '1' appears twice"),
        (b"id,y_true,y_pred\n,a,b\n", "no id; every case needs one"),
        (b"id,y_true,y_pred\n1,,b\n", "no true label"),
        (b"id,y_true,y_pred\n", "no rows"),
        (b"id,y_true,y_pred\n1,\xff,b\n", "not UTF-8"),
        (b"id,y_true,y_true,y_pred\n1,1,1,1\n", "appears twice"),
        (b"id,y_true,y_pred,y_score\n1,1,1,nan\n", "neither a finite number"),
        (b"id,success\n1,maybe\n", "'maybe' is neither a finite number nor true or false"),
        (b'{"id": 1, "success": true}\n{"id": 2', ":2: not JSON"),
        (b'{"id": 1, "success": true}\n[]\n', ":2: not as expected"),
        (b'{"hate": "transcript", "format": 1}\n{}\n', "already a transcript"),
        (b'{"doc_id": 1, "resps": [], "acc": 1.0}\n{"doc_id": 1, "resps": [], "acc": 0.0}\n', "appears twice"),
        (b'{"doc_id": 1, "resps": [], "acc": NaN}\n', "neither a finite number"),
        (b'{"doc_id": 1, "resps": []}\n', "no answer has a mark"),
        (b'{"status": "success", "eval": 3}', "not as expected"),
        (b'{"status": "success", "eval": {"task": "t", "model": "m"}}', "without samples"),
        (b'{"results": [{"success": "yes", "provider": "p", "vars": {}}]}', "not as expected"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_used(shop: Workshop, content: bytes, said: str) -> None:
    shop.write("file.jsonl", content)
    line = refused(shop, "file.jsonl")
    assert any(part in line for part in said.split("|")), line
    assert line.startswith("hate: file.jsonl")


def test_a_file_that_is_not_there(shop: Workshop) -> None:
    assert refused(shop, "nowhere.csv") == "hate: nowhere.csv: No such file or directory"
    assert refused(shop, ".") == "hate: .: Is a directory"


@pytest.mark.parametrize("kept", [10, 1000, 5000, -30])
def test_a_truncated_archive(shop: Workshop, kept: int) -> None:
    shop.write("cut.eval", (INSPECT / "capitals_zstd.eval").read_bytes()[:kept])
    assert "cut.eval: damaged or incomplete" in refused(shop, "cut.eval", "--metric", "match")


@pytest.mark.parametrize("name", ["capitals_zstd.eval", "capitals_deflate.eval"])
def test_an_archive_with_a_flipped_byte(shop: Workshop, name: str) -> None:
    data = bytearray((INSPECT / name).read_bytes())
    with zipfile.ZipFile(INSPECT / name) as file:
        info = next(info for info in file.infolist() if info.filename.startswith("samples/"))
    offset = info.header_offset + 30 + len(info.filename) + info.compress_size // 2
    data[offset] ^= 0xFF
    shop.write("flipped.eval", bytes(data))
    assert "damaged" in refused(shop, "flipped.eval", "--metric", "match")


def test_a_zip_of_something_else(shop: Workshop) -> None:
    with zipfile.ZipFile(shop.folder / "book.xlsx", "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
    assert "a zip, but not a log of inspect_ai" in refused(shop, "book.xlsx")


def test_a_member_that_unpacks_to_far_too_much(shop: Workshop) -> None:
    path = shop.write("bomb.eval", crafted_archive(b" " * (64 << 20), inspect_ai.ZSTANDARD, 64 << 20))
    assert path.stat().st_size < 20_000
    assert "header.json: would unpack to 67,108,864 bytes; refused" in refused(shop, path)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, inspect_ai.ZSTANDARD])
def test_a_member_that_lies_about_its_size(shop: Workshop, method: int) -> None:
    """The index claims ten bytes; the member unpacks to 64 MiB."""
    path = shop.write("liar.eval", crafted_archive(b" " * (64 << 20), method, 10))
    line = refused(shop, path)
    # The standard library stops after ten bytes without an error; they are not JSON.
    assert "header.json: damaged" in line or "header.json: not JSON" in line


def test_a_member_of_several_frames(shop: Workshop) -> None:
    """inspect_ai begins a new zstd frame every 200 MiB; here they are short."""
    text = json.dumps(HEADER | {"comment": "x" * 1000}).encode()
    packed = b"".join(zstd(text[offset : offset + 100]) for offset in range(0, len(text), 100))
    path = shop.write("frames.eval", one_member(packed, inspect_ai.ZSTANDARD, text))
    assert "an inspect_ai log without samples" in refused(shop, path)
    with inspect_ai.InspectArchive(path) as archive:
        assert archive.read("header.json") == text


def crafted_archive(content: bytes, method: int, claimed: int) -> bytes:
    """A zip with one member, header.json, that claims this size."""
    if method == zipfile.ZIP_DEFLATED:
        squeeze = zlib.compressobj(wbits=-15)
        return one_member(squeeze.compress(content) + squeeze.flush(), method, content[:claimed])
    return one_member(zstd(content), method, content[:claimed])


def zstd(content: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.compress(content)
    import zstandard

    return zstandard.compress(content)


def one_member(packed: bytes, method: int, claimed: bytes) -> bytes:
    """A zip whose header.json claims to unpack to these bytes; fields as in APPNOTE.TXT of PKWARE."""
    name = b"header.json"
    fields = (20, 0, method, 0, 33, zlib.crc32(claimed), len(packed), len(claimed), len(name), 0)
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", *fields) + name
    central = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, *fields, 0, 0, 0, 0, 0) + name
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(central), len(local) + len(packed), 0)
    return local + packed + central + end


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "missing required field `id`"),
        (sample(scores={"s": {"value": {"deep": [1]}}}), "s.deep: [1] is neither"),
        (sample(scores={"s": {"value": "maybe"}}), "'maybe' is neither"),
        (sample(target={"a": 1}), "Expected `str | array`"),
        ('{"id": 1, "events": ' + "[" * DEEP, "not JSON"),
        (b"\xff\xfe", "not JSON"),
    ],
)
def test_members_that_cannot_be_used(shop: Workshop, content: str | bytes, said: str) -> None:
    line = refused(shop, archive(shop, a=content))
    assert said in line


def test_the_same_sample_twice(shop: Workshop) -> None:
    assert "id '1' appears twice" in refused(shop, archive(shop, a=sample(), b=sample()))


def test_samples_with_missing_epochs(shop: Workshop) -> None:
    path = archive(shop, a=sample(), b=sample(epoch=2), c=sample(id=2))
    assert "3 answers to 2 cases" in refused(shop, path)
    _, records = import_one(shop, path, "--partial")
    assert list(records) == ["1#1", "1#2", "2#1"]


def test_repeats_that_disagree_about_the_truth(shop: Workshop) -> None:
    assert "has a different ground truth than before" in refused(
        shop, archive(shop, a=sample(), b=sample(epoch=2, target="y"))
    )


def test_names_cannot_lead_out_of_the_folder(shop: Workshop) -> None:
    log: dict[str, object] = {"status": "success", "eval": {"task": "../../etc/\u202epasswd", "model": "../x\x1b[31m"}}
    log["samples"] = [json.loads(sample())]
    shop.write("log.json", json.dumps(log))
    done = shop.call("import", "log.json")
    assert done.status == 0
    assert "\x1b" not in done.out
    assert [path.relative_to(shop.folder).as_posix() for path in shop.folder.rglob("*.jsonl")] == [
        "transcripts/etc-passwd/x_31m.jsonl"
    ]


def test_logs_of_inspect_ai_need_no_extra(shop: Workshop) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(name.startswith("zstandard") for name in project["dependencies"])
    # Old commands still name it.
    assert project["optional-dependencies"]["import"] == []
    for kind in ("zstd", "deflate"):
        assert import_one(shop, INSPECT / f"capitals_{kind}.eval", "--metric", "match")


def test_the_extra_all_has_every_extra_that_users_need() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = set(extras["all"][0].partition("[")[2].rstrip("]").split(","))
    assert named == extras.keys() - {"all", "docs", "import", "test"}


def test_all_mistakes_of_a_table_at_once(shop: Workshop) -> None:
    shop.write("t.csv", "id,ok\n" + "a,1\n" * 30)
    done = shop.call("import", "t.csv", "--success", "ok")
    lines = done.err.splitlines()
    assert done.status == 2
    assert lines[0] == "hate: t.csv: 29 mistakes"
    assert lines[-1] == "  and 9 more"
    assert len(lines) == 22


def test_a_full_disk_leaves_nothing(shop: Workshop) -> None:
    """Every byte past the limit is refused, as on a full disk."""
    import resource
    import signal

    rows = "".join(f"{n},{'x' * 1000}\n" for n in range(100))
    shop.write("t.csv", "y_true,y_pred\n" + rows)
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        line = refused_keeping_folders(shop)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert "File too large; free some space, or choose another place with -o" in line


def refused_keeping_folders(shop: Workshop) -> str:
    done = shop.call("import", "t.csv")
    assert done.status == 2
    assert [path for path in shop.folder.rglob("*.jsonl*") if path.is_file()] == []
    return done.err


def test_a_place_that_cannot_be_written(shop: Workshop) -> None:
    shop.write("file", "in the way")
    assert "choose another place with -o" in refused(shop, SAMPLES, "--metric", "acc", "-o", "file/out.jsonl")
