"""`hate list`: tests and transcripts, here and at the sites; interfaces that are here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from harness.cli.options import TABULAR, format_option, library_option
from harness.cli.output import chosen, emit, remark
from harness.cli.site_lists import tests_at_sites
from harness.cli.transcript_list import transcript_list
from harness.errors import HateError
from harness.interface.load import FILES, bundled_interfaces, load_interface
from harness.report.table import Table
from harness.script.cases import load_cases
from harness.script.library import find_all, library_folders, scripts_in
from harness.script.load import Script, load_script
from harness.site.provide import provide


@click.command("list")
@click.option("--interfaces", "what", flag_value="interfaces", help="Interfaces instead of tests.")
@click.option("--transcripts", "what", flag_value="transcripts", help="Transcripts instead of tests.")
@library_option
@format_option(*TABULAR)
def command(what: str | None, libraries: Sequence[str], style: str | None) -> None:
    """List the tests that are here and at the configured sites, with their synopses."""
    form = chosen(style)
    if what == "transcripts":
        table, payload = transcript_list(form)
    else:
        table, payload = _interfaces() if what == "interfaces" else _tests(libraries)
    emit(form, table, payload)


def _tests(libraries: Sequence[str]) -> tuple[Table, dict[str, Any]]:
    """Every test that is valid; what is wrong with the others is said beside."""
    entries: list[dict[str, Any]] = []
    found = {entry.path: entry for entry in find_all(libraries)}
    for _, folder in library_folders(libraries):
        for path in scripts_in(folder):
            site = found[path].site if path in found else ""
            try:
                entries += [] if any(e["path"] == path.resolve() for e in entries) else [_test(path, site)]
            except HateError as error:
                remark(f"passed over: {str(error).splitlines()[0]}")
    for entry in entries:
        del entry["path"]
    entries += tests_at_sites()
    table = Table(
        ["name", "version", "task", "cases", "site", "synopsis"],
        [[e["name"], e["version"], e["task"], e["cases"], e["site"], e["synopsis"]] for e in entries],
    )
    return table, {"tests": entries}


def _test(path: Path, site: str) -> dict[str, Any]:
    script = load_script(path)
    return {
        "path": path.resolve(),
        "name": script.name,
        "version": script.version,
        "synopsis": script.file.test.synopsis,
        "task": script.task.name,
        "cases": _count(script),
        "site": site,
        "digest": script.digest,
    }


def _count(script: Script) -> int | None:
    """How many cases; None where that takes a download or an archive, since a list fetches and unpacks nothing."""
    if script.file.cases.glob is None:
        return len(load_cases(script, {}))
    packed = any(data.url is not None or data.unpack for data in script.file.data.values())
    return None if packed else len(load_cases(script, provide(script)))


def _interfaces() -> tuple[Table, dict[str, Any]]:
    places = [("here", Path(name)) for name in FILES if Path(name).is_file()]
    places += list(bundled_interfaces().items())
    entries: list[dict[str, Any]] = []
    for name, path in places:
        try:
            loaded = load_interface(str(path))
        except HateError as error:
            # What ships with the harness is right, but may have to be compiled first, in a folder of one's own.
            remark(f"passed over: {error}" if name == "here" else f"{name} must be built first: copy {path.parent}")
            continue
        own = {key: param.default for key, param in loaded.params.items()}
        entries.append(
            {"name": name, "algorithm": loaded.name, "version": loaded.version, "kind": loaded.kind, "params": own}
        )
    rows = [[e["name"], e["algorithm"], e["version"], e["kind"], _settings(e["params"])] for e in entries]
    return Table(["name", "algorithm", "version", "kind", "parameters"], rows), {"interfaces": entries}


def _settings(params: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in params.items())
