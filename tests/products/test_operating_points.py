"""Operating points x tasks: `rate --at` and `compare --at` decide by the scores that `roc` sweeps, or refuse."""

import pytest

from tests.products.conftest import AllRuns
from tests.products.subjects import SUBJECTS
from tests.workshop import Workshop

# Why no threshold on a score decides the cases, by subject.
REFUSALS = {
    "value": "--at needs negative cases",
    "mask": "these scores are of pixels",
    "classes": "a mask without scores",
    "boxes": "there is no false positive rate",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_thresholds_are_those_of_the_curve(shop: Workshop, all_runs: AllRuns, subject: str) -> None:
    paths = all_runs.of(subject).paths[:2]
    words = ("--at", "fpr=0.2", "--statistic", "fnr", "--format", "json")
    rated, compared = shop.call("rate", *paths, *words), shop.call("compare", *paths, *words)
    if subject in REFUSALS:
        for done in (rated, compared):
            assert done.status == 2
            assert REFUSALS[subject] in done.err
            assert done.err.count("\n") == 1
        return
    swept = shop.call("roc", *paths, "--at", "fpr=0.2", "--format", "json").json
    for own, other, curve in zip(rated.json["transcripts"], compared.json["transcripts"], swept["curves"], strict=True):
        (point,) = curve["operating"]
        for run in (own, other):
            assert (run["fpr"], run["fnr"], run["value"]) == pytest.approx((point["fpr"], point["fnr"], point["fnr"]))
            assert run["threshold"] == pytest.approx(point["threshold"])
