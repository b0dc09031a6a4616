"""The documentation is true: links lead somewhere, and files and functions that it names exist.

Its commands are run by test_documents_run.py, and its recipes are followed by recipes/.
"""

import ast
import re
from pathlib import Path

import pytest

from tests.rooms import needs_all_rooms

pytestmark = needs_all_rooms

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
CONTRIBUTING = ROOT / "docs/reference/contributing.md"
# Pages about the code. In a line that begins with a folder, names of files are those of files in it.
CODE_PAGES = (CONTRIBUTING, ROOT / "docs/reference/architecture.md")
PLACEHOLDER = "NAME.py"

LINK = re.compile(r"\]\(([^)\s]+)\)")
# `harness/api/runs.py`, `runs.py`, `tests/data/`
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:\.py|/))`")
# `run` in `harness/engine/run.py`, `TASKS` of `harness/tasks/__init__.py`, `align` (`harness/analysis/align.py`)
NAMED = re.compile(r"`([\w.]+)`\s+(?:in|of|\()\s*`([\w/]+\.py)`")


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.*)$", read(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def exists(link: str, page: Path) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return "://" in link or (target.exists() and (not anchor or anchor in anchors(target)))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    assert not [link for link in LINK.findall(read(page)) if not exists(link, page)]


@pytest.mark.parametrize("page", CODE_PAGES, ids=page_name)
def test_files_that_are_named_exist(page: Path) -> None:
    wrong = []
    for line in read(page).splitlines():
        folder = ROOT
        for path in PATH.findall(line):
            if (ROOT / path).is_dir() and line.startswith(f"| `{path}`"):
                folder = ROOT / path
            elif not path.endswith(PLACEHOLDER) and not (ROOT / path).exists() and not (folder / path).exists():
                wrong.append(path)
    assert not wrong


def names_in(path: Path) -> set[str]:
    """What a module defines: its functions, classes, methods and constants, and what it imports."""
    names: set[str] = set()
    for node in ast.parse(read(path)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            methods = [part for part in ast.walk(node) if isinstance(part, ast.FunctionDef)]
            names |= {f"{node.name}.{method.name}" for method in methods} | {method.name for method in methods}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("page", CODE_PAGES, ids=page_name)
def test_functions_that_are_named_exist(page: Path) -> None:
    found = NAMED.findall(read(page))
    assert found
    assert not [(name, path) for name, path in found if name not in names_in(ROOT / path)]


# Pages with a table of statistics: "| question | function | module |", and the package of these modules.
STATISTICS = {
    "docs/explanation/statistics.md": "harness/stats",
    "docs/explanation/replication.md": "harness/stats/replication",
    "docs/explanation/curves-statistics.md": "harness/stats/curves",
}
# Types from elsewhere, in the cells of functions.
OTHER_TYPES = {"Sample", "Estimate"}


@pytest.mark.parametrize("page", STATISTICS)
def test_statistics_are_in_the_modules_that_their_table_names(page: str) -> None:
    _, table = read(ROOT / page).split("| question | function |", maxsplit=1)
    rows = [line.strip("| ").split(" | ") for line in table.partition("\n\n")[0].splitlines()[2:]]
    assert rows
    wrong = []
    for row in rows:
        modules = [name.replace(".", "/") + ".py" for name in re.findall(r"`([\w.]+)`", row[2])]
        folders = (ROOT / STATISTICS[page], ROOT / "harness/stats", ROOT)
        paths = [next((path / name for path in folders if (path / name).exists()), None) for name in modules]
        defined = {name for path in paths if path is not None for name in names_in(path)}
        functions = set(re.findall(r"`([A-Za-z_.]+)[`(]", row[1])) - OTHER_TYPES
        wrong += [(name, row[2]) for name in functions if name not in defined or None in paths]
    assert not wrong
