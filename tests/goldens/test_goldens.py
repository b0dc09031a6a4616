"""Every command prints the same data on the bundled tests as it did before the rebuilding."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cli.commands import commands_here
from tests.goldens.lines import LINES, WITHOUT, lines
from tests.goldens.make import PRINTED, prepare, printed
from tests.products.laws import differences
from tests.rooms import of_commands_here

GOLDENS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(PRINTED.glob("*.json"))}
GOLDENS = of_commands_here(GOLDENS)


def test_every_command_has_goldens_or_a_reason() -> None:
    with_goldens = {words[0] for words in lines(LINES).values()}
    assert with_goldens == set(GOLDENS)
    assert with_goldens | set(WITHOUT) == set(commands_here())
    assert not with_goldens & set(WITHOUT)
    assert {line for goldens in GOLDENS.values() for line in lines("\n".join(goldens))} == set(lines(LINES))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Path]:
    """A folder with the runs that the lines read."""
    made = tmp_path_factory.mktemp("goldens")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        patch.setenv("HOME", str(made))
        patch.setenv("XDG_CACHE_HOME", str(cache))
        prepare()
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("command", GOLDENS)
@pytest.mark.usefixtures("folder")
def test_commands_print_what_they_printed(command: str) -> None:
    goldens = GOLDENS[command]
    changed = {}
    for line, words in lines("\n".join(goldens)).items():
        golden, now = goldens[line], json.loads(json.dumps(printed(words)))
        # Rounding of sums may differ between machines, and what an optimiser makes of it.
        rel_tol, abs_tol = (1e-4, 1e-4) if "--cross-check" in words else (1e-7, 1e-10)
        if found := list(differences(golden, now, rel_tol=rel_tol, abs_tol=abs_tol)):
            changed[line] = found
    assert changed == {}


def test_a_changed_number_is_seen() -> None:
    before = {"a": [1.0, {"b": "x", "c": 2}], "d": None}
    assert list(differences(before, {"d": None, "a": [1.0 + 1e-12, {"c": 2, "b": "x"}]})) == []
    after = {"a": [1.1, {"b": "x", "e": 2}], "d": 0}
    assert sorted(differences(before, after)) == [
        ".a[0]: 1.0, now 1.1", ".a[1].c: only before", ".a[1].e: only now", ".d: None, now 0"
    ]  # fmt: skip
