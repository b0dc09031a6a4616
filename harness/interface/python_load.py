"""Load an `interface.py` or a Python object: find what answers, and check it before a run."""

import functools
import hashlib
import importlib.machinery
import importlib.util
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from harness.errors import InterfaceError
from harness.interface.contract import AlgorithmLinks
from harness.interface.imports import imported_files
from harness.interface.python import Caller, PythonInterface
from harness.params import Param, ParamType

BATCH = 32
SIGNATURES = {
    "answer": "(case, params)",
    "answer_batch": "(cases, params)",
    "train": "(cases, params)",
    "enrol": "(gallery, params)",
    "close": "()",
}


def load_python(path: Path, name: str | None = None) -> PythonInterface:
    """Import an interface file and check it; `name` replaces the algorithm's name in the file."""
    module = Caller(path)("import", lambda: _import(path))
    found = _interface(module, _target(module, path), path, name)
    imports = imported_files(path)
    return replace(found, name=found.name or folder_name(path), sha256=imports.sha256, imports=imports)


def python_object(source: Any, name: str | None = None) -> PythonInterface:
    """An interface from a function `(case, params)`, or from a class, object or module that is like an `interface.py`.

    Its digest is that of its source, if Python has it; what the source refers to may still differ.
    """
    path = Path(_file_of(source))
    make, shape = _object_target(source, path)
    found = _interface(source, (make, shape), path, name)
    return replace(
        found,
        name=found.name or _object_name(source),
        sha256=_source_sha256(source),
        in_memory=True,
        shared=shape is source and not inspect.isclass(source),
    )


def _interface(source: Any, target: tuple[Callable[[], Any], Any], path: Path, name: str | None) -> PythonInterface:
    """What a module or object says about itself, checked; without a digest, and without a name if it has none."""
    make, shape = target
    _check_functions(shape, path)
    return PythonInterface(
        path=path,
        name=name or _text(source, shape, "NAME", path),
        version=_text(source, shape, "VERSION", path),
        sha256="",
        params=_params(source, shape, path),
        links=AlgorithmLinks(*(_text(source, shape, name, path) for name in ("CODE", "PAPER"))).check(str(path)),
        batch=_batch_size(shape, path),
        make=make,
        learns=hasattr(shape, "train"),
        enrols=hasattr(shape, "enrol"),
    )


def _object_target(source: Any, path: Path) -> tuple[Callable[[], Any], Any]:
    """A function that returns the object that answers, and what to check: the object or its class."""
    if inspect.isclass(source) and _answers(source):
        _check_call(path, source.__name__, source, 0, "()")
        return source, source
    if _answers(source):
        return (lambda: source), source
    if inspect.isclass(source) or not callable(source):
        what = source.__name__ if inspect.isclass(source) else type(source).__name__
        raise InterfaceError(f"{what} is not an interface; give a function (case, params), or a class with `answer`")
    function = SimpleNamespace(answer=source)
    return (lambda: function), function


def _code_of(value: Any) -> Any:
    """What has source code: an object's class, a partial's function."""
    value = value.func if isinstance(value, functools.partial) else value
    return value if inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value) else type(value)


def _file_of(value: Any) -> str:
    try:
        return inspect.getfile(_code_of(value))
    except (TypeError, OSError):  # built in, or not defined in a file
        return "<python>"


def _source_sha256(value: Any) -> str:
    try:
        return hashlib.sha256(inspect.getsource(_code_of(value)).encode()).hexdigest()
    except (TypeError, OSError):
        return ""


def _object_name(value: Any) -> str:
    name = getattr(_code_of(value), "__name__", "")
    return "function" if name in ("", "<lambda>") else name.rpartition(".")[2]


class _FromSource(importlib.machinery.SourceFileLoader):
    """Reads the source each time: cached bytecode may be older than an interface that was just edited."""

    def path_stats(self, path: Any) -> Mapping[str, Any]:
        """Without them, Python neither reads nor writes bytecode."""
        raise OSError(path)


def _import(path: Path) -> ModuleType:
    folder = str(path.absolute().parent)
    if folder not in sys.path:  # so that an interface can import its neighbours
        sys.path.insert(0, folder)
    loader = _FromSource("hate_interface", str(path.absolute()))
    spec = importlib.util.spec_from_file_location("hate_interface", path.absolute(), loader=loader)
    if spec is None or spec.loader is None:
        raise InterfaceError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["hate_interface"] = module
    spec.loader.exec_module(module)
    return module


def _target(module: ModuleType, path: Path) -> tuple[Callable[[], Any], Any]:
    """A function that returns the object that answers, and what to check: the module, or its one class."""
    if _answers(module):
        return (lambda: module), module
    own = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
    classes = [c for c in own if _answers(c)]
    named = [c for c in classes if c.__name__ == "Interface"] or classes
    if not named:
        raise InterfaceError(f"{path}: no function answer(case, params); `hate new interface` writes an example")
    if len(named) > 1:
        names = ", ".join(c.__name__ for c in named)
        raise InterfaceError(f"{path}: which class is the interface, {names}? Call one of them Interface")
    _check_call(path, named[0].__name__, named[0], 0, "()")
    return named[0], named[0]


def _answers(shape: Any) -> bool:
    return any(getattr(shape, name, None) is not None for name in ("answer", "answer_batch"))


def _check_functions(shape: Any, path: Path) -> None:
    bound = 1 if inspect.isclass(shape) else 0
    for name, signature in SIGNATURES.items():
        function = getattr(shape, name, None)
        if function is None:
            continue
        if not callable(function):
            raise InterfaceError(f"{path}: {name} is not a function; write def {name}{signature}")
        if inspect.iscoroutinefunction(function):
            raise InterfaceError(f"{path}: {name} is async; write a plain def {name}{signature}")
        static = inspect.isclass(shape) and isinstance(inspect.getattr_static(shape, name), (staticmethod, classmethod))
        arguments = 0 if name == "close" else 2
        _check_call(path, name, function, arguments + (0 if static else bound), signature)


def _check_call(path: Path, name: str, function: Any, arguments: int, expected: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have none
        return
    try:
        signature.bind(*range(arguments))
    except TypeError:
        raise InterfaceError(f"{path}: {name}{signature} does not take {expected}") from None


def _text(module: Any, shape: Any, name: str, path: Path) -> str:
    value = getattr(shape, name, getattr(module, name, ""))
    if not isinstance(value, (str, int, float)):
        raise InterfaceError(f"{path}: {name} is {value!r}; make it text")
    return str(value)


def _batch_size(shape: Any, path: Path) -> int:
    if not hasattr(shape, "answer_batch"):
        return 1
    size = getattr(shape, "BATCH", BATCH)
    if not isinstance(size, int) or size < 1:
        raise InterfaceError(f"{path}: BATCH is {size!r}; make it a whole number from 1 up")
    return size


def _params(module: Any, shape: Any, path: Path) -> dict[str, Param]:
    declared = getattr(shape, "PARAMS", getattr(module, "PARAMS", {}))
    if not isinstance(declared, Mapping):
        raise InterfaceError(f"{path}: PARAMS is not a mapping of names to default values")
    return own_params(declared, str(path))


def own_params(declared: Mapping[str, Any], place: str) -> dict[str, Param]:
    """An algorithm's parameters from a mapping of names to default values."""
    params = {}
    for name, default in declared.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise InterfaceError(f"{place}: parameter {name!r} is not a name; use letters, digits and _")
        if not isinstance(default, (bool, int, float, str)) or (
            isinstance(default, float) and not math.isfinite(default)
        ):
            raise InterfaceError(
                f"{place}: parameter {name}: default {default!r} is not a finite number, text or truth value"
            )
        params[name] = Param(name, ParamType.of(default), default)
    return params


def folder_name(path: Path) -> str:
    """What an algorithm is called if its file does not say: its folder, or a file of another name."""
    return path.absolute().parent.name if path.name == "interface.py" else path.stem
