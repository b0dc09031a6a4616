"""Results of tests as JUnit XML, which build servers read.

There is no schema that all of them agree on; what is written here is what Jenkins, GitLab and GitHub's actions read:
suites of cases, each passed, failed, in error or skipped.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from xml.sax.saxutils import escape, quoteattr

from harness.report.text import safe

# What no XML 1.0 document may have, and `safe` leaves alone.
_ILLEGAL = re.compile("[\ufffe\uffff]")


class JunitStatus(StrEnum):
    """How a case ended; the value is the name of its element."""

    PASSED = ""
    FAILED = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class JunitCase:
    """One case of a suite."""

    name: str
    seconds: float
    status: JunitStatus = JunitStatus.PASSED
    message: str = ""


@dataclass
class JunitSuite:
    """The cases of one test."""

    name: str
    cases: list[JunitCase] = field(default_factory=list)

    def count(self, status: JunitStatus) -> int:
        """How many cases ended so."""
        return sum(case.status is status for case in self.cases)

    @property
    def seconds(self) -> float:
        return sum(case.seconds for case in self.cases)


def junit_lines(suites: Sequence[JunitSuite]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f"<testsuites{_counts(suites)}>"
    for suite in suites:
        yield f"<testsuite name={_attribute(suite.name)}{_counts([suite])}>"
        for case in suite.cases:
            yield from _case(suite.name, case)
        yield "</testsuite>"
    yield "</testsuites>"


def _counts(suites: Sequence[JunitSuite]) -> str:
    counts = {
        "tests": sum(len(suite.cases) for suite in suites),
        "failures": sum(suite.count(JunitStatus.FAILED) for suite in suites),
        "errors": sum(suite.count(JunitStatus.ERROR) for suite in suites),
        "skipped": sum(suite.count(JunitStatus.SKIPPED) for suite in suites),
        "time": f"{sum(suite.seconds for suite in suites):.6f}",
    }
    return "".join(f' {name}="{count}"' for name, count in counts.items())


def _case(suite: str, case: JunitCase) -> Iterator[str]:
    names = f"classname={_attribute(suite)} name={_attribute(case.name)}"
    start = f'<testcase {names} time="{case.seconds:.6f}"'
    if case.status is JunitStatus.PASSED:
        yield f"{start}/>"
        return
    yield f"{start}><{case.status} message={_attribute(case.message)}>{escape(_legal(case.message))}</{case.status}>"
    yield "</testcase>"


def _legal(text: str) -> str:
    return _ILLEGAL.sub(lambda match: f"\\x{ord(match[0]):02x}", safe(text))


def _attribute(text: str) -> str:
    return quoteattr(_legal(text))
