"""A script on any web server, with the files that it names beside it: brought into the cache as one folder."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

from harness.errors import DataError, ScriptError
from harness.files.mistakes import Mistakes
from harness.files.strict_toml import read_toml, validate
from harness.script.load import SUFFIX, Script, load_script
from harness.script.schema import FORMAT, ScriptFile
from harness.site.cache import cached
from harness.site.content import put
from harness.site.limits import Limits
from harness.site.paths import check_inside
from harness.site.remote import AS_IT_IS, remote_file
from harness.site.urls import is_url, masked

SCRIPTS = "scripts"


def is_script_address(text: str) -> bool:
    """Whether a text is the address of a script."""
    return is_url(text) and urlsplit(text).path.endswith(SUFFIX)


def script_at(url: str) -> tuple[Script, str]:
    """The script at an address, and what a user should know about it."""
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    check_inside(name, masked(url))
    found = remote_file(url, Limits(), AS_IT_IS)
    files, notes = {name: found.path}, [found.note]
    for other in _named(found.path, masked(url)):
        check_inside(other, masked(url))
        beside = remote_file(urljoin(url, quote(other)), Limits(), AS_IT_IS)
        files[other] = beside.path
        notes.append(beside.note)
    folder = cached(SCRIPTS, _key(files), lambda folder: _fill(folder, files))
    return load_script(folder / name), next(filter(None, notes), "")


def _named(path: Path, name: str) -> Iterator[str]:
    """The files that a script names, once it is known to be one."""
    try:
        parsed, text = read_toml(path)
    except ScriptError as error:
        raise ScriptError(str(error).replace(str(path), name)) from None
    if parsed.get("format", FORMAT) != FORMAT:
        raise DataError(
            f"{name}: format {parsed['format']!r} is not known here, only {FORMAT}; a newer hate may read it"
        )
    file = validate(ScriptFile, parsed, text, Mistakes(name))
    yield from Script(path, file).tables
    yield from (data.path for data in file.data.values() if data.path is not None)


def _key(files: dict[str, Path]) -> str:
    """Of the names and what is in the files: each lies in a folder that is named by its content."""
    lines = sorted(f"{name}\0{path.parent.name}\n" for name, path in files.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _fill(folder: Path, files: dict[str, Path]) -> None:
    for name, path in files.items():
        put(path, folder / name)
