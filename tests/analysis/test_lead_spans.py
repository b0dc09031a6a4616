"""`--by` a number: where the order of two runs turns, and the curve over it."""

from pathlib import Path

import pytest

from harness.analysis.breakdown import Breakdown, Group, LeadSpan, lead_spans
from harness.measures import MEASURES
from harness.stats.estimate import Estimate
from harness.stats.rates import Interval
from tests.workshop import Workshop

NOISE = (0, 10, 15, 20, 40)
# Right at low noise, or at high noise; at 15 each is right about half of the originals. Every fifth case is wrong.
ALGORITHM = """\
def answer(case, params):
    noise, number = int(case.columns["noise"]), int(case.columns["original"])
    right = number % 2 == {odd} if noise == 15 else (noise {sign} 15) != (number % 5 == 0)
    return case.columns["original"] if right else "wrong"
"""


@pytest.fixture
def early_and_late(shop: Workshop) -> Workshop:
    rows = [f"{n}@{noise},x{n},{n},{noise},{n}" for n in range(30) for noise in NOISE]
    text = "\n".join(["id,input,expect,noise,original", *rows, ""])
    shop.script(sections='[design]\npsu = "original"\n', rows=text)
    for name, sign, odd in (("early", "<", 0), ("late", ">", 1)):
        shop.interface(f"NAME = '{name}'\n" + ALGORITHM.format(sign=sign, odd=odd))
        assert shop.call("run", "toy").status == 0
    return shop


def test_compare_says_where_the_order_turns(early_and_late: Workshop) -> None:
    text = early_and_late.call("compare", "early", "late", "--by", "noise").out
    expected = "The order turns: early leads up to noise 10, late from 20 on; at 15 neither was shown to lead."
    assert expected in " ".join(text.split())
    text = early_and_late.call("compare", "late", "early", "--by", "noise").out
    assert expected in " ".join(text.split())
    found = early_and_late.call("compare", "early", "late", "--by", "noise", "--format", "json").json["by"]["leads"]
    spans = [{"leader": "early", "first": "0", "last": "10"}, {"leader": "late", "first": "20", "last": "40"}]
    assert found == [{"a": "early", "b": "late", "spans": spans}]
    for line in ("early", "late"):
        assert early_and_late.call("rate", line, "--by", "noise").out.count("order turns") == 0


def test_an_order_that_does_not_turn_is_not_mentioned(early_and_late: Workshop) -> None:
    done = early_and_late.call("compare", "early", "early", "--by", "noise")
    assert "order turns" not in done.out
    # Names are not numbers, whatever they look like.
    assert "order turns" not in early_and_late.call("compare", "early", "late", "--by", "original").out


def test_a_curve_over_a_number(early_and_late: Workshop) -> None:
    """The line of each run is drawn at the values of the column, not at equal steps."""
    done = early_and_late.call("rate", "early", "late", "--by", "noise", "--plot", "curve.svg")
    assert done.status == 0, done.err
    drawn = (early_and_late.folder / "curve.svg").read_text(encoding="utf-8")
    assert "<!-- noise -->" in drawn
    ticks = [tick for tick in ("0", "10", "15", "20", "40") if f"<!-- {tick} -->" in drawn]
    assert ticks == ["0", "10", "15", "20", "40"]
    assert early_and_late.call("compare", "early", "late", "--by", "noise", "--plot", "both.svg").status == 0
    assert Path("both.svg").stat().st_size > 10_000


def estimate(value: float, p: float | None = None) -> Estimate:
    low, high = (value - 0.01, value + 0.01) if p is not None and p < 0.05 else (value - 1, value + 1)
    return Estimate(value=value, se=0.1, df=10, interval=Interval(low, high), p_value=p, p_adjusted=p)


def breakdown(differences: list[tuple[float, float]], column: str = "noise") -> Breakdown:
    groups = [
        Group(str(10 * n), 5, [estimate(0.5 + d), estimate(0.5)], [estimate(d, p)])
        for n, (d, p) in enumerate(differences)
    ]
    return Breakdown(column, groups, [None, None], [None])


def test_spans_skip_what_was_not_shown() -> None:
    by = breakdown([(0.2, 0.001), (0.1, 0.2), (0.2, 0.01), (-0.1, 0.3), (-0.2, 0.001), (0.3, 0.001)])
    assert lead_spans(by, 0, (0, 1), MEASURES["rate"], 0.05) == [
        LeadSpan(0, "0", "20"),
        LeadSpan(1, "40", "40"),
        LeadSpan(0, "50", "50"),
    ]
    # Seconds: less is better.
    assert [one.leader for one in lead_spans(by, 0, (0, 1), MEASURES["seconds"], 0.05)] == [1, 0, 1]


def test_positions_are_those_of_numbers_only() -> None:
    assert breakdown([(0.1, 0.5)] * 3).positions == [0.0, 10.0, 20.0]
    assert breakdown([(0.1, 0.5)] * 3, column="truth").positions is None
    odd = Breakdown("noise", [Group(text, 1, [], []) for text in ("1", "2", "none")], [], [])
    assert odd.positions is None
