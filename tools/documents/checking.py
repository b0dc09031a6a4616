"""Check a page, say what is wrong with it, and refresh it."""

import difflib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.documents.matching import matches, refreshed
from tools.documents.pages import ROOT, Kind, Step, page_steps
from tools.documents.running import PageFolder, Printed
from tools.documents.wrapping import joined

ASKS_STATUS = "echo $?"
IN_CHECKOUT = "<!-- in a checkout -->"


@dataclass(frozen=True)
class Finding:
    """A step that went otherwise than the page says."""

    page: Path
    step: Step
    printed: list[str]
    reason: str

    def __str__(self) -> str:
        """Where, what, and how the page would have to change."""
        command = self.step.source.strip().partition("\n")[0]
        shown = refreshed(self.step.expected, self.printed) if self.step.expected else self.printed
        changes = difflib.unified_diff(self.step.expected, shown, "the page", "printed", lineterm="", n=1)
        return "\n".join([f"{self.page.relative_to(ROOT)}:{self.step.first}: {command}: {self.reason}", *changes])


def check_page(page: Path, *, root: Path, fonts: Path) -> list[Finding]:
    """Do everything that a page says, in a folder that is made at `root`; what went otherwise."""
    text = page.read_text(encoding="utf-8")
    steps = page_steps(text)
    findings = []
    with PageFolder(root, fonts, checkout=IN_CHECKOUT in text) as folder:
        for step, following in itertools.zip_longest(steps, steps[1:]):
            printed = folder.do(step)
            reason = printed.wrong or _reason(step, printed, following)
            if reason:
                findings.append(Finding(page, step, printed.lines, reason))
    return findings


def _reason(step: Step, printed: Printed, following: Step | None) -> str:
    if step.expected and not matches(step.expected, printed.lines):
        return "printed something else"
    asked = following is not None and following.source.strip() == ASKS_STATUS
    if step.kind is Kind.SHELL and printed.status and not asked:
        return f"exit status {printed.status}, and the page does not ask for it with {ASKS_STATUS}"
    return ""


def update_page(page: Path, findings: Sequence[Finding]) -> None:
    """Write what was printed into the page, from its end so that line numbers stay true; join lines of paragraphs."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for finding in reversed(findings):
        step = finding.step
        if step.expected:
            lines[step.first : step.end] = refreshed(step.expected, finding.printed)
    page.write_text(joined("\n".join(lines)), encoding="utf-8")
