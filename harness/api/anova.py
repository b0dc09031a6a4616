"""Analysis of variance from Python: `anova`, as `hate rate --anova` gives it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.anova import VarianceAnalysis, analyse_variance
from harness.analysis.run_names import identity_json
from harness.api.result import Result
from harness.api.transcripts import Transcripts, open_transcripts
from harness.errors import UsageError
from harness.options import DesignOptions, DownloadOptions, PartialOptions, SeedOptions
from harness.options.comparing import RateOptions
from harness.report.anova import anova_blocks, tidy_table
from harness.report.blocks import Block, Table

# The options of `rate` that say nothing of which number is broken down, or how sure it is.
_TAKEN = (DesignOptions, SeedOptions, PartialOptions, DownloadOptions)


@dataclass(frozen=True, repr=False)
class AnovaResult(Result):
    """Main effects and two-way interactions of columns, and of the algorithm if there are several."""

    found: VarianceAnalysis
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        """As documented for the command."""
        found, sample = self.found, self.found.sampling.sample
        return {
            "test": identity_json(found.aligned.headers[0].test),
            "transcripts": [{"name": name} for name in found.aligned.names],
            "anova": {
                "factors": [{"name": factor.name, "levels": factor.levels} for factor in found.factors],
                "cases": found.aligned.n,
                "units": sample.units,
                "strata": sample.strata,
                "target": found.sampling.target,
                "terms": found.terms,
            },
        }

    def blocks(self) -> Sequence[Block]:
        """A row for each term, and sentences."""
        return anova_blocks(self.found)

    def table(self) -> Table:
        """A row for each term."""
        return tidy_table(self.found)


def anova(transcripts: Transcripts, columns: str, options: RateOptions | None = None, **settings: Any) -> AnovaResult:
    """What matters to success, and what depends on what: `harness.anova("wisard", "truth,writer")`.

    `columns` are one or more, with commas between them; options are those of `rate` about the design.
    """
    options = RateOptions.given(options, settings)
    RateOptions.taken_from(options).refuse_others("--anova is about success in all cases", *_TAKEN)
    names = [name.strip() for name in columns.split(",")]
    if not all(names):
        raise UsageError(f"--anova '{columns}': a name is empty; write COLUMN,COLUMN")
    opened = open_transcripts(transcripts, options)
    return AnovaResult(analyse_variance(opened.runs(), names, options, partial=options.partial), opened.notes)
