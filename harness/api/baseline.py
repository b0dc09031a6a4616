"""The baseline that a test's author wants beaten: named beside a comparison where its transcript is at hand."""

from collections.abc import Sequence

from harness.errors import HateError
from harness.script.library import find_all
from harness.script.load import load_script
from harness.site.published_transcripts import find_published
from harness.transcript.format import TestInfo
from harness.transcript.read import summarise


def baseline_remark(test: TestInfo, names: Sequence[str]) -> str:
    """How the baseline of the test did, in a line; nothing where it is among the compared, or unknown."""
    try:
        script = next(load_script(entry.path) for entry in find_all() if entry.name == test.name)
        name = script.file.test.baseline
        if name is None or name in names:
            return ""
        summary = summarise(find_published(f"{test.name}/{name}").path)
    except (HateError, StopIteration):
        return ""
    if summary.header.test.digest != test.digest:
        return ""
    return f"the test's baseline, {name}, has a rate of {summary.counts.rate:.4f}; add {test.name}/{name} to compare"
