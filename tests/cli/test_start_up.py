"""What a command imports: libraries that take long to start are left out where they are not needed."""

import subprocess
import sys

import pytest

from tests.workshop import STREAM, WAIT, Workshop

PROGRAM = """
import contextlib, io, sys
from harness.cli.main import call
with contextlib.redirect_stdout(io.StringIO()):
    status = call(sys.argv[1:])
slow = ("numpy", "scipy", "scipy.stats", "requests", "pydantic", "rich", "matplotlib", "dask", "pyarrow", "asyncio")
print(status, *(name for name in slow if name in sys.modules))
"""
NUMBERS = ["numpy", "scipy"]


@pytest.mark.sampled(16)
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


def loaded_by(shop: Workshop, code: str, *modules: str) -> list[str]:
    """Which of these modules some code has imported."""
    shown = f"{code}\nimport sys\nprint(*(name for name in {modules} if name in sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", shown], cwd=shop.folder, env=shop.env, capture_output=True, text=True, timeout=WAIT
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[-1].split()


def test_a_worker_of_python_code_needs_least(shop: Workshop) -> None:
    """There are as many as jobs, and each starts anew."""
    code = "import harness.interface.worker"
    slow = ("numpy", "requests", "pydantic", "http.client", "harness.interface.stream", "harness.interface.worker")
    assert loaded_by(shop, code, *slow) == ["harness.interface.worker"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("interface", "kinds"),
    [
        ("one.py", ["python"]),
        ("command.toml", ["python", "command"]),
        ("stream.toml", ["python", "stream"]),
        ("scores.toml", ["python", "scores"]),
    ],
)
def test_a_run_imports_only_its_own_kind(interface: str, kinds: list[str], shop: Workshop) -> None:
    shop.script()
    shop.write("one.py", "def answer(case, params):\n    return case.input\n")
    shop.write("command.toml", '[command]\nargv = ["echo", "{input}"]\n')
    shop.write("stream.toml", f"[stream]\nargv = ['{sys.executable}', 'stream.py']\n")
    shop.write("stream.py", STREAM.format(body="    say(id=id, label='x')"))
    shop.write("scores.toml", '[scores]\ntable = "answers.csv"\n')
    shop.write("answers.csv", "id,label\n1,x\n")
    code = f"from harness.cli.main import call\ncall(['run', 'toy', '--interface', '{interface}', '-o', 'out.jsonl'])"
    names = ("python", "command", "stream", "http", "scores", "matrix")
    modules = [f"harness.interface.{name}" for name in names]
    foreign = ("http.client", "requests", "numpy", "harness.cluster.engine")
    assert loaded_by(shop, code, *modules, *foreign) == [f"harness.interface.{name}" for name in kinds]


def test_the_list_of_commands_imports_none_of_them(shop: Workshop) -> None:
    """Not the options of any, nor what curves are; yet it has all curves."""
    from harness.api.curves import VIEWS
    from harness.cli.commands import COMMANDS

    code = "from harness.cli.main import call\ncall(['--help'])"
    assert loaded_by(shop, code, "harness.options", "harness.report", "harness.api", "msgspec") == []
    assert [name for name, (module, _) in COMMANDS.items() if module == "curves"] == list(VIEWS)
