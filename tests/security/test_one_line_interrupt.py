"""Ctrl-C at any moment: a line, never a traceback of ours."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.workshop import WAIT, Workshop, command

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
