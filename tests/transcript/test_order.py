"""Records are put in case order as sorting would do it."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from harness.transcript.order import starts_in_order


@given(st.lists(st.integers(0, 1000), unique=True))
def test_any_order_is_sorted(indexes: list[int]) -> None:
    starts = [7 * number for number in range(len(indexes))]
    expected = [start for _, start in sorted(zip(indexes, starts, strict=True))]
    assert list(starts_in_order(array("q", indexes), array("q", starts))) == expected


def test_few_records_wait_for_others() -> None:
    """What is known of the first cases is told before the last ones are looked at."""
    indexes = array("q", [number ^ 3 for number in range(1 << 16)])
    found = starts_in_order(indexes, array("q", range(1 << 16)))
    assert [next(found) for _ in range(8)] == [3, 2, 1, 0, 7, 6, 5, 4]
