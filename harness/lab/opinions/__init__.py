"""Second opinions on every pair of `hate compare`, which rest on other assumptions than its verdicts.

`--cross-check` asks a logistic model with random effects (as lme4 fits it: Bates and others 2015), and how probable a
practical difference is. `--folds` compares over the folds of a cross-validation, by the correlated t distribution of
Nadeau and Bengio (2003), as a posterior by Benavoli and others (2017).
"""

from harness.options.comparing import CompareOptions, TableOptions
from harness.options.declaration import OptionSet, Range, option
from harness.options.entries import OptionsEntry


class RopeOptions(OptionSet):
    """The region of practical equivalence."""

    rope: float = option(
        "--rope R",
        "For second opinions (cross-check, folds): differences up to this are practically none.",
        default=0.01,
        within=Range(0, 1, high_open=True),
        needs=("cross_check", "folds"),
    )


class CrossCheckOptions(RopeOptions):
    """Options of `compare --cross-check`."""

    cross_check: bool = option(
        "--cross-check",
        "Ask other methods too: a mixed-effects logistic model, and Bayesian probabilities.",
        default=False,
    )


class FoldsOptions(RopeOptions):
    """Options of `compare --folds`."""

    folds: str | None = option(
        "--folds COLUMN",
        "The column with the fold of a cross-validation that a case was tested in: compare the folds too.",
        default=None,
    )


CROSS_CHECK = OptionsEntry(
    name="cross_check",
    extends=TableOptions,
    options=CrossCheckOptions,
    where="harness.lab.opinions.cross_check:CrossCheckExtension",
)
FOLDS = OptionsEntry(
    name="folds",
    extends=CompareOptions,
    options=FoldsOptions,
    where="harness.lab.opinions.folds:FoldsExtension",
)
