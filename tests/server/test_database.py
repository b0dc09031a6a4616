"""What a server remembers survives a kill, is right with several writers, and says what is wrong with its file."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import DataError, HateError, OutputError
from harness.server.database import APPLICATION, VERSION, BoardEntry, Database
from harness.site.publish import publish
from harness.site.publish_candidates import read_test_candidate
from tests.server.served import serve_here, toy_script, toy_transcript
from tests.workshop import Workshop

DAY = datetime(2026, 11, 16, 23, 59, 30, tzinfo=UTC)
# Prints the number of each use when it has been confirmed.
TAKES = """
import sys
from datetime import datetime
from pathlib import Path
from harness.server.database import Database
database, at = Database(Path(sys.argv[1])), datetime.fromisoformat(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(1, 1 + int(sys.argv[3])):
    if not database.take("site", "anna", int(sys.argv[4]), at):
        print(number, flush=True)
"""


def taking(path: Path, *, times: int, most: int) -> "subprocess.Popen[str]":
    """A process that waits for a line, and then uses what is left, again and again."""
    command = [sys.executable, "-c", TAKES, str(path), DAY.isoformat(), str(times), str(most)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_two_processes_never_use_more_than_there_is(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    both = [taking(path, times=40, most=50) for _ in range(2)]
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120)[0].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(map(len, said)) == 50
    assert Database(path).used("site", "anna", DAY) == 50


def test_threads_that_make_the_file_lose_nothing(tmp_path: Path) -> None:
    database = Database(tmp_path / "state.db")
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda n: database.add_token(f"n{n}"), range(24)))
    assert {token.name for token in database.tokens()} == {f"n{n}" for n in range(24)}
    assert all(database.find_token(token) is not None for token in tokens)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("confirmed", [1, 2, 5, 9])
def test_a_kill_loses_nothing_that_was_confirmed(tmp_path: Path, confirmed: int) -> None:
    path = tmp_path / "state.db"
    anna = Database(path).add_token("anna")
    process = taking(path, times=100_000, most=100_000)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    for _ in range(confirmed):
        last = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    # What it said until it was killed counts as well; `communicate` would lose what was read ahead.
    said = process.stdout.read().split()
    process.communicate(timeout=60)
    last = int(said[-1]) if said else last
    # The step after it may have been on disk before it was said.
    assert Database(path).used("site", "anna", DAY) - last in (0, 1)
    assert Database(path).find_token(anna) is not None
    Database(path).check()
    assert Database(path).take("site", "anna", 100_000, DAY) == 0


def test_a_day_ends_at_midnight_and_is_forgotten(tmp_path: Path) -> None:
    database = Database(tmp_path / "state.db")
    assert [database.take("site", "anna", 2, DAY) for _ in range(3)] == [0, 0, 30]
    assert [database.take(*key, 1, DAY) for key in (("site", "ben"), ("other", "anna"))] == [0, 0]
    later = DAY.replace(day=17, hour=0)
    assert (database.used("site", "anna", later), database.take("site", "anna", 2, later)) == (0, 0)
    assert database.used("site", "anna", DAY) == 0


def test_submissions_come_back_as_they_were(tmp_path: Path) -> None:
    database = Database(tmp_path / "submissions.db", "submissions")
    assert database.submissions() == []
    assert not database.path.exists()
    entries = [BoardEntry("anna", "a", "1" * 64), BoardEntry("ben", "b", "2" * 64, "3" * 64, 7, 10, "mae", 1 / 3)]
    for entry in entries:
        database.add_submission(entry)
    assert database.submissions() == entries


def with_foreign_tables(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE tokens (name TEXT)")
    connection.close()


def of_the_future(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()


def torn(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 + 100)


def overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xaa" * (len(data) - 4096)
    path.write_bytes(data)


def no_database(path: Path) -> None:
    path.write_text('{"tokens": []}')


def one_byte(path: Path) -> None:
    path.write_text("[")


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "foreign tables": (with_foreign_tables, "not a file of tokens, or a damaged one: it belongs to another program"),
    "newer": (of_the_future, "update it with `pip install --upgrade hate-harness`"),
    "torn": (torn, "not a file of tokens, or a damaged one"),
    "overwritten": (overwritten, "not a file of tokens, or a damaged one"),
    "one byte": (one_byte, "not a file of tokens, or a damaged one"),
    "no database": (
        no_database,
        "not a file of tokens, or a damaged one: file is not a database; put a copy of it back",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_cannot_be_used_is_one_line(shop: Workshop, damage: str) -> None:
    spoil, text = DAMAGES[damage]
    path = shop.folder / "tokens.db"
    shop.call("token", "add", "anna", "--tokens", "tokens.db")
    spoil(path)
    before = path.read_bytes()
    for words in (["list"], ["add", "ben"], ["remove", "anna"], ["quota", "anna", "3"]):
        done = shop.call("token", *words, "--tokens", "tokens.db")
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1), (words, done.err)
        assert text in done.err
        assert "tokens.db: " in done.err
    publish(shop.folder / "site", [read_test_candidate(toy_script(shop.folder / "toy"))])
    done = shop.call("serve", "site", "--tokens", "tokens.db", "--port", "0")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert text in done.err
    assert path.read_bytes() == before


def test_whatever_is_damaged_is_an_answer_or_one_line(tmp_path: Path) -> None:
    database, rng = Database(tmp_path / "state.db"), random.Random(20)
    for name in ("anna", "ben"):
        database.add_token(name)
    database.take("site", "anna", 5, DAY)
    whole = database.path.read_bytes()
    offsets = [offset for offset, byte in enumerate(whole) if byte]
    steps: list[Callable[[], object]] = [
        database.tokens,
        database.check,
        database.submissions,
        lambda: database.find_token("anna:x"),
        lambda: database.take("site", "anna", 5, DAY),
        lambda: database.used("site", "anna", DAY),
        lambda: database.set_quota("anna", 3),
    ]
    refused = []
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 2, 5))):
            data[rng.choice(offsets)] = rng.choice((0, 255, rng.randrange(256)))
        for path in tmp_path.iterdir():
            path.unlink()
        database.path.write_bytes(data)
        for step in steps:
            try:
                step()
            except HateError as error:
                refused.append(str(error))
    assert refused
    assert not any("\n" in text for text in refused)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_spoilt_under_a_server_is_one_line(tmp_path: Path, damage: str) -> None:
    spoil, text = DAMAGES[damage]
    root, path = tmp_path / "site", tmp_path / "tokens.db"
    publish(root, [read_test_candidate(toy_script(tmp_path / "toy"))])
    anna = Database(path).add_token("anna")
    whole = tmp_path / "whole.db"
    shutil.copy(path, whole)
    with serve_here(root, tokens=path) as server:
        spoil(path)
        answer = server.put("/transcripts/toy@1.0/mine", toy_transcript(root), anna)
        assert (answer.status_code, answer.text.count("\n")) == (500, 1)
        assert str(tmp_path) not in answer.text
        assert any(text in line for line in server.log)
        shutil.copy(whole, path)
        assert server.put("/transcripts/toy@1.0/mine", toy_transcript(root), anna).status_code == 201


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["add", "anna", "--tokens", "missing/tokens.db"],
            "missing/tokens.db: No such file or directory; name a file in",
        ),
        (["add", "anna", "--tokens", "."], ".: "),
        (["list", "--tokens", "interface.py/tokens.db"], "interface.py/tokens.db: Not a directory; name another file"),
    ],
)
def test_a_place_that_has_no_file_is_one_line(shop: Workshop, words: list[str], text: str) -> None:
    shop.write("interface.py", "")
    done = shop.call("token", *words)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert text in done.err


def test_nothing_is_made_by_looking(shop: Workshop) -> None:
    for words in (["list"], ["remove", "anna"], ["quota", "anna", "3"]):
        shop.call("token", *words, "--tokens", "tokens.db")
    assert not (shop.folder / "tokens.db").exists()
    (shop.folder / "tokens.db").touch()
    assert shop.call("token", "list", "--tokens", "tokens.db", "--format", "json").json == {"tokens": []}


def test_a_full_disk_is_one_line_and_changes_nothing(tmp_path: Path) -> None:
    # The size of files is limited as a full disk would, in a process of its own.
    path = tmp_path / "state.db"
    anna = Database(path).add_token("anna")
    program = f"""
import resource, signal, sys
from pathlib import Path
from harness.server.database import Database
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({path.stat().st_size}, {path.stat().st_size}))
try:
    for number in range(1000):
        Database(Path(sys.argv[1])).add_token(f"name{{number}}")
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith(f"OutputError {path}: "), done
    assert done.stdout.count("\n") == 1
    assert ("make room on the disk" in done.stdout) or ("look after the disk" in done.stdout)
    Database(path).check()
    assert Database(path).find_token(anna) is not None


def test_a_file_that_somebody_holds_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.server.database.BUSY_SECONDS", 0.01)
    database = Database(tmp_path / "state.db")
    anna = database.add_token("anna")
    holder = sqlite3.connect(database.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert database.find_token(anna) is not None
    with pytest.raises(OutputError, match=r"state\.db: database is locked; another process has held it"):
        database.take("site", "anna", 1, DAY)
    holder.close()
    assert database.take("site", "anna", 1, DAY) == 0


def test_the_file_says_whose_it_is(tmp_path: Path) -> None:
    database = Database(tmp_path / "state.db")
    database.add_token("anna")
    with sqlite3.connect(database.path) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    connection.close()
    assert [path.name for path in tmp_path.iterdir()] == ["state.db"]


def test_a_board_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    database = Database(tmp_path / "submissions.db", "submissions")
    database.add_submission(BoardEntry("anna", "a", "1" * 64))
    torn(database.path)
    with pytest.raises(DataError, match="not a file of submissions, or a damaged one"):
        database.submissions()
