"""`hate publish`: add tests and transcripts to a site."""

from pathlib import Path
from typing import Any

import click

from harness.cli.options import PATH, TABULAR, format_option
from harness.cli.output import chosen, emit, remark
from harness.errors import UsageError


@click.command("publish")
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH...")
@click.option("--to", "site", type=PATH, metavar="FOLDER", help="The site: a folder, made if it is not there.")
@click.option("--name", default="", metavar="NAME", help="Publish a transcript under this name, not its file's.")
@click.option("--dry-run", is_flag=True, help="Check, and say what would be done; write nothing.")
@click.option("--key", type=PATH, metavar="FILE", help="Sign with this Ed25519 key.")
@click.option("--new-key", type=PATH, metavar="FILE", help="Make a key to sign with, and print its public part.")
@click.option(
    "--mirror", "mirrors", multiple=True, metavar="URL", help="Where else the site's files are; replaces all."
)
@click.option("--title", metavar="TEXT", help="What the site is called.")
@click.option("--tidy", is_flag=True, help="Remove what the site's index does not lead to any more, after a day.")
@format_option(*TABULAR)
def command(paths: tuple[Path, ...], **given: Any) -> None:
    """Add tests and transcripts to a site, a folder that any web server can serve.

    PATH is the folder or script of a test, or a transcript of a test that is published there, by file or NAME. All of
    it is checked first; readers see all of it or nothing. What was published before stays as it is.
    """
    if given["new_key"] is not None:
        _new_key(given["new_key"])
    if given["site"] is None:
        if paths or given["new_key"] is None:
            raise UsageError("say where: --to FOLDER")
        return
    if given["name"] and len(paths) != 1:
        raise UsageError("--name is for one transcript; name one")
    if paths or given["mirrors"] or given["title"] is not None:
        _publish(paths, given)
    elif not given["tidy"]:
        raise UsageError("nothing to publish; name a test's folder or transcripts")
    if given["tidy"]:
        _tidy(given["site"], dry=given["dry_run"])


def _tidy(site: Path, *, dry: bool) -> None:
    from harness.site.publishing.tidy import tidy

    if dry:
        raise UsageError("--tidy and --dry-run exclude one another")
    removed = tidy(site)
    remark(f"{site}: {removed.files:,} files removed, {removed.size:,} bytes")


def _new_key(path: Path) -> None:
    from harness.site.signing import new_key

    remark(f"key in {path}, keep it secret; its public part, for those who read the site: {new_key(path).key}")


def _publish(paths: tuple[Path, ...], given: dict[str, Any]) -> None:
    from harness.site.publishing.offers import offers
    from harness.site.publishing.publish import publish, rehearse
    from harness.site.signing import read_key

    named = _by_name(paths)
    called = {file: text.rpartition("/")[2] for text, file in named.items()}
    offered = offers([named.get(str(path), path) for path in paths], name=given["name"], called=called)
    key = given["key"] or given["new_key"]
    signer = read_key(key) if key is not None else None
    site: Path = given["site"]
    if given["dry_run"]:
        decision = rehearse(site, offered, signer=signer)
    else:
        mirrors = _addresses(given["mirrors"]) if given["mirrors"] else None
        decision = publish(site, offered, signer=signer, mirrors=mirrors, title=given["title"])
    _report(decision, site, dry=given["dry_run"], style=given["style"])


def _by_name(paths: tuple[Path, ...]) -> dict[str, Path]:
    """The files of transcripts that were given by a name that is known here."""
    from harness.cli.sources import opened
    from harness.site.limits import Limits
    from harness.site.naming import known_here

    missing = [str(path) for path in paths if not path.exists()]
    known = known_here().names() if missing else set()
    names = [text for text in missing if text in known]
    found = opened(names, Limits().seconds, Limits().size)
    return {text: source.path for text, source in zip(names, found, strict=True)}


def _addresses(mirrors: tuple[str, ...]) -> list[str]:
    from harness.site.urls import parse

    return [parse(url).url for url in mirrors]


def _report(decision: Any, site: Path, *, dry: bool, style: str | None) -> None:
    from harness.report.table import Table

    rows = [[v.label, v.fate.value, v.files, v.size] for v in decision.verdicts]
    payload = {
        "site": str(site),
        "dry_run": dry,
        "serial": decision.top.serial if decision.top is not None else None,
        "published": [
            {"name": v.label, "result": v.fate, "files": v.files, "bytes": v.size} for v in decision.verdicts
        ],
    }
    emit(chosen(style), Table(["what", "result", "files", "bytes"], rows), payload)
    if dry:
        remark(f"nothing was written to {site}: --dry-run")
    elif decision.top is None:
        remark(f"{site} is as it was")
    else:
        remark(f"{site}: change {decision.top.serial:,}")
