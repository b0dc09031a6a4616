"""The header of an imported transcript: what the other tool says about test and algorithm, or the user."""

import platform
import re
import sys

from msgspec import UNSET

from harness import __version__
from harness.errors import UsageError
from harness.files.digest import digest_without_script
from harness.transcript.format import FORMAT, AlgorithmInfo, Header, InterfaceInfo, TestInfo
from harness.transcript.importing.grouping import Design
from harness.transcript.importing.results import Imported, Wishes
from harness.transcript.importing.verdict import Verdict
from harness.transcript.write import now

LONGEST_NAME = 100
UNKNOWN_VERSION = "0"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def transcript_header(imported: Imported, wishes: Wishes, verdict: Verdict, design: Design, repeats: int) -> Header:
    """Test, algorithm, metric and design, and that it was imported."""
    cases = {result.id: result.expect for result in imported.results}
    threshold = {} if verdict.at is None else {"threshold": verdict.at}
    return Header(
        hate="transcript",
        format=FORMAT,
        test=TestInfo(
            name=_test_name(imported, wishes),
            version=wishes.version or imported.version or UNKNOWN_VERSION,
            digest=digest_without_script(cases.items()),
            task=imported.task if verdict.at is None else "score",
            cases=len(cases),
        ),
        algorithm=AlgorithmInfo(wishes.algorithm or imported.algorithm or "unnamed"),
        interface=InterfaceInfo(kind=f"import: {imported.tool}"),
        params={**imported.params, "metric": verdict.metric, **threshold},
        design=design.declared,
        repeat=repeats if repeats > 1 else UNSET,
        harness=__version__,
        python=platform.python_version(),
        platform=f"{sys.platform}-{platform.machine()}",
        started=now(),
    )


def _test_name(imported: Imported, wishes: Wishes) -> str:
    """A name that a script could have; it is a folder's name too."""
    if wishes.test is not None:
        if not _NAME.fullmatch(wishes.test) or len(wishes.test) > LONGEST_NAME:
            raise UsageError(f"--test {wishes.test}: a name has lower-case letters, digits, dots, dashes, underscores")
        return wishes.test
    name = re.sub(r"[^a-z0-9._-]+", "-", imported.test.lower()).strip("._-")[:LONGEST_NAME]
    return name or "imported"
