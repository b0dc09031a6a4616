"""A site in a folder: `harness.publish`, which `hate publish` calls.

Here, and not in `harness/api/`, because pages are the server's.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.progress import ProgressChoice, run_progress
from harness.api.result import Result
from harness.api.runs import note
from harness.api.transcripts import Given, given_text, listed, open_transcripts
from harness.engine.progress import Progress
from harness.errors import HateError, UsageError, missing_extra
from harness.options import OptionSet, Range, option
from harness.report.blocks import Block, Table
from harness.script.cases import CaseSet
from harness.server.submitting import refuse_imports
from harness.site.blind import hide_test, private_folder
from harness.site.changes import PublishedItem, SiteChange
from harness.site.find_transcripts import KnownTranscripts
from harness.site.layout import PAGES
from harness.site.publish import RemovedFiles, SiteSettings, dry_run, tidy
from harness.site.publish import publish as publish_candidates
from harness.site.publish_candidates import Candidate, InterfaceCandidate, is_interface, read_candidates
from harness.site.root_keys import RootChange
from harness.site.signing import Signer, is_key, make_key, read_key, write_key
from harness.site.urls import is_url, parse

if TYPE_CHECKING:
    from harness.server.static_pages import PageCount


def site_address(text: str) -> str:
    """The address of a site; a UsageError if it is none."""
    try:
        return parse(text).url.rstrip("/")
    except HateError as error:
        raise UsageError(str(error)) from None


class PublishOptions(OptionSet):
    """Where something is published, how, and what is changed about the site."""

    to: str | None = option("--to FOLDER", "The folder of the site, created if there is none.", default=None)
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
    expires: int | None = option(
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
        return any(given) or any(value is not None for value in (self.title, self.url, self.expires))


@dataclass(frozen=True, repr=False)
class PublishResult(Result):
    """What was done to a site, or would be."""

    # Its folder; None where only a key was made.
    site: Path | None
    # None where nothing was published and nothing about the site was to be changed.
    change: SiteChange | None = None
    dry_run: bool = False
    # The public part of a key that was made.
    new_key: str = ""
    # Where the truth of blind tests is, if one was published.
    private: Path | None = None
    removed: RemovedFiles | None = None
    pages: "PageCount | None" = None
    remarks: Sequence[str] = ()

    @property
    def published(self) -> Sequence[PublishedItem]:
        """Each test, transcript and interface: its `label`, its `status`, and the number and `size` of its files."""
        return [] if self.change is None else self.change.items

    @property
    def serial(self) -> int | None:
        """The number of the change; None if there is none to be seen."""
        return None if self.change is None or self.change.top is None else self.change.top.serial

    def payload(self) -> dict[str, Any]:
        return {
            "site": None if self.site is None else str(self.site),
            "dry_run": self.dry_run,
            "serial": self.serial,
            "published": [
                {"name": item.label, "result": item.status, "files": item.files, "bytes": item.size}
                for item in self.published
            ],
        }

    def blocks(self) -> Sequence[Block]:
        """A row for each test, transcript and interface."""
        rows = [[item.label, item.status.value, item.files, item.size] for item in self.published]
        return [Table(["what", "result", "files", "bytes"], rows)]


def publish(
    paths: Given | CaseSet | Iterable[Given | CaseSet | Sequence[Given]] = (),
    *,
    options: PublishOptions,
    progress: ProgressChoice = None,
) -> PublishResult:
    """Add tests, transcripts and interfaces to a site, a folder that any web server can serve.

    >>> harness.publish(["my-test/", "mine.jsonl"], to="./site")

    All of it is checked first, and nothing of it is run; readers see all of it or nothing. What was published before
    stays as it is. The result says what happened to each, `.published`, and `.new_key` is the public part of a key that
    was made. If something goes wrong when a part was done, the `note` of the error says so.

    Args:
        paths: The folder or script of a test, or what `load_test` returned; a transcript of a test that is published
            there, by file or name, or what `run`, `read` and `fuse` returned; or an interface for a test. One or
            several, or none to change the site.
        progress: Of writing pages; as for `run`.
    """
    several = listed(paths)
    refuse_imports(several)
    files = [item.script.path if isinstance(item, CaseSet) else Path(given_text(item)) for item in several]
    if options.new_key is not None and options.dry_run:
        raise UsageError("--new-key and --dry-run exclude one another")
    made = None if options.new_key is None else make_key()
    remarks: list[str] = []
    with _said_on_error(remarks):
        if options.to is None:
            if files or made is None:
                raise UsageError("say where: --to FOLDER")
            _keep_key(made, options, remarks)
            return PublishResult(None, new_key=made.key, remarks=remarks)
        _check_site_options(files, options)
        site = Path(options.to)
        private = options.private or private_folder(site)
        change = None
        if options.blind:
            change = _publish_blind(files, site, private, made, options, remarks)
        elif files or options.changes_site:
            change = _publish(_read_files(files, options), site, made, options, remarks)
        elif made is not None:
            _keep_key(made, options, remarks)
        removed = tidy(site) if options.tidy else None
        if removed is not None:
            remarks.append(f"{site}: {removed.files:,} files removed, {removed.size:,} bytes")
        pages = None
        if not options.dry_run and (options.pages or (site / PAGES).is_file()):
            pages = _write_pages(site, private, run_progress(progress))
            remarks.append(f"{site / 'index.html'}: {pages.written:,} of {pages.pages:,} pages written")
    hidden = private if options.blind and not options.dry_run else None
    public = "" if made is None else made.key
    return PublishResult(site, change, options.dry_run, public, hidden, removed, pages, remarks)


def _keep_key(made: Signer, options: PublishOptions, remarks: list[str]) -> None:
    if options.new_key is not None:
        write_key(made, options.new_key)
        words = "keep it secret; its public part, for those who read the site"
        remarks.append(f"key in {options.new_key}, {words}: {made.key}")


@contextmanager
def _said_on_error(remarks: Sequence[str]) -> Iterator[None]:
    """An error within it says what was done by then."""
    try:
        yield
    except HateError as error:
        error.note = "; ".join(filter(None, [*remarks, error.note]))
        raise


def _check_site_options(files: Sequence[Path], options: PublishOptions) -> None:
    if options.name and len(files) != 1:
        raise UsageError("--name is for one transcript or interface; name one")
    if is_url(options.to or ""):
        raise UsageError(f"--to {options.to}: not a folder; transcripts are handed in there with `hate submit`")
    if options.blind and options.reveal:
        raise UsageError("--blind and --reveal exclude one another")
    if not (files or options.changes_site or options.blind or options.tidy or options.pages):
        raise UsageError("nothing to publish; name a test's folder or transcripts")
    if options.tidy and options.dry_run:
        raise UsageError("--tidy and --dry-run exclude one another")


def _read_files(files: Sequence[Path], options: PublishOptions) -> Sequence[Candidate]:
    """What is in the files, some of which are names of transcripts that are known here."""
    missing = [str(path) for path in files if not path.exists()]
    known = KnownTranscripts().names() if missing else set()
    names = [text for text in missing if text in known]
    found: dict[str, Path] = {}
    if names:
        opened = open_transcripts(names)
        for text in opened.notes:
            note(text)
        found = {source.typed: source.path for source in opened.sources}
    called = {path: text.rpartition("/")[2] for text, path in found.items()}
    paths = [found.get(str(path), path) for path in files]
    return read_candidates(paths, name=options.name, names=called, for_test=options.for_test)


def _publish(
    offered: Sequence[Candidate], site: Path, made: Signer | None, options: PublishOptions, remarks: list[str]
) -> SiteChange:
    """All at once; a key that was made is written when everything else has been checked."""
    if options.for_test and not any(isinstance(candidate, InterfaceCandidate) for candidate in offered):
        raise UsageError(f"--for {options.for_test}: for an interface, and there is none among these; leave it out")
    signer = made if options.key is None else read_key(options.key)
    mirrors = [parse(url).url for url in options.mirrors] if options.mirrors else None
    settings = SiteSettings(mirrors, options.title, options.url, options.expires, _root_change(options, made))
    if options.dry_run or made is not None:
        change = dry_run(site, offered, signer=signer, settings=settings, reveal=options.reveal)
    if made is not None:
        _keep_key(made, options, remarks)
    if not options.dry_run:
        change = publish_candidates(site, offered, signer=signer, settings=settings, reveal=options.reveal)
    remarks += change.notes
    if options.dry_run:
        remarks.append(f"nothing was written to {site}: --dry-run")
    elif change.top is None:
        remarks.append(f"{site} is as it was")
    else:
        remarks.append(f"{site}: change {change.top.serial:,}")
    return change


def _root_change(options: PublishOptions, made: Signer | None) -> RootChange | None:
    if options.root_key is None:
        if options.allow or options.revoke or options.new_root:
            raise UsageError("--allow, --revoke and --new-root need the root key; give it with --root-key FILE")
        return None
    if not (options.allow or options.revoke or options.new_root):
        raise UsageError("--root-key: say what to change with --allow, --revoke or --new-root")

    def public_key(text: str) -> str:
        """A public key as it is, or that of the key in a file, which may be about to be written."""
        if made is not None and options.new_key == Path(text):
            return made.key
        return text if not text or is_key(text) else read_key(Path(text)).key

    allow, revoke = ([public_key(key) for key in keys] for keys in (options.allow, options.revoke))
    return RootChange(read_key(options.root_key), allow, revoke, public_key(options.new_root))


def _publish_blind(
    files: Sequence[Path], site: Path, private: Path, made: Signer | None, options: PublishOptions, remarks: list[str]
) -> SiteChange:
    """Tests without the truth, which goes into a folder of its own."""
    if private.resolve().is_relative_to(site.resolve()):
        raise UsageError(f"--private {private}: inside the site's folder, which is published; choose another folder")
    interfaces = [path for path in files if is_interface(path)]
    tests = [path for path in files if path not in interfaces]
    if others := [path for path in tests if not (path.is_dir() or path.suffix == ".toml")]:
        raise UsageError(f"{others[0]}: --blind is for tests; answers are handed in with `hate submit`")
    with tempfile.TemporaryDirectory() as scratch:
        split = [hide_test(path, Path(scratch) if options.dry_run else private) for path in tests]
        remarks += [text for hidden in split for text in hidden.notes]
        only = split[0].candidate.test_name if len(split) == 1 else ""
        offered = read_candidates(interfaces, name=options.name, for_test=options.for_test or only)
        change = _publish([*(hidden.candidate for hidden in split), *offered], site, made, options, remarks)
    if not options.dry_run:
        remarks.append(f"the truth is in {private}; keep it, and never serve or copy it with the site")
    return change


def _write_pages(site: Path, private: Path, progress: Progress) -> "PageCount":
    try:
        from harness.server.static_pages import write_pages
    except ImportError as error:
        raise missing_extra("pages need", error, "serve") from None
    return write_pages(site, private if private.is_dir() else None, progress)
