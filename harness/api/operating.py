"""The runs that thresholds are set on."""

from collections.abc import Sequence

from harness.analysis.align import Run
from harness.analysis.operating_point import criterion_of
from harness.api.transcripts import open_transcripts
from harness.options.comparing import CompareOptions, RateOptions


def development_runs(options: CompareOptions | RateOptions) -> Sequence[Run]:
    """Those that `--development` names, opened; none if thresholds are set on the cases themselves, or not at all."""
    if criterion_of(options) is None or not options.development:
        return []
    return open_transcripts(options.development, options, told_apart=False).runs()
