"""What a user wants to know of a curve: operating points, a cost, how sure."""

import math
from dataclasses import dataclass, field
from enum import StrEnum

from harness.analysis.comparing.sampling import DesignOptions
from harness.errors import UsageError
from harness.params import nearest


class Bands(StrEnum):
    """How pointwise bands are found; `AUTO` takes what the design calls for."""

    AUTO = "auto"
    WILSON = "wilson"
    BRR = "brr"
    BOOTSTRAP = "bootstrap"
    TWO_WAY = "two-way"
    SIMULTANEOUS = "simultaneous"
    NONE = "none"


@dataclass(frozen=True)
class At:
    """An operating point: the threshold where a rate is within a limit, or a threshold itself."""

    of: str
    value: float

    @property
    def text(self) -> str:
        """As it was written."""
        return f"{self.of}={self.value:g}"


@dataclass(frozen=True)
class Cost:
    """What a false positive and a false negative cost, and how likely a positive is in use."""

    fp: float = 1.0
    fn: float = 1.0
    prior: float = 0.5


@dataclass(frozen=True)
class Wishes:
    """All options of a curve."""

    bands: Bands = Bands.AUTO
    confidence: float = 0.95
    seed: int = 0
    # How many points to give; None: all of a short curve, some of a long one; 0: all.
    points: int | None = None
    at: tuple[At, ...] = ()
    cost: Cost | None = None
    # The columns that hold the two subjects of a comparison.
    subjects: tuple[str, str] | None = None
    design: DesignOptions = field(default_factory=DesignOptions)
    partial: bool = False


AT = ("fpr", "fnr", "threshold")


def parse_at(text: str) -> At:
    """`fpr=0.01`, `fnr=0.1` or `threshold=3`."""
    name, _, value = text.partition("=")
    of = {"fmr": "fpr", "fnmr": "fnr"}.get(name.strip(), name.strip())
    if of not in AT:
        raise UsageError(f"--at {text}: write fpr=, fnr= or threshold= and a number; {nearest(of, AT)}")
    number = _number(f"--at {text}", value)
    if of != "threshold" and not 0 <= number <= 1:
        raise UsageError(f"--at {text}: a rate is between 0 and 1")
    return At(of, number)


def parse_cost(text: str) -> Cost:
    """`fp=10,fn=1,prior=0.01`; what is not given is 1, and the prior a half."""
    given: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name.strip() not in ("fp", "fn", "prior"):
            raise UsageError(f"--cost {text}: write fp=10,fn=1,prior=0.01; '{name.strip()}' is none of them")
        given[name.strip()] = _number(f"--cost {text}", value)
    cost = Cost(**given)
    if not (cost.fp > 0 and cost.fn > 0):
        raise UsageError(f"--cost {text}: costs are numbers above 0")
    if not 0 < cost.prior < 1:
        raise UsageError(f"--cost {text}: the prior, the chance of a positive in use, lies between 0 and 1")
    return cost


def parse_subjects(text: str) -> tuple[str, str]:
    """`ROW,COLUMN`: two columns of the cases."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise UsageError(f"--subjects {text}: name two columns, such as probe,gallery")
    return names[0], names[1]


def _number(where: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise UsageError(f"{where}: '{text}' is not a number") from None
    if not math.isfinite(number):
        raise UsageError(f"{where}: '{text}' is not a finite number")
    return number
