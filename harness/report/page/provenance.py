"""Where the numbers of a page come from: the test, every run, and the commands that give the same again."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UnsetType

from harness.interface.load import bundled_interfaces
from harness.report.page.document import CommandLines, Facts, Folded, Part, ReportSection
from harness.script.load import Script
from harness.tasks import find_task
from harness.transcript.format import End, Header, TestInfo

# What stands for an interface that is not known here, in a command.
UNKNOWN = "INTERFACE"
MAX_VALUE_LENGTH = 200


@dataclass(frozen=True)
class RunOrigin:
    """A transcript: what it is called here and where it was found, its first and its last line."""

    name: str
    source: str
    header: Header
    end: End | None
    # Why its outcomes were not judged again by its test; empty if they were, None if nobody asked.
    self_reported: str | None = None


def test_facts_part(test: TestInfo, script: Script | None, design: Mapping[str, Any]) -> Facts:
    """What was tested: from the script if it is here, and from the transcript otherwise."""
    task = find_task(test.task)
    about = None if script is None else script.file.test
    return Facts(
        _filled(
            {
                "test": f"{test.name} {test.version}",
                "about": "" if about is None else about.synopsis,
                "task": test.task if task is None else f"{test.task}: {task.summary}",
                "cases": "" if test.cases is None else f"{test.cases:,}",
                "strata": _text(design.get("stratum")),
                "sampling units": _text(design.get("psu")),
                "cofactors": _text(design.get("cofactors")),
                "authors": "" if about is None else ", ".join(about.authors),
                "license": "" if about is None else about.license,
                "digest": test.digest,
            }
        )
    )


def origin_section(origins: Sequence[RunOrigin], again: Sequence[str]) -> ReportSection:
    """Parameters, versions, digests, and the commands that make it again."""
    parts: list[Part] = []
    for origin in origins:
        facts = Facts(run_facts(origin))
        title = f"{origin.name}: {origin.source}"
        parts.append(facts if len(origins) == 1 else Folded(title, [facts]))
    lines = dict.fromkeys(line for origin in origins for line in run_command(origin.header))
    commands = [*lines, *again]
    return ReportSection("origin", "Where this comes from", [*parts, *([CommandLines(commands)] if commands else [])])


def run_facts(origin: RunOrigin) -> list[tuple[str, str]]:
    """All that a transcript says about its run."""
    header, end = origin.header, origin.end
    interface, git = header.interface, header.git
    judged = f"self-reported: {origin.self_reported}" if origin.self_reported else "judged again by the test"
    return _filled(
        {
            "algorithm": f"{header.algorithm.name} {header.algorithm.version}".rstrip(),
            "transcript": origin.source,
            "outcomes": "" if origin.self_reported is None else judged,
            "parameters": ", ".join(_assignments(header.params)),
            "changed from default": "" if header.changed is None else ", ".join(header.changed) or "none",
            "answers per case": _text(header.repeat),
            "part of the test": _items(header.part),
            "fused": _items(header.fused),
            "interface": " ".join(filter(None, [interface.kind, interface.sha256])),
            "files of the interface": _text(interface.files),
            "commit": "" if isinstance(git, UnsetType) else git.commit + (", with changes" if git.dirty else ""),
            "isolation": _text(header.isolation),
            "limits": _items(header.limits),
            "started": header.started,
            "finished": "" if end is None else end.finished,
            "harness": header.harness,
            "python": header.python,
            "platform": header.platform,
            "cpu": _text(header.cpu),
            "libraries": _items(header.versions),
            "plug-ins": ""
            if isinstance(header.plugins, UnsetType)
            else ", ".join(f"{plugin.package} {plugin.version}".rstrip() for plugin in header.plugins),
            "sha256 of the records": "" if end is None else end.sha256,
        }
    )


def run_command(header: Header) -> list[str]:
    """How to run it again; nothing for what was imported or fused."""
    if header.is_imported or not isinstance(header.fused, UnsetType):
        return []
    name = header.algorithm.name
    interface = name if name in bundled_interfaces() else UNKNOWN
    changed = header.params if header.changed is None else header.changed
    words = ["hate", "run", f"{header.test.name}@{header.test.version}", "--interface", interface]
    words += [word for assignment in _assignments(changed) for word in ("--param", assignment)]
    words += ["--repeat", str(header.repeat)] if isinstance(header.repeat, int) else []
    words += ["--limit", str(header.part["limit"])] if "limit" in header.part else []
    note = f"  # the interface of {name}" if interface == UNKNOWN else ""
    return [shlex.join(words) + note]


def _assignments(params: Mapping[str, Any]) -> list[str]:
    return [f"{name}={'None' if value is None else _text(value)}" for name, value in params.items()]


def _items(values: Mapping[str, Any] | UnsetType) -> str:
    return "" if isinstance(values, UnsetType) else ", ".join(f"{key} {_text(value)}" for key, value in values.items())


def _text(value: Any) -> str:
    """A value of a header; lists with commas between them."""
    if value is None or isinstance(value, UnsetType):
        return ""
    if isinstance(value, str):
        return value[:MAX_VALUE_LENGTH]
    if isinstance(value, list):
        return ", ".join(map(_text, value))[:MAX_VALUE_LENGTH]
    return msgspec.json.encode(value).decode()[:MAX_VALUE_LENGTH]


def _filled(facts: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in facts.items() if value]
