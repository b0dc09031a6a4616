"""The rules of the house: which room may import which, where libraries are used, and what a reader may rely on."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "harness"

# A room may import from the floors below and from the neighbours named for it; no import points up.
FLOORS = (
    {"cli", "server"},
    {"api"},
    {"report", "analysis", "engine", "site"},
    {"measures", "transcript", "script", "interface", "tasks", "matrices", "stats"},
    {"files", "options", "params", "plugins", "bundled", "model", "errors"},
)
NEIGHBOURS = {
    "cli": {"server"},  # `hate serve` starts it
    "report": {"analysis"},  # a report is about what an analysis found
    "engine": {"site"},  # a run is built from names, which sites resolve
    "measures": {"stats"},  # a measure says which statistic it is
    "script": {"tasks"},
    "transcript": {"tasks"},
    "interface": {"matrices", "tasks", "script"},
    "matrices": {"stats"},
    "files": {"params", "errors", "model"},
    "params": {"errors"},
    "options": {"params", "errors"},
    "plugins": {"errors"},
}
# Heavy or special libraries, and the only places that may import them.
ONLY_IN = {
    "requests": ("site/", "interface/http.py"),
    "urllib3": ("site/",),
    "rich": ("cli/", "report/"),
    "click": ("cli/",),
    "pydantic": ("script/", "interface/toml.py", "files/toml.py"),
    "scipy": ("stats/",),
    "numpy": (
        "stats/",
        "measures/",
        "matrices/",
        "analysis/",
        "interface/matrix.py",
        "tasks/",
        "transcript/columns.py",
    ),
    "pyarrow": ("files/tables.py",),
    "matplotlib": ("report/plots/",),
    "optuna": ("analysis/tune.py",),
    "cryptography": ("site/trust.py",),
    "starlette": ("server/",),
    "uvicorn": ("server/app.py",),
    "anyio": ("server/",),
    "jinja2": ("server/render.py",),
    "markdown_it": ("server/render.py",),
    "zstandard": ("transcript/importing/inspect_ai.py",),
    "pandas": ("api/result.py",),
}
STATS_MAY_IMPORT = {"numpy", "scipy"} | set(sys.stdlib_module_names)
TASKS = {"label", "score", "rank", "value", "mask", "boxes"}
LONGEST = 350  # lines of a file that is read in one sitting

not_yet = pytest.mark.xfail(reason="being rebuilt")


@cache
def modules() -> dict[str, ast.Module]:
    """Every file of the package by its path, parsed."""
    paths = sorted(path for path in PACKAGE.rglob("*.py") if "_bundled" not in path.parts)
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def room(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


def floor(name: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if name in rooms)


def may_import(caller: str, called: str) -> bool:
    return caller == called or floor(caller) < floor(called) or called in NEIGHBOURS.get(caller, set())


def test_every_room_is_on_a_floor() -> None:
    assert {room(path) for path in modules()} - {"__init__"} == set().union(*FLOORS)


def test_imports_point_one_way() -> None:
    wrong = {
        (path, name)
        for path, tree in modules().items()
        for name in imports(tree)
        if path != "__init__.py" and name.startswith("harness.") and not may_import(room(path), name.split(".")[1])
    }
    assert not wrong


def test_special_libraries_stay_in_their_rooms() -> None:
    wrong = {
        (path, name)
        for path, tree in modules().items()
        for name in {name.split(".")[0] for name in imports(tree)} & ONLY_IN.keys()
        if not path.startswith(ONLY_IN[name])
    }
    assert not wrong


def test_statistics_know_nothing_but_arrays() -> None:
    used = {(path, name) for path, tree in modules().items() if room(path) == "stats" for name in imports(tree)}
    foreign = {(path, name) for path, name in used if name.split(".")[0] not in STATS_MAY_IMPORT}
    assert not {(path, name) for path, name in foreign if not name.startswith("harness.stats")}
    # scipy.special is enough, and scipy.stats takes half a second to import.
    assert not {(path, name) for path, name in used if name.startswith("scipy.stats")}


def test_a_class_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path)
    assert not {name: paths for name, paths in places.items() if len(paths) > 1}


def test_the_task_answers_what_depends_on_the_task() -> None:
    """No other room compares a task's name."""
    wrong = [
        f"{path}:{node.lineno}"
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if room(path) != "tasks" and isinstance(node, ast.Compare) and compares_a_task_name(node)
    ]
    assert not wrong


def compares_a_task_name(node: ast.Compare) -> bool:
    constants = {part.value for side in node.comparators for part in ast.walk(side) if isinstance(part, ast.Constant)}
    return "task" in ast.unparse(node.left) and bool(constants & TASKS)


def test_options_are_typed_objects() -> None:
    wrong = [
        f"{path}:{node.lineno}"
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.arg) and node.arg == "given" and node.annotation is not None
        if ast.unparse(node.annotation) == "dict[str, Any]"
    ]
    assert not wrong


@not_yet
def test_a_file_is_read_in_one_sitting() -> None:
    lengths = {path: (PACKAGE / path).read_bytes().count(b"\n") for path in modules()}
    assert not {path: length for path, length in lengths.items() if length > LONGEST}
