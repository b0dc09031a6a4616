"""The fuzzer itself: it finds what is wrong, the samples are valid, and a case can be repeated by its name."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from fuzz import mutations
from fuzz.attempt import SECONDS, Attempt, Ending, judge, try_out
from fuzz.sample import ECHO, SCRIPT, Sample, delimited, rows
from fuzz.samples import all_samples
from fuzz.worker import make_attempt
from tests.workshop import WAIT, Workshop

ROOT = Path(__file__).parents[2]
GOOD = Ending(0, "# tests\n", "transcript: out.jsonl\n", 0.1, 0)


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (GOOD, ""),
        (Ending(2, "", "hate: a.csv:1: no header; the first line names the columns\n", 0.1, 0), ""),
        (Ending(2, "", "hate: a.toml: 2 mistakes\n  one\n  two\n", 0.1, 0), ""),
        (Ending(2, "", "", 0.1, 0), "not one line"),
        (Ending(2, "", "hate: one\nand more\n", 0.1, 0), "not one line"),
        (Ending(3, "", "", 0.1, 0), "exit status 3"),
        (Ending(0, "", "Traceback (most recent call last)\n", 0.1, 0), "Traceback"),
        (Ending(2, "", "hate: internal error: KeyError: 1\n", 0.1, 0), "internal error"),
        (Ending(0, "", "x.py:1: RuntimeWarning: divide by zero\n", 0.1, 0), "Warning"),
        (Ending(0, "a\x1b[2Jb", "", 0.1, 0), "prints '\\x1b'"),
        (Ending(0, "a\u202eb", "", 0.1, 0), "prints '\\u202e'"),
        (Ending(0, "", "", SECONDS + 1, 0), "took"),
        (Ending(0, "", "", 0.1, 1 << 31), "took 2048 MiB"),
        (Ending(None, "", "", 0.1, 0, "KeyError got out: 1"), "KeyError got out"),
    ],
)
def test_what_counts_as_wrong(ending: Ending, words: str) -> None:
    verdict = judge(ending)
    assert words in verdict
    assert bool(verdict) == bool(words)


def script_sample(interface: bytes) -> Sample:
    files = {"test.hate.toml": SCRIPT.format(task="label", keys="", suffix="csv").encode(), "interface.py": interface,
             "cases.csv": delimited(",", rows())}  # fmt: skip
    return Sample("planted", files, "cases.csv", mutations.CSV, ("run test.hate.toml -o out.jsonl",))


def attempt_of(sample: Sample) -> Attempt:
    return Attempt(sample.name, sample.commands[0].split(), sample.target, sample.files[sample.target])


def test_an_input_that_is_changed_is_found(tmp_path: Path) -> None:
    """The twin: the same command with a program that changes nothing."""
    assert try_out(attempt_of(script_sample(ECHO)), script_sample(ECHO), tmp_path / "a") == ""
    spoiling = script_sample(b"def answer(case, params):\n    open('cases.csv', 'a').write('x')\n    return 'x'\n")
    assert try_out(attempt_of(spoiling), spoiling, tmp_path / "b") == "changed its input cases.csv"


def test_damage_is_the_same_for_the_same_seed_and_number(tmp_path: Path) -> None:
    samples = [script_sample(ECHO)]
    tried = [make_attempt(samples, 5, number)[0] for number in range(200)]
    assert tried == [make_attempt(samples, 5, number)[0] for number in range(200)]
    assert tried != [make_attempt(samples, 6, number)[0] for number in range(200)]
    assert sum(one.data != samples[0].files["cases.csv"] for one in tried) > 190


def test_every_mutation_changes_most_of_what_it_gets() -> None:
    table = delimited(",", rows())
    lines = (
        b'{"hate":"transcript"}\n' + b"".join(b'{"id":"%d","score":0.5}\n' % n for n in range(9)) + b'{"end":true}\n'
    )
    for mutate, data in ((mutations.bytes_of, table), (mutations.text_of, table), (mutations.table_of(","), table),
                         (mutations.json_lines_of, lines), (mutations.same_value_of, lines)):  # fmt: skip
        changed = sum(mutate(data, Random(seed)) != data for seed in range(50))
        assert changed >= 40, mutate


def test_a_sealed_transcript_has_the_right_checksum(toy: Workshop) -> None:
    """The reader gets past the checksum, to what was damaged."""
    toy.run()
    data = (toy.folder / "out.jsonl").read_bytes()
    said = []
    for seed in range(20):
        toy.write("x.jsonl", mutations.with_sha256(mutations.json_lines_of)(data, Random(seed)))
        said.append(toy.call("show", "x.jsonl").err)
    assert sum("does not have its sha256" in text for text in said) < 5


@pytest.mark.slow
def test_a_saved_case_is_repeated_by_its_name(tmp_path: Path) -> None:
    attempt = Attempt("table csv", ["check", "test.hate.toml"], "cases.csv", b"id,input\n\xff\0\x1b", "planted")
    attempt.save(tmp_path / "check-1234.json")
    assert Attempt.load(tmp_path / "check-1234.json") == attempt
    done = subprocess.run([sys.executable, "-m", "fuzz", "--repeat", "check-1234", "--found", str(tmp_path)],
                          cwd=ROOT, capture_output=True, text=True, timeout=WAIT)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "check test.hate.toml: nothing is wrong any more\n"), done.stderr


@pytest.mark.slow
def test_the_samples_are_valid_before_they_are_damaged(tmp_path: Path, shop: Workshop) -> None:
    for sample in all_samples(tmp_path / "samples"):
        for words in sample.commands:
            attempt = Attempt(
                sample.name, words.replace("@", sample.target).split(), sample.target, sample.files[sample.target]
            )
            assert try_out(attempt, sample, tmp_path / "attempt") == "", (sample.name, words)


@pytest.mark.slow
def test_a_short_run_finds_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "--minutes", "0.2", "--seed", "3", "--found", str(tmp_path / "found")],
        cwd=ROOT, capture_output=True, text=True, timeout=10 * WAIT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert " inputs of " in done.stdout
    assert not (tmp_path / "found").exists()
