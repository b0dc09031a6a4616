"""Where thresholds are set, and on which runs, from options."""

from collections.abc import Sequence

from harness.analysis.align import Run
from harness.analysis.operating_point import OperatingCriterion, parse_criterion
from harness.api.transcripts import open_transcripts
from harness.errors import UsageError
from harness.options import DownloadOptions, OperatingOptions


def criterion_of(options: OperatingOptions) -> OperatingCriterion | None:
    """The operating point that `--at` names; None if outcomes stay as they are."""
    if options.at is None and options.development:
        raise UsageError("--development sets thresholds: say where, with --at eer or --at fpr=0.01")
    return None if options.at is None else parse_criterion(options.at)


def development_runs(options: OperatingOptions, downloads: DownloadOptions) -> Sequence[Run]:
    """The runs that thresholds are set on, if not on the cases themselves."""
    if not options.development:
        return []
    return open_transcripts(options.development, downloads, told_apart=False).runs()
