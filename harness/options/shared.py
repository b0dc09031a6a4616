"""Sets of options that several commands share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Number
from pathlib import Path
from types import NoneType

from harness.errors import UsageError
from harness.options.cores import usable_cores
from harness.options.declaration import OptionSet, Range, option

LONE_UNITS = ("collapse", "fail", "remove", "certainty", "adjust", "average")
REPLICATION_METHODS = ("auto", "brr", "fay", "jackknife", "bootstrap", "linear")


class SeedOptions(OptionSet):
    """Randomness."""

    seed: int = option("--seed N", "Seed of the random numbers, where any are drawn.", default=0, within=Range(0))


class ConfidenceOptions(OptionSet):
    """How sure an interval is."""

    # Beyond it quantiles are lost in rounding.
    confidence: float = option(
        "--confidence C", "Confidence of the intervals.", default=0.95, within=Range(0.5, 0.999999, low_open=True)
    )


class DesignOptions(OptionSet):
    """How the cases were sampled, instead of what the test says."""

    stratum: tuple[str, ...] | None = option(
        "--stratum COLUMN,...",
        "Columns that make the strata: groups that a repetition of the test would have again; 'none' for none.",
        default=None,
        separator=",",
    )
    psu: tuple[str, ...] | None = option(
        "--psu COLUMN,...",
        "Columns that make the sampling units: groups that were drawn, and would be others in a repetition; "
        "'none' for none.",
        default=None,
        separator=",",
    )
    weights: str | None = option(
        "--weights cases|equal|COLUMN|FILE", "How much each case or stratum counts.", default=None
    )
    lone: str = option(
        "--lone", "What to do with strata that have a single unit.", default="collapse", choices=LONE_UNITS
    )


class DirectionOptions(OptionSet):
    """What is better, of numbers whose names do not say it."""

    lower: tuple[str, ...] = option(
        "--lower NAME", "Values of which less is better, such as costs; several with commas.", default=()
    )
    higher: tuple[str, ...] = option(
        "--higher NAME", "Values of which more is better; several with commas.", default=()
    )

    @property
    def texts(self) -> dict[bool, tuple[str, ...]]:
        """What was said, by whether more is better."""
        return {False: self.lower, True: self.higher}


def split_names(texts: Sequence[str], is_known: Callable[[str], bool] = lambda _name: False) -> list[str]:
    """The names in some texts; a text with commas may be one name that is known, or several."""
    parts = ([text] if is_known(text) else [part.strip() for part in text.split(",")] for text in texts)
    return list(dict.fromkeys(name for names in parts for name in names))


def checked_directions(declared: Iterable[tuple[str, bool]]) -> dict[str, bool]:
    """Whether more is better, by name; a UsageError if both is said of one."""
    directions: dict[str, bool] = {}
    for name, larger in declared:
        if directions.setdefault(name, larger) != larger:
            raise UsageError(f"--lower and --higher: both name '{name}'; leave one out")
    return directions


class ReplicationOptions(ConfidenceOptions, SeedOptions):
    """How errors are estimated."""

    method: str = option(
        "--method", "How to estimate the errors from the design.", default="auto", choices=REPLICATION_METHODS
    )
    fay: float | None = option(
        "--fay RHO", "Fay's factor for BRR; 0.5 with --method fay.", default=None, within=Range(0, 1, high_open=True)
    )
    df: str = option(
        "--df",
        "Degrees of freedom: of the design, or by Satterthwaite's approximation.",
        default="design",
        choices=("design", "satterthwaite"),
    )


def byte_count(text: str) -> int:
    """A size as people write it, 1000000, 500M or 2G, in bytes."""
    digits = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = {"K": 10, "M": 20, "G": 30, "T": 40}.get(digits[-1:], 0)
    number = digits[:-1].rstrip() if unit else digits
    if not (number.isascii() and number.isdigit() and len(number) <= 15 and int(number)):
        raise ValueError(f"'{text}' is not a size; write bytes, or 500M, or 2G")
    return int(number) << unit


# More seconds than anyone waits.
SECONDS = Range(0, 1e9, low_open=True, high_open=True)


def seconds(text: str) -> float:
    """A time above 0."""
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number of seconds") from None
    if number not in SECONDS:
        raise ValueError(f"{number:g} is not a number of seconds above 0")
    return number


JOBS = Range(1, 1000)


def job_count(text: str) -> int:
    """A number of jobs; 'auto' is as many as there are cores to use."""
    if text.strip().casefold() == "auto":
        return usable_cores()
    count = int(text) if text.strip().isdecimal() and len(text) < 10 else 0
    if count not in JOBS:
        raise ValueError(f"'{text}' is not a number of jobs; write 1 to {JOBS.high:g}, or auto")
    return count


class OfflineOptions(OptionSet):
    """Whether the network may be used."""

    offline: bool = option("--offline", "Do not use the network: only what is here or in the cache.", default=False)


class DownloadOptions(OfflineOptions):
    """How long and how large a download may be."""

    http_timeout: float = option(
        "--http-timeout SECONDS",
        "Give up on a download that takes longer.",
        default=600.0,
        within=SECONDS,
        parse=seconds,
    )
    http_limit: int = option(
        "--http-limit SIZE",
        "Refuse a download that is larger, or unpacks to more: 500M, 2G.",
        default=4 << 30,
        parse=byte_count,
        shown="4G",
    )


class OverwriteOptions(OptionSet):
    """Whether what a command writes may replace what is there."""

    force: bool = option("--force", "Overwrite existing files.", default=False)


class LibraryOptions(OfflineOptions):
    """Where tests are found."""

    libraries: tuple[str, ...] = option(
        "--library FOLDER", "Another folder to find tests in; may be repeated.", default=()
    )


class InterfaceOptions(OptionSet):
    """Which program is run."""

    interface: str | None = option(
        "--interface NAME|PATH",
        "A bundled interface, a file or a folder, or matrix:FILE; by default interface.py or interface.toml here.",
        default=None,
        completion="interface",
    )


def assignments(params: Mapping[str, object] | Sequence[str]) -> Sequence[str]:
    """Values by name as the command line has them: NAME=VALUE each, commas between several values."""
    if not isinstance(params, Mapping):
        return params
    return [f"{name}={_values_text(name, value)}" for name, value in params.items()]


def _values_text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    items = list(value) if isinstance(value, Iterable) and not isinstance(value, Mapping) else [value]
    for item in items:
        # numpy's numbers and truth values have no dimension.
        if not isinstance(item, (str, Number, Path, NoneType)) and getattr(item, "ndim", None) != 0:
            raise UsageError(f"params: {name}: {item!r:.50} is no number, text, truth value or None")
    texts = [str(item) for item in items]
    if wrong := next((text for text in texts if "," in text), None):
        raise UsageError(f"params: {name}: '{wrong}' has a comma, which separates values; run it by itself")
    return ",".join(texts)


class ParamOptions(OptionSet):
    """Parameters of the test and of the algorithm."""

    params: tuple[str, ...] = option(
        "--param NAME=VALUE",
        "Set a parameter; may be repeated.",
        default=(),
        completion="param",
        from_python=assignments,
    )


class ExecutionOptions(OptionSet):
    """How cases are run."""

    jobs: int = option(
        "-j, --jobs N|auto",
        "Run N cases at a time, each in a process of its own; 'auto' for as many as there are cores to use.",
        default=1,
        within=JOBS,
        parse=job_count,
    )
    timeout: float | None = option(
        "--timeout SECONDS",
        "Give up on a case after this long; its program is killed and started again.",
        default=None,
        within=SECONDS,
        parse=seconds,
    )
    limit: int | None = option("--limit N", "Only the first N cases.", default=None, within=Range(1))
    memory: int | None = option(
        "--memory SIZE",
        "Address space that each process of the algorithm may have: 500M, 2G.",
        default=None,
        parse=byte_count,
    )
    no_network: bool = option("--no-network", "Run the algorithm without a network.", default=False)
    isolate: bool = option(
        "--isolate",
        "Keep Python code out of the harness's own process: for a transcript that others are to believe.",
        default=False,
    )


class GalleryOptions(OptionSet):
    """Virtual experiments of a rank test."""

    gallery: tuple[str, ...] = option(
        "--gallery CONDITION",
        "Rank tests: only gallery images for which this holds, such as session=1; may be repeated.",
        default=(),
    )
    probe: tuple[str, ...] = option(
        "--probe CONDITION",
        "Rank tests: only probes for which this holds, such as session=2; may be repeated.",
        default=(),
    )


class PartialOptions(OptionSet):
    """Whether incomplete transcripts are accepted."""

    partial: bool = option("--partial", "Accept incomplete transcripts.", default=False)


class OperatingOptions(OptionSet):
    """Where thresholds are set before anything is measured."""

    at: str | None = option(
        "--at eer|fpr=RATE", "First set each threshold there, on the recorded scores.", default=None
    )
    development: tuple[str, ...] = option(
        "--development T",
        "With --at: set the threshold on this run of the same algorithm on other cases; may be repeated.",
        default=(),
        completion="transcript",
    )
