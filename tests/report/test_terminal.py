"""Tables on a terminal: no number is ever split, and lines fit the terminal if their words allow it."""

from hypothesis import given
from hypothesis import strategies as st

from harness.report.terminal import terminal_table
from harness.report.text import width

words = st.text("abc ", min_size=1, max_size=60).map(lambda text: " ".join(text.split()) or "a")
numbers = st.integers(-(10**9), 10**9).map(str)


@given(
    rows=st.lists(st.tuples(words, numbers, numbers, numbers, words), min_size=1, max_size=4),
    limit=st.integers(80, 160),
)
def test_every_number_stays_whole_and_lines_fit(rows: list[tuple[str, ...]], limit: int) -> None:
    header = ("name", "first", "second", "third", "words")
    text = terminal_table([header, *rows], [False, True, True, True, False], limit)
    assert all(width(line) <= limit for line in text.splitlines())
    shown = text.split()
    for row in rows:
        for number in row[1:4]:
            assert number in shown


def test_a_column_of_words_is_folded_between_them() -> None:
    rows = [("name", "synopsis"), ("x", "a long story about digits that nobody would read in one line of a terminal")]
    lines = terminal_table(rows, [False, False], 50).splitlines()
    assert lines[2:] == [
        " x     a long story about digits that nobody would",
        "       read in one line of a terminal",
    ]


def test_columns_that_do_not_fit_go_below_with_the_first_column_repeated() -> None:
    rows = [("name", *(f"column {i}" for i in range(9))), ("x", *("0.1234 to 0.5678" for _ in range(9)))]
    parts = terminal_table(rows, [False] * 10, 60).split("\n\n")
    assert len(parts) == 3
    assert all(part.splitlines()[0].startswith(" name") for part in parts)
    assert sum(part.count("0.1234 to 0.5678") for part in parts) == 9


def test_a_table_that_fits_is_one_part() -> None:
    text = terminal_table([("a", "b"), ("1", "2")], [True, True], 80)
    assert text == " a  b\n ────\n 1  2\n"
