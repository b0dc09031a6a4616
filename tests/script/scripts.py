"""Scripts in a temporary folder, for the tests of scripts."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.errors import HateError
from harness.model import Case
from harness.script.cases import CaseSet, load_cases
from harness.script.load import Script, load_script
from harness.site.fetch import fetch_data

HEAD = """\
format = 1

[test]
name = "t"
version = "1.0"
synopsis = "A test"
task = "label"

"""
TABLE = """\
[cases]
table = "cases.csv"
"""
CASES = "id,input,expect\n1,a,x\n2,b,y\n"
INLINE = '[[cases.case]]\nid = "1"\ninput = "a"\nexpect = "x"\n'


def script_in(folder: Path, toml: str, files: Mapping[str, str | bytes] | None = None) -> Path:
    """Write a script with its files; `cases.csv` has a default."""
    for name, content in {"cases.csv": CASES, **(files or {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    path = folder / "t.hate.toml"
    path.write_bytes(toml.encode())
    return path


def load(path: Path) -> CaseSet:
    script = load_script(path)
    return load_cases(script, fetch_data(script))


def cases(path: Path) -> list[Case]:
    return list(load(path))


def script(path: Path) -> Script:
    return load_script(path)


def mistakes(path: Path) -> str:
    """The error message, without the folder's name."""
    with pytest.raises(HateError) as caught:
        load(path)
    assert caught.value.exit_code == 2
    return str(caught.value).replace(f"{path.parent}/", "")
