"""Read an `interface.py` without running it: what its constants and functions say, for listing and checking."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.errors import InterfaceError
from harness.interface.contract import InterfaceFacts
from harness.interface.python_load import folder_name

LARGEST_SOURCE = 16 << 20
_CONSTANTS = ("NAME", "VERSION", "PARAMS")
_ANSWERS = frozenset({"answer", "answer_batch"})


def read_python(path: Path) -> InterfaceFacts:
    """Name, version and parameters as far as they are written as plain constants; nothing is imported or run."""
    tree = _parse(path)
    shapes = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    answering = [body for body in shapes if _ANSWERS & set(_names(body))]
    if not answering:
        raise InterfaceError(f"{path}: no function answer(case, params); `hate new interface` writes an example")
    known = {**_constants(tree.body), **_constants(answering[0])}
    names = set(_names(answering[0]))
    return InterfaceFacts(
        name=str(known.get("NAME", "")) or folder_name(path),
        version=str(known.get("VERSION", "")),
        params=_plain_params(known.get("PARAMS", {})),
        learns="train" in names,
        enrols="enrol" in names,
    )


def _plain_params(declared: Any) -> dict[str, Any]:
    if not isinstance(declared, dict):
        return {}
    plain = (bool, int, float, str)
    return {name: value for name, value in declared.items() if isinstance(name, str) and isinstance(value, plain)}


def _parse(path: Path) -> ast.Module:
    try:
        with path.open("rb") as file:
            source = file.read(LARGEST_SOURCE)
        return ast.parse(source, str(path))
    except SyntaxError as error:
        raise InterfaceError(f"{path}:{error.lineno or 1}: {error.msg}") from None
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise InterfaceError(f"{path}: cannot be read as Python: {error}") from None


def _names(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that statements define: functions, assigned names, and imported ones."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in node.names)
        else:
            yield from _assigned(node)


def _assigned(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def _constants(body: Sequence[ast.stmt]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in body:
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        for name in _assigned(node):
            if name in _CONSTANTS and value is not None:
                try:
                    found[name] = ast.literal_eval(value)
                except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                    found.pop(name, None)  # computed: known only to whoever runs it
    return found
