"""The binormal ROC curve: the smooth curve that fits scores best if some transformation makes both classes normal.

Dorfman and Alf (1969) fit it to ratings, Metz, Herman and Shen (1998) to continuous scores. `--statistic auc_binormal`
is the area under it, and `--binormal` of `hate roc`, `det` and `pr` shows the fit of each curve.
"""

from harness.options.curves import CurveOptions
from harness.options.declaration import OptionSet, option
from harness.options.entries import OptionsEntry


class BinormalOptions(OptionSet):
    """Options of `roc --binormal`."""

    binormal: bool = option("--binormal", "Fit a binormal curve to the scores, with the area under it.", default=False)


BINORMAL = OptionsEntry(
    name="binormal",
    extends=CurveOptions,
    options=BinormalOptions,
    where="harness.lab.binormal.fits:BinormalExtension",
)
