"""Texts that come twice are found as by counting them."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from harness.files.many_texts import TextHashes


@given(st.lists(st.text(max_size=2), max_size=50), st.integers(1, 20))
def test_as_by_counting(texts: list[str], most: int) -> None:
    with TextHashes(most) as hashes:
        added = [hashes.add(text) for text in texts]
        assert hashes.count == len(texts)
        assert added == [hash(text) for text in texts]
        assert hashes.repeated() == {value for value, count in Counter(added).items() if count > 1}


def test_many_texts_in_many_parts() -> None:
    with TextHashes(1000) as hashes:
        for number in range(5000):
            hashes.add(f"c{number}")
        assert hashes.repeated() == set()
        hashes.add("c17")
        assert hashes.repeated() == {hash("c17")}
