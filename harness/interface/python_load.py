"""Load an `interface.py`, or take a Python object: find what answers, check all that can be checked before a run."""

import functools
import hashlib
import importlib.machinery
import importlib.util
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from harness.errors import InterfaceError
from harness.files.digest import file_sha256
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
    """Import an interface file and check it; `name` is the algorithm's, where it is not what the file says."""
    module = Caller(path)("import", lambda: _import(path))
    make, shape = _target(module, path)
    _check_functions(shape, path)
    return PythonInterface(
        path=path,
        name=name or _text(module, shape, "NAME", path) or _folder_name(path),
        version=_text(module, shape, "VERSION", path),
        sha256=file_sha256(path),
        params=_own_params(module, shape, path),
        batch=_batch_size(shape, path),
        make=make,
        learns=hasattr(shape, "train"),
        enrols=hasattr(shape, "enrol"),
    )


def python_object(given: Any, name: str | None = None) -> PythonInterface:
    """An interface out of a function `(case, params)`, or of a class, object or module with what an `interface.py` has.

    Its digest is that of its source, where Python knows it; what the source refers to may still differ.
    """
    path = Path(_file_of(given))
    make, shape = _object_target(given, path)
    _check_functions(shape, path)
    return PythonInterface(
        path=path,
        name=name or _text(given, shape, "NAME", path) or _object_name(given),
        version=_text(given, shape, "VERSION", path),
        sha256=_source_sha256(given),
        params=_own_params(given, shape, path),
        batch=_batch_size(shape, path),
        make=make,
        learns=hasattr(shape, "train"),
        enrols=hasattr(shape, "enrol"),
        in_memory=True,
        shared=shape is given and not inspect.isclass(given),
    )


def _object_target(given: Any, path: Path) -> tuple[Callable[[], Any], Any]:
    """How to get the object that answers, and the shape to check."""
    if inspect.isclass(given) and _answers(given):
        _check_call(path, given.__name__, given, 0, "()")
        return given, given
    if _answers(given):
        return (lambda: given), given
    if inspect.isclass(given) or not callable(given):
        what = given.__name__ if inspect.isclass(given) else type(given).__name__
        raise InterfaceError(f"{what} is not an interface; give a function (case, params), or a class with `answer`")
    function = SimpleNamespace(answer=given)
    return (lambda: function), function


def _code_of(given: Any) -> Any:
    """What has a source: an object's class, a partial's function."""
    given = given.func if isinstance(given, functools.partial) else given
    return given if inspect.isroutine(given) or inspect.isclass(given) or inspect.ismodule(given) else type(given)


def _file_of(given: Any) -> str:
    try:
        return inspect.getfile(_code_of(given))
    except (TypeError, OSError):  # built in, or defined where there is no file
        return "<python>"


def _source_sha256(given: Any) -> str:
    try:
        return hashlib.sha256(inspect.getsource(_code_of(given)).encode()).hexdigest()
    except (TypeError, OSError):
        return ""


def _object_name(given: Any) -> str:
    name = getattr(_code_of(given), "__name__", "")
    return "function" if name in ("", "<lambda>") else name.rpartition(".")[2]


class _FromSource(importlib.machinery.SourceFileLoader):
    """Reads the source each time: cached bytecode can be older than an interface that was just edited."""

    def path_stats(self, path: Any) -> Mapping[str, Any]:
        """Without them, bytecode is neither read nor written."""
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
    """How to get the object that answers, and the shape to check: the module, or its one class."""
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
        wanted = 0 if name == "close" else 2
        _check_call(path, name, function, wanted + (0 if static else bound), signature)


def _check_call(path: Path, name: str, function: Any, wanted: int, signature: str) -> None:
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):  # built-in functions may not tell
        return
    try:
        found.bind(*range(wanted))
    except TypeError:
        raise InterfaceError(f"{path}: {name}{found} does not take {signature}") from None


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


def _own_params(module: Any, shape: Any, path: Path) -> dict[str, Param]:
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


def _folder_name(path: Path) -> str:
    return path.absolute().parent.name if path.name == "interface.py" else path.stem
