"""Whether a transcript was judged again by its test: once for each content, the result kept in the cache.

What a file says of itself is no proof, so `compare`, `rate` and the other analyses ask here before they believe it. The
test must be on this machine, with the name, the version and the digest of the transcript's; nothing is downloaded. Only
what was found sound is kept, in a line with the SHA-256 of the file and the version of the harness.
"""

import contextlib
import os
import shlex
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness import __version__
from harness.errors import HateError, TranscriptError
from harness.files.caches import JUDGED, UNFINISHED_PREFIX, cache_folder
from harness.files.known_digests import known_sha256
from harness.script.library import find_all, peek, scripts_in
from harness.site.cache import RELEASE_FOLDER, RELEASES, SCRIPTS, cache_entries
from harness.site.find_transcripts import Source
from harness.transcript.format import Header, TestInfo

NOT_HERE = "the test is not here, so outcomes were not judged again"
# The lines written last are kept, up to this many bytes together.
MAX_BYTES = 4 << 20


def judged_again(path: Path, header: Header, name: str) -> str:
    """Why the outcomes of a transcript could not be judged by its test; empty if they were, now or earlier.

    A TranscriptError says what contradicts the test; `name` is what messages call the file.
    """
    try:
        key = _key(path)
    except OSError as error:
        raise TranscriptError(f"{name}: {error.strerror}") from None
    known = _last_line_after(_VERDICTS, key)
    if known is not None:
        return known
    if next(scripts_at_hand(path, header.test), None) is None:
        return NOT_HERE
    # With pydantic, which takes long to import.
    from harness.site.audit import audit
    from harness.site.local_tests import find_cases_here

    cases, why = find_cases_here(path, header)
    if cases is None:
        return why
    result = audit(path, cases, name=name)
    if count := result.mistakes.count:
        file = next((str(known) for known in (Path(name), path) if known.is_file() and _is_lasting(known)), "FILE")
        more = f" (and {count - 1:,} more)" if count > 1 else ""
        raise TranscriptError(
            f"{result.mistakes.shown[0]}{more}; the file contradicts its test, {header.test.name} "
            f"{header.test.version}, so it is not used: `hate check {shlex.quote(file)}` shows where, a new run puts "
            "it right"
        )
    _keep(_VERDICTS, f"{key}{result.self_reported}")
    return result.self_reported


def judge_sources(sources: Sequence[Source], headers: Sequence[Header]) -> list[str | None]:
    """Why each is self-reported; empty if it was judged again by its test.

    None for what other tools decided, as its header says; but beside a run of a test it would look like one.
    """
    if all(header.is_imported for header in headers):
        return [None] * len(sources)
    return [judged_again(source.path, header, source.name) for source, header in zip(sources, headers, strict=True)]


def _is_lasting(path: Path) -> bool:
    """Whether a file is there when the command has ended: what came through a pipe is not."""
    return not (path.parent == Path(tempfile.gettempdir()) and path.name.startswith("hate-"))


def scripts_at_hand(path: Path, test: TestInfo) -> Iterator[Path]:
    """Scripts with the name and version of a test, the nearest first; whether they have its digest is not checked.

    They are beside the transcript, in the libraries, where the test was run from, or in the cache.
    """
    seen = set()
    for script in _known_scripts(path, test):
        if script.resolve() not in seen:
            seen.add(script.resolve())
            yield script


def _known_scripts(path: Path, test: TestInfo) -> Iterator[Path]:
    def is_same(script: Path) -> bool:
        entry = peek(script)
        return entry is not None and (entry.name, entry.version) == (test.name, test.version)

    if _is_lasting(path):
        yield from filter(is_same, scripts_in(path.parent))
    with contextlib.suppress(HateError):  # a library that is not there has no test
        yield from (entry.path for entry in find_all() if (entry.name, entry.version) == (test.name, test.version))
    yield from filter(is_same, map(Path, _lines_after(_TESTS, f"{test.digest} ")))
    for entry in cache_entries((RELEASES, SCRIPTS)):
        release = entry.release()
        if release is not None and (release.name, release.version) == (test.name, test.version):
            yield entry.path / RELEASE_FOLDER / release.script
        elif entry.kind == SCRIPTS:
            yield from filter(is_same, scripts_in(entry.path))


def remember_run(path: Path) -> None:
    """A run that was judged here while it was made, of a test whose records have too little to be judged again."""
    with contextlib.suppress(OSError):
        _keep(_VERDICTS, _key(path))


def remember_copy(source: Path, copy: Path) -> None:
    """What is known of a transcript holds for the same lines in another form."""
    with contextlib.suppress(OSError):
        known = _last_line_after(_VERDICTS, _key(source))
        if known is not None:
            _keep(_VERDICTS, f"{_key(copy)}{known}")


def _key(path: Path) -> str:
    return f"{known_sha256(path.resolve())} {__version__} "


def remember_test(test: TestInfo, script: Path) -> None:
    """Where the test of a run is on this machine, so that the run can be judged again from any folder."""
    path = str(script.resolve())
    if "\n" not in path and _last_line_after(_TESTS, f"{test.digest} ") != path:
        _keep(_TESTS, f"{test.digest} {path}")


# The files in the cache, each a line for each thing that is known; of two about the same, the later one holds.
_VERDICTS, _TESTS = "verdicts", "tests"


def _last_line_after(name: str, begin: str) -> str | None:
    """The rest of the last line that begins so; None if there is none."""
    return next(_lines_after(name, begin), None)


def _lines_after(name: str, begin: str) -> Iterator[str]:
    """The rests of all lines that begin so, the last one first."""
    start = f"\n{begin}".encode()
    try:
        with (cache_folder() / JUDGED / name).open("rb") as file:
            _check_ours(file.fileno())
            lines = b"\n" + file.read()
    except (OSError, ValueError):
        return
    position = len(lines)
    while (position := lines.rfind(start, 0, position)) >= 0:
        end = lines.find(b"\n", position + 1)
        # The last line may be torn.
        if end > 0:
            yield lines[position + len(start) : end].decode(errors="replace")


def _check_ours(descriptor: int) -> None:
    """Only a file of our own that nobody else can write."""
    status = os.fstat(descriptor)
    ours = not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)
    if not (stat.S_ISREG(status.st_mode) and ours):
        raise ValueError("not ours")


def _keep(name: str, line: str) -> None:
    """Add a line; a cache that cannot be written is done without."""
    with contextlib.suppress(OSError):
        path = cache_folder() / JUDGED / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            # Other processes may add lines at the same time: each is written by one call.
            os.write(descriptor, os.fsencode(f"{line}\n"))
        finally:
            os.close(descriptor)
        if size > MAX_BYTES:
            _forget_oldest(path)


def _forget_oldest(path: Path) -> None:
    """Keep the half that was written last."""
    lines = path.read_bytes().splitlines(keepends=True)
    descriptor, name = tempfile.mkstemp(prefix=UNFINISHED_PREFIX, dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(lines[len(lines) // 2 :])
    Path(name).replace(path)
