"""What the second opinions share: they are about success as it was recorded, and give probabilities."""

from dataclasses import replace
from typing import Any, ClassVar

from harness.api.comparisons import CompareResult
from harness.api.extension import Extension
from harness.errors import UsageError
from harness.options.comparing import CompareOptions
from harness.report.blocks import Column

RATE = "rate"


class SuccessExtension(Extension[CompareOptions, CompareResult]):
    """An extension of `compare` that is about success, and so about the rate."""

    flag: ClassVar[str]

    def prepare(self, options: CompareOptions) -> CompareOptions:
        """The rate is compared; a UsageError for what is not about success, or matches no cases."""
        if options.unpaired:
            raise UsageError(f"--unpaired matches no cases, so {self.flag} has nothing to work on")
        if options.at is not None:
            raise UsageError(f"{self.flag} is about success as it was recorded; leave out --at")
        if options.statistic not in (None, RATE):
            raise UsageError(f"{self.flag} is about success; leave out --statistic")
        return replace(options, statistic=RATE)

    def remarks(self, result: CompareResult, options: CompareOptions) -> list[str]:
        """Why the rate is compared, if something else counts in the test."""
        main = result.comparison.aligned.headers[0].test.main_measure
        if options.statistic is not None or main == RATE:
            return []
        return [f"{self.flag} is about success, so the rate is compared; without it, {main}"]


def chance_columns(path: str) -> list[Column[Any]]:
    """The probabilities of a practical difference, which an opinion has in this field."""
    heads = {"a_better": "P(first)", "equivalent": "P(equal)", "b_better": "P(second)"}
    return [Column(name, f"{path}.{name}", head=head, form=".1%") for name, head in heads.items()]
