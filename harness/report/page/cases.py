"""Single cases on a page: what went in, what was to be found, and what every run answered."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from harness.analysis.notable_cases import NotableCase, NotableCases, RecordedReply
from harness.files.images import thumbnail
from harness.report.numbers import share_text
from harness.report.page.document import CaseAnswer, CaseCard, CaseCards, Part
from harness.report.text import cut

MAX_TEXT_LENGTH, MAX_ANSWER_LENGTH, MAX_CLAIM_LENGTH = 400, 80, 120


class ShownInput(Protocol):
    """The input of a case: a file, or a text."""

    @property
    def path(self) -> Path | None:
        """The file; None for a text."""

    @property
    def text(self) -> str:
        """The text."""


def case_parts(
    notable: NotableCases, names: Sequence[str], inputs: Mapping[str, ShownInput], *, what: str
) -> list[Part]:
    """Some cases as cards; `what` says which they are."""
    if not notable.cases:
        return []
    cards = []
    for case in notable.cases:
        shown = inputs.get(case.id)
        picture = None if shown is None or shown.path is None else thumbnail(shown.path)
        text = "" if shown is None or shown.path is not None else cut(shown.text, MAX_TEXT_LENGTH)
        replies = zip(case.replies, names, strict=True)
        answers = [_answer(reply, name if len(names) > 1 else "") for reply, name in replies]
        cards.append(CaseCard(case.id, _claim(case), answers, picture, text))
    of = f"{len(cards)} of " if notable.count > len(cards) else ""
    return [CaseCards(f"{of}{notable.count:,} {what}", cards)]


def _claim(case: NotableCase) -> str:
    """What the case is about: its claim, whether that is true, and the real class."""
    claim, truth = cut(case.expect, MAX_CLAIM_LENGTH), cut(case.truth, MAX_CLAIM_LENGTH)
    if not claim:
        return "nothing to accept" if not case.positive else ""
    if case.positive:
        return f"expected {claim}"
    return f"claimed {claim}, really {truth}" if truth else f"falsely claimed {claim}"


def _answer(reply: RecordedReply, name: str) -> CaseAnswer:
    answer = reply.error or cut(reply.answer, MAX_ANSWER_LENGTH)
    if not answer and reply.score is not None:
        answer = f"{reply.score:.4g}"
    outcome = reply.outcome if reply.right in (0.0, 1.0) else f"right {share_text(reply.right, 0)} of the time"
    return CaseAnswer(name, outcome, answer, reply.right >= 0.5)
