"""Reading transcripts, also damaged and foreign ones: errors name file and line."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import TranscriptError
from harness.model import Counts, Outcome, Trial
from harness.transcript.format import AlgorithmInfo, Header, differences
from harness.transcript.format import TestInfo as Info
from harness.transcript.read import BLOCK, summarise
from tests.simulation import examples
from tests.transcript.transcript_files import FIRST_LINE, HEADER, read, write

quickly = examples(100)
RECORD = b'{"id":"1","outcome":"TP"}\n'
TRIALS = [Trial(f"case {i}", list(Outcome)[i % 4], expect="ü", score=i / 3) for i in range(40)]


def file(folder: Path, *lines: bytes, name: str = "t.jsonl") -> Path:
    path = folder / name
    path.write_bytes(b"".join(lines))
    return path


def mistake(path: Path) -> str:
    said = []
    for way in (read, summarise):
        with pytest.raises(TranscriptError) as caught:
            way(path)
        said.append(str(caught.value))
    assert len(set(said)) == 1
    assert "\n" not in said[0]
    return said[0]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b'{"id":"2","outcome":"XP"}\n', "outcome 'XP' is not one of TP, TN, FP, FN"),
        (b'{"id":"2"}\n', "outcome None is not one of TP, TN, FP, FN"),
        (b'{"outcome":"TP"}\n', "`id`"),
        (b'{"id":2,"outcome":"TP"}\n', "$.id"),
        (b'{"id":"2","outcome":"TP","score":"much"}\n', "$.score"),
        (b'{"id":"2","outcome":"TP","score":NaN}\n', "malformed"),
        (b'{"id":"2","outcome":"TP","error":"bad luck"}\n', "$.error"),
        (b'{"id":"2","outcome":"TP","repeat":5000000000}\n', "$.repeat"),
        (b'{"id":"2","outcome":"TP","repeat":0}\n', "$.repeat"),
        (b'{"id":"2","outcome":"TP","memory":1' + b"0" * 400 + b"}\n", "$.memory"),
        (b'{"id":"\xff","outcome":"TP"}\n', "not UTF-8 text"),
        (b'{"id":"2","outcome":"TP"\n', ""),
        (b"not JSON\n", "malformed"),
        (b"[]\n", "object"),
        (b"\x00\x00\x00\n", "malformed"),
        (b'{"id":"2","outcome":"TP","actual":' + b"[" * 5000 + b"]" * 5000 + b"}\n", "recursion"),
    ],
)
def test_a_bad_line_is_named_with_file_and_line(tmp_path: Path, bad: bytes, said: str) -> None:
    path = file(tmp_path, FIRST_LINE, RECORD, RECORD, b"\n", bad, RECORD)
    message = mistake(path)
    assert message.startswith(f"{path}:5: ")
    assert said in message


def test_the_line_is_right_far_into_a_file_of_many_blocks(tmp_path: Path) -> None:
    line = b'{"id":"1","outcome":"TP","message":"' + b"x" * 960 + b'"}\n'
    count = 2 * BLOCK // len(line) + 100
    path = file(tmp_path, FIRST_LINE, line * count, b"{}\n", line)
    assert mistake(path).startswith(f"{path}:{count + 2}: ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"id,outcome\n1,TP\n", "not a transcript"),
        (b'{"format":1}\n', "it does not begin with a transcript's header"),
        (b"[1, 2]\n", "not a transcript"),
        (b'{"hate":"transcript","format":2}\n', "format 2 is not known here, only 1"),
        (b'{"hate":"transcript"}\n', "format missing is not known here, only 1"),
        (b'{"hate":"transcript","format":1}\n', "`test`"),
        (FIRST_LINE[:40], "not a transcript"),
        (b"\x89PNG\r\n\x1a\n", "not a transcript"),
    ],
)
def test_files_that_are_not_transcripts(tmp_path: Path, content: bytes, said: str) -> None:
    path = file(tmp_path, content)
    message = mistake(path)
    assert message.startswith(f"{path}:1: ")
    assert said in message


def test_missing_files_and_folders_are_errors(tmp_path: Path) -> None:
    assert mistake(tmp_path / "none.jsonl") == f"{tmp_path / 'none.jsonl'}: No such file or directory"
    assert mistake(tmp_path) == f"{tmp_path}: Is a directory"


def test_unknown_keys_are_ignored_everywhere(tmp_path: Path) -> None:
    """'A reader ignores keys that it does not know.'"""
    header = json.loads(FIRST_LINE) | {"mood": "good"}
    header["test"] |= {"colour": "red"}
    record = b'{"future":{"a":[1]},"id":"1","outcome":"TN","end":false}\n'
    body = json.dumps(header).encode() + b"\n" + record
    end = {"end": True, "tests": 1, "TN": 1, "sha256": hashlib.sha256(body).hexdigest(), "weather": "rain"}
    path = file(tmp_path, body, json.dumps(end).encode(), b"\n")
    assert read(path) == [Trial("1", Outcome.TN)]
    assert summarise(path).complete


def test_keys_come_in_any_order_in_the_last_line_too(tmp_path: Path) -> None:
    """A program that sorts keys writes valid transcripts."""
    body = json.dumps(json.loads(FIRST_LINE), sort_keys=True).encode() + b"\n" + RECORD
    end = {"end": True, "tests": 1, "TP": 1, "sha256": hashlib.sha256(body).hexdigest()}
    for trailing in (b"\n", b"", b"\n\n", b"\r\n"):
        path = file(tmp_path, body, json.dumps(end, sort_keys=True).encode(), trailing)
        assert read(path) == [Trial("1", Outcome.TP)]
        assert summarise(path).complete


def test_a_record_that_mentions_the_end_is_a_record(tmp_path: Path) -> None:
    record = b'{"id":"1","outcome":"TP","actual":"end","columns":{"end":true}}\n'
    path = file(tmp_path, FIRST_LINE, record)
    assert [trial.id for trial in read(path)] == ["1"]
    assert not summarise(path).complete


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_a_killed_run_is_incomplete_and_loses_only_its_last_record(tmp_path: Path, name: str) -> None:
    """Truncated at every byte after the header: the complete records are read, and no file counts as complete."""
    content = write(tmp_path / "whole.jsonl", TRIALS[:3]).read_bytes()
    head = content.index(b"\n") + 1
    for cut in range(head, len(content) - 1):
        whole = content[head:cut].count(b"\n")
        part = gzip.compress(content[:cut], 1) if name.endswith(".gz") else content[:cut]
        path = file(tmp_path, part, name=name)
        assert read(path) == TRIALS[:whole]
        assert not summarise(path).complete
    assert summarise(file(tmp_path, content[:-1])).complete


def test_a_torn_compressed_file_is_an_error(tmp_path: Path) -> None:
    packed = write(tmp_path / "t.jsonl.gz", TRIALS).read_bytes()
    for cut in (12, len(packed) // 2, len(packed) - 1):
        path = file(tmp_path, packed[:cut], name="torn.jsonl.gz")
        assert mistake(path).startswith(f"{path}: cannot be read: ")


def test_compression_is_recognised_by_content_not_by_name(tmp_path: Path) -> None:
    packed = write(tmp_path / "t.jsonl.gz", TRIALS).read_bytes()
    assert read(file(tmp_path, packed, name="wrong.jsonl")) == TRIALS


@quickly
@given(st.data())
def test_a_damaged_byte_is_detected(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Any changed byte before the last line changes the sha256; most make a line that cannot be read."""
    folder = tmp_path_factory.mktemp("t")
    content = bytearray(write(folder / "t.jsonl", TRIALS[:5]).read_bytes())
    last = content.rstrip(b"\n").rfind(b"\n")
    offset = data.draw(st.integers(0, last))
    content[offset] ^= data.draw(st.integers(1, 255))
    with pytest.raises(TranscriptError, match=r"t\.jsonl"):
        summarise(file(folder, bytes(content)))


def test_damage_in_valid_records_is_found_by_digest_and_counts(tmp_path: Path) -> None:
    content = write(tmp_path / "t.jsonl", TRIALS).read_bytes()
    changed = file(tmp_path, content.replace(b'"outcome":"FN"', b'"outcome":"TP"', 1))
    assert "its content does not have its sha256" in mistake(changed)
    body = content[: content.rstrip(b"\n").rfind(b"\n") + 1]
    lies = {"end": True, "tests": 40, "TP": 40, "sha256": hashlib.sha256(body).hexdigest()}
    with pytest.raises(TranscriptError, match="its last line says"):
        summarise(file(tmp_path, body, json.dumps(lies).encode(), b"\n"))


@pytest.mark.parametrize("more", [RECORD, b'{"end":true}\n', b"garbage\n", b"garbage"])
def test_nothing_may_follow_the_last_line(tmp_path: Path, more: bytes) -> None:
    content = write(tmp_path / "whole.jsonl", TRIALS).read_bytes()
    path = file(tmp_path, content, more)
    assert mistake(path) == f"{path}:{len(TRIALS) + 3}: there is more after the end line"


def test_blank_lines_and_other_line_endings_are_accepted(tmp_path: Path) -> None:
    path = file(tmp_path, FIRST_LINE.replace(b"\n", b"\r\n"), b"\n", RECORD.replace(b"\n", b"\r\n"), b"  \n", RECORD)
    assert [t.id for t in read(path)] == ["1", "1"]


def test_huge_ids_and_long_answers_are_read(tmp_path: Path) -> None:
    given_trials = [Trial("i" * 5_000_000, Outcome.TP, actual="a" * 6_000_000), Trial("2", Outcome.FN)]
    path = write(tmp_path / "t.jsonl", given_trials)
    assert read(path) == given_trials


def test_two_hundred_thousand_records_are_read(tmp_path: Path) -> None:
    outcomes = (b"TP", b"TN", b"FP", b"FN")
    body = b"".join(b'{"id":"%06d","outcome":"%s","score":%d}\n' % (i, outcomes[i % 4], i) for i in range(200_000))
    end = {"end": True, "tests": 200_000, "TP": 50_000, "TN": 50_000, "FP": 50_000, "FN": 50_000, "ER": 0}
    end["sha256"] = hashlib.sha256(FIRST_LINE + body).hexdigest()  # type: ignore[assignment]
    summary = summarise(file(tmp_path, FIRST_LINE, body, json.dumps(end).encode(), b"\n"))
    assert summary.complete
    assert summary.counts == Counts(50_000, 50_000, 50_000, 50_000)


def test_headers_of_the_same_run_may_differ_in_time_and_place() -> None:
    other = Header("transcript", 1, HEADER.test, HEADER.algorithm, harness="9", python="4", platform="x", started="y")
    assert differences(HEADER, other) == []
    changed = Header(
        "transcript",
        1,
        Info("hdigits", "2.0.0", "1:abc"),
        AlgorithmInfo("wisard", "1.0"),
        params={"threshold": 1.0},
    )
    assert differences(HEADER, changed) == [
        "test (version: '2.0.0' there, '1.0.0' now)",
        "params (threshold: 1.0 there, None now)",
    ]
