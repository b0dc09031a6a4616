"""How to add something: every recipe is followed in a copy of the package, and used as its page says it can be.

The recipes are the rows of the table in docs/reference/contributing.md. Each has a function here that uses what was
added: a row without one fails, and so does one without a row.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.recipes.judging import use_importer, use_measure, use_task, use_vary
from tests.recipes.printing import use_column, use_command, use_curve, use_format
from tests.recipes.recipe import JSON, OTHERS, ChangedPackage, recipe, section
from tests.recipes.running import use_interface, use_way_to_run
from tests.workshop import Workshop
from tools.documents.pages import CHANGE, PAGES, ROOT, blocks

PAGE = ROOT / "docs/reference/contributing.md"
MEASURES_PAGE = ROOT / "docs/reference/measures.md"
ROW = re.compile(r"^\| \[([^]]+)\]\(#([\w-]+)\) \|(.*?)\|(.*?)\| (\d+) \|$", re.MULTILINE)
PATH = re.compile("`([^`]+)`")
# The tests that hold for every file of the package.
HOUSE = {"__init__.py", "test_house.py"}


@dataclass(frozen=True)
class Row:
    """What the table says of a recipe."""

    heading: str
    anchor: str
    written: list[str]
    changed: list[str]
    places: int

    @classmethod
    def all(cls) -> "dict[str, Row]":
        rows = [
            cls(title[0].upper() + title[1:], anchor, PATH.findall(written), PATH.findall(changed), int(places))
            for title, anchor, written, changed, places in ROW.findall(PAGE.read_text(encoding="utf-8"))
        ]
        return {row.heading: row for row in rows}


ROWS = Row.all()


@pytest.fixture
def package(shop: Workshop, tmp_path: Path) -> ChangedPackage:
    return ChangedPackage(shop, tmp_path / "copy")


USES: dict[str, Callable[[Workshop, ChangedPackage], None]] = {
    "A task": use_task,
    "A measure": use_measure,
    "An importer": use_importer,
    "An interface kind": use_interface,
    "A table format": use_format,
    "A command": use_command,
    "A way to run cases": use_way_to_run,
    "A kind of vary": use_vary,
    "A column of a table": use_column,
    "A curve": use_curve,
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("heading", ROWS)
def test_a_recipe_is_followed_and_what_was_added_is_used(shop: Workshop, package: ChangedPackage, heading: str) -> None:
    package.follow(recipe(PAGE, heading))
    USES[heading](shop, package)


@pytest.mark.slow
def test_the_other_recipe_of_a_measure(shop: Workshop, package: ChangedPackage) -> None:
    package.follow(recipe(MEASURES_PAGE, "Adding one"))
    [shown] = ["\n".join(block.lines) for block in section(MEASURES_PAGE, "Adding one") if block.language == "text"]
    of_runs = ("compare", "wisard", "witch", "--statistic", "jaccard", "--at", "eer", "--by", "truth", *JSON)
    done = package.do({"rate": ("rate", "wisard", "--statistic", "jaccard"), "compare": of_runs})
    assert shown in done["rate"].out
    assert done["compare"].json["statistic"] == "jaccard"


@pytest.mark.slow
def test_the_samples_are_plug_ins_too(shop: Workshop, package: ChangedPackage, tmp_path: Path) -> None:
    """The same files in a package of their own, as an installer leaves it: nothing of ours is changed."""
    [entries] = ["\n".join(block.lines) for block in section(PAGE, "As a plug-in") if block.language == "toml"]
    project = tmp_path / "installed"
    for heading in ("A task", "An importer"):
        for path, text in recipe(PAGE, heading).written.items():
            place = project / "my_package" / Path(path).name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
    named = '[project]\nname = "my-package"\nversion = "1"\n'
    (project / "pyproject.toml").write_text(named + entries, encoding="utf-8")
    package.install(project)
    use_task(shop, package)
    use_importer(shop, package)
    listed = package.do({"list": ("list", "--plugins", *JSON)})["list"].json["plugins"]
    assert {(one["name"], one["problem"]) for one in listed} == {("text", None), ("tap", None)}


def follow_all(package: ChangedPackage) -> list[str]:
    """All recipes in one copy; the Python files that were written or changed."""
    recipes = [recipe(PAGE, heading) for heading in ROWS]
    for one in recipes:
        package.follow(one)
    shutil.copy(ROOT / "pyproject.toml", package.folder)
    return sorted({path for one in recipes for path in (*one.written, *one.changed) if path.endswith(".py")})


def test_what_recipes_give_is_in_the_style_of_the_house(package: ChangedPackage) -> None:
    touched = follow_all(package)
    for words in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--no-cache", *touched],
            cwd=package.folder, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_what_recipes_give_has_types_and_keeps_the_rules_of_the_house(package: ChangedPackage) -> None:
    others = [path for path in follow_all(package) if path.startswith(OTHERS)]
    shutil.copytree(ROOT / "tests", package.folder / "tests", ignore=lambda _, names: {*names} - HOUSE)
    for words in (["mypy", "--cache-dir", ".", "harness", *others], ["pytest", "-n", "0", "tests/test_house.py"]):
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=package.folder, capture_output=True, text=True,
            env=package.shop.env | {"PYTHONPATH": str(package.folder)},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


# The page


def test_every_recipe_of_the_page_is_in_the_table_and_used() -> None:
    text = PAGE.read_text(encoding="utf-8")
    headings = re.findall("^### (.*)$", text[text.index("## How to add something") :], re.MULTILINE)
    assert headings == ["As a plug-in", *ROWS]
    assert set(USES) == set(ROWS)
    assert all(row.anchor == row.heading.lower().replace(" ", "-") for row in ROWS.values())


@pytest.mark.parametrize("heading", ROWS)
def test_the_table_says_what_a_recipe_touches(heading: str) -> None:
    row, said = ROWS[heading], recipe(PAGE, heading)
    patterns = [re.escape(path).replace("NAME", r"\w+") for path in row.written]
    assert len(said.written) == len(patterns)
    assert all(re.fullmatch(pattern, path) for pattern, path in zip(patterns, said.written, strict=True))
    assert sorted(said.changed) == sorted(row.changed)
    assert said.places == row.places


def test_every_change_that_a_page_shows_belongs_to_a_recipe() -> None:
    shown = {
        (page, block.first) for page in PAGES for block in blocks(page.read_text("utf-8")) if block.language == CHANGE
    }
    sections = [(PAGE, heading) for heading in ROWS] + [(MEASURES_PAGE, "Adding one")]
    followed = {
        (page, block.first)
        for page, heading in sections
        for block in section(page, heading)
        if block.language == CHANGE
    }
    assert shown == followed
