"""The architecture: which package may import which, where libraries are used, and what a reader may rely on."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from harness.plugins import ROOMS
from harness.tasks import TASKS

PACKAGE = Path(__file__).parent.parent / "harness"

# A package may import from the layers below it and from the packages named here; no import points up.
LAYERS = (
    set(ROOMS),  # nothing rests on them, and they do not rest on one another
    {"cli", "server"},
    {"api"},
    {"report", "analysis", "engine", "site"},
    {"measures", "transcript", "script", "interface", "tasks", "matrices", "stats"},
    {"files", "options", "params", "plugins", "bundled", "model", "errors"},
)
ALSO_ALLOWED = {
    "cli": {"server"},  # `hate serve` starts the server
    "report": {"analysis"},  # a report shows the results of an analysis
    "engine": {"site"},  # a run may name tests at sites
    "site": {"analysis"},  # an index says what transcripts are ranked by
    "measures": {"stats", "tasks"},  # a measure names its statistic, and reads what a task records
    "script": {"tasks"},
    "transcript": {"tasks"},
    "interface": {"matrices", "tasks"},
    "tasks": {"stats"},  # which detection matches which object
    "matrices": {"stats"},
    "files": {"params", "errors", "model"},
    "params": {"errors"},
    "options": {"params", "errors", "model", "plugins"},
    "plugins": {"errors"},
}
# Modules of the lab that are statistics: arrays in, dataclasses out.
LAB_STATISTICS = (
    "lab/*/statistics.py",
    "lab/opinions/mixed.py",
    "lab/opinions/posterior.py",
    "lab/rank_bits.py",
    "lab/urn/trials.py",
)
# Heavy or special libraries, and the only places that may import them.
ONLY_IN = {
    "requests": ("site/", "interface/http.py"),
    "urllib3": ("site/",),
    "rich": ("cli/", "report/"),
    "click": ("cli/", "lab/*/command.py"),
    "pydantic": ("script/", "interface/", "vary/", "files/toml.py"),
    "scipy": ("stats/", *LAB_STATISTICS),
    "numpy": (
        "stats/",
        "measures/",
        "matrices/",
        "analysis/",
        "lab/",
        "vary/",
        "files/images.py",
        "interface/matrix.py",
        "tasks/",
        "transcript/collect.py",
        "transcript/columns.py",
        "transcript/kept_columns.py",
        "transcript/parquet_columns.py",
        "transcript/importing/tools/coco.py",
    ),
    "pyarrow": ("files/tables.py", "transcript/parquet.py", "transcript/parquet_columns.py"),
    "matplotlib": ("report/plots/", "lab/*/report.py"),
    "optuna": ("analysis/tune.py",),
    "cryptography": ("site/signing.py",),
    "starlette": ("server/",),
    "uvicorn": ("server/app.py", "server/connections.py"),
    "anyio": ("server/",),
    "jinja2": ("server/render.py",),
    "markdown_it": ("server/render.py",),
    "zstandard": ("transcript/importing/tools/inspect_ai.py",),
    "pandas": ("api/result.py",),
    "PIL": ("files/images.py",),
    "dask": ("cluster/",),
    "distributed": ("cluster/",),
    "weasyprint": ("report/page/pdf.py",),
}
STATS_MAY_IMPORT = {"numpy", "scipy"} | set(sys.stdlib_module_names)
LONGEST = 600  # lines of a file


@cache
def modules() -> dict[str, ast.Module]:
    """Every module, parsed, by its path."""
    paths = sorted(path for path in PACKAGE.rglob("*.py") if "_bundled" not in path.parts)
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def package(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


def layer(name: str) -> int:
    return next(number for number, packages in enumerate(LAYERS) if name in packages)


def may_import(caller: str, called: str) -> bool:
    return caller == called or layer(caller) < layer(called) or called in ALSO_ALLOWED.get(caller, set())


def test_every_package_is_in_a_layer() -> None:
    assert {package(path) for path in modules()} - {"__init__"} | set(ROOMS) == set().union(*LAYERS)


def test_imports_point_one_way() -> None:
    wrong = {
        (path, name)
        for path, tree in modules().items()
        for name in imports(tree)
        if path != "__init__.py" and name.startswith("harness.") and not may_import(package(path), name.split(".")[1])
    }
    assert not wrong


def test_special_libraries_stay_in_their_packages() -> None:
    wrong = {
        (path, name)
        for path, tree in modules().items()
        for name in {name.split(".")[0] for name in imports(tree)} & ONLY_IN.keys()
        if not is_in(path, ONLY_IN[name])
    }
    assert not wrong


def is_in(path: str, places: tuple[str, ...]) -> bool:
    return any(fnmatch(path, f"{place}*") for place in places)


def test_statistics_import_only_numpy_and_scipy() -> None:
    statistics = {path: tree for path, tree in modules().items() if is_in(path, ("stats/", *LAB_STATISTICS))}
    used = {(path, name) for path, tree in statistics.items() for name in imports(tree)}
    foreign = {(path, name) for path, name in used if name.split(".")[0] not in STATS_MAY_IMPORT}
    ours = {f"harness.{path.removesuffix('.py').replace('/', '.')}" for path in statistics if package(path) == "lab"}
    assert not {(path, name) for path, name in foreign if not name.startswith("harness.stats") and name not in ours}
    # The core does without the lab.
    assert not {(path, name) for path, name in foreign if package(path) == "stats" and name in ours}
    # scipy.special is enough, and scipy.stats takes half a second to import.
    assert not {(path, name) for path, name in used if name.startswith("scipy.stats")}


def test_a_class_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path)
    assert not {name: paths for name, paths in places.items() if len(paths) > 1}


def test_only_tasks_compare_names_of_tasks() -> None:
    """No other package compares a task's name."""
    wrong = [
        f"{path}:{node.lineno}"
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if package(path) != "tasks" and isinstance(node, ast.Compare) and compares_a_task_name(node)
    ]
    assert not wrong


def compares_a_task_name(node: ast.Compare) -> bool:
    constants = {part.value for side in node.comparators for part in ast.walk(side) if isinstance(part, ast.Constant)}
    return "task" in ast.unparse(node.left) and bool(constants & TASKS.keys())


def test_options_are_typed_objects() -> None:
    wrong = [
        f"{path}:{node.lineno}"
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.arg) and node.arg == "given" and node.annotation is not None
        if ast.unparse(node.annotation) == "dict[str, Any]"
    ]
    assert not wrong


def test_no_file_is_too_long() -> None:
    lengths = {path: (PACKAGE / path).read_bytes().count(b"\n") for path in modules()}
    assert not {path: length for path, length in lengths.items() if length > LONGEST}
