"""The header says what was run: the digest covers what is imported, and there are commit, versions and CPU."""

import hashlib
import importlib.metadata
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.engine import header as engine_header
from harness.interface.load import load_interface
from harness.interface.python_source import imported_files
from tests.security.forging import read_lines, write_lines
from tests.workshop import ECHO, Workshop


def header(shop: Workshop, *words: str) -> dict[str, Any]:
    shop.run(*words, "--force")
    first: dict[str, Any] = shop.lines()[0]
    return first


def git(folder: Path, *words: str) -> str:
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def by_hand(folder: Path, *names: str) -> str:
    """The digest as documented: SHA-256 over path, NUL, SHA-256, newline of each file, sorted by bytes."""
    lines = [f"{name}\0{hashlib.sha256((folder / name).read_bytes()).hexdigest()}\n" for name in names]
    return hashlib.sha256("".join(sorted(lines, key=str.encode)).encode()).hexdigest()


def test_the_digest_of_a_lone_file_is_its_own(shop: Workshop) -> None:
    """As it was before modules beside it counted, so that older transcripts can still be resumed."""
    shop.script()
    path = shop.interface("import json, os.path\nimport numpy\n" + ECHO)
    interface = header(shop)["interface"]
    assert interface == {"kind": "python", "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


NEIGHBOURS = {
    "interface.py": "import helper\nfrom parts.inner import thing\nimport json\n" + ECHO,
    "helper.py": "def f():\n    import late\n",
    "late.py": "x = 1\n",
    "parts/__init__.py": "from . import sibling\n",
    "parts/inner.py": "from .deep.er import y\nfrom ..parts import sibling\n",
    "parts/sibling.py": "",
    "parts/deep/er.py": "import helper, unrelated_library\n",
    "stranger.py": "nobody imports this\n",
    "parts/other.py": "nor this\n",
}
USED = ("helper.py", "late.py", "parts/__init__.py", "parts/deep/er.py", "parts/inner.py", "parts/sibling.py")


def test_the_digest_covers_what_is_imported_from_beside(shop: Workshop) -> None:
    for name, text in NEIGHBOURS.items():
        shop.write(name, text)
    files = imported_files(Path("interface.py"))
    assert files.neighbours == USED
    assert files.libraries == ("unrelated_library",)
    assert files.sha256 == by_hand(shop.folder, "interface.py", *USED)


@pytest.mark.parametrize("isolate", [(), ("--isolate",)])
def test_a_changed_neighbour_is_another_algorithm(shop: Workshop, isolate: tuple[str, ...]) -> None:
    shop.script()
    shop.write("helper.py", "def f(x):\n    return x\n")
    shop.interface("import helper\ndef answer(case, params):\n    return helper.f(case.input)\n")
    before = header(shop, *isolate)["interface"]
    assert before["files"] == ["helper.py"]
    assert before["sha256"] == by_hand(shop.folder, "interface.py", "helper.py")
    shop.write("helper.py", "def f(x):\n    return 'x1'\n")
    assert header(shop, *isolate)["interface"]["sha256"] != before["sha256"]
    (shop.folder / "out.jsonl").write_text(
        "\n".join((shop.folder / "out.jsonl").read_text(encoding="utf-8").splitlines()[:3]) + "\n", encoding="utf-8"
    )
    shop.write("helper.py", "def f(x):\n    return x\n")
    done = shop.call("run", "toy", "-o", "out.jsonl", "--resume")
    assert done.status == 2
    assert "from a different run: interface (sha256" in done.err


@pytest.mark.parametrize(
    "text",
    ["from . import x\n", "from ....... import x\n", "import x.y.z\n", "from x import *\n", "import\n", "\0", "é = "],
)
def test_any_text_can_be_read(shop: Workshop, text: str) -> None:
    path = shop.interface(text)
    assert imported_files(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_modules_that_import_one_another(shop: Workshop) -> None:
    shop.write("a.py", "import b\n")
    shop.write("b.py", "import a, interface\n")
    assert imported_files(shop.interface("import a\n" + ECHO)).neighbours == ("a.py", "b.py")


def test_reading_imports_runs_nothing(shop: Workshop) -> None:
    shop.write("helper.py", "open('ran', 'w')\n")
    imported_files(shop.interface("import helper\n" + ECHO))
    assert not (shop.folder / "ran").exists()


def test_versions_of_numpy_and_of_what_is_imported(shop: Workshop) -> None:
    shop.script()
    shop.write("helper.py", "import requests\n")
    shop.interface("import helper\nimport msgspec, os\n" + ECHO)
    names = ("numpy", "requests", "msgspec")
    assert header(shop)["versions"] == {name: importlib.metadata.version(name) for name in names}


def test_the_cpu_is_that_of_the_system(shop: Workshop) -> None:
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    if "model name" not in info:
        pytest.skip("this system does not name its CPU")
    shop.script()
    shop.interface()
    assert f": {header(shop)['cpu']}\n" in info


def test_the_commit_of_the_interface(shop: Workshop) -> None:
    shop.script()
    folder = shop.folder / "mine"
    shop.write("mine/interface.py", "import helper\n" + ECHO)
    shop.write("mine/helper.py", "")
    words = ("--interface", "mine")
    assert "git" not in header(shop, *words)
    git(folder, "init")
    assert "git" not in fresh(shop, *words), "nothing has been committed"
    git(folder, "add", "interface.py")
    git(folder, "commit", "-m", "one")
    commit = git(folder, "rev-parse", "HEAD")
    assert fresh(shop, *words)["git"] == {"commit": commit, "dirty": True}, "the helper is not in it"
    git(folder, "add", "helper.py")
    git(folder, "commit", "-m", "two")
    shop.write("mine/notes.txt", "a file that is not run")
    clean = {"commit": git(folder, "rev-parse", "HEAD"), "dirty": False}
    assert fresh(shop, *words)["git"] == clean
    assert fresh(shop, *words, "--isolate")["git"] == clean
    shop.write("mine/helper.py", "x = 1\n")
    assert fresh(shop, *words)["git"] == clean | {"dirty": True}


def fresh(shop: Workshop, *words: str) -> dict[str, Any]:
    """The header of a run that remembers nothing of the last one."""
    engine_header._git.cache_clear()
    return header(shop, *words)


def test_a_repository_runs_no_program_of_its_own(shop: Workshop) -> None:
    """`core.fsmonitor` names a program that `git status` starts."""
    shop.script()
    shop.interface()
    git(shop.folder, "init")
    git(shop.folder, "add", "interface.py")
    git(shop.folder, "commit", "-m", "one")
    bait = shop.program("bait", f"#!/bin/sh\ntouch {shop.folder}/ran\n")
    git(shop.folder, "config", "core.fsmonitor", str(bait))
    assert fresh(shop)["git"]["dirty"] is False
    assert not (shop.folder / "ran").exists()


def test_a_commit_alone_does_not_stop_a_resumed_run(shop: Workshop) -> None:
    """--resume compares the interface itself."""
    shop.script()
    shop.interface()
    fresh(shop)
    git(shop.folder, "init")
    git(shop.folder, "add", "interface.py")
    git(shop.folder, "commit", "-m", "one")
    lines = (shop.folder / "out.jsonl").read_text(encoding="utf-8").splitlines()
    shop.write("out.jsonl", "\n".join(lines[:3]) + "\n")
    engine_header._git.cache_clear()
    assert len(shop.run("--resume")) == 6


def test_older_headers_are_read(shop: Workshop) -> None:
    """Transcripts without these keys are as valid as before."""
    shop.script()
    shop.interface()
    shop.run()
    assert load_interface("interface.py").sha256 == shop.lines()[0]["interface"]["sha256"]
    lines = read_lines(shop.folder / "out.jsonl")[:-1]
    for key in ("isolation", "cpu", "versions"):
        del lines[0][key]
    write_lines(shop.folder / "old.jsonl", lines)
    assert shop.call("check", "old.jsonl").out == "old.jsonl: a valid transcript: toy, work, 6 records, judged again\n"
