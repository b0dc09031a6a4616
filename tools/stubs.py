"""Write what editors read: stubs with the signatures and docstrings that the functions have at run time.

    python -m tools.stubs

A test compares the stubs with what this makes.
"""

import ast
import importlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter
from pathlib import Path
from types import ModuleType
from typing import Any

# A door: a module whose functions take their options by keyword.
DOORS = ("harness", "harness.lab.experiments")
STANDARD = {"Literal": "typing", "Any": "typing", "Path": "pathlib"}
ABSTRACT = ("Callable", "Iterable", "Iterator", "Mapping", "Sequence")


def stub(door: str) -> str:
    """The stub of a door."""
    module = importlib.import_module(door)
    members = [getattr(module, name) for name in sorted(module.__all__) if not name.startswith("__")]
    classes = [member for member in members if isinstance(member, type)]
    imports = {f"from {kind.__module__} import {kind.__name__} as {kind.__name__}" for kind in classes}
    bodies = [_function(member, imports) for member in members if member not in classes]
    text = "\n".join(bodies)
    abstract = [name for name in ABSTRACT if re.search(rf"\b{name}\b", text)]
    imports |= {f"from collections.abc import {', '.join(abstract)}"} if abstract else set()
    imports |= {f"from {home} import {name}" for name, home in STANDARD.items() if re.search(rf"\b{name}\b", text)}
    about = f'"""{(module.__doc__ or "").strip()}"""'
    version = ["__all__: list[str]", *(["__version__: str"] if "__version__" in module.__all__ else [])]
    note = "# Made by `python -m tools.stubs`."
    return "\n".join([about, "", note, "", *sorted(imports), "", *version, "", text])


def _function(function: Callable[..., Any], imports: set[str]) -> str:
    """A function as a stub: what it takes is written as its source has it, its options as they are at run time."""
    inner = inspect.unwrap(function)
    source = ast.parse(Path(inspect.getfile(inner)).read_text(encoding="utf-8"))
    [node] = [part for part in source.body if isinstance(part, ast.FunctionDef) and part.name == inner.__name__]
    known = dict(_names(source, inner.__module__))
    written = {
        argument.arg: _written(argument.annotation, known, imports)
        for argument in (*node.args.args, *node.args.kwonlyargs)
        if argument.arg != "options"
    }
    parameters, starred = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is Parameter.KEYWORD_ONLY and not starred:
            starred = True
            parameters.append("*")
        annotation = written.get(parameter.name) or _shown(parameter.annotation)
        default = "" if parameter.default is Parameter.empty else f" = {parameter.default!r}"
        parameters.append(f"{parameter.name}: {annotation}{default}")
    returns = _written(node.returns, known, imports)
    lines = [f"def {function.__name__}(", *(f"    {parameter}," for parameter in parameters), f") -> {returns}:"]
    doc = inspect.getdoc(function) or ""
    quoted = [f'    """{doc}' if "\n" not in doc else f'    """{doc.replace(chr(10), chr(10) + "    ")}\n    ']
    body = re.sub(r"[ ]+\n", "\n", quoted[0]) + '"""'
    return "\n".join([*lines, body, ""])


def _names(source: ast.Module, module: str) -> Iterator[tuple[str, str]]:
    """The names that a module can write annotations with, and how to import each."""
    for part in ast.walk(source):
        if isinstance(part, ast.ImportFrom) and part.module is not None:
            for alias in part.names:
                yield alias.asname or alias.name, part.module
    for statement in source.body:
        if isinstance(statement, ast.ClassDef):
            yield statement.name, module
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, module


def _written(annotation: ast.expr | None, known: Mapping[str, str], imports: set[str]) -> str:
    if annotation is None:
        return "None"
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    text = ast.unparse(annotation)
    for name in re.findall(r"[A-Za-z_]\w*", text):
        if known.get(name, "").startswith("harness"):
            imports.add(f"from {known[name]} import {name}")
    return text


def _shown(annotation: Any) -> str:
    """A type at run time as it is written."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return " | ".join("None" if part is types.NoneType else _shown(part) for part in typing.get_args(annotation))
    plain = isinstance(annotation, type) and not hasattr(annotation, "__args__")
    text = annotation.__name__ if plain else str(annotation)
    return re.sub(r"\b(?:collections\.abc|typing|pathlib)\.", "", text)


def stub_path(door: str) -> Path:
    """Where the stub of a door is."""
    module: ModuleType = importlib.import_module(door)
    return Path(inspect.getfile(module)).with_suffix(".pyi")


if __name__ == "__main__":
    for door in DOORS:
        stub_path(door).write_text(stub(door), encoding="utf-8")
