"""Scripts, tables and records that are made to harm whoever reads them: each costs a line, and little time."""

import base64
import json
import os
import pty
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ScriptError
from harness.files.patterns import EXPONENTIAL, Matcher, compile_pattern, cost
from harness.model import MAX_COLUMNS
from harness.script.case_source import glob_files
from harness.script.references import names_other_files
from harness.server.render import markdown_html
from tests.site.serving import body, redirect, serving
from tests.workshop import Workshop, command

# Each takes longer than anyone waits on a text of forty letters that just does not match.
EXPLODING = {
    "nested": r"^(?P<expect>(a+)+)$",
    "a choice": r"^(?P<expect>(a|a)*)$",
    "a choice of two": r"^(?P<expect>(a|aa)+)$",
    "optional": r"^(?P<expect>(a?a?)+)$",
    "counted": r"^(?P<expect>(a+){20})$",
    "in a row": "^(?P<expect>" + "a?" * 40 + "a" * 40 + ")$",
    "a reference": r"^(?P<expect>(a*)*\2)$",
    "many in a row": "^(?P<expect>" + "a*" * 12 + ")$",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["nested", "in a row"])
def test_an_exploding_pattern_is_an_error_of_one_line(
    how: str, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.files.patterns.MATCH_SECONDS", 0.3)
    shop.write(f"toy/own/{'a' * 39}!", "x")
    path = shop.script(sections='[data.own]\npath = "own"\n')
    source = f"glob = '{{own}}/*'\npattern = '{EXPLODING[how]}'"
    path.write_text(path.read_text().replace('table = "cases.csv"', source))
    done = shop.call("check", path)
    assert done.status == 1
    assert "cases.pattern: takes too long to match 'aaaa" in done.out
    assert "avoid repetitions in repetitions" in done.out
    assert done.out.count("\n") == 1


@pytest.mark.parametrize("how", EXPLODING)
def test_no_exploding_pattern_is_matched_in_this_process(how: str) -> None:
    pattern = re.compile(EXPLODING[how])
    assert not cost(pattern).allows(40)


@pytest.mark.parametrize(
    ("text", "power"),
    [
        (r"(?P<expect>\d)-(?P<writer>\d+)\.pgm$", 2),
        (r"(?P<label>\d+) (?P<score>\S+)", 3),
        (r"((ab){3}c)+", 2),
        (r"(?:\d{1,3}\.){3}x", 1),
    ],
)
def test_ordinary_patterns_are_matched_at_once(text: str, power: int) -> None:
    """By hand: one for the place where a match begins, and one for each unlimited repetition."""
    assert cost(re.compile(text)).power == power
    assert cost(re.compile(text)).allows(100)


@pytest.mark.slow
@given(
    st.sampled_from([r"(?P<x>(a+)+)b", r"(?P<x>a|ab)(?P<y>c)?", r"^(?P<x>(\w+\s?)*)$", r"(?P<x>.)(?P<y>(b*)*)"]),
    st.text("ab c\ud800é\n", max_size=8),
)
def test_outside_matches_are_those_of_python(text: str, subject: str) -> None:
    pattern = compile_pattern(text)
    found = pattern.search(subject)
    with Matcher(pattern) as matcher:
        matcher._cost = EXPONENTIAL
        assert matcher.search(subject) == (None if found is None else found.groupdict())


@pytest.mark.slow
def test_a_program_with_an_exploding_pattern_costs_its_case_only(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.files.patterns.MATCH_SECONDS", 0.3)
    shop.script(2)
    shop.program("prog", f"#!/bin/sh\ntest $1 = x0 && echo {'a' * 40}! || echo a\n")
    shop.toml("[command]\nargv = ['./prog', '{input}']\npattern = '^(?P<label>(a+)+)$'\n")
    first, second = shop.run()
    assert (first["error"], second["actual"]) == ("answer", "a")
    assert first["message"].startswith("command.pattern: takes too long to match 'aaaa")


def test_a_pattern_of_a_million_characters_is_refused(shop: Workshop) -> None:
    with pytest.raises(ScriptError, match="an expression of 1,000,000 characters; at most 2,000 are allowed"):
        compile_pattern("a" * 1_000_000)


def make_tree(root: Path) -> None:
    for name in ("a.png", "b/a.png", "b/.h.png", "b/c/a.png", "b/c/d/e/a.png", "x.y/b/z.txt", "b/c/[1].png", "c"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")


@pytest.mark.parametrize(
    "glob",
    ["*", "*.png", "**/*.png", "**/a.png", "b/**/*.png", "**/b/**/*", "**", "*/*", "b/c/[[]1].png", "**/**/*.png",
     "./b/*.png", "b//c/*", "**/c/**/e/*", "?.png", "[ab].png", "**/.*", "b/**", "c/*", "nothing/**/x"],
)  # fmt: skip
def test_globs_find_what_pathlib_finds(glob: str, tmp_path: Path) -> None:
    make_tree(tmp_path)
    expected = sorted({p.relative_to(tmp_path).as_posix() for p in tmp_path.glob(glob) if p.is_file()})
    assert glob_files(tmp_path, glob) == expected


def test_many_stars_take_one_walk(tmp_path: Path) -> None:
    """Forty folders deep; pathlib goes through them in as many ways as there are to share them among the stars."""
    deep = tmp_path.joinpath(*["d"] * 40)
    deep.mkdir(parents=True)
    (deep / "a.png").write_text("")
    paths = glob_files(tmp_path, "/".join(["**", "d"] * 12 + ["*.png"]))
    assert paths == [f"{'d/' * 40}a.png"]
    assert glob_files(tmp_path, "/".join(["**"] * 50 + ["*.png"])) == paths


def test_a_glob_gives_up_on_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tree(tmp_path)
    monkeypatch.setattr("harness.script.case_source.MAX_VISITED", 5)
    with pytest.raises(ScriptError, match=r"has to go through more than 5 files; name a folder in it"):
        glob_files(tmp_path, "**/*.png")


WIDE = MAX_COLUMNS + 1


def test_a_table_that_is_too_wide_is_an_error_of_one_line(shop: Workshop) -> None:
    names = ",".join(f"n{number}" for number in range(20_000))
    shop.script(rows=f"id,input,expect,positive,{names}\nc0,x,x,true,{'1,' * 19_999}1\n")
    done = shop.call("check", "toy")
    assert done.status == 1
    assert "cases.csv:1: more than 1,000 columns; put what only programs read into files" in done.out


def test_json_lines_with_a_column_each_are_refused_too(shop: Workshop) -> None:
    path = shop.script()
    lines = [json.dumps({"id": f"c{n}", "input": "x", "expect": "x", f"n{n}": 1}) for n in range(WIDE)]
    shop.write("toy/cases.jsonl", "\n".join(lines))
    path.write_text(path.read_text().replace("cases.csv", "cases.jsonl"))
    done = shop.call("check", "toy")
    assert done.status == 1
    assert f"cases.jsonl:{MAX_COLUMNS - 2}: more than 1,000 columns" in done.out


def test_inline_cases_with_a_column_each_are_refused_too(shop: Workshop) -> None:
    path = shop.script()
    cases = "".join(f'[[cases.case]]\nid = "c{n}"\nexpect = "x"\nn{n} = 1\n' for n in range(WIDE))
    path.write_text(path.read_text().replace('[cases]\ntable = "cases.csv"\n', cases))
    done = shop.call("check", "toy")
    assert done.status == 1
    assert "cases: more than 1,000 columns" in done.out


def test_a_transcript_with_a_column_for_each_record_is_refused(toy: Workshop) -> None:
    toy.run()
    header, record, *_ = (toy.folder / "out.jsonl").read_text().splitlines()
    wide = [json.loads(record) | {"id": f"c{n}", "columns": {f"n{n}": "1"}} for n in range(5_000)]
    toy.write("wide.jsonl", "\n".join([header, *map(json.dumps, wide), '{"end":true,"tests":5000}', ""]))
    for words in (["rate", "wide.jsonl"], ["confusion", "wide.jsonl"]):
        done = toy.call(*words)
        assert done.status == 2
        assert "wide.jsonl: more than 1,000 columns in its records; leave some out" in done.err


def test_an_import_with_a_column_for_each_record_is_refused(shop: Workshop) -> None:
    rows = [json.dumps({"id": str(n), "expected": "a", "actual": "a", f"n{n}": 1}) for n in range(WIDE)]
    shop.write("results.jsonl", "\n".join(rows))
    done = shop.call("import", "results.jsonl", "--expect", "expected", "--actual", "actual")
    assert done.status == 2
    assert "more than 1,000 columns; leave some out" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("/etc/shadow", True), ("../../secret", True), ("a/../../b", True), ("~/.ssh/id_rsa", True),
        (" /etc/passwd", True), ("file:///etc/passwd", True), ("/etc/../etc/passwd", True), ("..", True),
        ("~root/x", True),
        ("what is 3/4?", False), ("a/b.png", False), ("// a comment", False), ("import x from '../y'", False),
        ("wait... what", False), ("", False), ("1..2", False), ("{data}/a.png", False),
    ],
)  # fmt: skip
def test_which_inputs_name_other_files(text: str, other: bool) -> None:
    assert names_other_files(text) is other


def test_an_existing_file_with_a_blank_in_its_name_is_no_prose(tmp_path: Path) -> None:
    path = tmp_path / "my secret"
    assert not names_other_files(str(path))
    path.touch()
    assert names_other_files(str(path))


def test_a_downloaded_test_cannot_name_files_of_this_machine(toy: Workshop) -> None:
    """Its author can run the same test, since the paths are the user's, but is told by check, and cannot publish it."""
    path = toy.script(rows="id,input,expect,positive\nc0,/etc/hostname,x,true\nc1,../../x,x,true\nc2,fine,x,true\n")
    assert toy.call("run", path).status == 0
    checked, published = toy.call("check", path), toy.call("publish", toy.folder / "toy", "--to", "site")
    assert (checked.status, published.status) == (1, 2)
    for said in (checked.out, published.err):
        assert "cases.csv:2: input '/etc/hostname' names a file outside the test, which others do not have" in said
        assert "cases.csv:3: input '../../x' names a file outside the test" in said
        assert "cases.csv:4" not in said
    assert not (toy.folder / "site").exists()
    names = ("toy.hate.toml", "cases.csv")
    pages = {f"/{name}": body((toy.folder / "toy" / name).read_bytes()) for name in names}
    with serving(pages) as server:
        done = toy.call("run", server.url("/toy.hate.toml"))
    assert done.status == 2
    assert "cases.csv:2: input '/etc/hostname' names a file outside the test, which was downloaded" in done.err
    assert "cases.csv:3: input '../../x' names a file outside the test" in done.err
    assert "cases.csv:4" not in done.err


def test_training_material_of_this_machine_is_not_published_either(toy: Workshop) -> None:
    path = toy.script(sections='[train]\ntable = "train.csv"\n')
    toy.write("toy/train.csv", "id,input,expect\nt0,fine,x\nt1,/etc/hostname,x\n")
    for done in (toy.call("check", path), toy.call("publish", toy.folder / "toy", "--to", "site")):
        assert done.status > 0
        assert "train.csv:3: '/etc/hostname' names a file outside the test" in done.out + done.err


def test_passwords_of_the_user_go_to_no_host_that_a_script_names(shop: Workshop) -> None:
    """~/.netrc is for curl and ftp; the library that fetches would send it wherever a redirect leads."""
    home = Path(os.environ["HOME"])
    home.mkdir(exist_ok=True)
    (home / ".netrc").write_text(
        "machine 127.0.0.1 login me password secret\nmachine localhost login me password secret\n"
    )
    (home / ".netrc").chmod(0o600)
    with serving({}) as server:
        elsewhere = server.url("/there").replace("127.0.0.1", "localhost")
        server.pages |= {"/here": redirect(elsewhere), "/there": body(b"{}")}
        shop.call("show", server.url("/here", user="own:word@"))
        requests = [headers for _, headers in server.seen]
        assert [path for path, _ in server.seen] == ["/here", "/there"]
    credentials = base64.b64encode(b"own:word").decode()
    assert [headers.get("Authorization") for headers in requests] == [f"Basic {credentials}", None]


def test_an_http_interface_sends_only_what_it_says(shop: Workshop) -> None:
    home = Path(os.environ["HOME"])
    home.mkdir(exist_ok=True)
    (home / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (home / ".netrc").chmod(0o600)
    seen: list[str | None] = []

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers["Authorization"])
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'"x"')

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        shop.script(2)
        shop.toml(f'[http]\nurl = "http://127.0.0.1:{service.server_address[1]}/"\n')
        assert len(shop.run()) == 2
        service.shutdown()
    assert seen == [None, None]


ESCAPES = "\x1b[2J\x9b31m\u202e\u2066"
# What a terminal acts on.
ACTS = re.compile("[\x1b\x9b\u202e\u2066\u200f]")


@pytest.fixture
def escaping(shop: Workshop) -> Workshop:
    """A test with escape sequences wherever a test can have text, and an algorithm that answers with them."""
    path = shop.script(rows=f"id,input,expect,positive,na{ESCAPES}me\nc{ESCAPES},x,{ESCAPES}x,true,w{ESCAPES}\n")
    escaped = json.dumps(ESCAPES)[1:-1]
    text = path.read_text().replace('synopsis = "a toy"', f'synopsis = "a {escaped}"\ndescription = "{escaped}"')
    path.write_text(text)
    shop.interface(f"def answer(case, params):\n    return {json.dumps(ESCAPES)}\n")
    return shop


@pytest.mark.parametrize(
    "words",
    [
        ["run", "toy", "--case", f"c{ESCAPES}", "--verbose"], ["run", "toy", "--case", f"c{ESCAPES}"],
        ["describe", "toy", "--format", "json"], ["describe", "toy"], ["run", "toy", "--format", "json"],
        ["list"], ["test", "toy"],
    ],
    ids=lambda words: " ".join(words).replace(ESCAPES, ""),
)  # fmt: skip
def test_no_escape_sequence_gets_through(words: list[str], escaping: Workshop) -> None:
    done = escaping.call(*words)
    assert done.out
    assert not ACTS.search(done.out + done.err)


@pytest.mark.slow
def test_a_transcript_on_a_terminal_is_harmless_and_in_a_pipe_is_itself(escaping: Workshop) -> None:
    piped = escaping.hate("run", "toy", "--format", "transcript", "-o", "out.jsonl")
    assert piped.out == (escaping.folder / "out.jsonl").read_text(encoding="utf-8")
    leader, follower = pty.openpty()
    words = command(["run", "toy", "--format", "transcript", "-o", "again.jsonl"])
    with subprocess.Popen(words, cwd=escaping.folder, env=escaping.env, stdout=follower, stderr=subprocess.DEVNULL):
        os.close(follower)
        shown = b""
        try:
            while block := os.read(leader, 1 << 16):
                shown += block
        except OSError:  # how a terminal says that nobody writes to it any more
            pass
    os.close(leader)
    assert not ACTS.search(shown.decode())
    record = json.loads(shown.decode().splitlines()[1])
    assert record["actual"] == ESCAPES


def test_a_description_on_a_page_cannot_turn_text_round() -> None:
    shown = str(markdown_html(f"# one\n\ntwo {ESCAPES} three\n\n    code\u202e\n"))
    assert not ACTS.search(shown)
    assert "\\x202e" in shown
    assert "<pre><code>code" in shown
