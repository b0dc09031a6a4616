"""Texts beyond memory: sorted as if everything were in memory, and repeats found as by counting them."""

import hashlib
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from harness.files.digest import case_list_digest, digest_without_script
from harness.files.external_sort import SortedTexts, TextHashes, in_batches

texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=60)


@given(st.lists(texts, max_size=6), st.integers(1, 40))
def test_as_sorted_by_bytes(parts: list[list[str]], most: int) -> None:
    """Line breaks, NUL and any script; the order of code points is that of UTF-8."""
    everything = [text for part in parts for text in part]
    with SortedTexts(most) as found:
        for part in parts:
            found.extend(part)
        assert list(found) == sorted(everything) == sorted(everything, key=str.encode)
        assert list(found) == sorted(everything), "and again"


def test_parts_that_are_in_order_already() -> None:
    with SortedTexts(10) as found:
        for number in range(100):
            found.extend([f"{number:03d}"])
        assert list(found) == [f"{number:03d}" for number in range(100)]


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=10), st.integers(1, 4))
def test_the_digest_of_cases_in_parts(cases: dict[str, str], size: int) -> None:
    """Design: SHA-256 over the sorted id, NUL, expect, newline."""
    lines = sorted(f"{case}\0{expect}\n".encode() for case, expect in cases.items())
    expected = f"1:{hashlib.sha256(b''.join(lines)).hexdigest()}"
    assert digest_without_script(cases.items()) == expected
    assert case_list_digest("".join(part) for part in in_batches(iter(map(bytes.decode, lines)), size)) == expected


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
