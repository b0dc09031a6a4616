"""Every format says the same of second opinions and binormal curves, and so does Python."""

import pytest

from tests.products.conftest import AllRuns
from tests.products.subjects import SUBJECTS
from tests.products.test_outputs import COUNTS, INFINITE, Declared, ask, check, check_python, words_of
from tests.workshop import Workshop

QUESTIONS = {
    "compare A B --cross-check": Declared({"odds ratio": "JSON has its logarithm"}, COUNTS),
    "compare RUNS --folds fold --rope 0.05": Declared(not_tex=COUNTS),
    "roc A B --binormal --points 5": Declared(INFINITE),
    "pr A B --binormal --points 5": Declared(INFINITE),
}


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No table is split."""
    monkeypatch.setenv("COLUMNS", "100000")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("question", "name"),
    [
        pytest.param(question, name, marks=[] if name == "score" else [pytest.mark.slow])
        for question in QUESTIONS
        for name in SUBJECTS
    ],
)
def test_formats_say_the_same(shop: Workshop, all_runs: AllRuns, question: str, name: str) -> None:
    words = words_of(question, shop, all_runs.of(name))
    outputs = ask(shop, words)
    assert outputs is not None or name != "score"
    if outputs is not None:
        check(outputs, QUESTIONS[question], exactly=name == "score")
        check_python(words, outputs)
