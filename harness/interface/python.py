"""Python interfaces: a function, a class or a module in `interface.py`."""

import contextlib
import importlib.machinery
import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

from harness.errors import InterfaceError
from harness.files.digest import file_sha256
from harness.interface.contract import Interface, Session, Setting
from harness.interface.plain import NotPlainError, plain
from harness.interface.wire import from_line
from harness.model import ErrorKind, Question, Reply
from harness.params import Param, ParamType, Value

BATCH = 32
SIGNATURES = {
    "answer": "(case, params)",
    "answer_batch": "(cases, params)",
    "train": "(cases, params)",
    "enrol": "(gallery, params)",
    "close": "()",
}


@dataclass(frozen=True)
class PythonInterface:
    """An `interface.py` that was imported and has the functions that it needs."""

    path: Path
    name: str
    version: str
    sha256: str
    params: Mapping[str, Param]
    # How many cases it takes at once.
    batch: int
    # The module, or a new object of its class.
    make: Callable[[], Any] = field(repr=False)
    kind: str = "python"

    def open(self, setting: Setting) -> Session:
        """The algorithm in this process, trained."""
        target = _calling(self.path, "create the interface", self.make)
        if hasattr(target, "train"):
            cases = list(read_training(setting.train()))
            _calling(self.path, "train", lambda: target.train(cases, dict(setting.params)))
        if hasattr(target, "enrol"):
            gallery = list(read_training(setting.gallery()))
            _calling(self.path, "enrol", lambda: target.enrol(gallery, dict(setting.params)))
        return PythonSession(target, setting.params, self.path, self.batch)

    def isolated(self) -> Interface:
        """The algorithm in a worker process, which speaks the stream protocol."""
        from harness.interface.stream import StreamInterface

        # -P: a folder called harness where the user happens to be is not ours.
        argv = [sys.executable, "-P", "-m", "harness.interface.worker", str(self.path.absolute())]
        return StreamInterface(
            name=self.name,
            version=self.version,
            sha256=self.sha256,
            params=self.params,
            argv=tuple(argv),
            folder=Path.cwd(),
            # A second batch is on its way while the first is worked on.
            in_flight=2 * self.batch,
            batch=self.batch,
            kind=self.kind,
            own_clock=True,
        )


class PythonSession:
    """Calls the algorithm in this process."""

    def __init__(self, target: Any, params: Mapping[str, Value], path: Path, batch: int) -> None:
        self._target = target
        self._size = batch
        self._params = dict(params)
        self._path = path

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """One after the other, or in batches where the interface has `answer_batch`."""
        if hasattr(self._target, "answer_batch"):
            return self._batches(questions)
        return self._singles(questions)

    def _singles(self, questions: Iterator[Question]) -> Iterator[Reply]:
        answer, params, path, out = self._target.answer, self._params, self._path, sys.stdout
        for question in questions:
            # What an interface prints is not part of the results.
            sys.stdout = sys.stderr
            start = perf_counter()
            try:
                raw = answer(question, params)
                seconds = perf_counter() - start
                # Most answers are plain text; only a text with surrogates cannot be written down.
                if type(raw) is not str or not raw.isascii():
                    raw = plain(raw)
                reply = Reply(question, raw, None, "", seconds)
            except NotPlainError as error:
                reply = Reply(question, None, ErrorKind.ANSWER, str(error), perf_counter() - start)
            except (Exception, SystemExit, KeyboardInterrupt) as error:
                reply = Reply(question, None, ErrorKind.CRASH, explain(error, path), perf_counter() - start)
            finally:
                sys.stdout = out
            yield reply

    def _batches(self, questions: Iterator[Question]) -> Iterator[Reply]:
        while batch := list(islice(questions, self._size)):
            replies = self._batch(batch)
            if replies[0].error is not None and len(batch) > 1:
                # One bad case must not take the others of its batch with it.
                replies = [reply for question in batch for reply in self._batch([question])]
            yield from replies

    def _batch(self, batch: Sequence[Question]) -> list[Reply]:
        start = perf_counter()
        try:
            with contextlib.redirect_stdout(sys.stderr):
                raws = list(self._target.answer_batch(list(batch), self._params))
            share = (perf_counter() - start) / len(batch)
            if len(raws) != len(batch):
                raise NotPlainError(f"answer_batch gave {len(raws)} answers for {len(batch)} cases")
            return [Reply(q, plain(raw), None, "", share) for q, raw in zip(batch, raws, strict=True)]
        except NotPlainError as error:
            kind, message = ErrorKind.ANSWER, str(error)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            kind, message = ErrorKind.CRASH, explain(error, self._path)
        share = (perf_counter() - start) / len(batch)
        return [Reply(question, None, kind, message, share) for question in batch]

    def close(self) -> None:
        """Tell the algorithm that it is over."""
        if callable(close := getattr(self._target, "close", None)):
            _calling(self._path, "close", close)


def load_python(path: Path) -> PythonInterface:
    """Import an interface file and check it."""
    module = _calling(path, "import", lambda: _import(path))
    make, shape = _target(module, path)
    _check_functions(shape, path)
    return PythonInterface(
        path=path,
        name=_text(module, shape, "NAME", path) or _folder_name(path),
        version=_text(module, shape, "VERSION", path),
        sha256=file_sha256(path),
        params=_own_params(module, shape, path),
        batch=_batch_size(shape, path),
        make=make,
    )


def read_training(path: Path | None) -> Iterator[Question]:
    """The training cases, or the gallery, that the harness wrote out."""
    if path is not None:
        with path.open("rb") as file:
            for index, line in enumerate(file):
                yield from_line(line, index)


def explain(error: BaseException, path: Path) -> str:
    """An exception in a line, with the place in the interface's own folder where it arose."""
    text = " ".join(_words(error).split())
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).parent == path.absolute().parent]
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{': ' if text else ''}{text}{place}"


def _words(error: BaseException) -> str:
    try:
        return str(error).encode(errors="backslashreplace").decode()
    except Exception:  # it is the interface's own class, and may fail at this too
        return ""


def _calling(path: Path, what: str, call: Callable[[], Any]) -> Any:
    """Call the interface's code; whatever it throws is an InterfaceError."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return call()
    except InterfaceError:
        raise
    except SyntaxError as error:
        raise InterfaceError(f"{error.filename or path}:{error.lineno}: {error.msg}") from None
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        raise InterfaceError(f"{path}: cannot {what}: {explain(error, path)}") from None


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


def _text(module: ModuleType, shape: Any, name: str, path: Path) -> str:
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


def _own_params(module: ModuleType, shape: Any, path: Path) -> dict[str, Param]:
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
