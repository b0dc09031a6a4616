"""Rooms can be taken away: without the folder of one, what is left works and passes its own tests."""

import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from harness.plugins import ROOMS, in_rooms
from tests.recipes.recipe import JSON, ChangedPackage
from tests.rooms import needs_all_rooms
from tests.workshop import Workshop
from tools.documents.pages import ROOT

pytestmark = needs_all_rooms

# What only goes with a room: a command line that is refused without it.
OF_ROOMS = {
    "lab": ("compare", "a.jsonl", "b.jsonl", "--cross-check"),
    "cluster": ("run", "toy", "--cluster", "local:1", "-o", "c.jsonl"),
    "vary": ("run", "toy", "--no-vary", "-o", "c.jsonl"),
}
# The tests that have most to do with what rooms bring in, and with how they do it.
TESTS = (
    "tests/test_house.py",
    "tests/analysis",
    "tests/api",
    "tests/cli",
    "tests/engine",
    "tests/goldens",
    "tests/matrices",
    "tests/measures",
    "tests/products",
    "tests/report",
    "tests/script",
    "tests/security/test_outputs.py",
    "tests/site/test_names.py",
    "tests/tasks",
)


@pytest.fixture
def package(shop: Workshop, tmp_path: Path, room: str) -> ChangedPackage:
    """A copy of the package without a room, of which Python's cache is left, as git leaves it."""
    found = ChangedPackage(shop, tmp_path / "copy")
    shutil.rmtree(found.folder / "harness" / room)
    (found.folder / "harness" / room / "__pycache__").mkdir(parents=True)
    return found


def test_entries_of_rooms_are_as_those_of_others_must_be(shop: Workshop) -> None:
    """In a process that has used none of them: an option that is taken in would be in its own way."""
    code = (
        "from harness.api.listing import plugin_groups\n"
        "from harness.plugins import in_rooms\n"
        "for group in plugin_groups():\n"
        "    for plugin in in_rooms(group.group):\n"
        "        group.checked(plugin)\n"
        "        print(group.group, plugin.name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=shop.env, capture_output=True, text=True, check=True)
    rooms = [import_module(f"harness.{room}") for room in ROOMS]
    entries = [(group, name) for room in rooms for group, names in room.ENTRY_POINTS.items() for name in names]
    assert sorted(done.stdout.splitlines()) == sorted(f"{group} {name}" for group, name in entries)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("room", ROOMS)
def test_what_is_left_works(room: str, shop: Workshop, package: ChangedPackage) -> None:
    shop.script()
    shop.interface()
    shop.write("other.py", "NAME = 'other'\ndef answer(case, params):\n    return ('x', 1.0)\n")
    commands = [plugin.name for plugin in in_rooms("hate.commands") if plugin.value.startswith(f"harness.{room}.")]
    done = package.do(
        {
            "help": ("--help",),
            "list": ("list", *JSON),
            "run": ("run", "toy", "-o", "a.jsonl", *JSON),
            "other": ("run", "toy", "--interface", "other.py", "-o", "b.jsonl", *JSON),
            "sweep": ("sweep", "toy", "--param", "threshold=0,1", *JSON),
            "compare": ("compare", "a.jsonl", "b.jsonl", *JSON),
            "rate": ("rate", "a.jsonl", "--statistic", "rate,tpr", *JSON),
            "roc": ("roc", "hdigits/wisard", *JSON),
            "cmc": ("cmc", "faces", *JSON),
            "report": ("report", "a.jsonl", "b.jsonl", "-o", "page.html"),
            "describe": ("describe", "hdigits"),
            "option": OF_ROOMS[room],
            **{f"hate {name}": (name, "a.jsonl") for name in commands},
        },
        refused=["option", *(f"hate {name}" for name in commands)],
    )
    assert "No such option" in done["option"].err
    names = {line.split()[0] for line in done["help"].out.splitlines() if line.startswith("  ")}
    assert "compare" in names
    assert not names & set(commands)


@pytest.mark.parametrize("room", ["vary"])
def test_a_script_with_a_section_of_a_missing_room(shop: Workshop, package: ChangedPackage) -> None:
    """It is refused in a line that says what is missing, and not as a misspelt key; nothing else is."""
    shop.script(sections='[vary.noise]\nkind = "gaussian"\nvalues = [0, 5]\n')
    text = "toy.hate.toml: [vary] cannot be read: this copy of hate-harness has no folder harness/vary"
    steps = {words[0]: words for words in [("describe", "toy"), ("run", "vase"), ("check", "toy")]}
    done = package.do({**steps, "list": ("list",)}, refused=list(steps))
    for name in ("describe", "check"):
        assert text in done[name].out + done[name].err
        assert (done[name].out + done[name].err).count("\n") == 1
    assert "vase.hate.toml: [vary] cannot be read" in done["run"].err
    listed = [line.split()[0] for line in done["list"].out.splitlines()]
    assert {"hdigits", "shapes"} <= set(listed)
    assert not {"toy", "vase"} & set(listed)
    assert done["list"].err.count("skipped: ") == done["list"].err.count("[vary] cannot be read") == 2


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_what_is_left_passes_its_tests(room: str, package: ChangedPackage) -> None:
    for name in ("benchmarks", "docs", "examples", "fuzz", "tools", "pyproject.toml", "README.md", "CHANGELOG.md"):
        (package.folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "tests", package.folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(package.folder / "tests" / room)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", *TESTS],
        cwd=package.folder, env=package.shop.env | {"PYTHONPATH": str(package.folder)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
