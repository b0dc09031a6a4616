"""The analyses that designs and laws are multiplied with, and which of them are refused for what reason."""

from dataclasses import dataclass

from harness.cli.commands import commands_here
from tests.products.designs import DESIGNS
from tests.products.subjects import SUBJECTS


@dataclass(frozen=True)
class Call:
    """A command with so many runs and further words; `json` says whether it prints what it found."""

    command: str
    runs: int
    words: tuple[str, ...] = ()
    json: bool = True


CALLS = {
    "rate": Call("rate", 3),
    "rate by group": Call("rate", 2, ("--by", "group")),
    "compare": Call("compare", 3),
    "compare by group": Call("compare", 2, ("--by", "group")),
    "compare unpaired": Call("compare", 2, ("--unpaired",)),
    "confusion": Call("confusion", 2),
    "roc": Call("roc", 2, ("--bands", "brr")),
    "det": Call("det", 2),
    "pr": Call("pr", 2, ("--bands", "brr")),
    "froc": Call("froc", 2, ("--bands", "brr")),
    "cmc": Call("cmc", 2, ("--bands", "brr")),
    "methods": Call("methods", 2),
    "power": Call("power", 2),
    "report": Call("report", 2, ("-o", "page.md", "--force"), json=False),
    "fuse": Call("fuse", 3, ("-o", "fused.jsonl", "--force")),
    "anova": Call("anova", 2, ("--by", "group")),
}
CALLS = {name: call for name, call in CALLS.items() if call.command in commands_here()}
CURVES = ("roc", "det", "pr", "froc", "cmc")


@dataclass(frozen=True)
class Refusal:
    """The reason that some calls of some subjects in some designs are given; all of them where nothing is named."""

    reason: str
    calls: tuple[str, ...] = tuple(CALLS)
    subjects: tuple[str, ...] = tuple(SUBJECTS)
    designs: tuple[str, ...] = tuple(DESIGNS)


_SAMPLED = tuple(name for name in CALLS if name != "fuse")

_WITHOUT_STRATA = tuple(name for name, design in DESIGNS.items() if design.stratum == "none")

# The first that applies is the reason. A refusal that is not here, and one that does not occur, fails a test.
REFUSALS: tuple[Refusal, ...] = (
    Refusal("ranks are for rank tests", ("cmc", "methods"), tuple(name for name in SUBJECTS if name != "rank")),
    Refusal("a mask without scores", CURVES, ("classes",)),
    Refusal("needs objects that are found", ("froc",), tuple(name for name in SUBJECTS if name != "boxes")),
    Refusal("no negative case", ("roc", "det", "pr"), ("value",)),
    Refusal("needs the labels of a label test", ("confusion",), ("score", "rank", "value", "boxes")),
    Refusal("neither labels nor scores", ("fuse",), tuple(name for name in SUBJECTS if name not in ("label", "score"))),
    Refusal("is in two strata", _SAMPLED, designs=("units in two strata",)),
    Refusal("all cases are of one same", _SAMPLED, designs=("one unit",)),
    Refusal("stratum 'one' has a single unit", _SAMPLED, designs=("lone units: fail",)),
    Refusal("places without one cannot be counted", ("roc", "det"), ("boxes",)),
    Refusal("methods are compared by how they treat strata", ("methods",), designs=_WITHOUT_STRATA),
    Refusal("no stratum and no PSU is known", ("roc", "pr"), ("label", "score", "rank"), ("cases",)),
)
REFUSALS = tuple(one for one in REFUSALS if CALLS.keys() & {*one.calls})


def refusal(call: str, subject: str, design: str = "as the script says") -> str | None:
    """The declared reason; None if there must be an answer."""
    found = (one.reason for one in REFUSALS if call in one.calls and subject in one.subjects and design in one.designs)
    return next(found, None)
