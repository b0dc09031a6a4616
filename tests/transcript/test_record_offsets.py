"""Records are put in case order as sorting would do it."""

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from harness.transcript.record_offsets import RecordOffsets

HERE = Path()


def noted(indexes: list[int], starts: list[int], *, most: int) -> RecordOffsets:
    places = RecordOffsets(HERE, most)
    for index, start in zip(indexes, starts, strict=True):
        places.add(index, start, start + 7)
    return places


@given(st.lists(st.integers(0, 1000), unique=True), st.integers(1, 20), st.booleans())
def test_any_order_is_sorted(indexes: list[int], most: int, reverse: bool) -> None:
    """In parts of any size, as if all were in memory; gaps between the lines keep them apart."""
    starts = [8 * number for number in range(len(indexes))]
    if reverse:
        starts.reverse()
    places = noted(indexes, starts, most=most)
    expected = sorted(zip(indexes, starts, strict=True))
    assert list(places.stretches()) == [(start, start + 7) for _, start in expected]
    assert places.in_order == (expected == list(zip(indexes, starts, strict=True)) and starts == sorted(starts))
    places.close()


@given(st.permutations(range(30)), st.integers(1, 40))
def test_records_that_follow_one_another_are_one_stretch(order: list[int], most: int) -> None:
    """Joined or not, the bytes are those of the records one by one."""
    places = noted(order, [7 * number for number in range(30)], most=most)
    at = {index: 7 * number for number, index in enumerate(order)}
    found = [byte for start, stop in places.stretches() for byte in range(start, stop)]
    assert found == [at[index] + offset for index in range(30) for offset in range(7)]
    # As they were noted: only what was noted one after the other is joined.
    breaks = sum(after != before + 1 for before, after in pairwise(order))
    assert len(list(places.stretches())) == breaks + 1
    places.close()
