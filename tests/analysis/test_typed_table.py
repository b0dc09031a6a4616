"""`hate compare --table`: a 2 x 2 table that somebody typed."""

import pytest
from statsmodels.stats.contingency_tables import mcnemar

from tests.workshop import Workshop


def test_a_typed_table_is_compared_like_transcripts(shop: Workshop) -> None:
    found = shop.call("compare", "--table", "58", "31", "9", "902", "--format", "json").json
    (pair,) = found["pairs"]
    assert [pair[name] for name in ("n_ff", "n_sf", "n_fs", "n_ss")] == [58, 31, 9, 902]
    assert pair["p_exact"] == pytest.approx(mcnemar([[58, 31], [9, 902]], exact=True).pvalue)
    assert pair["z"] == pytest.approx(mcnemar([[58, 31], [9, 902]], exact=False).statistic ** 0.5)
    assert [one["name"] for one in found["transcripts"]] == ["A", "B"]


def test_options_of_compare_apply(shop: Workshop) -> None:
    found = shop.call("compare", "--table", "5", "1", "1", "93", "--margin", "0.1").out
    assert "typed table: 2 transcripts, 100 cases" in found
    assert shop.call("compare", "--table", "0", "1", "31", "0", "--fail-if-worse").status == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["58", "31", "9"], "3 numbers; expected four"),
        (["58", "31", "9", "x"], "'x' is not a count of cases"),
        (["58", "31", "9", "-1"], "No such option"),
        (["0", "0", "0", "0"], "0 cases"),
        (["9" * 30, "0", "0", "0"], "expected 1 to 10,000,000"),
    ],
)
def test_mistakes_are_a_line(shop: Workshop, words: list[str], message: str) -> None:
    done = shop.call("compare", "--table", *words)
    assert done.status == 2
    assert message.lower() in done.err.lower()
