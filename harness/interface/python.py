"""Python interfaces: a function, a class or a module, from an `interface.py` or from the calling program."""

import contextlib
import functools
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from time import perf_counter, time
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any, TextIO, TypeGuard

from harness.errors import InterfaceError
from harness.interface.contract import AlgorithmLinks, Interface, Session, Setup, algorithm_params
from harness.interface.python_source import ImportedFiles, folder_name, imported_files
from harness.interface.wire import NotPlainError, from_line, plain
from harness.model import ErrorKind, Question, Reply
from harness.params import Param, Value

BATCH = 32
# What helps where an object of the calling program cannot be used.
INTO_A_FILE = "put it into a file interface.py and give its path"
SIGNATURES = {
    "answer": "(case, params)",
    "answer_batch": "(cases, params)",
    "train": "(cases, params)",
    "enrol": "(gallery, params)",
    "close": "()",
}


@dataclass(frozen=True, kw_only=True)
class PythonInterface(Interface):
    """Python code with the functions of an interface: an `interface.py`, or an object of the calling program.

    Another process cannot load such an object: it stays in this process, and its workers are threads.
    """

    kind = "python"
    to_learn = "add a function train(cases, params) to its interface"

    # The file of the code; only for messages if it is an object.
    path: Path
    # How many cases it gets at once.
    batch: int
    # Returns the module, or a new object of its class.
    make: Callable[[], Any] = field(repr=False)
    imported: bool = True
    in_memory: bool = False
    # Whether every worker would get the same object.
    shared: bool = False

    def open(self, setup: Setup) -> Session:
        """The algorithm in this process, trained."""
        call = Caller(self.path, prints_freely=self.in_memory)
        target = call("create the interface", self.make)
        if self.learns:
            cases = list(read_training(setup.train))
            call("train", lambda: target.train(cases, dict(setup.params)))
        if self.enrols:
            gallery = list(read_training(setup.gallery))
            call("enrol", lambda: target.enrol(gallery, dict(setup.params)))
        return PythonSession(target, setup.params, call, self.batch)

    def isolated(self) -> Interface:
        """The algorithm in a worker process, which speaks the stream protocol; an object stays in this process."""
        if self.in_memory:
            return self
        from harness.interface.python_isolated import IsolatedPython  # a worker has no use for it

        described = {known.name: getattr(self, known.name) for known in fields(Interface)}
        return IsolatedPython.of(self.path, self.batch, **described)

    @property
    def files(self) -> Sequence[Path]:
        return [self.path] if self.path.is_file() else []

    def __reduce__(self) -> tuple[Any, ...]:
        """When it is sent to another process, that process imports it from its file."""
        if self.in_memory:
            raise TypeError(f"{self.name} is an object of this program; put it into a file interface.py to send it")
        return load_python, (self.path.absolute(), self.name)


def is_in_memory(interface: Interface) -> TypeGuard[PythonInterface]:
    """Whether it is an object of the calling program; its answers may then depend on more than its digest covers."""
    return isinstance(interface, PythonInterface) and interface.in_memory


class PythonSession:
    """Calls the algorithm in this process."""

    def __init__(self, target: Any, params: Mapping[str, Value], call: "Caller", batch: int) -> None:
        self._target = target
        self._size = batch
        self._params = dict(params)
        self._call = call
        self._path = call.path

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """One after the other, or in batches if the interface has `answer_batch`."""
        if hasattr(self._target, "answer_batch"):
            return self._batches(questions)
        return self._singles(questions)

    def _singles(self, questions: Iterator[Question]) -> Iterator[Reply]:
        answer, params, path, out = self._target.answer, self._params, self._path, sys.stdout
        redirect = self._call.stdout
        for question in questions:
            sys.stdout = redirect
            start = perf_counter()
            try:
                raw = answer(question, params)
                seconds = perf_counter() - start
                # Fast path: most answers are plain ASCII text.
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
                # One bad case must not spoil the rest of its batch.
                replies = [reply for question in batch for reply in self._batch([question])]
            yield from replies

    def _batch(self, batch: Sequence[Question]) -> list[Reply]:
        start = perf_counter()
        try:
            with self._call.redirected():
                raws = list(self._target.answer_batch(list(batch), self._params))
            share = (perf_counter() - start) / len(batch)
            if len(raws) != len(batch):
                cases = "1 case" if len(batch) == 1 else f"{len(batch)} cases"
                raise NotPlainError(f"answer_batch returned {len(raws)} answers for {cases}")
            return [Reply(q, plain(raw), None, "", share) for q, raw in zip(batch, raws, strict=True)]
        except NotPlainError as error:
            kind, message = ErrorKind.ANSWER, str(error)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            kind, message = ErrorKind.CRASH, explain(error, self._path)
        share = (perf_counter() - start) / len(batch)
        return [Reply(question, None, kind, message, share) for question in batch]

    def close(self) -> None:
        """Call the algorithm's `close`, if it has one."""
        if callable(close := getattr(self._target, "close", None)):
            self._call("close", close)


def read_training(path: Path | None) -> Iterator[Question]:
    """The training cases, or the gallery, from the file that the harness wrote."""
    if path is not None:
        with path.open("rb") as file:
            for index, line in enumerate(file):
                yield from_line(line, index)


def explain(error: BaseException, path: Path) -> str:
    """An exception in one line, with the file and line in the interface's folder where it was raised."""
    try:
        text = " ".join(str(error).encode(errors="backslashreplace").decode().split())
    except Exception:  # a class of the interface, whose __str__ may fail too
        text = ""
    folder = path.absolute().parent
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path) or Path(frame.filename).parent == folder
    ]
    location = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{': ' if text else ''}{text}{location}"


class Caller:
    """Calls the interface's code; whatever it raises becomes an InterfaceError.

    What an interface file prints is not part of the results and goes to stderr; an object of the calling program may
    print anywhere.
    """

    def __init__(self, path: Path, *, prints_freely: bool = False) -> None:
        self.path = path
        self._prints_freely = prints_freely

    @property
    def stdout(self) -> TextIO:
        return sys.stdout if self._prints_freely else sys.stderr

    def redirected(self) -> AbstractContextManager[Any]:
        """A context in which the interface prints there."""
        return contextlib.nullcontext() if self._prints_freely else contextlib.redirect_stdout(sys.stderr)

    def __call__(self, what: str, call: Callable[[], Any]) -> Any:
        """Call `call`; `what` names the act in error messages."""
        try:
            with self.redirected():
                return call()
        except InterfaceError:
            raise
        except SyntaxError as error:
            raise InterfaceError(f"{error.filename or self.path}:{error.lineno}: {error.msg}") from None
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            raise InterfaceError(f"{self.path}: cannot {what}: {explain(error, self.path)}") from None


def load_python(path: Path, name: str | None = None) -> PythonInterface:
    """Import an interface file and check it; `name` replaces the algorithm's name in the file."""
    imports = imported_files(path)
    module = Caller(path)("import", lambda: _import(path, imports))
    interface = _interface(module, _target(module, path), path, name)
    return replace(interface, name=interface.name or folder_name(path), sha256=imports.sha256, imports=imports)


def python_object(source: Any, name: str | None = None) -> PythonInterface:
    """An interface from a function `(case, params)`, or from a class, object or module that is like an `interface.py`.

    Its digest is that of its source, if Python has it; what the source refers to may still differ.
    """
    code = code_of(source)
    path = source_path(code)
    make, shape = _object_target(source, path)
    interface = _interface(source, (make, shape), path, name)
    text = source_text(code)
    object_name = getattr(code, "__name__", "")
    object_name = "function" if object_name in ("", "<lambda>") else object_name.rpartition(".")[2]
    return replace(
        interface,
        name=interface.name or object_name,
        sha256=hashlib.sha256(text.encode()).hexdigest() if text else "",
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
    if inspect.isclass(source) and _can_answer(source):
        _check_call(path, source.__name__, source, 0, "()")
        return source, source
    if _can_answer(source):
        return (lambda: source), source
    if inspect.isclass(source) or not callable(source):
        what = source.__name__ if inspect.isclass(source) else type(source).__name__
        raise InterfaceError(f"{what} is not an interface; give a function (case, params), or a class with `answer`")
    function = SimpleNamespace(answer=source)
    return (lambda: function), function


def code_of(value: Any) -> Any:
    """What has source code: an object's class, a partial's function."""
    value = value.func if isinstance(value, functools.partial) else value
    return value if inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value) else type(value)


def source_path(code: Any) -> Path:
    """The file of some code; a name for messages if it has none."""
    try:
        return Path(inspect.getfile(code))
    except (TypeError, OSError):  # built in, or not defined in a file
        return Path("<python>")


def source_text(code: Any) -> str:
    """The source of some code; empty if Python does not have it."""
    try:
        return inspect.getsource(code)
    except (TypeError, OSError):
        return ""


class _FromSource(importlib.machinery.SourceFileLoader):
    """Reads the source each time: cached bytecode may be older than an interface that was just edited."""

    def path_stats(self, path: Any) -> Mapping[str, Any]:
        """Without them, Python neither reads nor writes bytecode."""
        raise OSError(path)


class _NeighbourLoader(importlib.machinery.SourceFileLoader):
    """Keeps what it compiles, unless the source may be changed again within the second by which bytecode knows it."""

    def path_stats(self, path: Any) -> Mapping[str, Any]:
        stats = super().path_stats(path)
        if stats["mtime"] > time() - 2:
            raise OSError(path)
        return stats


class _Neighbours(importlib.abc.MetaPathFinder):
    """Finds what an interface imports from beside it, whatever other interfaces this process has loaded."""

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._folder: Path | None = None

    def begin(self, imports: ImportedFiles) -> None:
        """Forget the neighbours of the interface before, and find those of this one, as they are now."""
        for name, file in self._files.items():
            if name in sys.modules and _is_of(sys.modules[name], file):
                del sys.modules[name]
        for name, file in imports.modules.items():
            if name in sys.modules and not _is_standard(name) and not _is_of(sys.modules[name], file):
                other = sys.modules[name].__file__
                raise InterfaceError(
                    f"{imports.path}: imports '{name}' from beside it, but this program has imported another one, "
                    f"{other}; rename it, or run the interface in a process of its own, with --isolate"
                )
        # A package that the program itself has imported stays its own, with all that is in it.
        found = imports.modules.items()
        self._files = {name: file for name, file in found if name.partition(".")[0] not in sys.modules}
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        with suppress(ValueError):
            sys.path.remove(str(self._folder))
        self._folder = imports.path.absolute().parent
        sys.path.insert(0, str(self._folder))  # for packages without a file
        importlib.invalidate_caches()

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Files of the standard library's names, and packages without a file, are found as Python finds them."""
        file = self._files.get(fullname) or self._computed(fullname)
        if file is None or file.suffix != ".py" or _is_standard(fullname):
            return None
        inside = [str(file.parent)] if file.name == "__init__.py" else None
        loader = _NeighbourLoader(fullname, str(file))
        return importlib.util.spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=inside)

    def _computed(self, name: str) -> Path | None:
        """The file of a name that the source does not show, or the folder, if it is the interface that imports it."""
        if self._folder is None or not _is_interface_asking():
            return None
        path = self._folder.joinpath(*name.split("."))
        files = (path / "__init__.py", path.with_name(f"{path.name}.py"), path)
        if file := next((file for file in files if file.exists()), None):
            self._files[name] = file
        return file


_neighbours = _Neighbours()


def _is_interface_asking() -> bool:
    """Whether an interface, or a neighbour of one, is among the callers."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        loader = frame.f_globals.get("__loader__")
        if isinstance(loader, (_FromSource, _NeighbourLoader)):
            return True
        frame = frame.f_back
    return False


def _is_of(module: ModuleType, file: Path) -> bool:
    """Whether a module is of this file; a package without a file is of every folder of its name."""
    other = getattr(module, "__file__", None)
    return other is None or Path(other) == file or Path(other).resolve() == file.resolve()


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


def _import(path: Path, imports: ImportedFiles) -> ModuleType:
    """The interface as a module of its own, with its own neighbours."""
    _neighbours.begin(imports)
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
    if _can_answer(module):
        return (lambda: module), module
    local = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
    classes = [c for c in local if _can_answer(c)]
    named = [c for c in classes if c.__name__ == "Interface"] or classes
    if not named:
        raise InterfaceError(f"{path}: no function answer(case, params); `hate new interface` writes an example")
    if len(named) > 1:
        names = ", ".join(c.__name__ for c in named)
        raise InterfaceError(f"{path}: which class is the interface, {names}? Call one of them Interface")
    _check_call(path, named[0].__name__, named[0], 0, "()")
    return named[0], named[0]


def _can_answer(shape: Any) -> bool:
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
    return algorithm_params(declared, str(path))
