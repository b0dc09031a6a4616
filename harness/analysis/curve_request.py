"""The options of a curve: operating points, a cost, and how bands are computed."""

import math
from dataclasses import dataclass, field
from enum import StrEnum

from harness.errors import UsageError
from harness.options import DesignOptions
from harness.params import nearest


class BandMethod(StrEnum):
    """How bands are computed; `AUTO` chooses what suits the design."""

    AUTO = "auto"
    WILSON = "wilson"
    BRR = "brr"
    BOOTSTRAP = "bootstrap"
    TWO_WAY = "two-way"
    SIMULTANEOUS = "simultaneous"
    NONE = "none"


@dataclass(frozen=True)
class PointRequest:
    """An operating point: the threshold where a rate is within a limit, or a threshold itself."""

    of: str
    value: float

    @property
    def text(self) -> str:
        """As it was written."""
        return f"{self.of}={self.value:g}"


@dataclass(frozen=True)
class ErrorCosts:
    """What a false positive and a false negative cost, and how likely a positive is in use."""

    fp: float = 1.0
    fn: float = 1.0
    prior: float = 0.5


@dataclass(frozen=True)
class CurveRequest:
    """All options of a curve."""

    bands: BandMethod = BandMethod.AUTO
    confidence: float = 0.95
    seed: int = 0
    # How many points to output; None: all of a short curve, some of a long one; 0: all.
    points: int | None = None
    at: tuple[PointRequest, ...] = ()
    cost: ErrorCosts | None = None
    # The columns that hold the two subjects of a comparison.
    subjects: tuple[str, str] | None = None
    design: DesignOptions = field(default_factory=DesignOptions)
    partial: bool = False
    # Whether the average precision gets an interval too.
    precise: bool = False


POINT_RATES = ("fpr", "fnr", "threshold")


def parse_at(text: str) -> PointRequest:
    """`fpr=0.01`, `fnr=0.1` or `threshold=3`."""
    name, _, value = text.partition("=")
    of = {"fmr": "fpr", "fnmr": "fnr"}.get(name.strip(), name.strip())
    if of not in POINT_RATES:
        raise UsageError(f"--at {text}: write fpr=, fnr= or threshold= and a number; {nearest(of, POINT_RATES)}")
    number = _number(f"--at {text}", value)
    if of != "threshold" and not 0 <= number <= 1:
        raise UsageError(f"--at {text}: a rate must be between 0 and 1")
    return PointRequest(of, number)


def parse_cost(text: str) -> ErrorCosts:
    """`fp=10,fn=1,prior=0.01`; costs are 1 by default, and the prior is a half."""
    values: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name.strip() not in ("fp", "fn", "prior"):
            raise UsageError(f"--cost {text}: write fp=10,fn=1,prior=0.01; '{name.strip()}' is none of them")
        values[name.strip()] = _number(f"--cost {text}", value)
    cost = ErrorCosts(**values)
    if not (cost.fp > 0 and cost.fn > 0):
        raise UsageError(f"--cost {text}: costs must be above 0")
    if not 0 < cost.prior < 1:
        raise UsageError(f"--cost {text}: the prior, the chance of a positive in use, must be between 0 and 1")
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
