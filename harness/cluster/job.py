"""What the program that asks and the workers of a cluster tell one another: versions, a job, questions and replies."""

import pickle
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import astuple

from harness import __version__
from harness.cluster.files import Material, materials
from harness.engine.plan import Plan
from harness.interface.contract import Interface, Setup
from harness.model import Question, Reply
from harness.site.cache import cache_folder


@dataclass(frozen=True)
class Versions:
    """What a worker must have in common with the program that asks it."""

    harness: str
    python: str
    numpy: str = ""
    dask: str = ""

    @staticmethod
    def here() -> "Versions":
        """Of this process."""
        from importlib.metadata import version

        return Versions(__version__, platform.python_version(), version("numpy"), version("distributed"))

    def mistake(self, ours: "Versions") -> str:
        """Why a worker with these versions cannot be used, in words; empty if it can."""
        if self.harness != ours.harness:
            return f"has hate-harness {self.harness}, and this is {ours.harness}; install the same version there"
        if self.python.split(".")[:2] != ours.python.split(".")[:2]:
            return f"has Python {self.python}, and this is {ours.python}; they must agree up to the second number"
        return ""

    def remark(self, ours: "Versions") -> str:
        """What differs, but does no harm as a rule; empty if nothing does."""
        pairs = {"numpy": (self.numpy, ours.numpy), "distributed": (self.dask, ours.dask)}
        return ", ".join(f"{name} {there}, not {here}" for name, (there, here) in pairs.items() if there != here)


@dataclass(frozen=True)
class Job:
    """A run, as its workers see it. Plain data; paths are those of the machine that it comes from."""

    # A name that no other run on the cluster has.
    key: str
    interface: Interface
    setup: Setup
    # The script's file, to find data by; empty if the test has no data.
    script: str
    places: Mapping[str, Path]
    # Those of the places whose files are made when a case is asked: a worker is sent what it is asked about.
    made: tuple[str, ...]
    # What a worker needs, by name; it has all of it if it is on this machine.
    materials: Mapping[str, Material]
    same_machine: bool
    # Whether an answer may be the path of a file, which the worker then reads.
    answers_files: bool = False
    cache: Path = field(default_factory=cache_folder)


def make_job(plan: Plan, interface: Interface, setup: Setup, *, key: str, same_machine: bool) -> Job:
    """The job of a plan; `interface` is isolated, and `setup` has its files in this machine's scratch folder."""
    cases = plan.data_of or plan.cases
    return Job(
        key=key,
        interface=interface,
        setup=setup,
        script=cases.script.path.name if cases.data_paths else "",
        places={name: path.absolute() for name, path in cases.data_paths.items()},
        made=(cases.script.made,) if cases.script.made else (),
        materials={} if same_machine else materials(cases, interface, setup),
        same_machine=same_machine,
        answers_files=cases.script.task.expect_is_file,
    )


@dataclass(frozen=True)
class BatchResult:
    """What became of a batch: replies, or what is missing, or why it cannot be worked on."""

    worker: str
    replies: bytes = b""
    seconds: float = 0.0
    # Names of materials, or inputs as they are in the questions.
    missing: tuple[str, ...] = ()
    refusal: str = ""


def pack_questions(questions: list[Question]) -> bytes:
    """Questions as bytes, which Dask passes on without looking into them."""
    return pickle.dumps([astuple(question) for question in questions], protocol=5)


def unpack_questions(content: bytes) -> list[Question]:
    """The questions, on the worker."""
    return [Question(*fields) for fields in pickle.loads(content)]  # noqa: S301 (as all that Dask sends)


def pack_replies(replies: list[Reply]) -> bytes:
    """Replies as bytes, with the index of their question in place of the question."""
    fields = [(reply.question.index, *astuple(reply)[1:]) for reply in replies]
    return pickle.dumps(fields, protocol=5)


def unpack_replies(content: bytes, questions: Mapping[int, Question]) -> Iterator[Reply]:
    """The replies to these questions; any other is left out."""
    # From a worker of the user's own cluster, whose results Dask unpickles as well.
    for index, *fields in pickle.loads(content):  # noqa: S301
        if index in questions:
            yield Reply(questions[index], *fields)
