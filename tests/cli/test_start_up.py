"""What a command imports: libraries that take long to start are left out where they are not needed."""

import subprocess
import sys

import pytest

from tests.workshop import WAIT, Workshop

PROGRAM = """
import contextlib, io, sys
from harness.cli.main import call
with contextlib.redirect_stdout(io.StringIO()):
    status = call(sys.argv[1:])
slow = ("numpy", "scipy", "scipy.stats", "requests", "pydantic", "rich", "matplotlib", "dask", "pyarrow", "asyncio")
print(status, *(name for name in slow if name in sys.modules))
"""
NUMBERS = ["numpy", "scipy"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--help", []),
        ("compare hdigits/wisard hdigits/witch", NUMBERS),
        ("compare one.jsonl other.jsonl", NUMBERS),
        ("rate one.jsonl", NUMBERS),
        ("confusion one.jsonl", ["numpy"]),
        ("roc one.jsonl", NUMBERS),
        ("show one.jsonl", []),
        ("diff one.jsonl other.jsonl", []),
        ("status one.jsonl", []),
        ("import one.csv -o imported.jsonl --force", []),
        ("list", ["pydantic"]),
        ("run toy --interface ./one -o again.jsonl --force", ["pydantic"]),
    ],
)
def test_local_files_need_little(words: str, expected: list[str], shop: Workshop) -> None:
    shop.script()
    for name, text in (("one", "return case.input, 1.0"), ("other", "return 'x', 0.5")):
        shop.write(f"{name}/interface.py", f"NAME = '{name}'\ndef answer(case, params):\n    {text}\n")
        assert shop.call("run", "toy", "--interface", f"./{name}", "-o", f"{name}.jsonl").status == 0
    shop.write("one.csv", "id,y_true,y_pred\n1,a,a\n2,a,b\n")
    # The first time, transcripts are judged again by their test, which takes the reader of scripts.
    for pair in (("one.jsonl", "other.jsonl"), ("hdigits/wisard", "hdigits/witch")):
        assert shop.call("compare", *pair).status == 0
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words.split()],
        cwd=shop.folder, env=shop.env, capture_output=True, text=True, timeout=WAIT, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["0", *expected], done.stderr
