"""Python interfaces: a function, a class or a module, from an `interface.py` or from the calling program."""

import contextlib
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, TextIO, TypeGuard

from harness.errors import InterfaceError
from harness.interface.contract import NO_LINKS, AlgorithmLinks, Interface, Session, Setup
from harness.interface.imports import ImportedFiles
from harness.interface.wire import NotPlainError, from_line, plain
from harness.model import ErrorKind, Question, Reply
from harness.params import Param, Value


@dataclass(frozen=True)
class PythonInterface:
    """Python code with the functions of an interface: an `interface.py`, or an object of the calling program.

    Another process cannot load such an object: it stays in this process, and its workers are threads.
    """

    # The file of the code; only for messages if it is an object.
    path: Path
    name: str
    version: str
    sha256: str
    params: Mapping[str, Param]
    # How many cases it gets at once.
    batch: int
    # Returns the module, or a new object of its class.
    make: Callable[[], Any] = field(repr=False)
    kind: str = "python"
    # Whether it has a function `train`, and a function `enrol`.
    learns: bool = False
    enrols: bool = False
    in_memory: bool = False
    # Whether every worker would get the same object.
    shared: bool = False
    # What its file imports; None for an object.
    imports: ImportedFiles | None = None
    links: AlgorithmLinks = NO_LINKS

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
        from harness.interface.outside import worker_interface

        return worker_interface(
            self.path, name=self.name, version=self.version, sha256=self.sha256, params=self.params, batch=self.batch,
            learns=self.learns, enrols=self.enrols, imports=self.imports, imported=True, links=self.links,
        )  # fmt: skip

    @property
    def imported(self) -> bool:
        """Its code is in the process of the harness."""
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        """When it is sent to another process, that process imports it from its file."""
        if self.in_memory:
            raise TypeError(f"{self.name} is an object of this program; put it into a file interface.py to send it")
        from harness.interface.python_load import load_python

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
                raise NotPlainError(f"answer_batch returned {len(raws)} answers for {len(batch)} cases")
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
    """An exception in one line, with the place in the interface's folder where it was raised."""
    text = " ".join(_message(error).split())
    folder = path.absolute().parent
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path) or Path(frame.filename).parent == folder
    ]
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{': ' if text else ''}{text}{place}"


def _message(error: BaseException) -> str:
    try:
        return str(error).encode(errors="backslashreplace").decode()
    except Exception:  # a class of the interface, whose __str__ may fail too
        return ""


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
        """Where the interface prints."""
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
