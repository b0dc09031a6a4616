"""Large transcripts read side by side, by real processes."""

import hashlib
import sys
from pathlib import Path

import pytest

from harness.errors import TranscriptError
from harness.transcript import parallel
from harness.transcript.columns import read_columns
from harness.transcript.kept_columns import MIN_CASES
from harness.transcript.parallel import read_each
from tests.transcript.transcript_files import FIRST_LINE

LINE = '{"id":"%d","outcome":"%s","stratum":"%d"}\n'


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, str]]:
    """Two transcripts whose columns are kept once they have been read."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for number, name in enumerate("ab"):
        lines = "".join(LINE % (i, "TP" if i % (number + 2) else "FN", i // 9) for i in range(MIN_CASES))
        body = FIRST_LINE + lines.encode()
        end = f'{{"end":true,"tests":{MIN_CASES},"sha256":"{hashlib.sha256(body).hexdigest()}"}}\n'
        (tmp_path / f"{name}.jsonl").write_bytes(body + end.encode())
    return [(tmp_path / f"{name}.jsonl", name) for name in "ab"]


def failures(pair: list[tuple[Path, str]], *, cores: int) -> list[int]:
    return [int((~columns.success).sum()) for columns in read_each(pair, lean=True, cores=cores)]


def test_the_second_is_read_by_another_process(pair: list[tuple[Path, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    read_here: list[Path] = []

    def found(path: Path, **options: bool) -> object:
        read_here.append(path)
        assert path == pair[0][0] or any((path.parent / "cache/hate/columns").glob(f"{path.stat().st_size}-*"))
        return read_columns(path, lean=options["lean"])

    monkeypatch.setattr(parallel, "read_columns", found)
    assert failures(pair, cores=2) == [MIN_CASES // 2, -(-MIN_CASES // 3)]
    assert read_here == [path for path, _ in pair]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("broken", ["core", "python", "cache"])
def test_without_another_process_it_is_read_here(
    pair: list[tuple[Path, str]], monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    if broken == "python":
        monkeypatch.setattr(sys, "executable", "/nonexistent")
    if broken == "cache":
        monkeypatch.setenv("HATE_COLUMNS", "off")
    assert failures(pair, cores=1 if broken == "core" else 2) == [MIN_CASES // 2, -(-MIN_CASES // 3)]


@pytest.mark.slow
def test_what_is_wrong_with_the_second_is_said(pair: list[tuple[Path, str]]) -> None:
    path, _ = pair[1]
    path.write_bytes(path.read_bytes().replace(b'"outcome":"TP"', b'"outcome":"XX"', 1))
    with pytest.raises(TranscriptError, match=r"^b:3: outcome 'XX' is not one of"):
        failures(pair, cores=2)


def test_a_damaged_first_one_does_not_wait_for_the_others(pair: list[tuple[Path, str]]) -> None:
    path, _ = pair[0]
    path.write_bytes(path.read_bytes().replace(b'"outcome":"TP"', b'"outcome":"XX"', 1))
    with pytest.raises(TranscriptError, match=r"^a:3: outcome 'XX'"):
        failures(pair, cores=2)
