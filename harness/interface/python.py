"""Python interfaces: a function, a class or a module in `interface.py`."""

import contextlib
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from harness.errors import InterfaceError
from harness.interface.contract import Interface, Session, Setting
from harness.interface.plain import NotPlainError, plain
from harness.interface.wire import from_line
from harness.model import ErrorKind, Question, Reply
from harness.params import Param, Value


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
    # It has a function `train`.
    learns: bool = False

    def open(self, setting: Setting) -> Session:
        """The algorithm in this process, trained."""
        target = calling(self.path, "create the interface", self.make)
        if hasattr(target, "train"):
            cases = list(read_training(setting.train()))
            calling(self.path, "train", lambda: target.train(cases, dict(setting.params)))
        if hasattr(target, "enrol"):
            gallery = list(read_training(setting.gallery()))
            calling(self.path, "enrol", lambda: target.enrol(gallery, dict(setting.params)))
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
            calling(self._path, "close", close)


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


def calling(path: Path, what: str, call: Callable[[], Any]) -> Any:
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
