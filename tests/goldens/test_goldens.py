"""Every command prints the same data on the bundled tests as it did before the rebuilding."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli.commands import COMMANDS
from tests.goldens.lines import LINES, WITHOUT, lines
from tests.goldens.make import PRINTED, prepare, printed

GOLDENS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(PRINTED.glob("*.json"))}


def test_every_command_has_goldens_or_a_reason() -> None:
    with_goldens = {words[0] for words in lines(LINES).values()}
    assert with_goldens == set(GOLDENS)
    assert with_goldens | set(WITHOUT) == set(COMMANDS)
    assert not with_goldens & set(WITHOUT)
    assert {line for goldens in GOLDENS.values() for line in goldens} == set(lines(LINES))


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
    for line, golden in goldens.items():
        now = json.loads(json.dumps(printed(lines(line)[line])))
        if found := list(differences(golden, now)):
            changed[line] = found
    assert changed == {}


def differences(golden: Any, now: Any, path: str = "") -> Iterator[str]:
    """Where two values differ; the order of keys does not matter."""
    if isinstance(golden, dict) and isinstance(now, dict):
        for key in golden.keys() | now.keys():
            if key not in golden or key not in now:
                yield f"{path}.{key}: only {'before' if key in golden else 'now'}"
            else:
                yield from differences(golden[key], now[key], f"{path}.{key}")
    elif isinstance(golden, list) and isinstance(now, list) and len(golden) == len(now):
        for place, (one, other) in enumerate(zip(golden, now, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif golden != now and not (is_number(golden) and is_number(now) and isclose(golden, now)):
        yield f"{path}: {golden!r}, now {now!r}"


def isclose(golden: float, now: float) -> bool:
    """Rounding of sums may differ between machines."""
    return math.isclose(golden, now, rel_tol=1e-7, abs_tol=1e-10)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def test_a_changed_number_is_seen() -> None:
    before = {"a": [1.0, {"b": "x", "c": 2}], "d": None}
    assert list(differences(before, {"d": None, "a": [1.0 + 1e-12, {"c": 2, "b": "x"}]})) == []
    after = {"a": [1.1, {"b": "x", "e": 2}], "d": 0}
    assert sorted(differences(before, after)) == [
        ".a[0]: 1.0, now 1.1", ".a[1].c: only before", ".a[1].e: only now", ".d: None, now 0"
    ]  # fmt: skip
