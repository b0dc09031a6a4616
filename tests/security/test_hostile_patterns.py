"""Small files and texts on which Python's regular expressions would take for ever."""

import subprocess
import sys

import pytest

from tests.security.hostile_patterns import expressions
from tests.workshop import Workshop

# Made from a part of somebody's words: what it adds to them cannot take long, or others see to that.
MADE = {
    "api/new.py: NAME_PATTERN",  # one class of characters
    "files/patterns.py: text",  # bounded there
    "matrices/read.py: pattern",  # --identity, from the command line
    "script/case_source.py: fnmatch.translate(part)",
    "script/schema.py: pattern",  # NAME_PATTERN and the like
}


def tried(seconds: int, *given: str) -> "subprocess.CompletedProcess[str]":
    """Expressions are tried in a process that may use so many seconds of a processor, however busy it is."""
    command = [sys.executable, "-m", "tests.security.hostile_patterns", str(seconds), *given]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_no_expression_takes_for_ever() -> None:
    done = tried(60)
    assert done.returncode == 0, f"does not end: {done.stdout.splitlines()[-1:]}\n{done.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [r"(?:\s+|\s*#\s*)+x", r"\[\s*([^\]]+?)\s*\]", r"\d+\.?\d*", r"\s*<style"])
def test_expressions_that_take_for_ever_are_found(pattern: str) -> None:
    assert tried(3, pattern).returncode < 0


@pytest.mark.slow
def test_expressions_that_are_made_are_known() -> None:
    known, made = expressions()
    assert len(known) > 70
    assert set(made) == MADE


@pytest.mark.slow
def test_an_image_of_blanks(shop: Workshop) -> None:
    shop.write("toy/evil.pgm", b"P5" + b" " * 60 + b"x")
    shop.script(task="mask", sections='[data.i]\npath = "."', rows="id,input,expect\n1,{i}/evil.pgm,{i}/evil.pgm\n")
    done = shop.hate("check", "toy")
    assert done.status == 1, done.err
    assert "its Netpbm header cannot be read" in done.out


def test_a_script_of_blanks(shop: Workshop) -> None:
    shop.script(keys="authors = [\n[" + " " * 6000 + "\n1]]", sections="nope = 1")
    done = shop.hate("check", "toy")
    assert done.status == 1, done.err
    assert "nope" in done.out


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["1" * 200_000 + "x", " " * 200_000 + "x"])
def test_a_table_with_a_long_cell(shop: Workshop, cell: str) -> None:
    shop.interface()
    shop.script(rows=f"id,input,expect,age\n1,x,x,{cell}\n2,x,x,5\n")
    assert shop.hate("run", "toy", "-o", "out.jsonl").status == 0
    done = shop.hate("rate", "out.jsonl", "--by", "age:2")
    assert done.status == 2, done.err
    assert "not a number" in done.err
