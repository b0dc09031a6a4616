"""Ways that the cases of a subject may have been sampled: what every analysis is multiplied with.

A design names columns, as the options do, so that a plain computation in a test can read it too.
"""

from dataclasses import dataclass

from harness.options.shared import LONE_UNITS

WEIGHTS_OF_STRATA = {"s0": 1.0, "s1": 2.0, "s2": 5.0, "s3": 0.5}


@dataclass(frozen=True)
class Design:
    """Columns, with commas between several; `none` for no such groups.

    run  further words of `hate run`
    """

    stratum: str = "stratum"
    psu: str = "unit"
    weights: str = "cases"
    lone: str = "collapse"
    run: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The options that say it; none for what the script says."""
        said = {"--stratum": self.stratum, "--psu": self.psu, "--weights": self.weights, "--lone": self.lone}
        usual = {"--stratum": "stratum", "--psu": "unit", "--weights": "cases", "--lone": "collapse"}
        return [word for name, value in said.items() if value != usual[name] for word in (name, value)]


DESIGNS: dict[str, Design] = {
    "as the script says": Design(),
    "cases": Design("none", "none"),
    "strata": Design("stratum", "none"),
    "units": Design("none", "unit"),
    "weights": Design(weights="weight"),
    "weights of cases": Design("none", "none", "noise"),
    "weights of ones": Design(weights="ones"),
    "equal strata": Design(weights="equal"),
    "weights by stratum": Design(weights="weights.csv"),
    "equal strata of unequal size": Design("lone", "none", "equal"),
    "crossed units": Design(psu="unit,group"),
    "crossed strata": Design("stratum,group", "none"),
    "units in two strata": Design("group", "unit"),
    "one unit": Design(psu="same"),
    "one stratum": Design("same"),
    "one unit a stratum": Design("unit", "unit"),
    **{f"lone units: {choice}": Design("lone", lone=choice) for choice in LONE_UNITS},
    "unequal units": Design("none", "uneven"),
    "two strata of two units": Design("half", "quarter"),
    "weighted unequal units": Design("none", "uneven", "weight"),
    "repeats": Design(run=("--repeat", "3")),
    "repeats of cases": Design("none", "none", run=("--repeat", "3")),
    "errors": Design(run=("--param", "crash=7")),
}
