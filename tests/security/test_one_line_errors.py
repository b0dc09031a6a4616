"""Inputs that once ended in an internal error: each is one line with place, value and remedy now."""

import codecs
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.workshop import WAIT, Done, Workshop, command


def refused(done: Done, *words: str) -> None:
    """The command ended with status 2 and one line that has these words."""
    assert done.status == 2, done
    assert done.err.count("\n") == 1, done.err
    assert done.out == ""
    for word in words:
        assert word in done.err, done.err


def npy(text: bytes) -> bytes:
    """A matrix file with this header, as numpy lays it out."""
    header = text.ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + np.eye(3).tobytes()


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3(, }",
        b"{[descr': '<f8', 'fortran_order': False, 'shape': (3, 3), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 3), }",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (3, 3), }",
        b"(" * 110,
        b"\xff\xfe" * 20,
        b"",
    ],
)
def test_a_damaged_npy_header(header: bytes, shop: Workshop) -> None:
    shop.write("m.npy", npy(header))
    shop.write("labels.csv", "id,subject\na,a\nb,b\nc,c\n")
    refused(shop.call("cmc", "m.npy"), "m.npy", "numpy.save")


@pytest.mark.slow
def test_a_matrix_of_python_2_is_read_without_a_warning(shop: Workshop) -> None:
    """numpy parses such a header in a second way, and warns about it on stderr."""
    shop.write("m.npy", npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3L, 3L), }"))
    shop.write("rows.csv", "id,subject\na,a\nb,b\nc,c\n")
    shop.write("columns.csv", "id,subject\nd,a\ne,b\nf,c\n")
    done = shop.hate("cmc", "m.npy", "--labels", "rows.csv", "--labels", "columns.csv")
    assert (done.status, "Warning" in done.err) == (0, False), done.err


@pytest.mark.parametrize("name", ["roc", "show", "run", "describe", "fetch"])
def test_an_address_that_is_none(name: str, shop: Workshop) -> None:
    refused(shop.call(name, "http://[::1"), "http://[::1: not ", "address")


@pytest.mark.parametrize("words", [["run", "toy", "--limit"], ["show", "hdigits/wisard", "--limit"]])
def test_a_number_that_no_counter_holds(words: list[str], toy: Workshop) -> None:
    refused(toy.call(*words, "99999999999999999999"), "--limit 99999999999999999999", "x<=9223372036854775807")
    assert toy.call(*words, "9223372036854775807").status == 0


@pytest.mark.parametrize(
    "text",
    [
        "[algorithm.params" + ".a" * 3000 + "]\n",
        "[algorithm]\nparams = {a = " + "[" * 200 + "]" * 200 + "}\n",
        "[algorithm.params]\nx" + ".a" * 3000 + " = 1\n",
    ],
)
def test_a_nested_interface(text: str, toy: Workshop) -> None:
    toy.toml('[command]\nargv = ["cat"]\n' + text)
    refused(
        toy.call("run", "toy", "--interface", "interface.toml"), "interface.toml: tables or lists nested more than 50"
    )


@pytest.mark.parametrize("host", ["a..b", "a" * 64 + ".b", ".", "[::1"])
def test_a_service_without_a_valid_host(host: str, toy: Workshop) -> None:
    toy.toml(f'[http]\nurl = "http://{host}/"\n')
    done = toy.call("run", "toy", "--interface", "interface.toml")
    refused(done, "http.url", "no valid host", "write http://host:8000/path")
    assert toy.call("check", "interface.toml").status == 1


@contextmanager
def server_of(body: bytes) -> Iterator[str]:
    """A server that answers every request with this chunked body."""

    def answer(client: socket.socket) -> None:
        with client:
            request = b""
            while b"\r\n\r\n" not in request and (part := client.recv(65536)):
                request += part
            client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)

    def serve() -> None:
        while True:
            try:
                answer(listening.accept()[0])
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", [b"-5", b"-1", b"zz"])
def test_a_chunk_of_a_negative_size(size: bytes, shop: Workshop) -> None:
    with server_of(size + b"\r\nhello\r\n0\r\n\r\n") as url:
        refused(shop.call("show", f"{url}/a.jsonl", "--http-timeout", "5"), "connection broke after 0 bytes; try again")


def test_a_chunk_of_a_negative_size_from_a_service_is_an_error_of_the_case(toy: Workshop) -> None:
    with server_of(b"-5\r\nhello\r\n0\r\n\r\n") as url:
        toy.toml(f'[http]\nurl = "{url}/"\n')
        records = toy.run("--interface", "interface.toml", "--limit", "1")
    assert records[0]["error"] == "interface"


def test_closed_standard_input(shop: Workshop) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", '"$@" <&-', "sh", *command(["show", "-"])],
        cwd=shop.folder, env=shop.env, capture_output=True, text=True, timeout=WAIT,
    )  # fmt: skip
    refused(Done(done.returncode, done.stdout, done.stderr), "standard input: empty")


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        (
            codecs.BOM_UTF8,
            "begins with a byte order mark, which an editor or shell added; save it as UTF-8 without one",
        ),
        (codecs.BOM_UTF16_LE, "UTF-16 text, as some shells write it after `>`; let `-o FILE` write the transcript"),
    ],
)
def test_a_transcript_with_a_byte_order_mark(mark: bytes, words: str, toy: Workshop) -> None:
    """Not skipped: the checksum of a transcript is over its bytes."""
    toy.run()
    path = toy.folder / "out.jsonl"
    path.write_bytes(mark + path.read_bytes())
    refused(toy.call("show", "out.jsonl"), f"out.jsonl:1: {words}")
    assert toy.call("check", "out.jsonl").out == f"out.jsonl:1: {words}\n"


def test_two_letters_in_the_wrong_order(shop: Workshop) -> None:
    """`urn`, if it is there, has as many letters of `rnu` in order as `run` has."""
    for typed, meant in {"rnu": "run", "lsit": "list", "tset": "test"}.items():
        assert f"'{meant}'?" in shop.call(typed).err


def test_the_list_of_transcripts_has_names_that_commands_take(toy: Workshop) -> None:
    assert toy.call("run", "toy").status == 0
    lines = toy.call("list", "--transcripts", "--format", "table").out.splitlines()
    names = [line.split()[-1] for line in lines if " toy " in line or "hdigits" in line]
    # The three that are bundled, this one, and runs in the checkout.
    assert len(names) >= 4
    for name in names:
        assert toy.call("show", name, "--limit", "1").status == 0, name


def test_a_file_in_the_working_folder_comes_before_one_in_transcripts(toy: Workshop) -> None:
    toy.run(output="transcripts/toy/a.jsonl")
    toy.run("--limit", "2", output="toy/a.jsonl")
    assert len(toy.call("show", "toy/a.jsonl", "--format", "csv").out.splitlines()) == 3
    (Path("toy") / "a.jsonl").unlink()
    assert len(toy.call("show", "toy/a.jsonl", "--format", "csv").out.splitlines()) == 7


def test_confusion_of_a_score_test_says_what_to_use_instead(shop: Workshop) -> None:
    shop.write("s.csv", "id,y_true,y_score\n1,0,0.2\n2,1,0.8\n3,1,0.3\n")
    assert shop.call("import", "s.csv", "--success-at", "0.5", "-o", "s.jsonl").status == 0
    refused(shop.call("confusion", "s.jsonl"), "`hate rate T --statistic tpr,fpr` counts both kinds of error")
    assert shop.call("rate", "s.jsonl", "--statistic", "tpr,fpr").status == 0


def test_folds_of_what_cannot_learn_are_refused(toy: Workshop) -> None:
    toy.script(sections='[train]\ntable = "train.csv"\n')
    toy.write("toy/train.csv", "id,input,expect\n" + "".join(f"t{n},x{n},x{n}\n" for n in range(6)))
    refused(toy.call("run", "toy", "--train-folds", "3"), "does not learn, so every fold would give the same answers")
    assert not (toy.folder / "transcripts").exists()


def test_folds_of_a_stream_that_does_not_learn_are_not_analysed(toy: Workshop) -> None:
    """Whether a stream program reads the training file is only seen afterwards."""
    toy.script(sections='[train]\ntable = "train.csv"\n')
    toy.write("toy/train.csv", "id,input,expect\n" + "".join(f"t{n},x{n},x{n}\n" for n in range(6)))
    toy.stream("say(id=id, answer=given)")
    done = toy.call("run", "toy", "--train-folds", "3", "--interface", "interface.toml")
    assert "does streamer learn what it is given?" in done.err
    assert "standard error" not in done.err


def test_a_line_break_in_a_value_does_not_break_the_line(shop: Workshop) -> None:
    """Names of columns and of units come from files; in a message they are one line like any other value."""
    shop.write(
        "r.jsonl", '{"id": 1, "y_true": 1, "y_pred": 1, "a\\nb": 2}\n{"id": 2, "y_true": 0, "y_pred": 1, "a\\nb": 2}\n'
    )
    refused(shop.call("import", "r.jsonl", "--psu", "subject"), "known: a\\x0ab, expect, id, truth")
    shop.script(
        sections='[design]\nstratum = "s"\npsu = "p"\n', rows='id,input,expect,s,p\n1,a,a,x,"u\nv"\n2,a,a,y,"u\nv"\n'
    )
    refused(shop.call("describe", "toy"), "cases.csv:5: PSU 'u\\nv' is in two strata, 'x' and 'y'")


def test_choices_are_one_line(shop: Workshop) -> None:
    refused(shop.call("completion"), "Choose from: bash, zsh, fish")


DEGENERATE = {
    "one image": (["a"], ["a"], [[1.0]]),
    "one person in the gallery": (["a", "a", "b"], ["a"], [[1.0], [0.5], [0.2]]),
    "all found at once": (["a", "b", "c"], ["a", "b", "c"], np.eye(3).tolist()),
    "nobody found": (["a", "b"], ["a", "b"], (1 - np.eye(2)).tolist()),
    "all scores equal": (["a", "b", "c"], ["a", "b", "c"], np.zeros((3, 3)).tolist()),
}


def write_degenerate(shop: Workshop, name: str) -> None:
    rows, columns, scores = DEGENERATE[name]
    lines = [",".join([row, *map(str, line)]) for row, line in zip(rows, scores, strict=True)]
    shop.write("m.csv", "\n".join([",".join(["", *columns]), *lines, ""]))


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("options", ["", "--censor 1", "--ranks 1", "--bands bootstrap", "--bands wilson"])
def test_a_curve_without_variance_has_limits_that_may_coincide(name: str, options: str, shop: Workshop) -> None:
    """Rates that are all 0 or 1: limits lie on either side of the rate, and never in the wrong order."""
    write_degenerate(shop, name)
    done = shop.call("cmc", "m.csv", *options.split(), "--format", "json")
    if done.status == 2:
        refused(done, "m: ")
        return
    assert done.status == 0
    for curve in done.json.get("curves", []):
        for rate, low, high in zip(curve["rates"], curve["low"], curve["high"], strict=True):
            assert low is None or low <= rate <= high


def test_repeats_without_variance_are_told_in_words(toy: Workshop) -> None:
    done = toy.call("run", "toy", "--repeat", "3", "-o", "out.jsonl")
    assert "all answers have the same outcome, so there is no variance to divide" in done.err
    assert "nan" not in done.err


def test_more_ranks_than_a_curve_can_have(shop: Workshop) -> None:
    shop.write("m.csv", ",a,b\na,1,0\nb,0,1\n")
    for number in ("9223372036854775807", "100000000"):
        refused(shop.call("cmc", "m.csv", "--ranks", number), "--ranks", number, "1<=x<=1000000")


# Python itself takes about 20 ms to start, in which no program can handle a signal.
ROOT = Path(__file__).parents[2]
MOMENTS = [0.02 * number for number in range(1, 26)]
COMMANDS = (
    ["--help"],
    ["list"],
    ["compare", "hdigits/wisard", "hdigits/witch"],
    ["run", "toy", "-o", "out.jsonl", "--force"],
)


def test_nothing_is_imported_before_ctrl_c_is_handled(shop: Workshop) -> None:
    """Only the three files that Python must read to get to `main`; the rest is imported there."""
    program = "import os, sys; old = set(sys.modules); import harness.cli.main; print(*sorted(set(sys.modules) - old))"
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {program}"
    done = subprocess.run([sys.executable, "-P", "-S", "-c", program],
                          capture_output=True, text=True, timeout=WAIT, check=True)  # fmt: skip
    assert done.stdout.split() == ["harness", "harness.cli", "harness.cli.main"]


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_ctrl_c_at_many_moments(words: list[str], toy: Workshop) -> None:
    for moment in MOMENTS[COMMANDS.index(words) % 2 :: 2]:
        process = subprocess.Popen(
            command(words), cwd=toy.folder, env=toy.env, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=WAIT)[1]
        assert "internal error" not in err, err
        if "Traceback" in err:  # Python was not up yet, or had just begun to read our first file
            assert re.search(r'cli/main\.py", line \d+, in (main|call)', err) is None, err
            assert "commands.py" not in err, err
            assert "/click/" not in err, err
        else:
            assert process.returncode in (0, 130, -signal.SIGINT), (moment, err)
            assert process.returncode != 130 or "hate: interrupted" in err
