"""`hate publish`: a site in a folder."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from harness.api.progress import show_pages
from harness.cli.arguments import find_transcripts
from harness.cli.options import FormatOptions, command_options
from harness.cli.output import emit, remark
from harness.errors import HateError, UsageError, missing_extra
from harness.options import DownloadOptions, Range, option
from harness.report.blocks import Table
from harness.site.changes import SiteChange
from harness.site.find_transcripts import KnownTranscripts
from harness.site.layout import PAGES
from harness.site.publish import SiteSettings, dry_run, publish, tidy
from harness.site.publish_candidates import Candidate, is_interface, read_candidates
from harness.site.root_keys import RootChange
from harness.site.signing import is_key, new_key, read_key
from harness.site.urls import is_url, parse


def site_address(text: str) -> str:
    """The address of a site; a UsageError if it is none."""
    try:
        return parse(text).url.rstrip("/")
    except HateError as error:
        raise UsageError(str(error)) from None


class PublishOptions(FormatOptions):
    """Options of `hate publish`."""

    site: str | None = option(
        "--to FOLDER|URL",
        "The folder of the site, created if there is none; transcripts can also be handed in at a URL.",
        default=None,
    )
    name: str = option(
        "--name NAME", "Publish a transcript or an interface under this name instead of its file's.", default=""
    )
    for_test: str = option("--for TEST", "The test that an interface is for, if it is published already.", default="")
    dry_run: bool = option("--dry-run", "Check, and say what would be done; write nothing.", default=False)
    key: Path | None = option("--key FILE", "Sign with this Ed25519 key.", default=None)
    new_key: Path | None = option(
        "--new-key FILE", "Create a key to sign with, and print its public part.", default=None
    )
    mirrors: tuple[str, ...] = option(
        "--mirror URL",
        "Where else the site's files are; may be repeated, and replaces all earlier mirrors.",
        default=(),
    )
    title: str | None = option("--title TEXT", "The title of the site.", default=None)
    url: str | None = option(
        "--url URL",
        "Where people find the site, for the commands that its pages show.",
        default=None,
        parse=site_address,
    )
    pages: bool = option(
        "--pages",
        "Also write pages for people, so that any web server shows them; from then on with every change.",
        default=False,
    )
    tidy: bool = option("--tidy", "Remove files that the site's index has not named for a day.", default=False)
    root_key: Path | None = option(
        "--root-key FILE",
        "The key, kept offline, that says which keys may sign the site; with --allow, --revoke, --new-root.",
        default=None,
    )
    allow: tuple[str, ...] = option(
        "--allow KEY", "Let this key sign from now on; its public part, or its file.", default=()
    )
    revoke: tuple[str, ...] = option(
        "--revoke KEY", "Never trust this key again; readers refuse what it signs.", default=()
    )
    new_root: str = option("--new-root KEY", "Hand over to another root key; the old one signs this.", default="")
    lifetime: int | None = option(
        "--expires DAYS",
        "Readers refuse the site's index DAYS after its last change, 0 for never; also renews it.",
        default=None,
        within=Range(0, 36_500),
    )
    blind: bool = option(
        "--blind",
        "Publish tests without expect, positive and truth, nor columns that tell them; `hate serve` judges what "
        "is handed in.",
        default=False,
    )
    reveal: bool = option(
        "--reveal",
        "Publish a new version of a blind test with its truth; without this, or --blind, it is refused.",
        default=False,
    )
    private: Path | None = option(
        "--private FOLDER",
        "Where the truth of blind tests is kept; by default beside the site's folder, with .private in its name.",
        default=None,
    )

    @property
    def changes_site(self) -> bool:
        """Whether something about the site itself is to be changed."""
        given = (self.mirrors, self.root_key, self.allow, self.revoke, self.new_root)
        return any(given) or any(value is not None for value in (self.title, self.url, self.lifetime))


@click.command("publish")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="PATH...")
@command_options(PublishOptions)
def publish_command(paths: tuple[Path, ...], options: PublishOptions) -> None:
    """Add tests, transcripts and interfaces to a site, a folder that any web server can serve.

    PATH is the folder or script of a test, a transcript of a test that is published there, by file or NAME, or an
    interface for a test, which others can read and try. All of it is checked first, and nothing of it is run; readers
    see all of it or nothing. What was published before stays as it is.

    \b
    hate publish my-test/ mine.jsonl --to ./site
    """
    if options.new_key is not None:
        public = new_key(options.new_key).key
        remark(f"key in {options.new_key}, keep it secret; its public part, for those who read the site: {public}")
    if options.site is None:
        if paths or options.new_key is None:
            raise UsageError("say where: --to FOLDER")
        return
    if options.name and len(paths) != 1:
        raise UsageError("--name is for one transcript or interface; name one")
    if is_url(options.site):
        _hand_in(paths, options.site, options)
        return
    _change_site(paths, Path(options.site), options)


def _change_site(paths: tuple[Path, ...], site: Path, options: PublishOptions) -> None:
    if options.blind and options.reveal:
        raise UsageError("--blind and --reveal exclude one another")
    if options.blind:
        _publish_blind(paths, site, options)
    elif paths or options.changes_site:
        _publish(paths, site, options)
    elif not (options.tidy or options.pages):
        raise UsageError("nothing to publish; name a test's folder or transcripts")
    if options.tidy:
        if options.dry_run:
            raise UsageError("--tidy and --dry-run exclude one another")
        removed = tidy(site)
        remark(f"{site}: {removed.files:,} files removed, {removed.size:,} bytes")
    if not options.dry_run:
        _write_pages(site, options)


def _hand_in(paths: tuple[Path, ...], url: str, options: PublishOptions) -> None:
    """Transcripts are handed in at an address as `hate submit` does it; all else is the owner's, in a folder."""
    from harness.cli.submit import SubmitOptions, submit

    tests = [path for path in paths if path.is_dir() or path.suffix == ".toml"]
    settings = options.key or options.new_key or options.changes_site or options.tidy
    if tests or settings or not paths:
        what = f"{tests[0]}: a test" if tests else "this"
        raise UsageError(
            f"{what} is published in the site's folder, by its owner: --to FOLDER; only transcripts go to {url}"
        )
    given = SubmitOptions(site=url, name=options.name, dry_run=options.dry_run, style=options.style)
    submit([str(path) for path in paths], given)


def _write_pages(site: Path, options: PublishOptions) -> None:
    """The pages, if they are wanted or there already."""
    if not (options.pages or (site / PAGES).is_file()):
        return
    try:
        from harness.server.static_pages import StaticSite
    except ImportError as error:
        raise missing_extra("pages need", error, "serve") from None
    from harness.site.blind import private_folder

    private = options.private or private_folder(site)
    with show_pages() as advance:
        count = StaticSite(site, private if private.is_dir() else None).write(advance)
    remark(f"{site / 'index.html'}: {count.written:,} of {count.pages:,} pages written")


def _publish(paths: tuple[Path, ...], site: Path, options: PublishOptions) -> None:
    named = _by_name(paths)
    called = {file: text.rpartition("/")[2] for text, file in named.items()}
    offered = read_candidates(
        [named.get(str(path), path) for path in paths], name=options.name, names=called, for_test=options.for_test
    )
    _publish_candidates(offered, site, options)


def _publish_candidates(offered: Sequence[Candidate], site: Path, options: PublishOptions) -> None:
    key = options.key or options.new_key
    signer = read_key(key) if key is not None else None
    if options.dry_run:
        change = dry_run(site, offered, signer=signer, reveal=options.reveal)
    else:
        mirrors = [parse(url).url for url in options.mirrors] if options.mirrors else None
        settings = SiteSettings(mirrors, options.title, options.url, options.lifetime, _root_change(options))
        change = publish(site, offered, signer=signer, settings=settings, reveal=options.reveal)
    _print_published(change, site, options)


def _root_change(options: PublishOptions) -> RootChange | None:
    if options.root_key is None:
        if options.allow or options.revoke or options.new_root:
            raise UsageError("--allow, --revoke and --new-root need the root key; give it with --root-key FILE")
        return None
    if not (options.allow or options.revoke or options.new_root):
        raise UsageError("--root-key: say what to change with --allow, --revoke or --new-root")
    allow, revoke = ([_public_key(key) for key in keys] for keys in (options.allow, options.revoke))
    return RootChange(read_key(options.root_key), allow, revoke, _public_key(options.new_root))


def _public_key(text: str) -> str:
    """A public key as it is, or that of the key in a file."""
    return text if not text or is_key(text) else read_key(Path(text)).key


def _publish_blind(paths: tuple[Path, ...], site: Path, options: PublishOptions) -> None:
    """Tests without the truth, which goes into a folder of its own."""
    from harness.site.blind import hide_test, private_folder

    private = options.private or private_folder(site)
    if private.resolve().is_relative_to(site.resolve()):
        raise UsageError(f"--private {private}: inside the site's folder, which is published; choose another folder")
    interfaces = [path for path in paths if is_interface(path)]
    tests = [path for path in paths if path not in interfaces]
    if others := [path for path in tests if not (path.is_dir() or path.suffix == ".toml")]:
        raise UsageError(f"{others[0]}: --blind is for tests; answers are handed in with `hate submit`")
    with tempfile.TemporaryDirectory() as scratch:
        split = [hide_test(path, Path(scratch) if options.dry_run else private) for path in tests]
        for note in (note for hidden in split for note in hidden.notes):
            remark(f"hate: {note}")
        only = split[0].candidate.test_name if len(split) == 1 else ""
        offered = read_candidates(interfaces, name=options.name, for_test=options.for_test or only)
        _publish_candidates([*(hidden.candidate for hidden in split), *offered], site, options)
    if not options.dry_run:
        remark(f"hate: the truth is in {private}; keep it, and never serve or copy it with the site")


def _by_name(paths: tuple[Path, ...]) -> dict[str, Path]:
    """The files of transcripts that were given by a name that is known here."""
    missing = [str(path) for path in paths if not path.exists()]
    known = KnownTranscripts().names() if missing else set()
    names = [text for text in missing if text in known]
    sources = find_transcripts(names, DownloadOptions()).sources if names else []
    return {source.typed: source.path for source in sources}


def _print_published(change: SiteChange, site: Path, options: PublishOptions) -> None:
    rows = [[v.label, v.status.value, v.files, v.size] for v in change.items]
    payload = {
        "site": str(site),
        "dry_run": options.dry_run,
        "serial": change.top.serial if change.top is not None else None,
        "published": [{"name": v.label, "result": v.status, "files": v.files, "bytes": v.size} for v in change.items],
    }
    emit(options.style, Table(["what", "result", "files", "bytes"], rows), payload)
    for note in change.notes:
        remark(f"hate: {note}")
    if options.dry_run:
        remark(f"nothing was written to {site}: --dry-run")
    elif change.top is None:
        remark(f"{site} is as it was")
    else:
        remark(f"{site}: change {change.top.serial:,}")
