"""The house: who may import whom, what is imported where, and that the tools have nothing to say."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "harness"

# Rooms on a floor may call those on floors below, and those named beside them; nothing points up.
FLOORS = (
    {"cli"},
    {"report", "analysis", "engine", "site"},
    {"measures", "transcript", "script", "interface", "tasks", "stats"},
    {"files", "params", "bundled", "model", "errors"},
)
NEIGHBOURS = {
    "report": {"analysis"},  # a report is about what an analysis found
    "site/serving": {"report", "analysis"},  # its pages show reports
    "measures": {"stats"},  # a measure says which statistic it is
    "script": {"tasks"},
    "files": {"params", "errors", "model"},
    "params": {"errors"},
}
# Heavy or special libraries, and the only places that may import them.
ONLY_IN = {
    "requests": ("site/", "interface/http.py"),
    "urllib3": ("site/",),
    "rich": ("cli/", "report/"),
    "click": ("cli/",),
    "pydantic": ("script/", "interface/toml.py", "files/strict_toml.py"),
    "scipy": ("stats/",),
    "numpy": ("stats/", "measures/", "analysis/", "transcript/columns.py"),
    "pyarrow": ("files/tables.py",),
    "matplotlib": ("report/plots/",),
    "optuna": ("analysis/tuning/search.py",),
    "cryptography": ("site/signing.py",),
    "starlette": ("site/serving/",),
    "uvicorn": ("site/serving/run.py",),
    "anyio": ("site/serving/",),
    "jinja2": ("site/serving/render.py",),
    "markdown_it": ("site/serving/about.py",),
    "zstandard": ("transcript/importing/inspect_archive.py",),
}
STATS_MAY_IMPORT = {"numpy", "scipy"} | set(sys.stdlib_module_names)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_bundled" not in path.parts)


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def floor(name: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if name in rooms)


def may_call(caller: str, called: str) -> bool:
    return caller == called or floor(caller) < floor(called) or called in NEIGHBOURS.get(caller, set())


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    if path == PACKAGE / "__init__.py":
        return
    called = {name.split(".")[1] for name in imports(path) if name.startswith("harness.")}
    part = path.parent.relative_to(PACKAGE).as_posix()
    assert not {name for name in called if not (may_call(room(path), name) or name in NEIGHBOURS.get(part, set()))}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_special_libraries_stay_in_their_rooms(path: Path) -> None:
    here = path.relative_to(PACKAGE).as_posix()
    used = {name.split(".")[0] for name in imports(path)}
    misplaced = {name for name, places in ONLY_IN.items() if name in used and not here.startswith(places)}
    assert not misplaced


def test_statistics_know_nothing_but_arrays() -> None:
    for path in (PACKAGE / "stats").rglob("*.py"):
        foreign = {n for n in imports(path) if n.split(".")[0] not in STATS_MAY_IMPORT}
        assert not {n for n in foreign if not n.startswith("harness.stats")}, path
        assert not {n for n in imports(path) if n.startswith("scipy.stats")}, path


def test_every_room_is_on_a_floor() -> None:
    rooms = {room(path) for path in modules()} - {"__init__"}
    assert rooms == set().union(*FLOORS)


@pytest.mark.parametrize(
    "command",
    [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]],
    ids=["ruff check", "ruff format", "mypy"],
)
def test_tools_have_nothing_to_say(command: list[str]) -> None:
    run = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
