"""Does a page show what was printed? And if not, what should it show?"""

import itertools
import re
import textwrap
from collections.abc import Sequence
from difflib import SequenceMatcher

ANY = "..."
WIDTH = 100


def fold(text: str) -> list[str]:
    """The lines of an output as pages show them: sentences folded, tables left alone."""
    lines: list[str] = []
    for line in text.splitlines():
        lines.extend(_wrap(line) if len(line) > WIDTH and _is_prose(line.strip()) else [line.rstrip()])
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _is_prose(line: str) -> bool:
    """Neither a row of a table, nor the rule below its head, nor JSON."""
    return " " in line and "  " not in line and not line.startswith("{")


def _wrap(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)


def line_matches(expected: str, printed: str, *, loosely: bool = False) -> bool:
    """Whether a line is as shown, with any text for each ellipsis; `loosely`, columns may have other widths."""
    if ANY not in expected and not loosely:
        return expected == printed
    pattern = ".*?".join(re.escape(part) for part in expected.split(ANY))
    if loosely:
        pattern = re.sub(r"(\\ ){2,}", " {2,}", re.sub("─+", "─+", pattern))
    return re.fullmatch(pattern, printed) is not None


def matches(expected: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether an output is as shown, with any lines for each line that is an ellipsis."""
    begin, *others = _chunks(expected)
    if not others:
        return _at(begin, printed, 0) and len(begin) == len(printed)
    if not _at(begin, printed, 0):
        return False
    position = len(begin)
    *middle, last = others
    for chunk in middle:
        found = [start for start in range(position, len(printed) + 1) if _at(chunk, printed, start)]
        if not found:
            return False
        position = found[0] + len(chunk)
    return len(printed) - len(last) >= position and _at(last, printed, len(printed) - len(last))


def refreshed(expected: Sequence[str], printed: Sequence[str]) -> list[str]:
    """What to show of an output: the same parts of it as before."""
    chunks = _chunks(expected)
    if len(chunks) == 1:
        return [_keep(line, expected) for line in printed]
    shown: list[str] = []
    position = 0
    for number, chunk in enumerate(chunks):
        if number:
            shown.append(ANY)
        if not chunk:
            continue
        if number == len(chunks) - 1:
            start, last = max(position, len(printed) - len(chunk)), len(printed) - 1
        else:
            start = _nearest(chunk[0], printed, position) if number else 0
            last = _nearest(chunk[-1], printed, start)
        shown.extend(_keep(line, chunk) for line in printed[start : last + 1])
        position = last + 1
    return shown


def _chunks(expected: Sequence[str]) -> list[list[str]]:
    """What stands between lines that are an ellipsis."""
    chunks: list[list[str]] = [[]]
    for line in expected:
        if line.strip() == ANY:
            chunks.append([])
        else:
            chunks[-1].append(line)
    return chunks


def _at(chunk: Sequence[str], printed: Sequence[str], start: int) -> bool:
    part = printed[start : start + len(chunk)]
    return len(part) == len(chunk) and all(
        line_matches(line, there, loosely=loosely)
        for line, there, loosely in zip(chunk, part, _in_elided_tables(chunk), strict=True)
    )


def _in_elided_tables(lines: Sequence[str]) -> list[bool]:
    """Whether a line belongs to a table with figures that are left out: how wide those are, nobody knows."""
    found: list[bool] = []
    for is_blank, group in itertools.groupby(lines, lambda line: not line.strip()):
        table = list(group)
        elided = not is_blank and any(ANY in line and "  " in line for line in table)
        found += [elided] * len(table)
    return found


def _keep(line: str, old: Sequence[str]) -> str:
    """The line, or one that the page had for it with an ellipsis."""
    loosely = dict(zip(old, _in_elided_tables(old), strict=True))
    kept = (one for one in old if one.strip() != ANY and line_matches(one, line, loosely=loosely[one]))
    return next(kept, line)


def _nearest(line: str, printed: Sequence[str], start: int) -> int:
    """The place of the most similar line from here on."""
    if start >= len(printed):
        return len(printed) - 1
    places = range(start, len(printed))
    exact = [place for place in places if line_matches(line, printed[place])]
    return exact[0] if exact else max(places, key=lambda place: SequenceMatcher(None, line, printed[place]).ratio())
